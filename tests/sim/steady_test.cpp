// Do the figures follow from the spans? Plays made by hand, where every figure can be counted.
#include "sim/evaluation/steady.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "sim/evaluation/critical_path.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/evaluation/measure.hpp"
#include "sim/evaluation/per_sample.hpp"
#include "sim/explain/explanation.hpp"
#include "sim/graph/builder.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/one_program.hpp"
#include "tests/support/random.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

/// `updates` updates on one rank: micro-batches of `t[update % t.size()]` seconds, then a collective of 2 s that
/// nothing hides, then an optimizer of 1 s.
EventGraph serial(int updates, const std::vector<double>& t, int micro_batches) {
  Tables tables;
  ProgramBuilder program(tables, {"compute", "communication"});
  for (int update = 0; update < updates; ++update) {
    program.begin_loop(0, micro_batches);
    program.compute(0, "forward", OpClass::kForward, Seconds{t[update % t.size()] / 4});
    program.compute(0, "backward", OpClass::kBackward, Seconds{t[update % t.size()] * 3 / 4}, {}, 1);
    program.end_loop(0);
    const OpRef sent = program.collective(1, "sum", {CollectiveKind::kAllReduce, Bytes{100}}, {program.last(0)});
    program.compute(0, "optimizer", OpClass::kOptimizer, Seconds{1}, {sent});
    program.mark(0, Mark::kUpdate);
  }
  EventGraph graph = graph_of_one(tables, program);
  graph.ranks = {{0, {0}, 1}};
  graph.groups = {{{0}, {{Seconds{0.5}, Seconds{1.5}, {}, Bytes{70}}}}};
  return graph;
}

Measured measured(const EventGraph& graph) {
  std::size_t updates = 0;
  for (const std::vector<Op>& lane : graph.programs[0].lanes)
    updates += static_cast<std::size_t>(
        std::ranges::count_if(lane, [&](const Op& op) { return graph.labels[op.label].mark == Mark::kUpdate; }));
  Recorder recorder(graph, updates, Keep::kAll);
  play(graph, NetworkKind::kReference, [&](const Span& span) { recorder.take(span); });
  return recorder.measured();
}

TEST(Measure, ASerialUpdateIsTheSumOfItsParts) {
  // 3 micro-batches of 4 s, 2 s of communication, 1 s of optimizer: 15 s, of which 2 are idle and exposed.
  const Measured result = measured(serial(8, {4}, 3));
  EXPECT_TRUE(result.periodic);
  EXPECT_DOUBLE_EQ(result.update_time.value, 15);
  EXPECT_DOUBLE_EQ(result.ranks[0].micro_batches_per_update, 3);
  EXPECT_DOUBLE_EQ(result.ranks[0].micro_batches_per_round, 3);
  EXPECT_NEAR(result.ranks[0].idle_fraction, 2.0 / 15, 1e-12);
  EXPECT_NEAR(result.ranks[0].exposed_communication.value, 2, 1e-12);
  EXPECT_DOUBLE_EQ(result.ranks[0].sent.value, 70);
}

TEST(Measure, APeriodOfSeveralUpdatesIsAveragedWhole) {
  // Updates of 3 + t, t = 4, 7, 7 in turn: 7, 10, 10 s, so a period of three and a mean of 9.
  const Measured result = measured(serial(32, {4, 7, 7}, 1));
  EXPECT_TRUE(result.periodic);
  EXPECT_EQ(result.last - result.first, 3);
  EXPECT_DOUBLE_EQ(result.update_time.value, 9);
}

TEST(Measure, APeriodMustShowTwiceOver) {
  // 7 updates of 10, 7, 10, 10, 7, 10, 10 s: the pattern 10, 7, 10 stands there only twice.
  EXPECT_FALSE(measured(serial(7, {7, 4, 7, 7, 4, 7, 7}, 1)).periodic);
  // Three times over.
  EXPECT_TRUE(measured(serial(10, {7, 4, 7}, 1)).periodic);
}

