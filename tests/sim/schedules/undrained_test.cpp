// Delayed schedules on a pipeline that is not drained between their rounds: does a round take what is derived by hand,
// do all micro-batches come home, and what do the parameters of the round before take? In ms.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "sim/evaluation/resident.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/pipelines.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

using test::even;
using test::Pipeline;

/// 1F1B of four stages. A pair of passes takes 3.
constexpr int kStages = 4, kSteps = 16;
constexpr double kF = 1, kB = 2, kPair = kF + kB;

ScheduleSpec schedule(const std::string& name, bool flush, LateCommunication late) {
  ScheduleSpec spec = sample_schedule({.name = name, .late_communication = late, .pipeline_flush = flush});
  if (name == "acco") spec.micro_batches_per_round = kSteps / 2;
  return spec;
}

/// An update's time where copies and messages are free and each step of the optimizer takes `communication`.
double update_ms(const ScheduleSpec& spec, double communication, const Pipeline& of) {
  Costs costs = test::costs_of(of, spec);
  for (RankKind& kind : costs.kinds) {
    kind.device.launch_interval = Seconds{0};
    kind.device.memory_bandwidth = BytesPerSecond{std::numeric_limits<double>::infinity()};
    kind.device.adamw_time_per_parameter = 1 / kind.parameters * test::ms(communication);
  }
  const auto time = [&](int updates) {
    EventGraph graph = build(spec, costs, kSteps, updates);
    test::set_messages(graph, of.message);
    for (Group& group : graph.groups)
      for (std::size_t plan = 0; plan < group.plans.size(); ++plan)
        if (graph.requests[plan].kind != CollectiveKind::kSend) group.plans[plan] = {};
    const auto passes = test::passes_of(graph);
    for (const auto& stage : passes) {
      int under_way = 0;
      for (const test::Done& each : stage)
        if (each.ends) under_way += each.forward ? 1 : -1;
      EXPECT_EQ(under_way, 0);
    }
    return test::time_of(passes);
  };
  // The first updates may differ, and the last flight is drained.
  return time(6) - time(5);
}

double update_ms(const char* name, bool flush, LateCommunication late, double communication) {
  return update_ms(schedule(name, flush, late), communication,
                   even({PipelineSchedule::kOneForwardOneBackward, kStages, 1, kSteps}, kF, kB));
}

constexpr LateCommunication kWait = LateCommunication::kWait, kAccumulate = LateCommunication::kAccumulate;

TEST(Undrained, HasNoBubbleWhereCommunicationIsHidden) {
  // A drained flight of L micro-batches takes (L + p - 1)(F + B), one that is not L (F + B). DPU has one of 16 an
  // update, ACCO two of 8.
  const double communication = 5;
  EXPECT_NEAR(update_ms("dpu", true, kWait, communication), (16 + 3) * kPair, 1e-6);
  EXPECT_NEAR(update_ms("dpu", false, kWait, communication), 16 * kPair, 1e-6);
  EXPECT_NEAR(update_ms("acco", true, kWait, communication), 2 * (8 + 3) * kPair, 1e-6);
  EXPECT_NEAR(update_ms("acco", false, kWait, communication), 2 * 8 * kPair, 1e-6);
  EXPECT_NEAR(update_ms("acco", false, kAccumulate, communication), 2 * 8 * kPair, 1e-6);
}

TEST(Undrained, WantsItsParametersEarlierByTheStagesBehind) {
  // The first stage hands its gradients over after a round's last backward pass, and wants the parameters when p - 1
  // passes of that round are still on their way back: it hides (L - p + 1)(F + B), here 5 x 3 = 15 of ACCO's 8
  // micro-batches. Later stages hand over earlier, and wait less. With 20 a round takes 20 + 3 x 3; drained, where a
  // round has its 11 x 3 = 33 for it, all of 20 is hidden.
  EXPECT_NEAR(update_ms("acco", false, kWait, 15), 2 * 8 * kPair, 1e-6);
  EXPECT_NEAR(update_ms("acco", false, kWait, 20), 2 * (20 + 3 * kPair), 1e-6);
  EXPECT_NEAR(update_ms("acco", true, kWait, 20), 2 * 11 * kPair, 1e-6);
  // Those who accumulate do 7 whole pairs in these 20, and the 3.
  EXPECT_NEAR(update_ms("acco", false, kAccumulate, 20), 2 * (7 + 3) * kPair, 1e-6);
}

TEST(Undrained, AtMostAsLongAsDrainedWhereCommunicationIsHidden) {
  Random random(41);
  for (int trial = 0; trial < cases(30); ++trial) {
    Pipeline of{PipelineSchedule::kOneForwardOneBackward, random.integer(2, 5), 1, kSteps};
    of.overlaps = random.integer(0, 1) == 1;
    of.message = random.uniform(0, 1);
    of = even(of, 1, 2);
    for (int r = 0; r < of.stages; ++r) {
      of.forward[r][0] = random.uniform(0.5, 2);
      of.backward[r][0] = random.uniform(0.5, 4);
    }
    const char* const name = random.integer(0, 1) == 1 ? "acco" : "dpu";
    EXPECT_LE(update_ms(schedule(name, false, kWait), 0.1, of), update_ms(schedule(name, true, kWait), 0.1, of) + 1e-6)
        << name << " " << trial;
  }
}

TEST(Undrained, UpdatesAreWrittenOnWithoutWhatDrainsTheLast) {
  // A play is written on while it goes, from where the updates before end: what drains the pipeline behind the last
  // update that was written must not be begun. The reference
  // network, on which no flows share a link, takes less.
  Scenario scenario = sample_scenario(8, 1);
  scenario.model = sample_model(8, 1024);
  scenario.training.parallel.pipeline = 4;
  constexpr int kMicroBatches = 8;
  for (const char* const name : {"dpu", "wp", "acco"}) {
    ScheduleSpec spec = schedule(name, false, kAccumulate);
    spec.micro_batches_per_round = kMicroBatches / 2;
    const SteadyPlay by_hand = play_steady(scenario, spec, kMicroBatches, NetworkKind::kReference);
    const SteadyPlay simgrid = play_steady(scenario, spec, kMicroBatches, NetworkKind::kSimgrid);
    EXPECT_TRUE(by_hand.measured.periodic && simgrid.measured.periodic) << name;
    const double shared = simgrid.measured.update_time / by_hand.measured.update_time;
    EXPECT_TRUE(shared > 1 && shared < 1.1) << name << " " << shared;
  }
}

TEST(Undrained, StagesWithOthersBehindKeepTheParametersBefore) {
  const Pipeline of = even({PipelineSchedule::kOneForwardOneBackward, kStages, 1, kSteps}, kF, kB);
  const ScheduleSpec open = schedule("acco", false, kWait), drained = schedule("acco", true, kWait);
  for (const RankKind& kind : test::costs_of(of, open).kinds) {
    const MemoryParts parts = memory_of(kind, open, kSteps), before = memory_of(kind, drained, kSteps);
    const bool last = kind.share.stage + 1 == kStages;
    // bf16.
    EXPECT_EQ(parts.part(MemoryUse::kOlderParameters).value, last ? 0 : 2 * kind.parameters) << kind.share.stage;
    EXPECT_EQ(before.part(MemoryUse::kOlderParameters).value, 0);
    EXPECT_EQ((parts.allocated() - before.allocated()).value, last ? 0 : 2 * kind.parameters);
  }
}

}  // namespace
}  // namespace accosim
