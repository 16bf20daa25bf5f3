// Are all collectives of an update there, with what they cost?
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/base/errors.hpp"
#include "models/spec/fabrics.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/evaluation/measure.hpp"
#include "sim/explain/explained_collectives.hpp"
#include "sim/explain/pipeline_chart.hpp"
#include "sim/explain/split_costs.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/pipelines.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

double sum(const CollectiveRow& row) {
  return sum_of<double>(row.terms, [](const auto& term) { return term.second.value; });
}

TEST(ExplainedCollectives, AreThoseOfTheScheduleWithTheirTerms) {
  Scenario scenario = sample_scenario(2, 4);
  for (NodeGroup& group : scenario.cluster.nodes) {
    group.intra = usual_intra("nvswitch", "ampere");
    group.intra.bandwidth = BytesPerSecond{300e9};
    const Nics nics = usual_nics("infiniband");
    group.nics.kind = nics.kind;
    group.nics.latency = nics.latency;
    group.nics.message = nics.message;
  }
  for (const ScheduleSpec& spec : scenario.schedules) {
    const SteadyPlay play = play_steady(scenario, spec, 4, NetworkKind::kReference);
    const std::vector<CollectiveRow> rows = collectives_of_update(play);
    ASSERT_FALSE(rows.empty()) << spec.label;
    for (const CollectiveRow& row : rows) {
      EXPECT_GT(row.count, 0) << spec.label;
      EXPECT_EQ(row.ranks, 8) << spec.label;
      EXPECT_EQ(row.nodes, 2) << spec.label;
      EXPECT_GT(row.message.value, 0) << spec.label;
      EXPECT_NEAR(sum(row), row.alone.value, 1e-9 * row.alone.value) << spec.label << " " << row.name;
    }
  }
}

TEST(ExplainedCollectives, OfSerialZero1AreAScatterAndAGather) {
  const Scenario scenario = sample_scenario(2, 4);
  const std::vector<CollectiveRow> rows =
      collectives_of_update(play_steady(scenario, scenario.schedules[0], 4, NetworkKind::kReference));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].count, 1);
  EXPECT_EQ(rows[1].count, 1);
}

TEST(ExplainedCollectives, GrowWithTheNodes) {
  Cluster cluster;
  NodeGroup group = sample_nodes(1, 8);
  group.intra = usual_intra("nvswitch", "ampere");
  group.intra.bandwidth = BytesPerSecond{300e9};
  group.intra.nvls = {};
  group.nics = usual_nics("infiniband");
  group.nics.count = 8;
  group.nics.bandwidth = BytesPerSecond{25e9};
  cluster.nodes = {group};
  const std::vector<CollectiveRow> rows = growth_of(cluster);
  ASSERT_EQ(rows.size(), 2u * 4 * 10);  // two collectives, four sizes, 2 to 1,024 nodes
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_NEAR(sum(rows[i]), rows[i].alone.value, 1e-9 * rows[i].alone.value);
    if (rows[i].nodes == 2) continue;
    EXPECT_EQ(rows[i].nodes, 2 * rows[i - 1].nodes);
    // More nodes take longer, but for a change of the way, which NCCL may make too early or too late.
    EXPECT_GT(rows[i].alone.value, 0.5 * rows[i - 1].alone.value) << rows[i].name << " " << rows[i].nodes;
  }
}

CollectiveRow timed(const std::string& name, int nodes, double bytes, double seconds) {
  return CollectiveRow{.name = name, .nodes = nodes, .bytes = Bytes{bytes}, .alone = Seconds{seconds}};
}

TEST(ExplainedCollectives, WhatTakesLongerThanALargerMessageIsFound) {
  const std::vector<CollectiveRow> rows = {
      timed("a", 2, 1, 3),  // longer than 10 B, which are nearer than 100 B
      timed("a", 4, 1, 9),  // the only one of so many nodes
      timed("a", 2, 10, 2), timed("a", 2, 100, 2), timed("b", 2, 1000, 1),  // another collective
  };
  const std::vector<std::optional<std::size_t>> faster = faster_though_larger(rows);
  ASSERT_EQ(faster.size(), rows.size());
  EXPECT_EQ(faster[0], 2u);
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_EQ(faster[i], std::nullopt) << i;
}

// Is the pipeline's picture of what its stages do: every pass of an update once, under its own number?

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

// Are the bubble, the tail and the communication by dimension those that are derived by hand? In ms.

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
  SteadyPlay play{.costs = test::costs_of(of)};
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