TEST(Measure, WhatDoesNotRepeatIsAveragedOverTheLaterHalfAndSaidSo) {
  // Updates of 3 + k seconds, k = 0..7: the later half (k = 4..7) means 8.5.
  const Measured result = measured(serial(8, {0, 1, 2, 3, 4, 5, 6, 7}, 1));
  EXPECT_FALSE(result.periodic);
  EXPECT_EQ(result.first, 3);
  EXPECT_DOUBLE_EQ(result.update_time.value, 3 + 5.5);
}

TEST(Measure, EqualTimesWithUnequalCountsAreNotAPeriod) {
  // Two micro-batches of 2 s or one of 4 s in turn: every update takes 7 s, and only every second one is alike.
  Tables tables;
  ProgramBuilder program(tables, {"compute"});
  for (int update = 0; update < 16; ++update) {
    program.begin_loop(0, update % 2 == 0 ? 2 : 1);
    program.compute(0, "backward", OpClass::kBackward, Seconds{update % 2 == 0 ? 2.0 : 4.0}, {}, 1);
    program.end_loop(0);
    program.mark(0, Mark::kUpdate);
  }
  EventGraph graph = graph_of_one(tables, program);
  graph.ranks = {{0, {}, 1}};
  const Measured result = measured(graph);
  EXPECT_TRUE(result.periodic);
  EXPECT_DOUBLE_EQ(result.ranks[0].micro_batches_per_update, 1.5);
}

TEST(Measure, CommunicationUnderComputationIsNotExposed) {
  // 10 s of computation; a copy lane whose 4 s collective starts with it, and whose second one starts at 8 s: 2 s of
  // its 4 stand out.
  Tables tables;
  ProgramBuilder program(tables, {"compute", "communication"});
  OpRef before{1, -1};
  for (int update = 0; update < 8; ++update) {
    const OpRef gate = program.compute(0, "gate", OpClass::kForward, Seconds{0}, {before});
    const OpRef middle = program.compute(0, "forward", OpClass::kForward, Seconds{8});
    program.compute(0, "backward", OpClass::kBackward, Seconds{2}, {}, 1);
    program.collective(1, "early", {CollectiveKind::kAllReduce, Bytes{1}}, {gate});
    before = program.collective(1, "late", {CollectiveKind::kAllReduce, Bytes{1}}, {middle});
    program.compute(0, "wait", OpClass::kCopy, Seconds{0}, {before});
    program.mark(0, Mark::kUpdate);
  }
  EventGraph graph = graph_of_one(tables, program);
  graph.ranks = {{0, {0}, 1}};
  graph.groups = {{{0}, {{Seconds{0}, Seconds{4}, {}, Bytes{1}}}}};
  const Measured result = measured(graph);
  EXPECT_DOUBLE_EQ(result.update_time.value, 12);
  EXPECT_NEAR(result.ranks[0].exposed_communication.value, 2, 1e-12);
  EXPECT_NEAR(result.ranks[0].idle_fraction, 2.0 / 12, 1e-12);
}

TEST(Measure, TooFewUpdatesAreAnError) {
  EXPECT_THROW(measured(serial(3, {1}, 1)), std::logic_error);
  const EventGraph graph = serial(4, {1}, 1);
  for (const std::size_t asked : {0, 1, 5}) {
    Recorder recorder(graph, asked, Keep::kAll);
    play(graph, NetworkKind::kReference, [&](const Span& span) { recorder.take(span); });
    EXPECT_THROW(recorder.measured(), std::logic_error) << asked;
  }
}

TEST(Measure, OfTwoUpdatesThatEndUnlikeNothingIsKnown) {
  // Of two ranks that never meet the second one falls behind by 1 s an update: 4 s and 5 s, and 8 s and 10 s.
  EventGraph graph = serial(2, {1}, 1);
  graph.programs.push_back(serial(2, {2}, 1).programs.front());
  graph.ranks.push_back({1, {1}, 1});
  graph.groups.push_back(graph.groups.front());
  graph.groups.back().members = {1};
  Recorder recorder(graph, 2, Keep::kNothing);
  play(graph, NetworkKind::kReference, [&](const Span& span) { recorder.take(span); });
  EXPECT_EQ(recorder.complete(), 2U);
  EXPECT_FALSE(recorder.is_periodic());
  EXPECT_THROW(recorder.measured(), std::logic_error);
}

