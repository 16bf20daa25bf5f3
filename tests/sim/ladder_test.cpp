// Does each rung of a ladder change one thing, and do the changes multiply to the whole?
#include "sim/answers/ladder.hpp"

#include <gtest/gtest.h>

#include "sim/result/run.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

constexpr NetworkKind kReference = NetworkKind::kReference;

/// DDP as ACCO's released code runs it.
ScheduleSpec released() {
  ScheduleSpec spec = sample_schedule("ddp", "DDP as released");
  spec.sync = Sync::kEveryMicroBatch;
  spec.overlap = Overlap::kBackward;
  spec.buckets = Buckets::kTensors;
  spec.parameter_dtype = spec.gradient_dtype = Dtype::kFp32;
  spec.optimizer_sharding = OptimizerSharding::kZeroRedundancy;
  spec.broadcast_buffers = true;
  return spec;
}

std::vector<std::string> changes_of(const std::vector<Rung>& rungs) {
  std::vector<std::string> changes;
  for (const Rung& rung : rungs) changes.push_back(rung.change);
  return changes;
}

TEST(Ladder, FromDdpAsReleasedToAccoChangesOneThingAtATime) {
  const Scenario scenario = sample_scenario(2, 4);
  const ScheduleSpec acco = sample_schedule("acco");
  const std::vector<Rung> rungs = rungs_between(scenario, released(), acco);
  EXPECT_EQ(changes_of(rungs),
            (std::vector<std::string>{"DDP as released", "no_sync: one reduction an update", "gradients in bf16",
                                      "parameters bf16, states fp32", "no buffers sent and no copies",
                                      "ZeRO-1: optimizer sharded", "ACCO: communication hidden"}));
  EXPECT_EQ(rungs.front().spec, released());
  EXPECT_EQ(rungs[1].spec.sync, Sync::kLastMicroBatch);
  EXPECT_EQ(rungs[1].spec.gradient_dtype, Dtype::kFp32);
  EXPECT_EQ(rungs[2].spec.gradient_dtype, Dtype::kBf16);
  EXPECT_EQ(rungs[4].spec.name, "ddp");
  EXPECT_EQ(rungs[5].spec.name, "zero1");
  EXPECT_EQ(rungs.back().spec, acco);
  EXPECT_EQ(rungs.back().most_same_batch, 1.5);
}

TEST(Ladder, BetweenSchedulesThatDifferInOneThingHasOneStep) {
  const Scenario scenario = sample_scenario(2, 4);
  ScheduleSpec after = sample_schedule("ddp", "after"), beside = sample_schedule("ddp", "beside");
  after.overlap = Overlap::kNone;
  beside.overlap = Overlap::kBackward;
  const std::vector<Rung> rungs = rungs_between(scenario, after, beside);
  ASSERT_EQ(rungs.size(), 2U);
  EXPECT_EQ(rungs[1].change, "buckets beside the backward pass");
  EXPECT_EQ(rungs[1].spec, beside);
  EXPECT_EQ(rungs[1].most_same_batch, 0);
}

TEST(Ladder, BetweenOthersTheLastStepIsAllThatIsLeft) {
  const Scenario scenario = sample_scenario(2, 4);
  for (const char* name : {"zero3", "diloco", "dpu", "zero2"}) {
    const ScheduleSpec to = sample_schedule(name);
    for (const ScheduleSpec& from : {released(), sample_schedule("zero1"), sample_schedule("acco")}) {
      const std::vector<Rung> rungs = rungs_between(scenario, from, to);
      ASSERT_GE(rungs.size(), 2U) << name;
      EXPECT_EQ(rungs.front().spec, from);
      EXPECT_EQ(rungs.back().spec, to);
      for (std::size_t i = 1; i < rungs.size(); ++i) EXPECT_NE(rungs[i].spec, rungs[i - 1].spec) << rungs[i].change;
    }
  }
}

TEST(Ladder, ChangesMultiplyToTheWholeAndAgreeWithAComparison) {
  Scenario scenario = sample_scenario(2, 4, 0.05);
  scenario.schedules = {released(), sample_schedule("zero1"), sample_schedule("acco")};
  for (ScheduleSpec& spec : scenario.schedules) spec.micro_batches_per_round = 2;
  scenario.baseline = "DDP as released";
  const Ladder walked = ladder(scenario, scenario.schedules[0], scenario.schedules[2], kReference);
  double times = 1, times_same_batch = 1;
  for (std::size_t i = 1; i < walked.rungs.size(); ++i) {
    times *= walked.rungs[i].times;
    ASSERT_TRUE(walked.rungs[i].times_same_batch) << walked.rungs[i].change;
    times_same_batch *= *walked.rungs[i].times_same_batch;
  }
  const RunResult acco = compare(scenario, {2}, kReference).front();
  EXPECT_NEAR(times / *acco.speedup, 1, 1e-12);
  EXPECT_NEAR(walked.rungs.back().speedup / *acco.speedup, 1, 1e-12);
  EXPECT_NEAR(times_same_batch / *acco.speedup_same_batch, 1, 1e-12);
  EXPECT_LE(*walked.rungs.back().times_same_batch, 1.5);
  EXPECT_EQ(walked.rungs.back().samples_per_update, acco.samples_per_update);
}

}  // namespace
}  // namespace accosim
