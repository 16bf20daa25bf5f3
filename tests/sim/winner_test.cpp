// Who may be called the fastest, and who is named behind it with what caveat?
#include "sim/what_if/winner.hpp"

#include <gtest/gtest.h>

#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/result/run.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

Contender plain(double score) { return {{Statistics::kSynchronous, 1, 1, false}, score}; }
Contender late(double score) { return {{Statistics::kStaleGradients, 1, 1, false}, score}; }
Contender grown(double score, double batch) { return {{Statistics::kSynchronous, batch, 1, false}, score}; }
Contender likely(double score, double fits) { return {{Statistics::kSynchronous, 1, fits, false}, score}; }

using Indices = std::vector<std::size_t>;

TEST(Winner, IsTheFastestWithoutACaveat) {
  const Standing standing = standing_of({plain(1), late(1.5), plain(1.2), grown(1.4, 1.5), likely(1.3, 0.34)}, {});
  EXPECT_EQ(standing.winner, 2U);
  EXPECT_FALSE(standing.nearest.has_value());
  EXPECT_EQ(standing.faster, (Indices{1, 3, 4}));
  EXPECT_DOUBLE_EQ(standing.times[1], 1.25);
  EXPECT_EQ(standing.caveats[1].statistics, Statistics::kStaleGradients);
  EXPECT_EQ(standing.caveats[3].batch_growth, 1.5);
  EXPECT_EQ(standing.caveats[4].fit_probability, 0.34);
  EXPECT_EQ(standing.caveats[3].count(), 1);
}

TEST(Winner, HowLateGradientsAreStaysWithTheCaveat) {
  RunResult result;
  result.statistics = Statistics::kStaleGradients;
  result.updates_late = 3;
  EXPECT_EQ(standing_of({plain(1), contender_of(result, 2)}, {}).caveats[1].updates_late, 3);
  EXPECT_EQ(standing_of({plain(1), late(2)}, {}).caveats[1].updates_late, 1);
  const Scenario scenario = sample_scenario(1, 4);
  const ScheduleSpec spec = sample_schedule({.name = "pipesgd", .delay = 3});
  EXPECT_EQ(run_schedule(scenario, spec, NetworkKind::kReference).updates_late, 3);
}

TEST(Winner, IsHeldToTheRuleThatIsGiven) {
  const std::vector<Contender> all{plain(1), grown(2, 1.2), grown(3, 1.3), likely(4, 0.85)};
  EXPECT_EQ(standing_of(all, {}).winner, 1U) << "1.2 times is allowed";
  EXPECT_EQ(standing_of(all, {.batch_growth = 1.3, .fit_probability = 0.9}).winner, 2U);
  EXPECT_EQ(standing_of(all, {.batch_growth = 1.3, .fit_probability = 0.8}).winner, 3U);
  EXPECT_EQ(standing_of(all, {.batch_growth = 1, .fit_probability = 0.9}).winner, 0U);
}

TEST(Winner, WhereAllHaveACaveatTheNearestHasTheFewestAndMayFit) {
  Contender both = late(9);
  both.batch_growth = 2;
  const Standing standing = standing_of({both, late(2), grown(3, 4), likely(8, 0.05)}, {});
  EXPECT_FALSE(standing.winner.has_value());
  EXPECT_EQ(standing.nearest, 2U) << "one caveat, and faster than the other of one; the last surely does not fit";
  EXPECT_EQ(standing.faster, (Indices{0, 3}));
  EXPECT_FALSE(standing_of({}, {}).best().has_value());
}

TEST(Winner, WithoutAScoreOneTakesNoPart) {
  Contender none;
  const Standing standing = standing_of({none, plain(1)}, {});
  EXPECT_EQ(standing.winner, 1U);
  EXPECT_EQ(standing.times[0], 0);
}

TEST(Winner, HardlyFasterIsNotNamed) {
  EXPECT_TRUE(standing_of({plain(1), late(1.004)}, {}).faster.empty());
  EXPECT_EQ(standing_of({plain(1), late(1.006)}, {}).faster, (Indices{1}));
}

