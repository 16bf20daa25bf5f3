// Are equal updates between two meetings of replicas, which are counted instead of played, worth what they would be if
// they were played? And is everything played that does not become equal?
#include "sim/graph/counted.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/evaluation/critical_path.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/explain/breakdown.hpp"
#include "sim/explain/explained_collectives.hpp"
#include "sim/player/fold.hpp"
#include "sim/player/player.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/one_program.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/thrown.hpp"

namespace accosim {
namespace {

constexpr NetworkKind kNetworks[] = {NetworkKind::kReference, NetworkKind::kSimgrid};
constexpr int kPhases = 4;

EventGraph without_counting(EventGraph graph) {
  for (Program& program : graph.programs)
    for (Loop& loop : program.loops) loop.counted = -1;
  return graph;
}

/// Some phases, folded, with or without counting.
SteadyPlay played(const Scenario& scenario, const ScheduleSpec& spec, NetworkKind network, bool counting) {
  SteadyPlay play{.accumulation_steps = scenario.training.gradient_accumulation_steps,
                  .costs = price(scenario, spec),
                  .updates = kPhases};
  EventGraph graph = build(spec, play.costs, play.accumulation_steps, kPhases);
  play.folded = fold(counting ? std::move(graph) : without_counting(std::move(graph)));
  Recorder recorder(play.folded.graph, kPhases, Keep::kAll);
  accosim::play(play.folded.graph, network, [&](const Span& span) { recorder.take(span); });
  play.measured = recorder.measured();
  play.spans = recorder.take_spans();
  return play;
}

double times_counted(const SteadyPlay& play) {
  double times = 0;
  for (const Span& span : play.spans)
    if (is_counted(play.folded.graph, span)) times += static_cast<double>(span.repeat);
  return times;
}

ScheduleSpec random_local(Random& random) {
  // Of these the last four exchange while the next updates go on.
  constexpr const char* kNamed[] = {"diloco", "local_sgd",         "eager_diloco",
                                    "co2",    "overlap_local_sgd", "streaming_diloco"};
  ScheduleSpec spec = sample_schedule(kNamed[random.integer(0, 5)]);
  spec.island = random.integer(0, 1) == 1 ? Island::kNode : Island::kGroup;
  spec.inner = random.integer(0, 1) == 1 ? "ddp" : "zero3";
  spec.inner_updates = random.integer(15, 40);
  spec.overlap = random.integer(0, 1) == 1 ? Overlap::kBackward : Overlap::kNone;
  spec.buckets = static_cast<Buckets>(random.integer(0, 2));
  spec.sync = random.integer(0, 1) == 1 ? Sync::kEveryMicroBatch : Sync::kLastMicroBatch;
  spec.communicators = random.integer(1, 2);
  spec.prefetch = random.integer(0, 2);
  const bool takes_way = traits_of(spec).takes("meeting");
  if (takes_way && spec.inner == "ddp" && random.integer(0, 1) == 1) spec.meeting = Meeting::kHierarchical;
  return spec;
}

/// Two or three groups of one shape, apart, under a core that they share, or neither; GPUs of one or of many speeds.
Scenario random_groups(Random& random) {
  Scenario scenario = sample_scenario(random.integer(1, 2), random.integer(2, 4));
  scenario.training.interference = random.integer(0, 1) == 1;
  scenario.training.gradient_accumulation_steps = random.integer(1, 3);
  scenario.model = sample_model(random.integer(1, 3), 256);
  NodeGroup& first = scenario.cluster.nodes[0];
  first.nics.count = random.integer(1, 2);
  first.nics.bandwidth = BytesPerSecond{std::pow(10, random.uniform(8.5, 11))};
  first.devices.assign(static_cast<std::size_t>(first.gpus), first.devices.front());
  const NodeGroup one = first;
  for (int more = random.integer(1, 2); more > 0; --more) scenario.cluster.nodes.push_back(one);
  const int fabric = random.integer(0, 2);
  if (fabric == 0)
    scenario.cluster.fabric.between_groups =
        BetweenGroups{BytesPerSecond{std::pow(10, random.uniform(8, 10))}, Seconds{random.uniform(0, 0.05)}};
  if (fabric == 1) scenario.cluster.fabric.oversubscription = 3;
  if (random.integer(0, 1) == 1)
    for (NodeGroup& group : scenario.cluster.nodes)
      for (Device& device : group.devices) device.slowdown = random.uniform(1, 1.5);
  return scenario;
}

void expect_close(double a, double b, double scale, const std::string& what) {
  EXPECT_NEAR(a, b, 1e-9 * std::max(std::abs(scale), std::abs(b))) << what;
}

std::map<std::string, double> sums_of(const std::vector<PathStep>& steps) {
  std::map<std::string, double> sums;
  for (const PathStep& step : steps) {
    sums[step.name] += step.duration.value;
    sums["number of " + step.name] += static_cast<double>(step.count);
  }
  return sums;
}

void expect_the_same(const SteadyPlay& counted, const SteadyPlay& all, const std::string& what) {
  const Measured &a = counted.measured, &b = all.measured;
  EXPECT_EQ(a.periodic, b.periodic) << what;
  const double update = b.update_time.value;
  expect_close(a.update_time.value, update, update, what + " update");
  expect_close(a.end.value, b.end.value, b.end.value, what + " end");
  ASSERT_EQ(a.ranks.size(), b.ranks.size()) << what;
  for (std::size_t r = 0; r < a.ranks.size(); ++r) {
    expect_close(a.ranks[r].idle_fraction, b.ranks[r].idle_fraction, 1, what + " idle");
    expect_close(a.ranks[r].exposed_communication.value, b.ranks[r].exposed_communication.value, update,
                 what + " exposed");
    expect_close(a.ranks[r].sent.value, b.ranks[r].sent.value, 0, what + " sent");
    EXPECT_EQ(a.ranks[r].micro_batches_per_update, b.ranks[r].micro_batches_per_update) << what;
    EXPECT_EQ(a.ranks[r].micro_batches_per_round_max, b.ranks[r].micro_batches_per_round_max) << what;
    EXPECT_EQ(a.ranks[r].last_micro_batch, b.ranks[r].last_micro_batch) << what;
  }
  const UpdateBreakdown parts = breakdown_of(counted, {}), whole = breakdown_of(all, {});
  for (std::size_t use = 0; use < parts.parts.size(); ++use)
    expect_close(parts.parts[use].value, whole.parts[use].value, update, what + " part");
  const std::vector<CollectiveRow> rows = collectives_of_update(counted), all_rows = collectives_of_update(all);
  ASSERT_EQ(rows.size(), all_rows.size()) << what;
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].count, all_rows[i].count) << what;
}

