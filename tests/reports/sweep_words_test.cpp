// Do the sentences on a sweep say what its rows say?
#include "reports/sweep/sweep_words.hpp"

#include <gtest/gtest.h>

#include "models/base/json.hpp"
#include "reports/caveats_text.hpp"
#include "reports/sweep/sweep_report.hpp"
#include "tests/support/fair_rows.hpp"

namespace accosim {
namespace {

// Equal in the middle of the logarithms of 10 and 20, and of 20 and 40 Gbit/s.
TEST(SweepWords, SayWhereTheOthersAreWorthAdding) {
  const std::vector<std::string> words = worth_in_words(fair_rows({0.5, 2, 1.5}), {});
  ASSERT_EQ(words.size(), 3U);
  EXPECT_EQ(words[1], "With the winner of each point the whole cluster is faster at all 3 points.");
  EXPECT_EQ(words[2],
            "With ddp the whole cluster is faster at 2 of 3 points. The 64 V100 are worth it above 14.1 Gbit/s "
            "(bandwidth); below, 32 A100 alone are faster.");
  EXPECT_EQ(worth_in_words(fair_rows({2, 2, 0.5}), {})[2],
            "With ddp the whole cluster is faster at 2 of 3 points. The 64 V100 are worth it below 28.3 Gbit/s "
            "(bandwidth); above, 32 A100 alone are faster.");
  EXPECT_EQ(worth_in_words(fair_rows({0.1, 0.95, 0.2}), {})[2],
            "With ddp the whole cluster is faster at none of 3 points (at 1 point the interval leaves it open).");
}

TEST(CaveatsText, LateGradientsAreCounted) {
  Caveats caveats;
  caveats.statistics = Statistics::kStaleGradients;
  EXPECT_EQ(in_words(caveats), "with gradients one update late");
  EXPECT_EQ(worst_in_words(caveats), "with gradients one update late");
  caveats.updates_late = 3;
  EXPECT_EQ(in_words(caveats), "with gradients 3 updates late");
  EXPECT_EQ(worst_in_words(caveats), "with gradients up to 3 updates late");
}

TEST(SweepWords, OneGpuIsOne) {
  SweepRows rows = fair_rows({0.5, 2, 1.5});
  for (Row& row : rows.rows) row.alone->others = "1 V100";
  EXPECT_NE(worth_in_words(rows, {})[2].find("The V100 is worth it above"), std::string::npos)
      << worth_in_words(rows, {})[2];
}

TEST(SweepWords, AnAxisThatIsTheirNumberNamesNone) {
  SweepRows rows = fair_rows({0.5, 2, 1.5});
  rows.heading.axes = {{"/cluster/nodes/1/count", {"1", "2", "4"}}};
  for (std::size_t i = 0; i < 3; ++i) rows.rows[i].alone->others = std::to_string(8 << i) + " V100";
  EXPECT_NE(
      worth_in_words(rows, {})[2].find("The others are worth it from count = 2 on; below, 32 A100 alone are faster."),
      std::string::npos)
      << worth_in_words(rows, {})[2];
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
  EXPECT_EQ(counts_in_words(rows, {}).find("does not fit"), std::string::npos);
  rows.rows[1].schedules[0].fit.verdict = FitVerdict::kDoesNotFit;
  EXPECT_NE(counts_in_words(rows, {}).find(" Into memory ddp does not fit at 1 point (-)."), std::string::npos)
      << counts_in_words(rows, {});
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
  EXPECT_NE(words.find("Of all points the cheapest is a, with ddp: all tokens in 1:00:00"), std::string::npos) << words;
  EXPECT_NE(words.find(" The next, b, takes 2 times as much (80 %: 1.67 to 2.4). The dearest takes 3 times as "
                       "much."),
            std::string::npos)
      << words;
  EXPECT_EQ(words.find("samples"), std::string::npos) << words;
  // 1.1 x exp(-0.181) = 0.92 is below 1.
  for (Metrics& figures : rows.rows[1].schedules) figures.cost = 17.6;
  EXPECT_NE(ranking_in_words(rows, {Score::kCost, {}}).find("too near to tell the two apart"), std::string::npos);
  // As cheap to 0.1 %.
  for (Metrics& figures : rows.rows[1].schedules) figures.cost = 16.01;
  EXPECT_NE(ranking_in_words(rows, {Score::kCost, {}}).find("; 1 more comes to the same."), std::string::npos);
}

TEST(SweepWords, PointsThatCannotBeComparedAreNamed) {
  SweepRows rows = priced_rows();
  for (Metrics& figures : rows.rows[2].schedules) figures.samples_per_update = 192;
  EXPECT_NE(ranking_in_words(rows, {Score::kTime, {}}).find("Points ask for updates of 96 to 192 samples"),
            std::string::npos);
  for (Metrics& figures : rows.rows[0].schedules) figures.cost.reset();
  EXPECT_NE(counts_in_words(rows, {Score::kCost, {}}).find("1 point (a) has no price_per_gpu_hour and takes no part."),
            std::string::npos)
      << counts_in_words(rows, {Score::kCost, {}});
  EXPECT_EQ(counts_in_words(rows, {Score::kTime, {}}).find("price"), std::string::npos);
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
  EXPECT_EQ(counts_in_words(rows, {}).find("Into memory"), std::string::npos) << "said once";
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
