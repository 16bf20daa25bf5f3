// Does a sweep of unlike clusters say rightly where the slower part is worth adding?
#include <gtest/gtest.h>

#include <cmath>

#include "models/base/errors.hpp"
#include "sim/sweep/fair.hpp"
#include "sim/sweep/summary.hpp"
#include "sim/sweep/sweep.hpp"
#include "sim/what_if/parts.hpp"
#include "tests/support/fair_rows.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

TEST(SweepWorth, IsCountedUnderEachScheduleAndTheFastest) {
  const SweepRows rows = fair_rows({0.5, 0.95, 1.9});
  const Worth ddp = worth_of(rows, 0, {});
  EXPECT_EQ(ddp.points, 3U);
  EXPECT_EQ(ddp.pays, 1U);
  EXPECT_EQ(ddp.open, 1U) << "0.95 lies between 0.855 and 1.045";
  EXPECT_EQ(ddp.over_alone, 0.95);
  EXPECT_EQ(ddp.over_best_synchronous, 0.475);
  EXPECT_EQ(worth_of(rows, std::nullopt, {}).pays, 3U) << "acco is the fastest everywhere";
}

// The ratio is 0.5 at 10 Gbit/s and 2 at 20, so 1 in the middle of the logarithms: 10 sqrt(2) = 14.14 Gbit/s.
TEST(SweepWorth, ChangesWhereBothAreEquallyFast) {
  const SweepRows rows = fair_rows({0.5, 2, 1.5});
  const std::vector<WorthCourse> courses = worth_courses(rows, 0, {});
  ASSERT_EQ(courses.size(), 1U);
  EXPECT_EQ(courses[0].where.sides, (std::vector<Side>{Side::kSlower, Side::kFaster}));
  EXPECT_NEAR(courses[0].where.bounds.at(0).from.low, 10 * std::sqrt(2), 1e-9);
  EXPECT_TRUE(worth_courses(rows, std::nullopt, {}).empty());
  EXPECT_EQ(courses[0].parts, std::vector<std::string>{"32 A100"});
  EXPECT_EQ(courses[0].others, std::vector<std::string>{"64 V100"});
}

TEST(SweepWorth, FallsToo) {
  const std::vector<WorthCourse> courses = worth_courses(fair_rows({2, 2, 0.5}), 0, {});
  ASSERT_EQ(courses.size(), 1U);
  EXPECT_EQ(courses[0].where.sides, (std::vector<Side>{Side::kFaster, Side::kSlower}));
  EXPECT_NEAR(courses[0].where.bounds.at(0).until.high, 20 * std::sqrt(2), 1e-9);
}

TEST(SweepWorth, OfAlikeGpusNothingIsSaid) {
  SweepRows rows = fair_rows({1, 1, 1});
  for (Row& row : rows.rows) row.alone->part.clear();
  EXPECT_EQ(worth_of(rows, 0, {}).points, 0U);
  EXPECT_TRUE(worth_courses(rows, 0, {}).empty());
  rows.heading.fair = false;
  EXPECT_THROW(check_score(rows.heading, Score::kAlone), BadInput);
  EXPECT_NO_THROW(check_score(rows.heading, Score::kSameBatch));
}

TEST(SweepWorth, APartThatHasNoRoomIsTold) {
  SweepRows rows = fair_rows({1, 1, 1});
  rows.rows[1].alone.reset();
  EXPECT_EQ(only_together(rows), 1U);
}

TEST(Parts, AreKindsAndNodeGroupsThatAreNoKind) {
  Scenario scenario = sample_scenario(2, 4);
  EXPECT_TRUE(uniform_parts(scenario.cluster).empty());
  // Three groups: two of one device, the third of another twice as slow, in which one GPU is of the first.
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  for (std::size_t g = 0; g < 3; ++g) scenario.cluster.nodes[g].name = std::string(1, static_cast<char>('a' + g));
  for (std::size_t gpu = 1; gpu < 4; ++gpu) scenario.cluster.nodes[2].devices[gpu].slowdown = 2;
  const std::vector<Part> parts = uniform_parts(scenario.cluster);
  std::vector<std::string> names;
  for (const Part& part : parts) names.push_back(part.name);
  EXPECT_EQ(names, (std::vector<std::string>{"18 sample GPU", "8 sample GPU of \"a\"", "8 sample GPU of \"b\"",
                                             "6 sample GPU (2 times slower)"}));
  EXPECT_EQ(parts[0].others, "6 sample GPU (2 times slower)");
  EXPECT_EQ(parts[1].others, "other 10 sample GPU and 6 sample GPU (2 times slower)");
  const Scenario slow = part_of(scenario, parts[3].kept);
  ASSERT_EQ(slow.cluster.nodes.size(), 1U);
  EXPECT_EQ(slow.cluster.nodes[0].gpus, 3);
}

/// The rows of a sweep of the shipped mix of H100 and A100 nodes, played here.
std::vector<Row> played(const std::vector<std::string>& axes, PartCache& cache) {
  Sweep sweep{"h100_a100", {}, {"zero1", "acco"}, {}, true};
  for (const std::string& axis : axes)
    sweep.space.parts.push_back({.kind = Space::Kind::kAxis, .axis = parse_axis(axis)});
  const Heading heading = heading_of(sweep, NetworkKind::kReference);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < heading.points; ++i)
    rows.push_back(play_point(sweep, heading, i, NetworkKind::kReference, cache));
  return rows;
}

