// Do the sentences on a sweep say what its rows say?
#include "reports/sweep/sweep_words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "models/base/errors.hpp"
#include "models/base/json.hpp"
#include "reports/answer.hpp"
#include "reports/sweep/sweep_report.hpp"
#include "tests/support/fair_rows.hpp"
#include "tests/support/holds.hpp"

namespace accosim {
namespace {

// Equal in the middle of the logarithms of 10 and 20, and of 20 and 40 Gbit/s.
TEST(SweepWords, SayWhereTheOthersAreWorthAdding) {
  const std::vector<std::string> words = worth_in_words(fair_rows({0.5, 2, 1.5}), {});
  ASSERT_EQ(words.size(), 3U);
  EXPECT_EQ(words[1], "With the winner of each point the whole cluster is faster at all 3 points.");
  EXPECT_EQ(
      words[2],
      "With ddp the whole cluster is faster at 2 of 3 points. Adding the 64 V100 to the 32 A100: slower below 14.1 "
      "Gbit/s (bandwidth); faster above.");
  EXPECT_EQ(
      worth_in_words(fair_rows({2, 2, 0.5}), {})[2],
      "With ddp the whole cluster is faster at 2 of 3 points. Adding the 64 V100 to the 32 A100: faster below 28.3 "
      "Gbit/s (bandwidth); slower above.");
  EXPECT_EQ(worth_in_words(fair_rows({0.1, 0.95, 0.2}), {})[2],
            "With ddp the whole cluster is faster at none of 3 points (at 1 point the interval leaves it open).");
}

TEST(SweepWords, AnAxisThatChangesNothingNamesWhatBindsInstead) {
  SweepRows rows = fair_rows({1, 1, 1});
  EXPECT_EQ(flat_in_words(rows, 9), (std::vector<std::string>{"From 10 to 40 Gbit/s (bandwidth) nothing changes."}));
  for (Row& row : rows.rows) row.binds = Binding{kHostCopies, BytesPerSecond{6e9}};
  EXPECT_EQ(flat_in_words(rows, 9).at(0),
            "From 10 to 40 Gbit/s (bandwidth) nothing changes: the host's copies (6 GB/s each way of a node) bind, not "
            "the network.");
  for (Row& row : rows.rows) row.binds = Binding{kComputing};
  EXPECT_EQ(flat_in_words(rows, 9).at(0),
            "From 10 to 40 Gbit/s (bandwidth) nothing changes: computation binds, not the network.");
  for (Row& row : rows.rows) row.binds = Binding{"latency between nodes"};
  EXPECT_EQ(flat_in_words(rows, 9).at(0),
            "From 10 to 40 Gbit/s (bandwidth) nothing changes: latency between nodes binds.");
  for (Row& row : rows.rows) row.binds = Binding{kComputing};
  rows.heading.axes = {{"/training/n", {"1", "2", "4"}}};
  EXPECT_EQ(flat_in_words(rows, 9).at(0), "From n = 1 to 4 nothing changes: computation binds.");
  EXPECT_EQ(flat_in_words(rows, 0).at(0), "... and 1 more such.");
  rows.rows[1].schedules[0].update_time = Seconds{1};
  EXPECT_TRUE(flat_in_words(rows, 9).empty());
}

// ddp does half of what it is worth over the part: 0.5, 0.5 and 1.5 times the best synchronous schedule; acco always 1.
TEST(SweepWords, AlongOneAxisTheyAnswerWhereTheBestChangesAndWhatBinds) {
  SweepRows rows = fair_rows({1, 1, 3});
  EXPECT_EQ(along_in_words(rows, {}),
            (std::vector<std::string>{"The best changes along bandwidth: acco from 10 to 20 Gbit/s; ddp at 40 "
                                      "Gbit/s."}));
  for (Row& row : rows.rows) row.binds = Binding{"wire"};
  EXPECT_EQ(along_in_words(rows, {}).at(1), "At all of them the wire binds.");
  rows.rows[2].binds = Binding{"slots"};
  EXPECT_EQ(
      along_in_words(rows, {}).at(1),
      "From 40 Gbit/s on the PCIe links of the GPUs bind, not the network; before that, the wire binds from 10 to 20 "
      "Gbit/s.");
  std::swap(rows.rows[0], rows.rows[2]);
  EXPECT_EQ(along_in_words(rows, {}).at(0).substr(0, 38), "The best changes along bandwidth: acco") << "in any order";
  EXPECT_EQ(along_in_words(fair_rows({1, 1, 1}), {}).at(0),
            "The best is the same at all 3 values of bandwidth: acco from 10 to 40 Gbit/s.");
  // A tuned row by what it is there.
  rows.heading.tuned = true;
  rows.heading.schedules = {"best delayed or local", "best synchronous"};
  for (Row& row : rows.rows) row.best_synchronous = row.index == 0 ? "zero3" : "zero2";
  EXPECT_EQ(along_in_words(rows, {}).at(0),
            "The best changes along bandwidth: zero3 (best synchronous) at 10 Gbit/s; zero2 (best synchronous) at 20 "
            "Gbit/s; best delayed or local at 40 Gbit/s.");
  rows.heading.axes[0].values = {"a", "b", "c"};
  EXPECT_TRUE(along_in_words(rows, {}).empty()) << "no numbers";
}

TEST(CaveatsText, LateGradientsAreCounted) {
  Caveats caveats{.statistics = Statistics::kStaleGradients};
  EXPECT_EQ(in_words(caveats), "with gradients one update late");
  EXPECT_EQ(worst_in_words(caveats), "with gradients one update late");
  caveats.updates_late = 3;
  EXPECT_EQ(in_words(caveats), "with gradients 3 updates late");
  EXPECT_EQ(worst_in_words(caveats), "with gradients up to 3 updates late");
}

/// What is said of ddp over the part alone, with 1, 2, 3... V100 nodes beside it; NaN where a point failed.
std::string said_of(const std::vector<double>& ratios, const std::vector<std::string>& values = {}) {
  SweepRows rows = fair_rows(ratios);
  Axis axis{"/cluster/nodes/1/count", values, {}, "V100 nodes"};
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    if (values.empty()) axis.values.push_back(std::to_string(i + 1));
    rows.rows[i].alone->others = std::to_string(8 * (i + 1)) + " V100";
    if (std::isnan(ratios[i])) rows.rows[i] = {i, {i}, "it failed", {}, {}};
  }
  rows.heading.axes = {axis};
  const std::string words = worth_in_words(rows, {})[2], lead = "Adding the V100 to the 32 A100: ";
  const std::size_t at = words.find(lead);
  return at == std::string::npos ? "" : words.substr(at + lead.size());
}

// 1.01 and 0.99 are 1 % from equal, 1.004 is equal; between 1.1 and 0.9 the two are equal near the middle.
TEST(SweepWords, EachShapeOfACrossingIsSaidAsItIs) {
  constexpr double kFailed = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(said_of({1.2, 1.1, 1.01}), "") << "never";
  EXPECT_EQ(said_of({0.9, 0.8, 0.7}), "") << "never";
  EXPECT_EQ(said_of({1.004, 1, 0.996}), "") << "never";
  EXPECT_EQ(said_of({1.2, 1.1, 0.9, 0.8}), "faster with up to 2 V100 nodes; slower beyond.");
  EXPECT_EQ(said_of({0.8, 0.9, 1.1, 1.2}), "slower with up to 2 V100 nodes; faster beyond.");
  // Equal at a point: what is faster ends before it, and what is slower begins behind it.
  EXPECT_EQ(said_of({1.3, 1.2, 1.2, 1.1, 1.1, 1.05, 1, 0.9}),
            "faster with up to 6 V100 nodes; equal at 7; slower beyond.");
  EXPECT_EQ(said_of({1.1, 1.004, 0.996, 0.9}), "faster with up to 1 V100 nodes; equal from 2 to 3; slower beyond.");
  EXPECT_EQ(said_of({1.1, 1, 1.1}), "faster with up to 1 V100 nodes; equal at 2; faster beyond.");
  // At the ends.
  EXPECT_EQ(said_of({1, 1.1, 1.2}), "equal with up to 1 V100 nodes; faster beyond.");
  EXPECT_EQ(said_of({1.2, 1.1, 1}), "faster with up to 2 V100 nodes; equal beyond.");
  // Twice.
  EXPECT_EQ(said_of({0.9, 1.1, 1.2, 1.1, 0.9}), "slower with up to 1 V100 nodes; faster from 2 to 4; slower beyond.");
  EXPECT_EQ(said_of({1.1, 0.9, 1.1}), "faster with up to 1 V100 nodes; slower at 2; faster beyond.");
  // Points that failed lie between: from 2 to 4 the logarithm of the ratio goes from 0.2 to -0.2 along that of the
  // number, and is 0 at sqrt(8) = 2.8.
  EXPECT_EQ(said_of({1.3, std::exp(0.2), kFailed, std::exp(-0.2)}), "faster with up to 2 V100 nodes; slower beyond.");
  // The same of numbers that are not neighbours, 2 and 32: equal at 8, which is not played and counts as the next.
  EXPECT_EQ(said_of({1.3, std::exp(0.2), std::exp(-0.2)}, {"1", "2", "32"}),
            "faster with up to 7 V100 nodes; slower beyond.");
  EXPECT_EQ(said_of({1.3, 1, 0.9}, {"1", "8", "32"}), "faster with up to 1 V100 nodes; equal at 8; slower beyond.");
  // In the order of the numbers, not of the axis.
  EXPECT_EQ(said_of({0.9, 1.1, 1.2}, {"4", "2", "1"}), "faster with up to 2 V100 nodes; slower beyond.");
  // Rates: between two there are others.
  EXPECT_EQ(said_of({0.5, 1, 2}, {"10 Gbit/s", "20 Gbit/s", "40 Gbit/s"}),
            "slower up to 10 Gbit/s (V100 nodes); equal at 20 Gbit/s; faster above.");
}

// Two lines of three points along the first axis, at two rates: the first changes between 1 and 2, the second between 2
// and 3; then one that is equal between.
TEST(SweepWords, LinesOfOneShapeAreSaidTogether) {
  const auto said = [](const std::vector<double>& first, const std::vector<double>& second) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < first.size(); ++i)
      for (const double ratio : {first[i], second[i]}) ratios.push_back(ratio);
    SweepRows rows = fair_rows(ratios);
    rows.heading.axes = {{"/training/n", {"1", "2", "3", "4"}}, {"/cluster", {"a.json", "b.json"}}};
    for (std::size_t i = 0; i < rows.rows.size(); ++i) rows.rows[i].point = {i / 2, i % 2};
    const std::string words = worth_in_words(rows, {})[2];
    return words.substr(words.find(". ") + 2);
  };
  EXPECT_EQ(said({1.1, 0.9, 0.9, 0.9}, {1.1, 1.1, 0.9, 0.9}),
            "Adding the 64 V100 to the 32 A100: faster up to n = 1-2; slower beyond (2 lines of points).");
  EXPECT_EQ(said({1.1, 0.9, 0.9, 0.9}, {1.1, 1, 0.9, 0.9}),
            "Adding the 64 V100 to the 32 A100: faster up to n = 1; equal at 2; slower beyond. Adding the 64 V100 to "
            "the 32 A100: faster up to n = 1; slower beyond.");
  EXPECT_EQ(said({1.1, 1, 0.9, 0.9}, {1.1, 1.1, 1, 0.9}),
            "Adding the 64 V100 to the 32 A100: faster up to n = 1-2; then equal; slower from 3-4 on (2 lines of "
            "points).");
}