TEST(Measure, BucketsOfAdaptersTakeMoreThanTwoUpdatesToEmpty) {
  // An update sends B bytes, and while it computes a fifth of B comes back into the bucket, which holds 1.5 B at first:
  // B passes at once in the first update, 0.7 B in the second and 0.2 B in all later ones.
  Scenario scenario = sample_scenario(2, 1);
  const ScheduleSpec spec = sample_schedule("ddp");
  const RankKind kind = price(scenario, spec).kinds.front();
  const Bytes sent{2 * static_cast<double>(parameter_count(scenario.model))};
  Nics& nics = scenario.cluster.nodes[0].nics;
  nics.bandwidth = 1 / (5 * 2 * (kind.forward + kind.backward)).value * BytesPerSecond{sent.value};
  nics.burst = 1.5 * sent;
  const auto play = [&](Keep keep) { return play_steady(scenario, spec, 2, NetworkKind::kSimgrid, keep); };
  const SteadyPlay alone = play(Keep::kNothing), whole = play(Keep::kLastUpdate);
  EXPECT_NEAR(alone.measured.update_time / whole.measured.update_time, 1, 1e-9);
  nics.burst = Bytes{0};
  EXPECT_LT(whole.measured.update_time, play(Keep::kNothing).measured.update_time) << "so the bucket binds";
}

// Does the critical path account for every second of an update, and name what a reader would?

double sum(const CriticalPath& path) {
  return sum_of<double>(path.steps, [](const PathStep& step) { return step.duration.value; });
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
  SteadyPlay play{.folded = {.graph = test::graph_of(tables, std::move(programs), ranks)}};
  for (std::size_t r = 0; r < ranks; ++r) play.folded.class_of.push_back(static_cast<int>(r));
  accosim::play(play.folded.graph, NetworkKind::kReference, [&](const Span& span) { play.spans.push_back(span); });
  play.measured.last = 1;
  return critical_path(play);
}

using Part = std::tuple<std::string, int, std::int64_t>;  // name, rank, how often
std::vector<Part> parts_of(const CriticalPath& path) {
  return mapped<Part>(path.steps, [](const PathStep& step) { return Part{step.name, step.rank, step.count}; });
}

TEST(CriticalPath, LeadsToTheRankThatDecidedHowOftenALoopRepeats) {
  // The first rank does three bodies of 3 ms until its communication of 7 ms has ended; the second three of 2 ms, which
  // it ends at 8, and waits until 9 to know that there is no fourth. Then it does 5 ms.
  Tables tables = test::numbered_slots();
  std::vector<Program> programs;
  for (const bool leads : {true, false}) {
    ProgramBuilder program(tables, {"compute", "communication"});
    program.mark(0, Mark::kUpdate);
    program.begin_loop({.lanes = {0},
                        .until = program.compute(1, "communication", OpClass::kCommunication, test::ms(7)),
                        .decided_by = test::kDeciders});
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
  program.begin_loop({.lanes = {0, 1}, .min = 3, .runs_on = true});
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

// Ranks that meet on a shared link at every update stay there for ever in a play, and in no machine: is the play
// without a disturbance the one that a vanishing disturbance comes to?

template <class T>
const T& one_of(Random& random, const std::vector<T>& all) {
  return all[static_cast<std::size_t>(random.integer(0, static_cast<int>(all.size()) - 1))];
}

std::string scenario_of(int count, int gpus, int nics, const std::string& bandwidth, int stages, int micro_batches,
                        const std::string& schedules) {
  return R"({"schema": "accosim.scenario/1", "model": "gpt2-xl", "cluster": {"name": "c", "nodes": [{"count": )" +
         std::to_string(count) + R"(, "gpus": )" + std::to_string(gpus) +
         R"(, "device": "H100-SXM", "intra": {"kind": "nvswitch", "bandwidth": "450 GB/s"}, "nics": {"kind":
      "infiniband", "count": )" +
         std::to_string(nics) + R"(, "bandwidth": ")" + bandwidth +
         R"("}}]}, "training": {"sequence_length": 512, "micro_batch_size": 4, "gradient_accumulation_steps": )" +
         std::to_string(micro_batches) +
         R"(, "train_tokens": 1e9, "framework": "megatron", "activation_recompute": "selective", "parallel":
      {"pipeline_parallel_size": )" +
         std::to_string(stages) + R"(}}, "schedules": [)" + schedules + "]}";
}