// On random contenders: the winner has no caveat, nobody without one is faster, and all that are faster have one.
TEST(Winner, NobodyWithoutACaveatIsFaster) {
  Random random(11);
  for (int i = 0; i < 500; ++i) {
    std::vector<Contender> all;
    for (int k = 0; k < 6; ++k)
      all.push_back({{random.uniform(0, 1) < 0.5 ? Statistics::kSynchronous : Statistics::kReplicasDrift,
                      random.uniform(1, 1.5), random.uniform(0.7, 1), false},
                     random.uniform(0.1, 3)});
    const Standing standing = standing_of(all, {});
    ASSERT_TRUE(standing.best().has_value());
    for (std::size_t k = 0; k < all.size(); ++k) {
      const bool clean =
          all[k].statistics == Statistics::kSynchronous && all[k].batch_growth <= 1.2 && all[k].fit_probability >= 0.9;
      EXPECT_EQ(standing.caveats[k].none(), clean);
      if (clean) {
        ASSERT_TRUE(standing.winner.has_value());
        EXPECT_LE(*all[k].score, *all[*standing.winner].score);
      }
    }
    for (const std::size_t k : standing.faster) EXPECT_FALSE(standing.caveats[k].none() && standing.winner.has_value());
  }
}

RunResult result_of(const std::string& label, double speedup, double same_batch, double batch) {
  RunResult result;
  result.schedule = result.label = label;
  result.speedup = speedup;
  result.speedup_same_batch = same_batch;
  result.batch_inflation = batch;
  return result;
}

// 17.6 times as many tokens a second at 33 times the batch are 0.53 times to the loss.
TEST(Winner, CurvesThatHoldDecideAndChargeForTheirCaveats) {
  std::vector<RunResult> results{result_of("ddp", 1, 1, 1), result_of("acco", 17.6, 1.4, 33)};
  results[0].to_loss = TimeToLoss{true, true, 1, 1, 1, 1};
  results[1].to_loss = TimeToLoss{true, false, 33, 0.53, 0.5, 0.6};
  Standing standing = standing_of(contenders_of(results, "ddp"), {});
  EXPECT_EQ(standing.winner, 0U);
  EXPECT_EQ(standing.faster, (Indices{1})) << "elsewhere the curves decide nothing";
  EXPECT_DOUBLE_EQ(standing.times[1], 1.4);
  results[1].to_loss->holds = true;
  standing = standing_of(contenders_of(results, "ddp"), {});
  EXPECT_EQ(standing.winner, 0U);
  EXPECT_TRUE(standing.faster.empty());
  EXPECT_DOUBLE_EQ(standing.times[1], 0.53);
  results[1].to_loss->speedup = 1.3;
  EXPECT_EQ(standing_of(contenders_of(results, "ddp"), {}).winner, 1U) << "at a growth that they charge for";
  results[1].to_loss->reached = false;
  standing = standing_of(contenders_of(results, "ddp"), {});
  EXPECT_EQ(standing.winner, 0U) << "a bound never wins";
  EXPECT_TRUE(standing.caveats[1].loss_unreached);
}

// Over a baseline that reduces after every micro-batch: its own speedup at the same batch, at which it reduces once, is
// below 1, and a speedup to the loss, which is over the baseline as it is written, is brought to the same measure.
TEST(Winner, SpeedupsToTheLossAndAtTheSameBatchAreOfOneMeasure) {
  std::vector<RunResult> results{result_of("ddp", 1, 0.5, 1), result_of("acco", 3, 1.2, 1.5)};
  results[1].to_loss = TimeToLoss{true, true, 1.5, 2, 1.9, 2.1};
  const Standing standing = standing_of(contenders_of(results, "ddp"), {});
  EXPECT_EQ(standing.winner, 1U);
  EXPECT_DOUBLE_EQ(1 / standing.times[0], 2) << "0.5 x 2 over 0.5";
}