// The A100s' adapters are nothing to the H100s alone, so two rates of those are one part; the number of A100 nodes is,
// as the H100s then do as many samples as are asked of both.
TEST(SweepFair, APartIsPlayedOnceForAllPointsAtWhichItIsTheSame) {
  PartCache cache;
  const std::vector<Row> rows = played({"/cluster/nodes/1/nics/bandwidth=50,200 Gbit/s"}, cache);
  EXPECT_EQ(cache.size(), 3U) << "the H100 once, the A100 at either rate";
  played({"/cluster/nodes/1/count=1,2"}, cache);
  EXPECT_EQ(cache.size(), 7U) << "both kinds at either number";
  for (const Row& row : rows) {
    ASSERT_TRUE(row.done()) << row.failure;
    ASSERT_TRUE(row.alone);
    EXPECT_EQ(row.alone->samples_per_update, (16 + 32) * 8 * 4) << "as many as are asked of the whole";
    EXPECT_NEAR(*row.schedules[1].over_alone, row.schedules[1].tokens_per_second / row.alone->tokens_per_second, 1e-12);
    EXPECT_LT(row.schedules[1].over_alone_interval->low, *row.schedules[1].over_alone);
  }
  EXPECT_EQ(rows[0].alone->part, rows[1].alone->part);
}

// Without an A100 all GPUs are alike: the whole is its own part.
TEST(SweepFair, AlikeGpusAreTheirOwnPart) {
  PartCache cache;
  const std::vector<Row> rows = played({"/cluster/nodes/1/count=0,1"}, cache);
  ASSERT_TRUE(rows[0].alone);
  EXPECT_EQ(rows[0].alone->part, "");
  EXPECT_EQ(*rows[0].schedules[rows[0].alone->schedule].over_alone, 1);
  EXPECT_EQ(rows[1].alone->part, "16 H100-SXM");
  EXPECT_EQ(rows[1].alone->others, "8 A100-SXM4-80GB");
}

/// Rows of 8 A100 with a ddp that reduces every micro-batch, zero1, zero3 and acco, of which 2 stages can have two.
std::pair<Heading, std::vector<Row>> over_stages(const std::string& stages, const std::vector<std::string>& schedules) {
  Sweep sweep{"finetune_1x8_a100",
              {R"(/schedules=[{"name": "ddp", "sync": "every_micro_batch"}, {"name": "zero1"}, {"name": "zero3"},
                              {"name": "acco"}])",
               "/baseline=ddp", "/published={}", "/training/gradient_accumulation_steps=8"},
              schedules,
              {}};
  sweep.space.parts.push_back(
      {.kind = Space::Kind::kAxis, .axis = parse_axis("/training/parallel/pipeline_parallel_size=" + stages)});
  const Heading heading = heading_of(sweep, NetworkKind::kReference);
  std::vector<Row> rows;
  PartCache cache;
  for (std::size_t i = 0; i < heading.points; ++i)
    rows.push_back(play_point(sweep, heading, i, NetworkKind::kReference, cache));
  return {heading, rows};
}

TEST(SweepLeftOut, ARowKeepsTheSchedulesThatCanBeHad) {
  const auto [heading, rows] = over_stages("1,2", {});
  EXPECT_EQ(heading.schedules,
            (std::vector<std::string>{"ddp", "zero1", "zero3", "acco", "best delayed or local", "best synchronous"}));
  ASSERT_TRUE(rows[0].done() && rows[1].done()) << rows[0].failure << rows[1].failure;
  EXPECT_TRUE(rows[0].left_out.empty());
  EXPECT_TRUE(rows[1].has(1) && rows[1].has(3) && rows[1].has(4) && rows[1].has(5));
  EXPECT_NE(rows[1].left_out[0].find("sync is \"every_micro_batch\""), std::string::npos) << rows[1].left_out[0];
  EXPECT_NE(rows[1].left_out[2].find("gathers the parameters of every micro-batch anew"), std::string::npos);
  EXPECT_TRUE(rows[0].schedules[1].speedup) << "over ddp";
  EXPECT_FALSE(rows[1].schedules[1].speedup) << "ddp, which all speedups are over, is not there";
  EXPECT_GT(rows[1].schedules[1].tokens_per_second, 0);
  EXPECT_FALSE(rows[1].schedules[2].fits());
  // Read back they are the same.
  EXPECT_EQ(line_of(heading, read_row(heading, line_of(heading, rows[1]), "f", 2)), line_of(heading, rows[1]));
}

TEST(SweepLeftOut, TheFirstPointMayLackOnesThatOthersHave) {
  const auto [heading, rows] = over_stages("2,1", {});
  EXPECT_EQ(heading.schedules,
            (std::vector<std::string>{"zero1", "acco", "ddp", "zero3", "best delayed or local", "best synchronous"}));
  ASSERT_TRUE(rows[0].done() && rows[1].done()) << rows[0].failure << rows[1].failure;
  EXPECT_TRUE(!rows[0].has(2) && !rows[0].has(3) && rows[1].left_out.empty());
  EXPECT_EQ(heading.baseline, "ddp") << "as it is written, wherever it can be had";
  EXPECT_EQ(rows[1].schedules[2].speedup, 1);
  EXPECT_FALSE(rows[0].schedules[0].speedup) << "over what this point lacks";
}

TEST(SweepLeftOut, WhereNothingIsLeftThePointFails) {
  const auto [heading, rows] = over_stages("1,2", {"zero3"});
  EXPECT_EQ(heading.schedules, std::vector<std::string>{"zero3"});
  EXPECT_TRUE(rows[0].done());
  EXPECT_EQ(rows[1].failure.find("zero3: zero3 gathers the parameters"), 0U) << rows[1].failure;
}

}  // namespace
}  // namespace accosim