Scenario loaded(const std::string& text, const std::vector<std::string>& sets = {}) {
  const Scratch scratch;
  return load_scenario(scratch.write("s.json", text), sets).scenario;
}

const std::string kJitter = R"(/training/compute_jitter={"micro_batch": 1e-5})";

TEST(Lockstep, IsLeftWhereADisturbanceEndsIt) {
  // Eight pipelines of two stages share one adapter of either node: all send at once, each at an eighth of the rate,
  // where one that is a little ahead would send alone while the others compute. Under DDP all meet again in every
  // update.
  const std::string text = scenario_of(2, 8, 1, "100 Gbit/s", 2, 2, R"({"name": "pipesgd"}, {"name": "ddp"})");
  const Scenario still = loaded(text), shaken = loaded(text, {kJitter});
  const auto play = [](const Scenario& scenario, std::size_t schedule, NetworkKind network) {
    return play_steady(scenario, scenario.schedules[schedule], scenario.training.gradient_accumulation_steps, network);
  };
  const SteadyPlay late = play(still, 0, NetworkKind::kSimgrid), synchronous = play(still, 1, NetworkKind::kSimgrid);
  ASSERT_TRUE(late.lockstep);
  EXPECT_GT(*late.lockstep / late.measured.update_time, 1.3);
  EXPECT_NEAR(late.measured.update_time / play(shaken, 0, NetworkKind::kSimgrid).measured.update_time, 1, kMoved);
  EXPECT_FALSE(synchronous.lockstep);
  EXPECT_NEAR(synchronous.measured.update_time / play(shaken, 1, NetworkKind::kSimgrid).measured.update_time, 1,
              kMoved);
  EXPECT_FALSE(play(still, 0, NetworkKind::kReference).lockstep) << "nobody waits for a link there";
  // Both times are in the interval.
  const RunResult result = run_schedule(still, still.schedules[0], NetworkKind::kSimgrid);
  ASSERT_TRUE(result.steady.lockstep);
  EXPECT_LE(*result.steady.lockstep, result.update_time_high);
  EXPECT_LT(result.update_time_low, result.update_time);
}

TEST(Lockstep, AJitterThatGoesToNothingGoesToTheFigureWithoutIt) {
  Random random(49);
  const std::vector<std::string> names = {"ddp", "zero1", "acco", "dpu", "wp", "pipesgd", "diloco", "local_sgd"};
  for (int i = 0; i < cases(30, 8); ++i) {
    const int count = one_of(random, std::vector<int>{2, 4}), gpus = one_of(random, std::vector<int>{2, 4});
    const int stages = i % 2 == 0 ? 2 : 1;
    const std::string text =
        scenario_of(count, gpus, random.integer(1, 2),
                    one_of(random, std::vector<std::string>{"10 Gbit/s", "100 Gbit/s", "400 Gbit/s"}), stages,
                    2 * random.integer(1, 4), R"({"name": ")" + one_of(random, names) + R"("})");
    const Scenario still = loaded(text), shaken = loaded(text, {kJitter});
    const RunResult a = run_schedule(still, still.schedules[0], NetworkKind::kSimgrid),
                    b = run_schedule(shaken, shaken.schedules[0], NetworkKind::kSimgrid);
    EXPECT_NEAR(a.tokens_per_second / b.tokens_per_second, 1, kMoved) << i << " " << text;
  }
}

