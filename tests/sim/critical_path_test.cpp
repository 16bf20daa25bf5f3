// Does the critical path account for every second of an update, and name what a reader would?
#include "sim/evaluation/critical_path.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/price/price.hpp"
#include "models/spec/device.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "sim/explain/explanation.hpp"
#include "sim/player/player.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

double sum(const CriticalPath& path) {
  double total = 0;
  for (const PathStep& step : path.steps) total += step.duration.value;
  return total;
}

TEST(CriticalPath, AddsUpToTheUpdateOnRandomClusters) {
  for (int seed = 0; seed < cases(40); ++seed) {
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
              request_time(costs, {CollectiveKind::kReduceScatter, costs.gradient_bytes(costs.kinds[0])}).value, 1e-9);
  EXPECT_NEAR(causes["all-gather"],
              request_time(costs, {CollectiveKind::kAllGather, costs.parameter_bytes(costs.kinds[0])}).value, 1e-9);
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

/// A play of these programs, a rank each, whose measured update is the second.
CriticalPath path_of(const Tables& tables, std::vector<Program> programs) {
  const std::size_t ranks = programs.size();
  SteadyPlay play;
  play.folded.graph = test::graph_of(tables, std::move(programs), ranks);
  for (std::size_t r = 0; r < ranks; ++r) play.folded.class_of.push_back(static_cast<int>(r));
  accosim::play(play.folded.graph, NetworkKind::kReference, [&](const Span& span) { play.spans.push_back(span); });
  play.measured.last = 1;
  return critical_path(play);
}

using Part = std::tuple<std::string, int, std::int64_t>;  // name, rank, how often
std::vector<Part> parts_of(const CriticalPath& path) {
  std::vector<Part> parts;
  for (const PathStep& step : path.steps) parts.emplace_back(step.name, step.rank, step.count);
  return parts;
}

TEST(CriticalPath, LeadsToTheRankThatDecidedHowOftenALoopRepeats) {
  // The first rank does three bodies of 3 ms until its communication of 7 ms has ended; the second three of 2 ms, which
  // it ends at 8, and waits until 9 to know that there is no fourth. Then it does 5 ms.
  Tables tables = test::numbered_slots();
  std::vector<Program> programs;
  for (const bool leads : {true, false}) {
    ProgramBuilder program(tables, {"compute", "communication"});
    program.mark(0, Mark::kUpdate);
    NewLoop loop;
    loop.lanes = {0};
    loop.until = program.compute(1, "communication", OpClass::kCommunication, test::ms(7));
    loop.decided_by = test::kDeciders;
    program.begin_loop(loop);
    program.compute(0, "body", OpClass::kForward, test::ms(leads ? 3 : 2));
    program.end_loop(0);
    program.compute(0, "after", OpClass::kCopy, test::ms(leads ? 1 : 5));
    program.mark(0, Mark::kUpdate);
    programs.push_back(program.take(1));
  }
  const CriticalPath path = path_of(tables, std::move(programs));
  EXPECT_NEAR(path.update_time.value, 14e-3, 1e-12);
  EXPECT_NEAR(sum(path), 14e-3, 1e-12);
  EXPECT_EQ(parts_of(path), (std::vector<Part>{{"body", 0, 3}, {"after", 1, 1}}));
}

TEST(CriticalPath, FollowsAWaitToItsOwnRound) {
  // Lane 1 runs ahead of lane 0, which waits for it in each round: its third round ends with the first of lane 0, but
  // for less than a nanosecond. What the second of lane 0 came after is the first.
  Tables tables = test::numbered_slots();
  ProgramBuilder program(tables, {"zero", "one"});
  program.mark(0, Mark::kUpdate);
  NewLoop loop;
  loop.lanes = {0, 1};
  loop.min = 3;
  loop.runs_on = true;
  program.begin_loop(loop);
  const OpRef first = program.compute(1, "first", OpClass::kForward, test::ms(1 + 0.3e-6));
  program.compute(0, "then", OpClass::kForward, test::ms(2), {first});
  program.end_loop({0, 1});
  program.mark(0, Mark::kUpdate);
  const CriticalPath path = path_of(tables, {program.take(1)});
  EXPECT_NEAR(sum(path), 7e-3, 1e-8);
  EXPECT_EQ(parts_of(path), (std::vector<Part>{{"first", 0, 1}, {"then", 0, 3}}));
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