TEST(Counted, UpdatesAreWorthWhatTheyAreIfPlayed) {
  int any = 0, ranks = 0;
  for (int seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Scenario scenario = random_groups(random);
    const ScheduleSpec spec = random_local(random);
    const std::string what = std::string("seed ") + std::to_string(seed) + " " + spec.name + " " +
                             name_of(island_of(spec)) + " " + spec.inner;
    const SteadyPlay all = played(scenario, spec, kNetworks[seed % 2], false);
    const SteadyPlay counted = played(scenario, spec, kNetworks[seed % 2], true);
    EXPECT_EQ(times_counted(all), 0);
    any += times_counted(counted) > 0 ? 1 : 0;
    ranks = std::max(ranks, static_cast<int>(counted.measured.ranks.size()));
    expect_the_same(counted, all, what);
  }
  EXPECT_GT(any, 40) << "the law is only tested where updates are counted";
  EXPECT_GT(ranks, 4) << "and on ranks that differ";
}

TEST(Counted, TheCriticalPathGoesThroughAllOfThem) {
  for (int seed = 100; seed < 120; ++seed) {
    Random random(seed);
    const Scenario scenario = random_groups(random);
    const ScheduleSpec spec = random_local(random);
    const SteadyPlay counted = played(scenario, spec, kNetworks[seed % 2], true);
    const CriticalPath path = critical_path(counted);
    const CriticalPath all = critical_path(played(scenario, spec, kNetworks[seed % 2], false));
    expect_close(path.update_time.value, all.update_time.value, 0, "update");
    const double sum = sum_of<double>(path.steps, [](const PathStep& step) { return step.duration.value; });
    EXPECT_NEAR(sum / path.update_time.value, 1, 1e-6) << seed;
    // Of several ways of equal length either may be taken, so what they go through need not be the same; its kinds are.
    std::map<std::string, double> sums = sums_of(path.steps);
    for (const auto& [name, duration] : sums_of(all.steps)) {
      if (name.rfind("number", 0) == 0 || duration < 0.01 * all.update_time.value) continue;
      EXPECT_NEAR(sums[name] / duration, 1, 0.3) << name << " " << seed;
    }
  }
}

