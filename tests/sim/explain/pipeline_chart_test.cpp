// Is the pipeline's picture of what its stages do: every pass of an update once, under its own number?
#include "sim/explain/pipeline_chart.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "models/base/errors.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

constexpr int kStages = 4, kSteps = 8;

Scenario piped(PipelineSchedule schedule, int chunks) {
  Scenario scenario = sample_scenario(kStages, 1);
  scenario.model = sample_model(2 * kStages * chunks);
  scenario.training.gradient_accumulation_steps = kSteps;
  Parallel& parallel = scenario.training.parallel;
  parallel.pipeline = kStages;
  parallel.chunks = chunks;
  parallel.schedule = schedule;
  return scenario;
}

PipelineChart chart_of(const Scenario& scenario, const ScheduleSpec& spec) {
  return pipeline_chart(spec, play_steady(scenario, spec, kSteps, NetworkKind::kReference));
}

using Key = std::pair<int, int>;  // chunk and micro-batch

TEST(PipelineChart, HasEveryPassOfAnUpdateOnce) {
  for (const int chunks : {1, 2}) {
    const PipelineSchedule schedule =
        chunks == 1 ? PipelineSchedule::kOneForwardOneBackward : PipelineSchedule::kInterleaved;
    const PipelineChart chart = chart_of(piped(schedule, chunks), sample_schedule("zero1"));
    ASSERT_EQ(chart.rows.size(), static_cast<std::size_t>(kStages));
    for (const PipelineRow& row : chart.rows) {
      std::map<Key, PipelinePass> forward, backward;
      for (const PipelinePass& pass : row.passes)
        EXPECT_TRUE((pass.forward ? forward : backward).emplace(Key{pass.chunk, pass.micro_batch}, pass).second);
      EXPECT_EQ(forward.size(), static_cast<std::size_t>(chunks * kSteps)) << row.stage;
      EXPECT_EQ(backward.size(), forward.size());
      for (const auto& [key, pass] : forward) {
        ASSERT_TRUE(backward.contains(key));
        EXPECT_GE(backward[key].begin, pass.end - 1e-9);
        EXPECT_LT(key.first, chunks);
        EXPECT_LT(key.second, kSteps);
      }
    }
    // A micro-batch comes to a stage when the one before has sent it.
    for (int stage = 1; stage < kStages; ++stage)
      EXPECT_GT(chart.rows[stage].passes[0].begin, chart.rows[stage - 1].passes[0].begin);
  }
}

TEST(PipelineChart, AMicroBatchKeepsItsNumberWhereThePipelineIsNotDrained) {
  // When the update of stage r begins, p - 1 - r micro-batches are on their way back to it, so that its first backward
  // pass is of number 0 and its first forward pass of number p - 1 - r.
  ScheduleSpec spec = sample_schedule("acco");
  spec.pipeline_flush = false;
  spec.micro_batches_per_round = kSteps / 2;
  spec.late_communication = LateCommunication::kWait;
  const PipelineChart chart = chart_of(piped(PipelineSchedule::kOneForwardOneBackward, 1), spec);
  for (const PipelineRow& row : chart.rows) {
    std::map<int, double> forward, backward;
    for (const PipelinePass& pass : row.passes)
      (pass.forward ? forward : backward)[pass.micro_batch] = pass.forward ? pass.end : pass.begin;
    EXPECT_EQ(forward.size(), static_cast<std::size_t>(kSteps));
    EXPECT_EQ(forward.begin()->first, kStages - 1 - row.stage);
    EXPECT_EQ(backward.begin()->first, 0);
    EXPECT_EQ(backward.rbegin()->first, kSteps - 1);
    for (const auto& [number, begin] : backward) {
      if (forward.contains(number)) {
        EXPECT_GE(begin, forward[number] - 1e-9);
      }
    }
  }
}

TEST(PipelineChart, OfAWholeModelIsRefused) {
  const Scenario scenario = sample_scenario(2, 1);
  EXPECT_THROW(pipeline_charts(scenario, {0}, Evaluations(NetworkKind::kReference)), BadInput);
}

}  // namespace
}  // namespace accosim
