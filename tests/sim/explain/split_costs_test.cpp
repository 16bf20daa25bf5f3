// Are the bubble, the tail and the communication by dimension those that are derived by hand? In ms.
#include "sim/explain/split_costs.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>

#include "models/spec/schedule_traits.hpp"
#include "sim/evaluation/measure.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/pipelines.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

using test::even;
using test::ms;
using test::Pipeline;

constexpr PipelineSchedule kGpipe = PipelineSchedule::kGpipe, k1F1B = PipelineSchedule::kOneForwardOneBackward,
                           kInterleaved = PipelineSchedule::kInterleaved;
constexpr double kOptimizer = 5;

void add_flight(ProgramBuilder& program, const Pipeline& of, const Body& body) {
  write(program, body, Often{of.micro_batches});
  program.compute(0, "optimizer", OpClass::kOptimizer, ms(kOptimizer));
}

/// Updates of so many flights, each with an optimizer behind it on every stage.
SteadyPlay played(const Pipeline& of, int flights = 1) {
  constexpr int kUpdates = 5;
  SteadyPlay play;
  play.costs = test::costs_of(of);
  const auto write_stage = [&](ProgramBuilder& program, const Body& body, const RankKind&) {
    for (int i = 0; i < kUpdates * flights; ++i) {
      if (i > 0) program.mark(0, i % flights == 0 ? Mark::kUpdate : Mark::kRound);
      add_flight(program, of, body);
    }
  };
  EventGraph& graph = play.folded.graph = test::graph_of(of, play.costs, write_stage);
  test::set_messages(graph, of.message);
  play.folded.class_of.resize(graph.ranks.size());
  std::iota(play.folded.class_of.begin(), play.folded.class_of.end(), 0);
  Recorder recorder(graph, kUpdates, Keep::kLastUpdate);
  accosim::play(graph, NetworkKind::kReference, [&](const Span& span) { recorder.take(span); });
  play.measured = recorder.measured();
  play.spans = recorder.take_spans();
  play.updates = kUpdates;
  return play;
}

double ms_of(Seconds time) { return 1e3 * time.value; }

TEST(SplitCosts, BubbleAndTailOfEqualStages) {
  // A flight takes (m + p - 1)(F + B), of which each stage computes m (F + B); the update has the optimizer on top,
  // which on the first stage runs between its last backward and its next forward pass.
  for (const PipelineSchedule schedule : {kGpipe, k1F1B}) {
    const SplitCosts costs = split_costs(played(even({schedule, 4, 1, 8}, 1, 2))).value();
    EXPECT_NEAR(ms_of(costs.update_time), 11 * 3 + kOptimizer, 1e-9);
    ASSERT_TRUE(costs.pipeline);
    EXPECT_NEAR(ms_of(costs.pipeline->computing), 24, 1e-9);
    EXPECT_NEAR(ms_of(costs.pipeline->bubble), 9, 1e-9);
    EXPECT_NEAR(ms_of(costs.pipeline->closed_form), 3. / 8 * 24, 1e-9);
    ASSERT_EQ(costs.pipeline->stages.size(), 4u);
    for (const StageTime& stage : costs.pipeline->stages) EXPECT_NEAR(ms_of(stage.bubble), 9, 1e-9) << stage.stage;
    EXPECT_NEAR(ms_of(costs.tail), kOptimizer, 1e-9);
    ASSERT_EQ(costs.tail_parts.size(), 1u);
    EXPECT_EQ(costs.tail_parts[0].first, "optimizer");
    EXPECT_NEAR(ms_of(costs.tail_parts[0].second), kOptimizer, 1e-9);
  }
}

TEST(SplitCosts, ChunksDivideTheBubble) {
  // Two chunks of F = 1 and B = 2 on each of 4 stages: (p - 1)(F + B) of a chunk is 9, and a stage computes 8 x 6.
  const SplitCosts costs = split_costs(played(even({kInterleaved, 4, 2, 8}, 1, 2))).value();
  EXPECT_NEAR(ms_of(costs.pipeline->computing), 48, 1e-9);
  EXPECT_NEAR(ms_of(costs.pipeline->bubble), 9, 1e-9);
  EXPECT_NEAR(closed_share(*costs.pipeline), 3. / 16, 1e-12);
  EXPECT_NEAR(ms_of(costs.pipeline->closed_form), 9, 1e-9);
}

TEST(SplitCosts, EachFlightOfAnUpdateHasItsBubbleAndItsTail) {
  // As before, twice an update, as the two rounds of ACCO.
  const SplitCosts costs = split_costs(played(even({k1F1B, 4, 1, 8}, 1, 2), 2)).value();
  EXPECT_EQ(costs.pipeline->flights, 2);
  EXPECT_NEAR(ms_of(costs.update_time), 2 * (11 * 3 + kOptimizer), 1e-9);
  EXPECT_NEAR(ms_of(costs.pipeline->bubble), 2 * 9, 1e-9);
  EXPECT_NEAR(ms_of(costs.pipeline->closed_form), 2 * 9, 1e-9);
  EXPECT_NEAR(ms_of(costs.tail), 2 * kOptimizer, 1e-9);
}