// ddp is 0.25, 1 and 0.75 times as fast as the best synchronous schedule; then 2 at 20 Gbit/s.
TEST(SweepWords, ASchedulesCourseOverTheBestSynchronousOneIsSaidLikewise) {
  SweepRows rows = fair_rows({0.5, 2, 1.5});
  rows.heading.tuned = true;
  for (Row& row : rows.rows) row.best_synchronous = "zero1";
  EXPECT_EQ(tuned_in_words(rows).at(1), "At no point is any other schedule faster than that.");
  rows.rows[1].schedules[0].over_best_synchronous = 2;
  EXPECT_EQ(tuned_in_words(rows).at(1),
            "ddp is faster than that at 1 of 3 points (0.25 to 2.00 times as fast at equal samples): slower below 15.9 "
            "Gbit/s (bandwidth); faster from 15.9 to 32.6 Gbit/s; slower above.");
}

TEST(SweepWords, TheOthersAreNamed) {
  SweepRows rows = fair_rows({0.5, 2, 1.5});
  for (Row& row : rows.rows) row.alone->others = "1 V100";
  EXPECT_TRUE(holds(worth_in_words(rows, {})[2], "Adding the V100 to the 32 A100: "));
  rows.rows[2].alone->others = "16 V100 and 8 T4";
  EXPECT_TRUE(holds(worth_in_words(rows, {})[2], "Adding the V100 or the V100 and T4 to the 32 A100: "));
  // Where there are many of them they are the faster part.
  rows.rows[2].alone->part = "64 V100";
  rows.rows[2].alone->others = "32 A100";
  EXPECT_TRUE(holds(worth_in_words(rows, {})[2],
                    " Beside the A100 or the V100 alone, whichever is faster, the whole cluster "
                    "is slower below 14.1 Gbit/s (bandwidth); faster above."));
}