/// Two equal node groups.
Scenario two_groups(int nodes, int gpus) {
  Scenario scenario = sample_scenario(nodes, gpus);
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  return scenario;
}

/// Of DDP in each node group, between two meetings.
ScheduleSpec thirty_updates(const char* name) {
  return sample_schedule({.name = name, .island = Island::kGroup, .inner_updates = 30, .inner = "ddp"});
}

TEST(Counted, AMillionUpdatesCostWhatTwentyDo) {
  const Scenario scenario = two_groups(1, 4);
  ScheduleSpec spec = sample_schedule({.name = "diloco", .island = Island::kGroup});
  for (const std::string inner : {"ddp", "zero3"}) {
    spec.inner = inner;
    spec.inner_updates = 20;
    const SteadyPlay few = played(scenario, spec, NetworkKind::kSimgrid, true);
    spec.inner_updates = 1'000'000;
    const SteadyPlay many = played(scenario, spec, NetworkKind::kSimgrid, true);
    EXPECT_EQ(few.spans.size(), many.spans.size());
    // H U + M for a phase: 20 U + M and 1e6 U + M give U and M.
    const double twenty = 20 * few.measured.update_time.value, million = 1e6 * many.measured.update_time.value;
    const ScheduleInput input{spec, many.costs, many.costs->kinds[0], 4, 1};
    const double U = (million - twenty) / (1e6 - 20);
    const Seconds expected = inner == "ddp" ? ddp_closed_form(input) : zero3_closed_form(input);
    EXPECT_NEAR(U / expected.value, 1, 1e-9) << inner;
    EXPECT_EQ(many.measured.ranks[0].micro_batches_per_update, 4);
  }
}