TEST(SplitCosts, UnequalStagesWaitForTheSlowest) {
  // The second of two stages takes 5, the first 3: a flight of 8 is 3 + 8 x 5, of which the first computes 24 and the
  // second 40. By the closed form a stage of their mean would stand still for an eighth of 32.
  Pipeline of = even({k1F1B, 2, 1, 8}, 1, 2);
  of.forward[1][0] = 2;
  of.backward[1][0] = 3;
  const SplitCosts costs = split_costs(played(of)).value();
  ASSERT_TRUE(costs.pipeline);
  ASSERT_EQ(costs.pipeline->stages.size(), 2u);
  EXPECT_NEAR(ms_of(costs.pipeline->stages[0].bubble), 43 - 24, 1e-9);
  EXPECT_NEAR(ms_of(costs.pipeline->stages[1].bubble), 43 - 40, 1e-9);
  EXPECT_NEAR(ms_of(costs.pipeline->bubble), 11, 1e-9);
  EXPECT_NEAR(ms_of(costs.pipeline->closed_form), 4, 1e-9);
}

TEST(SplitCosts, MessagesThatNothingHidesAreBareAndInTheBubble) {
  // One micro-batch over two stages: F, message, F B, message, B. While a message of 0.5 travels no pass is computed;
  // beside the gradients the last stage has its optimizer, so that theirs is bare on the first alone.
  const SplitCosts costs = split_costs(played(even({kGpipe, 2, 1, 1, false, 0.5}, 1, 2))).value();
  EXPECT_NEAR(ms_of(costs.pipeline->bubble), 3 + 2 * 0.5, 1e-9);
  ASSERT_EQ(costs.dimensions.size(), 1u);
  EXPECT_EQ(costs.dimensions[0].name, "pipeline");
  EXPECT_EQ(costs.dimensions[0].ranks, 2);
  EXPECT_NEAR(ms_of(costs.dimensions[0].takes), 1, 1e-9);
  EXPECT_NEAR(ms_of(costs.dimensions[0].bare), (1 + 0.5) / 2, 1e-9);
}

TEST(SplitCosts, MessagesBesideTheComputationAreHidden) {
  // GPipe on two stages, overlapped, F = 1, B = 2 and messages x < 1. The first stage has the passes F_i in [i, i + 1],
  // the second in [i + 1 + x, i + 2 + x]; it has B_k in [m + 1 + x + 2 k, m + 3 + x + 2 k], and the first one 2 + x
  // later. So on the first the message of the last activations and that of the first gradients are bare, and on the
  // second that of the first activations; the last gradients leave beside its optimizer. All else is beside a pass.
  for (int seed = 0; seed < cases(20); ++seed) {
    Random random(seed);
    const int m = random.integer(2, 8);
    const double x = random.uniform(0.1, 0.9);
    const SplitCosts costs = split_costs(played(even({kGpipe, 2, 1, m, true, x}, 1, 2))).value();
    ASSERT_EQ(costs.dimensions.size(), 1u);
    const DimensionTime& messages = costs.dimensions[0];
    EXPECT_NEAR(ms_of(messages.takes), 2 * m * x, 1e-9) << m << ' ' << x;
    EXPECT_NEAR(ms_of(messages.bare), (2 * x + x) / 2, 1e-9) << m << ' ' << x;
    EXPECT_NEAR(ms_of(messages.hidden()), (2 * m - 1.5) * x, 1e-9) << m << ' ' << x;
  }
}

TEST(SplitCosts, OfSplitTensorsAndDataByTheirPrices) {
  // Serial ZeRO-1 on two replicas of two ranks each: A t, then the reduce-scatter, the shard's step and the gather,
  // which together are the tail. The collectives in the layers are part of t.
  Scenario scenario = sample_scenario(2, 2);
  scenario.training.parallel.tensor = 2;
  const ScheduleSpec& zero1 = scenario.schedules[0];
  // The rings of a node's two ranks share its adapter, as the price has it.
  const SteadyPlay play = play_steady(scenario, zero1, 4, NetworkKind::kSimgrid);
  const SplitCosts costs = split_costs(play).value();
  const RankKind& kind = play.costs->kinds[0];
  const ScheduleInput input{zero1, play.costs, kind, 4, 1};
  const double reduce =
      request_time(play.costs, {CollectiveKind::kReduceScatter, play.costs->gradient_bytes(kind)}).value;
  const double gather = request_time(play.costs, {CollectiveKind::kAllGather, play.costs->parameter_bytes(kind)}).value;
  EXPECT_FALSE(costs.pipeline);
  EXPECT_NEAR(costs.tail.value, reduce + gather + shard_optimizer_time(input).value, 1e-9);
  std::map<std::string, double> parts;
  for (const auto& [name, time] : costs.tail_parts) parts[name] = time.value;
  EXPECT_NEAR(parts["reduce-scatter"], reduce, 1e-9);
  EXPECT_NEAR(parts["all-gather"], gather, 1e-9);
  ASSERT_EQ(costs.dimensions.size(), 2u);
  const DimensionTime &tensor = costs.dimensions[0], &data = costs.dimensions[1];
  EXPECT_EQ(tensor.name, "tensor");
  EXPECT_NEAR(tensor.bare.value, 4 * (kind.forward_waits + kind.backward_waits).value, 1e-9);
  EXPECT_GT(tensor.hidden().value, 0) << "all-reduces beside weight gradients";
  EXPECT_EQ(data.name, "data");
  EXPECT_NEAR(data.bare.value, reduce + gather, 1e-9);
  EXPECT_NEAR(data.takes.value, reduce + gather, 1e-9);
}

TEST(SplitCosts, NothingIsSaidOfWholeModels) {
  const Scenario scenario = sample_scenario(2, 2);
  EXPECT_FALSE(split_costs(play_steady(scenario, scenario.schedules[0], 4, NetworkKind::kReference)));
}

}  // namespace
}  // namespace accosim