TEST(SweepWords, WhatIsNotComparedIsNotSpokenOf) {
  SweepRows rows = fair_rows({1, 1, 1});
  rows.rows[1].alone.reset();
  EXPECT_EQ(worth_in_words(rows, {}).back(), "At 1 point no part alone has room for the training.");
  for (Row& row : rows.rows) row.alone = Alone{};
  EXPECT_EQ(worth_in_words(rows, {}).size(), 1U);
  rows.heading.fair = false;
  EXPECT_TRUE(worth_in_words(rows, {}).empty());
}

TEST(SweepWords, WhatDoesNotFitIsNamed) {
  SweepRows rows = fair_rows({1, 1, 1});
  EXPECT_FALSE(holds(counts_in_words(rows, {}), "does not fit"));
  rows.rows[1].schedules[0].fit.verdict = FitVerdict::kDoesNotFit;
  EXPECT_TRUE(holds(counts_in_words(rows, {}), " Into memory ddp does not fit at 1 point (-)."));
}

/// Three clusters of 8, 16 and 24 GPU-hours; the interval of each is 10 % to both sides.
SweepRows priced_rows() {
  SweepRows rows = fair_rows({1, 1, 1});
  rows.heading.axes = {{"/cluster", {"a.json", "b.json", "c.json"}}};
  for (std::size_t i = 0; i < 3; ++i)
    for (Metrics& figures : rows.rows[i].schedules) {
      figures.update_time = figures.update_time_low = figures.update_time_high = Seconds{1};
      figures.total_time = Seconds{3600.0 * static_cast<double>(i + 1)};
      figures.gpu_hours = 8.0 * static_cast<double>(i + 1);
      figures.cost = 16.0 * static_cast<double>(i + 1);
      figures.spread = {0.1, 0};
      figures.batch_inflation = 1;
    }
  return rows;
}

