// Does the critical path account for every second of an update, and name what a reader would?
#include "sim/evaluation/critical_path.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "models/price/price.hpp"
#include "models/spec/device.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "sim/explain/explanation.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

double sum(const CriticalPath& path) {
  double total = 0;
  for (const PathStep& step : path.steps) total += step.duration.value;
  return total;
}

TEST(CriticalPath, AddsUpToTheUpdateOnRandomClusters) {
  for (int seed = 0; seed < 40; ++seed) {
    Random random(seed);
    Scenario scenario = random_homogeneous(random);
    if (seed % 2 == 1) scenario.cluster.nodes[0].devices.back().slowdown = random.uniform(1, 5);
    for (const ScheduleSpec& spec : scenario.schedules) {
      const SteadyPlay play =
          play_steady(scenario, spec, scenario.training.gradient_accumulation_steps, NetworkKind::kReference);
      const CriticalPath path = critical_path(play);
      EXPECT_NEAR(sum(path) / path.update_time.value, 1, 1e-6) << spec.label << " seed " << seed;
      double causes = 0;
      for (const auto& cause : path.causes) {
        EXPECT_NE(cause.first, "nothing to do") << spec.label << " seed " << seed;
        causes += cause.second.value;
      }
      EXPECT_NEAR(causes / path.update_time.value, 1, 1e-6);
    }
  }
}

TEST(CriticalPath, OfSerialZero1IsItsFourParts) {
  // A t, T_rs, O / N, T_ag; each by its own length.
  const Scenario scenario = sample_scenario(2, 4);
  const ScheduleSpec& zero1 = scenario.schedules[0];
  const SteadyPlay play = play_steady(scenario, zero1, 4, NetworkKind::kReference);
  const CriticalPath path = critical_path(play);
  const ScheduleInput input{zero1, play.costs, play.costs->kinds[0], 4, 1};
  std::map<std::string, double> causes;
  for (const auto& [name, duration] : path.causes) causes[name] = duration.value;
  ASSERT_EQ(causes.size(), 4u);
  EXPECT_NEAR(causes["forward and backward"], 4 * (input.kind.forward + input.kind.backward).value, 1e-9);
  EXPECT_NEAR(causes["optimizer"], shard_optimizer_time(input).value, 1e-9);
  const Costs& costs = play.costs;
  EXPECT_NEAR(causes["reduce-scatter"],
              request_time(costs, {CollectiveKind::kReduceScatter, costs.gradient_bytes()}).value, 1e-9);
  EXPECT_NEAR(causes["all-gather"], request_time(costs, {CollectiveKind::kAllGather, costs.parameter_bytes()}).value,
              1e-9);
}

TEST(CriticalPath, LeadsToTheSlowRank) {
  Scenario scenario = sample_scenario(1, 4);
  scenario.cluster.nodes[0].devices[2].slowdown = 3;
  const CriticalPath path = critical_path(play_steady(scenario, scenario.schedules[0], 4, NetworkKind::kReference));
  for (const PathStep& step : path.steps) {
    const bool computes = step.cls == OpClass::kForward || step.cls == OpClass::kBackward;
    EXPECT_EQ(step.rank, computes ? 2 : step.rank);
  }
}

TEST(OperatorTable, HoldsEveryOperatorOnceWithItsCount) {
  const Scenario scenario = sample_scenario(1, 2);
  const Costs costs = price(scenario, scenario.schedules[0]);
  const OperatorTable table = operator_table(costs.kinds[0]);
  double flops = 0, time = 0, direct = 0;
  for (const OperatorRow& row : table.rows) {
    flops += row.count * row.flops.value;
    time += row.count * (row.forward + row.backward).value;
    EXPECT_EQ(row.count, row.layer == "block" ? 4 : 1) << row.name;
  }
  EXPECT_NEAR(flops / costs.kinds[0].hardware_flops.value, 1, 1e-12);
  for (const Layer& layer : *costs.kinds[0].layers)
    for (const Operator& op : layer.operators)
      for (const auto* kernels : {&op.forward, &op.backward})
        for (const Kernel& kernel : *kernels) direct += step_time(kernel, costs.kinds[0].device, Dtype::kBf16).value;
  EXPECT_NEAR(time / direct, 1, 1e-12);
}

}  // namespace
}  // namespace accosim