TEST(Winner, WithoutASpeedupAtTheSameBatchAllAreRankedPerToken) {
  std::vector<RunResult> results{result_of("acco", 1, 1, 1), result_of("ddp", 0.9, 2, 1)};
  results[1].speedup_same_batch.reset();
  EXPECT_EQ(standing_of(contenders_of(results, "acco"), {}).winner, 0U);
}

/// The shipped scenario without interference, where closed forms are exact.
Scenario closed() { return load_scenario("finetune_2x4_a100", {"/training/interference=false"}).scenario; }

// The baseline reduces after each of 4 micro-batches. At the same batch it reduces once: with A micro-batches
// (A - 1) t + S + O + broadcasts, its closed form; ACCO's update has 6 micro-batches a GPU, that of ZeRO-1 has 4.
TEST(SameBatch, TheBaselineReducesOnceAnUpdate) {
  const Scenario scenario = closed();
  const std::vector<RunResult> results = compare(scenario, {0, 1, 3}, NetworkKind::kReference);
  const ScheduleSpec& written = *schedule_labelled(scenario, "DDP as released");
  ASSERT_EQ(written.sync, Sync::kEveryMicroBatch);
  const ScheduleSpec spec = accumulating(written);
  EXPECT_EQ(spec.sync, Sync::kLastMicroBatch);
  const Costs costs = price(scenario, spec);
  const auto time = [&](int steps) { return closed_form({spec, costs, costs.kinds.front(), steps, 1}); };
  EXPECT_NEAR(*results[0].speedup_same_batch, time(4) / results[0].update_time, 1e-6);
  EXPECT_LT(*results[0].speedup_same_batch, 0.9) << "as it is written it is slower than itself reducing once";
  EXPECT_NEAR(*results[1].speedup_same_batch, time(4) / results[1].update_time, 1e-6);
  ASSERT_EQ(results[2].samples_per_update, 6 * 4 * 8);
  EXPECT_NEAR(*results[2].speedup_same_batch, time(6) / results[2].update_time, 1e-6);
}

// A factor behind "at 1.5 times the batch" is over the winner at that batch, not over what the winner did at its own:
// ZeRO-1 with 6 micro-batches over ACCO, both of closed forms.
TEST(SameBatch, WhatIsFasterAtALargerBatchIsHeldAgainstTheWinnerThere) {
  const Scenario scenario = closed();
  const std::vector<RunResult> results = compare(scenario, {0, 1, 3}, NetworkKind::kReference);
  const Standing standing = standing_of(scenario, results, {}, NetworkKind::kReference);
  ASSERT_EQ(standing.winner, 1U);
  const ScheduleSpec& zero1 = *schedule_labelled(scenario, "zero1");
  const Costs costs = price(scenario, zero1);
  const Seconds at_six = closed_form({zero1, costs, costs.kinds.front(), 6, 1});
  EXPECT_NEAR(standing.times[2], at_six / results[2].update_time, 1e-6);
}

// Also where the winner itself is written to reduce after every micro-batch: at 6 micro-batches it reduces once.
TEST(SameBatch, AWinnerThatReducesEveryMicroBatchAccumulatesThereToo) {
  const Scenario scenario = closed();
  const std::vector<RunResult> results = compare(scenario, {0, 3}, NetworkKind::kReference);
  const Standing standing = standing_of(scenario, results, {}, NetworkKind::kReference);
  ASSERT_EQ(standing.winner, 0U);
  const ScheduleSpec spec = accumulating(*schedule_labelled(scenario, "DDP as released"));
  const Costs costs = price(scenario, spec);
  const Seconds at_six = closed_form({spec, costs, costs.kinds.front(), 6, 1});
  EXPECT_NEAR(standing.times[1], at_six / results[1].update_time, 1e-6);
}

// A sharded gradient is reduced in every micro-batch for its memory: that stays.
TEST(SameBatch, ShardedGradientsStayReduced) {
  ScheduleSpec zero3{.name = "zero3", .sync = Sync::kEveryMicroBatch};
  EXPECT_EQ(accumulating(zero3), zero3);
}

}  // namespace
}  // namespace accosim