TEST(SweepWords, TheCheapestPointWithItsDoubt) {
  // Twice as much; independent errors of 0.1 each: 2 x exp(-+ 1.28155 x 0.1 x sqrt(2)) = 1.67 to 2.40.
  SweepRows rows = priced_rows();
  const std::string words = ranking_in_words(rows, {Score::kCost, {}});
  EXPECT_TRUE(holds(words, "Of all points the cheapest is a, with ddp: all tokens in 1:00:00"));
  EXPECT_TRUE(holds(words,
                    " The next, b, takes 2 times as much (80 %: 1.67 to 2.4). The dearest takes 3 times as "
                    "much."));
  EXPECT_FALSE(holds(words, "samples"));
  // 1.1 x exp(-0.181) = 0.92 is below 1.
  for (Metrics& figures : rows.rows[1].schedules) figures.cost = 17.6;
  EXPECT_TRUE(holds(ranking_in_words(rows, {Score::kCost, {}}), "too near to tell the two apart"));
  // As cheap to 0.1 %.
  for (Metrics& figures : rows.rows[1].schedules) figures.cost = 16.01;
  EXPECT_TRUE(holds(ranking_in_words(rows, {Score::kCost, {}}), "; 1 more comes to the same."));
}

TEST(SweepWords, CostsAreInOneCurrency) {
  SweepRows rows = priced_rows();
  for (Row& row : rows.rows)
    for (Metrics& figures : row.schedules) figures.currency = "EUR";
  EXPECT_TRUE(holds(ranking_in_words(rows, {Score::kCost, {}}), ", at a cost of 16 EUR ("));
  EXPECT_EQ(shown_in_words(rows, Score::kCost), "cost of all tokens, EUR");
  const Row again = read_row(rows.heading, line_of(rows.heading, rows.rows[0]), "rows", 2);
  EXPECT_EQ(again.schedules[0].currency, "EUR");
  check_score(rows, Score::kCost);
  for (Metrics& figures : rows.rows[1].schedules) figures.currency = "USD";
  check_score(rows, Score::kTime);
  EXPECT_THROW(check_score(rows, Score::kCost), BadInput);
}