TEST(Measure, OfASynchronousScheduleIsKnownAfterTwoUpdates) {
  // Its second update begins as all later ones do, in pipelines and where a GPU is slower than the others.
  const std::vector<std::string> schedules = {
      R"({"name": "ddp"})", R"({"name": "zero1"})", R"({"name": "zero1", "overlap": "backward"})",
      R"({"name": "zero1", "overlap": "backward", "overlap_param_gather": true})"};
  Random random(50);
  int pipelines = 0;
  for (int i = 0; i < cases(60); ++i) {
    const int count = one_of(random, std::vector<int>{1, 2, 4}), stages = one_of(random, std::vector<int>{1, 2, 4});
    const std::string text =
        scenario_of(count, 4, random.integer(1, 4),
                    one_of(random, std::vector<std::string>{"2 Gbit/s", "25 Gbit/s", "100 Gbit/s", "400 Gbit/s"}),
                    stages, random.integer(1, 6), one_of(random, schedules));
    Scenario scenario = loaded(text);
    if (random.integer(0, 1) == 1) scenario.cluster.nodes[0].devices.back().slowdown = random.uniform(1, 3);
    pipelines += stages > 1 ? 1 : 0;
    for (const NetworkKind network : {NetworkKind::kReference, NetworkKind::kSimgrid}) {
      const auto play = [&](Keep keep) {
        return play_steady(scenario, scenario.schedules[0], scenario.training.gradient_accumulation_steps, network,
                           keep);
      };
      const SteadyPlay alone = play(Keep::kNothing), whole = play(Keep::kLastUpdate);
      EXPECT_EQ(alone.updates, 2) << i << " " << text;
      EXPECT_TRUE(alone.spans.empty());
      EXPECT_NEAR(alone.measured.update_time / whole.measured.update_time, 1, 1e-9) << i << " " << text;
      EXPECT_EQ(samples_per_update(alone), samples_per_update(whole)) << i << " " << text;
    }
  }
  EXPECT_GT(pipelines, cases(60) / 2);
}

TEST(PerSample, FewMicroBatchesTellWhatManyTakeWhereAllCommunicate) {
  // From the second micro-batch on each adds the same, on whatever binds: unlike GPUs, a slow network, the computation.
  const std::vector<std::string> schedules = {
      R"({"name": "zero2", "label": "one"})",
      R"({"name": "zero3", "label": "one"})",
      R"({"name": "zero3", "label": "one", "prefetch": 2})",
      R"({"name": "zero3", "label": "one", "reshard_after_forward": false})",
      R"({"name": "zero3", "label": "one", "communicators": 2})",
      R"({"name": "zero3", "label": "one", "shard_group": "node", "all_reduce": "last_micro_batch"})",
      R"({"name": "zero3", "label": "one", "shard_group": "node", "sync": "last_micro_batch", "reshard_after_backward": false})",
      R"({"name": "ddp", "label": "one", "sync": "every_micro_batch"})"};
  for (const std::string& schedule : schedules)
    for (const char* const gbit : {"5", "40", "400"}) {
      const Scenario scenario =
          load_scenario("mixed_a100_v100",
                        {"/schedules=[" + schedule + "]", "/baseline=one", "/cluster/nodes/0/micro_batch_size=5",
                         "/cluster/nodes/1/micro_batch_size=2", "/training/gradient_accumulation_steps=16",
                         "/cluster/nodes/*/nics/bandwidth=" + std::string(gbit) + " Gbit/s"})
              .scenario;
      const Evaluations evaluations(NetworkKind::kSimgrid);
      const ScheduleSpec& spec = scenario.schedules.front();
      const Seconds played = evaluations.play(scenario, spec)->measured.update_time;
      const double estimated = estimated_time_per_sample(scenario, spec, evaluations) * samples_asked(scenario);
      EXPECT_NEAR(estimated / played.value, 1, 1e-9) << schedule << " at " << gbit;
    }
}

}  // namespace
}  // namespace accosim
