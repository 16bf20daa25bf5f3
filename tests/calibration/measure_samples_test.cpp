// Is the plan of `accocal measure` within its budget, and do times of ranks become the right samples?
#include "calibration/measure/measure_samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "calibration/base/names.hpp"
#include "tests/support/random.hpp"

namespace accocal {
namespace {

TEST(MeasurePlan, TimesAreTheRings) {
  // 4 ranks, 16 MB at 24 MB/s: 3/4 * 16e6 / 24e6 = 0.5 s, and 3 hops of 150 us; an all-reduce takes two of these.
  EXPECT_NEAR(expected_time(Collective::kReduceScatter, 16'000'000, 4, {24e6}).value, 0.50045, 1e-9);
  EXPECT_NEAR(expected_time(Collective::kAllReduce, 16'000'000, 4, {24e6}).value, 1.0009, 1e-9);
}

TEST(MeasurePlan, StaysInItsBudgetAndUsesIt) {
  Random random(11);
  for (int i = 0; i < 200; ++i) {
    PlanInputs inputs{.ranks = random.integer(2, 16),
                      .payload_rate = BytesPerSecond{random.uniform(1e6, 1e9)},
                      .credit = random.integer(0, 1 << 20),
                      .budget = Seconds{random.uniform(3, 60)},
                      .quick = random.integer(0, 1) == 1};
    const std::vector<Cell> plan = plan_cells(inputs);
    double time = 0;
    for (const Cell& cell : plan) {
      EXPECT_GE(cell.runs, inputs.quick ? 2 : 3);
      const Seconds one = expected_time(cell.what, cell.bytes, inputs.ranks, inputs.payload_rate);
      time += (cell.runs + cell.warm_up) * (one.value + (cell.after_idle ? kPause.value : 0));
    }
    // The smallest sizes are measured whatever they take.
    const bool least = plan.back().bytes == 1024;
    EXPECT_TRUE(least || time <= inputs.budget.value * 1.0001) << time;
    // What is left is less than one more run of each cell, or every cell has as many as are of use.
    const bool most = std::ranges::all_of(plan, [](const Cell& cell) { return cell.runs >= 30; });
    EXPECT_TRUE(most || time >= 0.3 * inputs.budget.value) << time << " of " << inputs.budget.value;
  }
}

TEST(MeasurePlan, SizesAskedForAreMeasuredWhateverTheyTake) {
  PlanInputs inputs{.ranks = 4, .payload_rate = BytesPerSecond{1e6}, .bytes = {64 << 20}};
  const std::vector<Cell> plan = plan_cells(inputs);
  ASSERT_EQ(plan.size(), 8u);
  EXPECT_EQ(plan.back().bytes, 64 << 20);
  EXPECT_EQ(plan.back().runs, 3);
  inputs.ranks = 1;
  EXPECT_TRUE(plan_cells(inputs).empty());
}

TEST(MeasurePlan, AllLinksTakeAFewTenthsOfASecond) {
  // 2 ranks x 36 runs in 0.5 s are 6.9 ms each, above the most: 5 ms at 24 MB/s; 5 ranks 2.7778 ms. 64 ranks: 1 ms, the
  // least, at what loopback is taken to carry, 500 MB/s. A slow network sends whole packets all the same.
  EXPECT_EQ(link_bytes({24e6}, 2), 120'000);
  EXPECT_EQ(link_bytes({24e6}, 5), 66'664);
  EXPECT_EQ(link_bytes({1e12}, 64), 500'000);
  EXPECT_EQ(link_bytes({1e5}, 2), 16'384);
}

TEST(MeasurePlan, TheWarmUpSpendsTheCredit) {
  PlanInputs inputs{.ranks = 4, .payload_rate = BytesPerSecond{24e6}, .credit = 50'000, .bytes = {16'000, 1'000'000}};
  // A run of 16 kB sends 12 kB: 2 * 50 / 12 = 8.3 runs. One of 1 MB sends 750 kB. After an idle time the credit is
  // meant.
  for (const Cell& cell : plan_cells(inputs))
    if (cell.bytes > 8) {
      EXPECT_EQ(cell.warm_up, cell.bytes == 16'000 && !cell.after_idle ? 9 : 1);
    }
}

TEST(MeasureSamples, QuantilesAreInterpolated) {
  // 11 values: the quantile p is at 10 p of the sorted ones.
  const Spread spread = spread_of({10, 0, 20, 30, 40, 50, 60, 70, 80, 90, 100});
  EXPECT_DOUBLE_EQ(spread.median, 50);
  EXPECT_DOUBLE_EQ(spread.p10, 10);
  EXPECT_DOUBLE_EQ(spread.p90, 90);
  EXPECT_EQ(spread.runs, 11);
  EXPECT_DOUBLE_EQ(spread_of({1, 2}).median, 1.5);
  EXPECT_DOUBLE_EQ(spread_of({7}).p90, 7);
  EXPECT_EQ(spread_of({}).runs, 0);
}

TEST(MeasureSamples, ARunLastsUntilItsLastRankHasEnded) {
  // The first pair is the warm-up. Back to back: from 11 to 14 (rank 1 is last), from 14 to 16 (rank 0 is last).
  const std::vector<CellTimes> ranks{{{9, 12, 14.5}, {11, 13, 16}, {0, 0, 1}},
                                     {{9, 12.5, 14}, {10, 14, 15}, {5, 5.25, 5.5}}};
  EXPECT_EQ(run_times(ranks, false), (std::vector<double>{3, 2}));
  // After a pause: from the last begin, 12.5 and 14.5.
  EXPECT_EQ(run_times(ranks, true), (std::vector<double>{1.5, 1.5}));
  // Waits are running sums: 0 and 1 on rank 0, 0.25 and 0.25 on rank 1.
  EXPECT_EQ(waits(ranks), (std::vector<double>{0.25, 1}));
}

TEST(MeasureSamples, TheftIsARatioOfMedians) {
  std::vector<RankTimes> ranks(2);
  ranks[0].theft = {{1, 1}, {1.5, 1.5}, {4}, {5}};
  ranks[1].theft = {{1}, {1.5, 9}, {4}, {5}};
  const Theft theft = theft_of(ranks);
  EXPECT_DOUBLE_EQ(theft.compute_slowdown, 1.5);  // of {1.5, 1.5, 1.5, 9} over {1, 1, 1}
  EXPECT_DOUBLE_EQ(theft.collective_slowdown, 1.25);
}

TEST(MeasureSamples, TimesTravelUnchanged) {
  RankTimes times{.cells = {{{0.1, 1 / 3.0}, {12345.678901234567, 2}, {0, 1e-9}}},
                  .hand_off_start = {1e-6},
                  .hand_off_end = {2e-6},
                  .elements = {{5, {0.5}, {0.25}, {0.0625}, {}}},
                  .micro_batch = {0.125},
                  .shorter = {{4, 8}},
                  .parameters = 7,
                  .tokens = 64,
                  .theft = {{1}, {2}, {3}, {4}},
                  .link = {16},
                  .micro_batch_waited = {32}};
  const std::string text =
      "1 2 0.1 0.3333333333333333 2 12345.678901234567 2 2 0 1e-09 1 1e-06 1 2e-06 1 5 1 0.5 1 0.25 1 0.0625 0 1 "
      "0.125 1 2 4 8 7 64 1 1 1 2 1 3 1 4 1 16 1 32 ";
  EXPECT_EQ(report_of(times), text);
  EXPECT_EQ(report_of(read_report<RankTimes>(text)), text);
}

}  // namespace
}  // namespace accocal