TEST(SweepWords, PointsThatCannotBeComparedAreNamed) {
  SweepRows rows = priced_rows();
  for (Metrics& figures : rows.rows[2].schedules) figures.samples_per_update = 192;
  EXPECT_TRUE(holds(ranking_in_words(rows, {Score::kTime, {}}), "Points ask for updates of 96 to 192 samples"));
  for (Metrics& figures : rows.rows[0].schedules) figures.cost.reset();
  EXPECT_TRUE(
      holds(counts_in_words(rows, {Score::kCost, {}}), "1 point (a) has no price_per_gpu_hour and takes no part."));
  EXPECT_FALSE(holds(counts_in_words(rows, {Score::kTime, {}}), "price"));
}

TEST(SweepWords, ANameTellsAPointAndWhatStandsBesideItDoesNot) {
  SweepRows rows = priced_rows();
  rows.heading.axes = {{"/cluster", {"a.json", "b.json", "c.json"}},
                       {"/cluster/nodes/0/price_per_gpu_hour", {"2", "3"}, {}, "price of a GPU-hour"},
                       {"/cluster/nodes/0/count", {"4", "8"}, {}, "nodes"}};
  rows.heading.grid = false;
  rows.heading.side_by_side = true;
  const std::size_t prices[] = {0, 1, 0};
  for (std::size_t i = 0; i < 3; ++i) rows.rows[i].point = {i, prices[i], i == 2 ? 1U : 0U};
  EXPECT_EQ(telling_axes(rows), std::vector<std::size_t>{0});
  EXPECT_EQ(point_in_words(rows, rows.rows[1]), "b");
  EXPECT_EQ(beside_in_words(rows), "Beside cluster: price of a GPU-hour 2, 3, 2; nodes 4, 4, 8.");
  // Where one cluster comes with two numbers of nodes, both are said.
  rows.rows[2].point[0] = 1;
  EXPECT_EQ(telling_axes(rows), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(point_in_words(rows, rows.rows[2]), "b, price of a GPU-hour = 2, 8 nodes");
  rows.heading.side_by_side = false;  // such as the points of a Latin hypercube, of which few may look decided
  EXPECT_EQ(telling_axes(rows).size(), 3U);
  EXPECT_EQ(beside_in_words(rows), "");
}

// 60 of 40 GiB, and 2 h where the schedule would take 1 h and cost 16.
TEST(SweepWords, WhereNothingFitsItIsSaidWhatWould) {
  SweepRows rows = priced_rows();
  EXPECT_TRUE(unfit_points_in_words(rows).empty());
  for (Metrics& figures : rows.rows[0].schedules) {
    figures.fit.verdict = FitVerdict::kDoesNotFit;
    figures.memory_resident = Bytes{60 * 0x1p30};
    figures.memory_capacity = Bytes{40 * 0x1p30};
  }
  const std::string needs = "Nothing fits at a: ddp, which comes nearest, needs 60.0 GiB of 40.0 GiB a GPU. ";
  EXPECT_EQ(unfit_points_in_words(rows), std::vector<std::string>{needs + "No change that was tried makes one fit."});
  rows.rows[0].way_to_fit = FittingWay{0, "activation_recompute full", 7200};
  EXPECT_EQ(unfit_points_in_words(rows),
            std::vector<std::string>{needs +
                                     "ddp fits with activation_recompute full: about 2:00:00, at a cost of about 32."});
  EXPECT_FALSE(holds(counts_in_words(rows, {}), "Into memory")) << "said once";
}

TEST(SweepWords, WhatAllPointsTrainIsNamed) {
  Heading heading;
  EXPECT_EQ(trains_in_words(heading), "");
  heading.trains = {"llama-3-8b", 1e9, 4096};
  EXPECT_EQ(trains_in_words(heading), "llama-3-8b on 1.00B tokens, in sequences of 4096");
  heading.trains.model.clear();  // an axis varies it
  EXPECT_EQ(trains_in_words(heading), "1.00B tokens, in sequences of 4096");
}

TEST(SweepWords, CautionsAreSaidOnceEach) {
  SweepRows rows = priced_rows();
  EXPECT_TRUE(cautions_in_words(rows).empty());
  rows.rows[0].cautions = {"looks_wrong: 400 GB/s", "extrapolated: 30 %"};
  for (const std::size_t i : {1, 2}) rows.rows[i].cautions = {"extrapolated: 40 %"};
  EXPECT_EQ(cautions_in_words(rows), (std::vector<std::string>{"Caution at 2 points: 40 % (extrapolated)",
                                                               "Caution at 1 point: 30 % (extrapolated)",
                                                               "Caution at 1 point: 400 GB/s (looks_wrong)"}));
}

TEST(SweepWords, WhatIsLeftOutIsNamedWithItsReason) {
  SweepRows rows = fair_rows({1, 1, 1});
  EXPECT_TRUE(left_out_in_words(rows, 9).empty());
  for (const std::size_t i : {1, 2}) {
    rows.rows[i].left_out = {"", "is not to be had"};
    rows.rows[i].schedules[1] = no_figures();
  }
  EXPECT_EQ(left_out_in_words(rows, 9),
            std::vector<std::string>{
                "Left out: acco at 2 points, the first of them bandwidth = 20 Gbit/s: is not to be had"});
  rows.rows[2].left_out.clear();
  rows.rows[2].schedules[1] = rows.rows[0].schedules[1];
  EXPECT_EQ(left_out_in_words(rows, 9),
            std::vector<std::string>{"Left out: acco at 1 point (bandwidth = 20 Gbit/s): is not to be had"});
  EXPECT_FALSE(holds(counts_in_words(rows, {}), "Into memory")) << "it is not memory that it lacks";
  std::ostringstream csv;
  write_sweep_csv(csv, rows, {});
  EXPECT_TRUE(holds(csv.str(), "\n1,20 Gbit/s,left_out,is not to be had,acco,0,,"));
  std::string line;
  std::size_t commas = 0;
  for (std::istringstream lines(csv.str()); std::getline(lines, line);) {
    const auto here = static_cast<std::size_t>(std::ranges::count(line, ','));
    EXPECT_TRUE(commas == 0 || here == commas) << line;
    commas = here;
  }
}

TEST(SweepPage, BeginsWithWhatIsAskedFor) {
  const SweepRows rows = fair_rows({0.5, 2, 1.5});
  const auto page = [&](Score by) { return parse_json(sweep_page_json(rows, "accosim report", {by, {}}), "").root; };
  const auto first = [](const JsonValue& root) { return at_pointer(root, "/sweep/scores/0/name")->text; };
  const auto asked = [](const JsonValue& root) { return at_pointer(root, "/sweep/ranking/asked")->boolean; };
  EXPECT_EQ(first(page(Score::kSameBatch)), "same-batch");
  EXPECT_FALSE(asked(page(Score::kSameBatch)));
  EXPECT_EQ(first(page(Score::kTime)), "time");
  EXPECT_TRUE(asked(page(Score::kTime)));
  // What is not asked for can be picked all the same.
  EXPECT_EQ(at_pointer(page(Score::kTime), "/sweep/scores")->elements.size(),
            at_pointer(page(Score::kTokens), "/sweep/scores")->elements.size());
}

}  // namespace
}  // namespace accosim