// Updates of a replica that is a pipeline are counted too, and beside an exchange once that is over.
TEST(Counted, InAPipelineUpdatesCostWhatAFewDo) {
  Scenario scenario = sample_scenario(2, 4);
  scenario.training.parallel.pipeline = 2;
  for (const char* const name : {"diloco", "local_sgd", "slowmo", "overlap_local_sgd", "co2", "eager_diloco"}) {
    ScheduleSpec spec = sample_schedule({.name = name, .inner_updates = 60});
    for (const NetworkKind network : kNetworks) {
      const SteadyPlay counted = played(scenario, spec, network, true), all = played(scenario, spec, network, false);
      EXPECT_GT(times_counted(counted), 0) << name;
      expect_the_same(counted, all, name);
    }
    spec.inner_updates = 100'000;
    const SteadyPlay many = played(scenario, spec, NetworkKind::kReference, true);
    EXPECT_LT(many.spans.size(), 100'000U) << name << ": " << many.spans.size() << " of millions";
  }
}

TEST(Counted, ASpanSaysHowManyAndHowLong) {
  // Of 30 updates some are played, the rest stands in one span, which ends where the next update begins.
  const Scenario scenario = two_groups(1, 2);
  const ScheduleSpec spec = thirty_updates("local_sgd");
  const EventGraph graph = build(spec, price(scenario, spec), 2, 1);
  std::vector<Span> counted;
  std::vector<double> begins, ends;
  play(graph, NetworkKind::kReference, [&](const Span& span) {
    if (span.rank != 0) return;
    const Label& label = graph.labels[span.label];
    if (label.cls == OpClass::kCounted) counted.push_back(span);
    if (label.name == "optimizer") ends.push_back(span.end.value);
    if (label.name == "forward") begins.push_back(span.begin.value);
  });
  ASSERT_EQ(counted.size(), 1u);
  const Span& span = counted[0];
  EXPECT_EQ(graph.labels[span.label].name, "inner update like the one before");
  EXPECT_EQ(static_cast<std::size_t>(span.repeat) + ends.size(), 30u);
  EXPECT_GE(ends.size(), static_cast<std::size_t>(kPlayedAfter) + 3);
  const std::size_t before = ends.size() - kPlayedAfter - 1;
  EXPECT_NEAR(span.begin.value, ends[before], 1e-12);
  EXPECT_NEAR(span.period.value, ends[before] - ends[before - 1], 1e-12);
  const double until = span.begin.value + static_cast<double>(span.repeat) * span.period.value;
  EXPECT_NEAR(ends[before + 1] - until, span.period.value, 1e-12);
  for (const double begin : begins) EXPECT_FALSE(begin > span.begin.value + 1e-12 && begin < until - 1e-12) << begin;
}

TEST(Counted, NothingIsWhereMicroBatchesAreDrawnOrTokensAreSpent) {
  const Scenario scenario = two_groups(2, 2);
  const ScheduleSpec spec = thirty_updates("diloco");
  EXPECT_GT(times_counted(played(scenario, spec, NetworkKind::kReference, true)), 0);
  Scenario drawn = scenario;
  drawn.training.unsteady.jitter.micro_batch = 0.1;
  EXPECT_EQ(times_counted(played(drawn, spec, NetworkKind::kReference, true)), 0);
  Scenario bursts = scenario;
  for (NodeGroup& group : bursts.cluster.nodes) group.nics.burst = Bytes{1e6};
  EXPECT_EQ(times_counted(played(bursts, spec, NetworkKind::kReference, true)), 0);
  // GPUs that keep a speed of their own do the same again and again.
  Scenario unlike = scenario;
  unlike.training.unsteady.jitter.gpu = 0.1;
  EXPECT_GT(times_counted(played(unlike, spec, NetworkKind::kReference, true)), 0);
}

TEST(Counted, ReplicasOfUnlikeSpeedsUnderOneCoreArePlayedUntilTheyAreTooMany) {
  // Whose updates meet in the core at another moment each time.
  Scenario scenario = sample_scenario(2, 2, 10);
  scenario.cluster.fabric.oversubscription = 4;
  scenario.model = sample_model(1, 256);
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  for (Device& device : scenario.cluster.nodes[1].devices) device.slowdown = 1.37;
  const ScheduleSpec spec = thirty_updates("diloco");
  EXPECT_EQ(times_counted(played(scenario, spec, NetworkKind::kSimgrid, true)), 0);
  EXPECT_GT(times_counted(played(scenario, spec, NetworkKind::kReference, true)), 0) << "alone on its links";
}

TEST(Counted, WhatDiffersForEverIsRefusedOnceItIsTooMuch) {
  // Two ranks send over one link now and then, one every 2 s and one every 2.37 s if it were alone, and so meet there
  // at another moment each time. 5,000 collectives of each body are 100,000 after 20 of them.
  Tables tables;
  EventGraph graph;
  for (const double computes : {1.0, 1.37}) {
    ProgramBuilder program(tables, {"both"});
    program.begin_loop(std::vector<int>{0}, 1'000'000, {}, "body like the one before");
    program.compute(0, "forward", OpClass::kForward, Seconds{computes});
    program.collective(0, "far", {CollectiveKind::kAllReduce, Bytes{100}});
    program.begin_loop(0, 5'000);
    program.collective(0, "near", {CollectiveKind::kAllReduce, Bytes{4}});
    program.end_loop(0);
    program.end_loop(std::vector<int>{0});
    graph.programs.push_back(program.take(1));
  }
  graph.labels = tables.labels;
  graph.links = {{"link", BytesPerSecond{100}}};
  graph.paths = {{{0}}};
  graph.ranks = {{0, {0}, 1}, {1, {1}, 1}};
  const std::vector<Plan> plans = {{Seconds{0}, Seconds{0}, {{0, Bytes{100}}}, Bytes{100}},
                                   {Seconds{1e-9}, Seconds{0}, {}, Bytes{4}}};
  graph.groups = {{{0}, plans}, {{1}, plans}};
  EXPECT_TRUE(
      holds(thrown_by<std::range_error>([&] { play(graph, NetworkKind::kSimgrid, {}); }), "lower inner_updates"));
}

TEST(Counted, LoopsWithoutAFixedNumberOfRepetitionsAreNone) {
  Tables tables;
  ProgramBuilder program(tables, {"compute", "communication"});
  program.begin_loop({.lanes = {0},
                      .min = 10,
                      .until = program.compute(1, "swap", OpClass::kCopy, Seconds{5}),
                      .counted = "round like the one before"});
  program.compute(0, "forward", OpClass::kForward, Seconds{1});
  program.end_loop(std::vector<int>{0});
  EventGraph graph = graph_of_one(tables, program);
  graph.ranks = {{0, {}, 1}};
  EXPECT_THROW(check_graph(graph), std::logic_error);
}

}  // namespace
}  // namespace accosim
