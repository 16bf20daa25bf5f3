// Does each rung of a ladder change one thing, and do the changes multiply to the whole?
#include "sim/what_if/ladder.hpp"

#include <gtest/gtest.h>

#include "models/spec/device.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/training.hpp"
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
  EXPECT_TRUE(is_serial_sharded(rungs[5].spec));
  EXPECT_EQ(rungs.back().spec, acco);
  EXPECT_EQ(rungs.back().most_same_batch, 1.5);
  EXPECT_EQ(rungs.back().most_over, 5U) << "the law is over serial ZeRO-1";
  for (std::size_t i = 0; i + 1 < rungs.size(); ++i) EXPECT_EQ(rungs[i].most_same_batch, 0);
}

TEST(Ladder, GoesByTheBestSynchronousScheduleBeforeItDelays) {
  Scenario scenario = sample_scenario(2, 4);
  const ScheduleSpec serial = sample_schedule("zero1"), dpu = sample_schedule("dpu");
  const std::string hidden = "DPU: communication hidden";
  std::vector<Rung> rungs = rungs_between(scenario, serial, dpu);
  EXPECT_EQ(changes_of(rungs), (std::vector<std::string>{"zero1", hidden}));
  EXPECT_EQ(rungs.back().most_same_batch, 2);
  EXPECT_EQ(rungs.back().most_over, 0U);
  ScheduleSpec best = serial;
  best.label = "best synchronous: zero1, both";
  best.overlap = Overlap::kBackward;
  best.buckets = Buckets::kUnits;
  best.gradient_as_bucket_view = true;
  best.overlap_param_gather = true;
  scenario.best_synchronous = AddedSchedule{scenario.schedules.size(), "zero1, both", "{}", {}};
  scenario.schedules.push_back(best);
  rungs = rungs_between(scenario, serial, dpu);
  // What is left on the way to the best one are its views of the buckets.
  const std::vector<std::string> to_best{"zero1", "buckets beside the backward pass",
                                         "parameters beside the forward pass", best.label, hidden};
  EXPECT_EQ(changes_of(rungs), to_best);
  EXPECT_EQ(rungs[3].spec, best);
  EXPECT_EQ(rungs.back().most_over, 0U) << "the law is over the serial one";
  // From the best one, and between synchronous ones, nothing is added.
  EXPECT_EQ(changes_of(rungs_between(scenario, best, dpu)), (std::vector<std::string>{best.label, hidden}));
  EXPECT_EQ(rungs_between(scenario, serial, sample_schedule("zero3")).size(), 2U);
  scenario.cluster.nodes[0].devices[0].slowdown = 2;  // unlike ranks: no law
  EXPECT_EQ(rungs_between(scenario, serial, dpu).back().most_same_batch, 0);
}

TEST(Ladder, ToZero1OverlappedBothWaysGradientsComeFirst) {
  const Scenario scenario = sample_scenario(2, 4);
  const ScheduleSpec serial = sample_schedule("zero1");
  ScheduleSpec both = serial;
  both.overlap = Overlap::kBackward;
  both.buckets = Buckets::kUnits;
  both.overlap_param_gather = both.align_param_gather = true;
  const std::vector<Rung> rungs = rungs_between(scenario, serial, both);
  EXPECT_EQ(changes_of(rungs), (std::vector<std::string>{"zero1", "buckets beside the backward pass",
                                                         "parameters beside the forward pass"}));
  EXPECT_EQ(rungs.back().spec, both);
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
  const std::vector<RunResult> compared = compare(scenario, {0, 2}, kReference);
  const RunResult& acco = compared[1];
  EXPECT_NEAR(times / *acco.speedup, 1, 1e-12);
  EXPECT_NEAR(walked.rungs.back().speedup / *acco.speedup, 1, 1e-12);
  // compare() has the baseline reduce once an update; the ladder begins with it as it is written.
  EXPECT_NEAR(times_same_batch / (*acco.speedup_same_batch / *compared[0].speedup_same_batch), 1, 1e-12);
  EXPECT_LT(*compared[0].speedup_same_batch, 1);
  const Rung& last = walked.rungs.back();
  EXPECT_LE(*last.speedup_same_batch / *walked.rungs[last.most_over].speedup_same_batch, 1.5);
  EXPECT_TRUE(is_serial_sharded(walked.rungs[last.most_over].spec));
  EXPECT_EQ(walked.rungs.back().samples_per_update, acco.samples_per_update);
}

}  // namespace
}  // namespace accosim
