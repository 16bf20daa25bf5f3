// Is folding exact? Small random clusters, made by hand and by the schedules, are played with every rank by itself and
// folded, and every rank's spans agree.
#include "sim/player/fold.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/price/price.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/graph/builder.hpp"
#include "sim/player/player.hpp"
#include "sim/schedules/few_replicas.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/one_program.hpp"
#include "tests/support/played_by_rank.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

/// A random cluster of nodes x gpus ranks: a group a node (closed form), a group of all (over the nodes' links, some of
/// which are slower), and up to three programs with loops, waits and collectives on both groups in the same order.
EventGraph random_cluster(Random& random) {
  const int nodes = random.integer(1, 5), gpus = random.integer(1, 4);
  const int kinds = random.integer(1, 3), rounds = random.integer(1, 3);
  Tables tables;
  EventGraph graph;
  std::vector<bool> in_node;
  for (int i = 0; i < rounds; ++i) in_node.push_back(random.integer(0, 1) == 1);
  for (int kind = 0; kind < kinds; ++kind) {
    ProgramBuilder program(tables, {"compute", "world", "node"});
    for (int i = 0; i < rounds; ++i) {
      const OpRef filled = program.compute(0, "compute", OpClass::kForward, Seconds{random.uniform(0.1, 2)});
      OpRef done = program.collective(1, "world", {CollectiveKind::kAllReduce, Bytes{1.0 + i}}, {filled});
      program.begin_loop(0, random.integer(1, 2), done);
      program.compute(0, "micro-batch", OpClass::kBackward, Seconds{random.uniform(0.05, 0.5)}, {}, 1);
      program.end_loop(0);
      if (in_node[i])
        done = program.collective(2, "node", {CollectiveKind::kAllGather, Bytes{1.0 + i}}, {program.last(0)});
      program.compute(0, "step", OpClass::kOptimizer, Seconds{0.1}, {done});
    }
    Program made = program.take(1);
    for (Op& op : made.lanes[2]) op.slot = 1;
    graph.programs.push_back(made);
  }
  graph.labels = tables.labels;
  Group world;
  for (int node = 0; node < nodes; ++node) {
    const double bandwidth = random.integer(0, 2) == 0 ? 5 : 10;
    graph.links.push_back({"out", BytesPerSecond{bandwidth}});
    graph.links.push_back({"in", BytesPerSecond{bandwidth}});
    Group group;
    // Equal nodes or not, by the same draw for all GPUs or one for each.
    const int of_node = random.integer(0, kinds - 1);
    const bool mixed = random.integer(0, 3) == 0;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      const int rank = static_cast<int>(graph.ranks.size());
      graph.ranks.push_back({mixed ? random.integer(0, kinds - 1) : of_node, {0, 1 + node}, 1});
      world.members.push_back(rank);
      group.members.push_back(rank);
    }
    for (std::size_t p = 0; p < tables.plans.size(); ++p)
      group.plans.push_back({Seconds{0.01}, Seconds{0.2}, {}, Bytes{1}});
    if (graph.groups.empty()) graph.groups.emplace_back();
    graph.groups.push_back(group);
  }
  const bool core = random.integer(0, 1) == 1;
  if (core) graph.links.push_back({"core", BytesPerSecond{12}});
  for (int node = 0; node < nodes && nodes > 1; ++node) {
    graph.paths.push_back({{2 * node, 2 * ((node + 1) % nodes) + 1}});
    if (core) graph.paths.back().links.push_back(2 * nodes);
  }
  for (std::size_t p = 0; p < tables.plans.size(); ++p) {
    Plan plan{Seconds{0.01}, Seconds{0.1}, {}, Bytes{1}};
    for (std::size_t path = 0; path < graph.paths.size(); ++path)
      plan.flows.push_back({static_cast<int>(path), Bytes{3.0 + static_cast<double>(p)}});
    world.plans.push_back(plan);
  }
  graph.groups[0] = world;
  return graph;
}

TEST(Fold, EveryRankDoesTheSameFoldedOrNot) {
  int folded_ranks = 0, ranks = 0;
  for (int seed = 0; seed < cases(60, 15); ++seed) {
    Random random(seed);
    const EventGraph graph = random_cluster(random);
    const Folded folded = fold(graph);
    ranks += static_cast<int>(graph.ranks.size());
    folded_ranks += static_cast<int>(folded.graph.ranks.size());
    EXPECT_EQ(sum_of<int>(folded.graph.ranks, &Rank::multiplicity), static_cast<int>(graph.ranks.size()))
        << "seed " << seed;
    expect_same_by_rank(graph, folded, "seed " + std::to_string(seed));
  }
  EXPECT_LT(2 * folded_ranks, ranks + ranks / 2) << "these clusters are meant to have equal ranks";
}

/// 3 nodes of 2 GPUs, one program, and a group a local index whose ring uses links of its own (rails), with these
/// bandwidths and bytes.
EventGraph rails(const std::vector<double>& bandwidth, const std::vector<double>& bytes) {
  Tables tables;
  ProgramBuilder program(tables, {"compute", "communication"});
  const OpRef filled = program.compute(0, "compute", OpClass::kForward, Seconds{1});
  program.collective(1, "sum", {CollectiveKind::kAllReduce, Bytes{1}}, {filled});
  EventGraph graph = graph_of_one(tables, program);
  for (int rail = 0; rail < 2; ++rail) {
    Group group;
    Plan plan;
    for (int node = 0; node < 3; ++node) {
      graph.links.push_back({"rail", BytesPerSecond{bandwidth[rail]}});
      graph.paths.push_back({{3 * rail + node}});
      plan.flows.push_back({3 * rail + node, Bytes{bytes[rail]}});
      group.members.push_back(2 * node + rail);
    }
    group.plans.push_back(plan);
    graph.groups.push_back(group);
  }
  for (int rank = 0; rank < 6; ++rank) graph.ranks.push_back({0, {rank % 2}, 1});
  return graph;
}

TEST(Fold, GroupsOnTheNetworkKeepTheirOwnLinksAndBytes) {
  expect_exact(rails({1, 1}, {6, 6}), "alike");
  expect_exact(rails({1, 2}, {6, 6}), "links");
  expect_exact(rails({1, 1}, {6, 9}), "bytes");
}

TEST(Fold, FlowsOfUnlikeBytesInOneCollectiveBothStay) {
  // A collective that sends 6 B over one private link and 9 B over another takes 9 s; folded into the first it would
  // take 6.
  EventGraph graph = rails({1, 1}, {6, 6});
  graph.groups[0].plans[0].flows[1].bytes = Bytes{9};
  expect_exact(graph, "a flow");
}

TEST(Fold, IdenticalRanksBecomeOneAndTheirRingOneFlow) {
  // 4 nodes of 2 equal ranks with private links: one rank of multiplicity 8, one flow.
  Tables tables;
  ProgramBuilder program(tables, {"compute"});
  program.collective(0, "sum", {CollectiveKind::kAllReduce, Bytes{8}});
  EventGraph graph = graph_of_one(tables, program);
  Group world;
  Plan plan;
  for (int r = 0; r < 8; ++r) {
    graph.ranks.push_back({0, {0}, 1});
    world.members.push_back(r);
  }
  for (int n = 0; n < 4; ++n) {
    graph.links.push_back({"out", BytesPerSecond{1}});
    graph.links.push_back({"in", BytesPerSecond{1}});
    graph.paths.push_back({{2 * n, (2 * n + 3) % 8}});
    plan.flows.push_back({n, Bytes{8}});
  }
  world.plans.push_back(plan);
  graph.groups.push_back(world);
  const Folded folded = fold(graph);
  ASSERT_EQ(folded.graph.ranks.size(), 1u);
  EXPECT_EQ(folded.graph.ranks[0].multiplicity, 8);
  EXPECT_EQ(folded.graph.groups[0].plans[0].flows.size(), 1u);
  // A slower link tells its path from the three others.
  graph.links[0].bandwidth = BytesPerSecond{0.5};
  EXPECT_EQ(fold(graph).graph.groups[0].plans[0].flows.size(), 2u);
}

/// `slow` of `nodes` nodes have adapters of 4 B/s, the others of 10; a ring of all sends 12 B over each edge, and all
/// edges share a core. One rank a node.
EventGraph ring_under_core(int nodes, int slow, double core) {
  Tables tables;
  ProgramBuilder program(tables, {"communication"});
  for (int i = 0; i < 2; ++i) program.collective(0, "sum", {CollectiveKind::kAllReduce, Bytes{12}});
  EventGraph graph = graph_of_one(tables, program);
  Group world;
  Plan plan;
  for (int n = 0; n < nodes; ++n) {
    graph.ranks.push_back({0, {0}, 1});
    world.members.push_back(n);
    for (const char* way : {"out", "in"}) graph.links.push_back({way, BytesPerSecond{n < slow ? 4.0 : 10.0}});
    graph.paths.push_back({{2 * n, 2 * ((n + 1) % nodes) + 1, 2 * nodes}});
    plan.flows.push_back({n, Bytes{12}});
  }
  graph.links.push_back({"core", BytesPerSecond{core}});
  world.plans.push_back(plan);
  graph.groups.push_back(world);
  return graph;
}

TEST(Fold, FlowsOnASharedLinkBecomeOneForEachKindAndKeepTheirShares) {
  // 100 nodes, 40 of them slow: 41 edges begin or end at a slow node and move 4 B/s, if the core lets them. A core of
  // 400 B/s gives each edge 4 B/s at first: all move at that rate and end after 12 / 4 = 3 s, twice over 6 s. A core of
  // 500 B/s: 41 x 4 = 164 for the slow edges, (500 - 164) / 59 = 5.69 for each of the others, below 10; slow ones end
  // after 3 s all the same.
  for (const double core : {400.0, 500.0}) {
    const EventGraph graph = ring_under_core(100, 40, core);
    const Folded folded = fold(graph);
    // Slow to slow (39), slow to fast, fast to fast (59), fast to slow: 4 kinds of edges, 1 rank.
    EXPECT_EQ(folded.graph.ranks.size(), 1u);
    ASSERT_EQ(folded.graph.groups[0].plans[0].flows.size(), 4u);
    int paths = 0, most = 0;
    for (const Path& path : folded.graph.paths) paths += path.alike, most = std::max(most, path.alike);
    EXPECT_EQ(paths, 100);
    EXPECT_EQ(most, 59);
    EXPECT_NEAR(play(folded.graph, NetworkKind::kSimgrid, {}).end.value, 6, 1e-9);
    EXPECT_NEAR(play(graph, NetworkKind::kSimgrid, {}).end.value, 6, 1e-9);
  }
  // A core of 200 B/s gives each edge 2 B/s: 6 s, twice over 12 s.
  EXPECT_NEAR(play(fold(ring_under_core(100, 40, 200)).graph, NetworkKind::kSimgrid, {}).end.value, 12, 1e-9);
}

TEST(Fold, WhatTakesTheSharesOfEndedFlowsIsTheSameFoldedOrNot) {
  // Two collectives of other bytes beside each other over the same links, begun at different times: rates change at
  // every begin and end.
  for (const double core : {90.0, 150.0, 260.0, 350.0}) {
    EventGraph graph = ring_under_core(30, 7, core);
    Tables tables;
    ProgramBuilder program(tables, {"first", "second"});
    program.collective(0, "sum", {CollectiveKind::kAllReduce, Bytes{12}});
    program.compute(1, "compute", OpClass::kForward, Seconds{1.3});
    program.collective(1, "gather",
                       {CollectiveKind::kAllGather, Bytes{5}, 1, {kAllData, Pick::kAll, Grid::kTraining, 1}});
    graph.programs = {program.take(1)};
    graph.labels = tables.labels;
    for (Op& op : graph.programs[0].lanes[1]) op.plan = 0;
    Group second = graph.groups[0];
    for (Plan::Flow& flow : second.plans[0].flows) flow.bytes = Bytes{5};
    graph.groups.push_back(second);
    for (Rank& rank : graph.ranks) rank.groups.push_back(1);
    expect_exact(graph, "core " + std::to_string(core));
    EXPECT_EQ(fold(graph).graph.paths.size(), 4u);
  }
}

// ---- what schedules make: rings beside each other on adapters, a core and links between sites ----

/// 1 to 6 nodes of 1 to 4 GPUs in up to three groups with the same adapters or not, apart or not.
Scenario random_nodes(Random& random) {
  Scenario scenario = sample_scenario(1, random.integer(1, 4));
  scenario.model = sample_model(2, 128);
  NodeGroup one = scenario.cluster.nodes[0];
  one.nics.count = random.integer(1, 4);
  one.nics.bandwidth = BytesPerSecond{std::pow(10.0, random.uniform(7, 10))};
  if (random.integer(0, 3) == 0) one.nics.burst = Bytes{std::pow(10.0, random.uniform(4, 7))};
  const int groups = random.integer(1, 3);
  const bool equal = random.integer(0, 1) == 1;
  scenario.cluster.nodes.clear();
  for (int group = 0; group < groups; ++group) {
    if (group == 0 || !equal) one.count = random.integer(1, 6 / groups);
    if (!equal && random.integer(0, 1) == 1) one.nics.bandwidth = 0.4 * one.nics.bandwidth;
    if (!equal && random.integer(0, 3) == 0) one.micro_batch_size += 1;
    scenario.cluster.nodes.push_back(one);
  }
  Fabric& fabric = scenario.cluster.fabric;
  if (random.integer(0, 2) == 0) fabric.oversubscription = 3;
  if (groups > 1 && random.integer(0, 1) == 1)
    fabric.between_groups = BetweenGroups{BytesPerSecond{std::pow(10.0, random.uniform(7, 9))}, Seconds{0.01}};
  return scenario;
}

/// Hybrid sharding, or replicas of nodes or node groups with sharded or whole parameters: what such a cluster can have.
ScheduleSpec random_sharded(Random& random, const Cluster& cluster) {
  const char* name = std::vector<const char*>{"zero3", "diloco", "local_sgd", "zero1"}[random.integer(0, 3)];
  ScheduleSpec spec = sample_schedule(name);
  spec.overlap = random.integer(0, 1) == 1 ? Overlap::kBackward : Overlap::kNone;
  spec.sync = random.integer(0, 1) == 1 ? Sync::kEveryMicroBatch : Sync::kLastMicroBatch;
  spec.buckets = static_cast<Buckets>(random.integer(0, 2));
  spec.communicators = random.integer(1, 2);
  spec.prefetch = random.integer(0, 2);
  if (spec.name == "zero1") {
    spec.sync = Sync::kLastMicroBatch;
    spec.parameter_sync = random.integer(0, 1) == 1 ? ParameterSync::kBroadcast : ParameterSync::kAllGather;
  }
  if (spec.name == "zero1" || spec.name == "zero3") {
    spec.island = Island::kNode;
    return spec;
  }
  spec.island = random.integer(0, 2) == 0 ? Island::kNode : Island::kGroup;
  const bool unequal = !unequal_in_words(cluster.nodes, true).empty();
  const bool sharded = random.integer(0, 1) == 1 && !(unequal && spec.island == Island::kGroup);
  spec.inner = sharded ? "zero3" : "ddp";
  const bool apart = cluster.fabric.between_groups.has_value();
  const NodeGroup& first = cluster.nodes.front();
  const bool sites = node_count(cluster) > 1 && first.gpus * (apart ? first.count : 1) > 1 && !(unequal && apart);
  spec.meeting = sites && random.integer(0, 1) == 1 ? Meeting::kHierarchical : Meeting::kRing;
  spec.inner_updates = random.integer(1, 3);
  return spec;
}

/// Tokens pass for the flow that comes first. Of several that come at one moment chance says which that is.
bool is_by_chance(const EventGraph& graph) {
  std::vector<int> begin(graph.links.size(), 0);
  for (const Path& path : graph.paths) ++begin[path.links.front()];
  for (std::size_t l = 0; l < begin.size(); ++l)
    if (graph.links[l].burst > Bytes{0} && begin[l] > 1) return true;
  return false;
}

TEST(Fold, EveryRankOfAScheduleDoesTheSameFoldedOrNot) {
  std::size_t played = 0, ranks = 0, folded_ranks = 0, on_shared_links = 0;
  const auto all = static_cast<std::size_t>(cases(200, 10));
  for (int seed = 0; played < all; ++seed) {
    Random random(seed);
    const Scenario scenario = random_nodes(random);
    const ScheduleSpec spec = random_sharded(random, scenario.cluster);
    const EventGraph graph = build(spec, price(scenario, spec), 2, 2);
    if (is_by_chance(graph)) continue;
    ++played;
    const Folded folded = fold(graph);
    ranks += graph.ranks.size();
    folded_ranks += folded.graph.ranks.size();
    on_shared_links += sharing_of(graph) == Sharing::kUnevenly ? 1 : 0;
    expect_same_by_rank(graph, folded, spec.label + " seed " + std::to_string(seed));
  }
  EXPECT_LT(2 * folded_ranks, ranks) << "most of these ranks are meant to be equal";
  EXPECT_GT(10 * on_shared_links, 4 * all);
}

TEST(Fold, EqualIslandsAreOneThoughEachHasTwoCommunicators) {
  // 4 islands of 2 nodes of 2 GPUs whose parameters are sharded, gathered and reduced by communicators of their own
  // over the same adapters, and shards that meet across islands.
  Scenario scenario = sample_scenario(2, 2);
  scenario.model = sample_model(2, 128);
  const NodeGroup island = scenario.cluster.nodes[0];
  scenario.cluster.nodes.assign(4, island);
  const ScheduleSpec spec = sample_schedule(
      {.name = "diloco", .island = Island::kGroup, .communicators = 2, .inner_updates = 2, .inner = "zero3"});
  const EventGraph graph = build(spec, price(scenario, spec), 2, 2);
  const Folded folded = fold(graph);
  ASSERT_EQ(folded.graph.ranks.size(), 1u);
  EXPECT_EQ(folded.graph.ranks[0].multiplicity, 16);
  expect_same_by_rank(graph, folded, NetworkKind::kSimgrid, "islands");
}

// Do a few replicas stand for all? Random clusters of equal nodes are played with every rank of theirs by itself, and
// with the few that are built in their place.

constexpr int kSteps = 4;

/// Equal nodes, a model that is split in some way or none, and few or many replicas of it.
Scenario random_split(Random& random) {
  Scenario scenario = sample_scenario(1, 1 << random.integer(0, 2));
  NodeGroup& nodes = scenario.cluster.nodes[0];
  Parallel& parallel = scenario.training.parallel;
  parallel.tensor = std::min(nodes.gpus, 1 << random.integer(0, 2));
  parallel.pipeline = random.integer(1, 3);
  nodes.count = parallel.pipeline * random.integer(1, 4) * random.integer(1, 4);
  nodes.nics.count = random.integer(1, 4);
  nodes.nics.bandwidth = BytesPerSecond{random.uniform(1e9, 1e11)};
  if (random.integer(0, 3) == 0) scenario.cluster.fabric.oversubscription = 3;
  scenario.model = sample_model(3 * parallel.pipeline, 128);
  if (random.integer(0, 1) == 1) parallel.order = order_of("tp-pp-dp");
  return scenario;
}

ScheduleSpec random_spec(Random& random, const Parallel& parallel) {
  const std::vector<const char*> split = {"ddp", "zero1", "dpu", "acco", "diloco"};
  const std::vector<const char*> whole = {"ddp", "zero1", "zero2", "zero3", "dpu", "acco", "diloco", "local_sgd"};
  const std::vector<const char*>& names = parallel.pipeline > 1 ? split : whole;
  ScheduleSpec spec = sample_schedule(names[random.integer(0, static_cast<int>(names.size()) - 1)]);
  spec.micro_batches_per_round = kSteps / 2;
  if (spec.name == "ddp" || spec.name == "zero1") {
    spec.overlap = random.integer(0, 1) == 1 ? Overlap::kBackward : Overlap::kNone;
    spec.buckets = Buckets::kUnits;
  }
  if (parallel.pipeline == 1 && (spec.name == "zero1" || spec.name == "zero3") && random.integer(0, 1) == 1)
    spec.island = Island::kNode;
  return spec;
}

TEST(FewReplicas, EveryRankDoesWhatItDoesAmongAll) {
  int few_of_them = 0, ranks = 0, built = 0;
  for (int seed = 0; seed < cases(150, 30); ++seed) {
    Random random(seed);
    const Scenario scenario = random_split(random);
    const ScheduleSpec spec = random_spec(random, scenario.training.parallel);
    const Costs costs = price(scenario, spec);
    const std::optional<FewReplicas> few = few_replicas(costs);
    if (!few) continue;
    ++few_of_them;
    ranks += costs.ranks();
    built += few->costs.ranks();
    EXPECT_EQ(few->costs.ranks() * few->each, costs.ranks());
    for (std::size_t rank = 0; rank < few->few.size(); ++rank) {
      EXPECT_EQ(costs.kind_of[rank], few->costs.kind_of[few->few[rank]]);
      EXPECT_EQ(costs.places[rank].gpu, few->costs.places[few->few[rank]].gpu);
    }
    const Folded folded = among_all(fold(build(spec, costs, kSteps, 2, &*few)), *few);
    const EventGraph whole = build(spec, costs, kSteps, 2);
    const std::string what = "seed " + std::to_string(seed) + ", " + spec.name;
    int stood_for = 0;
    for (const Rank& rank : folded.graph.ranks) stood_for += rank.multiplicity;
    EXPECT_EQ(stood_for, costs.ranks()) << what;
    EXPECT_EQ(folded.graph.ranks.size(), fold(whole).graph.ranks.size()) << what;
    expect_same_by_rank(whole, folded, what);
  }
  EXPECT_GT(few_of_them, cases(10));  // of the clusters drawn most are too small to gain by it
  EXPECT_LT(2 * built, ranks + 1);
}

TEST(FewReplicas, AreNotTakenWhereReplicasDiffer) {
  const auto made = [](const auto& change) {
    Scenario scenario = sample_scenario(16, 2);
    change(scenario);
    return few_replicas(price(scenario, sample_schedule("zero1"))).has_value();
  };
  EXPECT_TRUE(made([](Scenario&) {}));
  EXPECT_FALSE(made([](Scenario& scenario) { scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]); }));
  EXPECT_FALSE(made([](Scenario& scenario) { scenario.training.unsteady.jitter.micro_batch = 0.1; }));
  EXPECT_FALSE(made([](Scenario& scenario) { scenario.cluster.nodes[0].count = 4; })) << "too few";
  EXPECT_FALSE(made([](Scenario& scenario) { scenario.cluster.nodes[0].count = 7; })) << "which nothing divides";
}

// Does every rank do the same, folded or not, where schedules run over tensor and pipeline ranks? A stage is then one
// rank, also under a schedule whose first rank decides for its model replica how many micro-batches there are.

constexpr int kMicroBatches = 16, kUpdates = 2;

/// Two tensor ranks, which are a node, four stages and two replicas: 16 ranks on 8 nodes.
Scenario random_pipeline(Random& random) {
  Scenario scenario = sample_scenario(8, 2);
  scenario.model = sample_model(8, 128);
  scenario.cluster.nodes[0].nics.bandwidth = BytesPerSecond{std::pow(10.0, random.uniform(7.5, 10))};
  scenario.cluster.nodes[0].nics.count = random.integer(1, 2);
  scenario.training.interference = random.integer(0, 1) == 1;
  Parallel& parallel = scenario.training.parallel;
  parallel.tensor = 2;
  parallel.pipeline = 4;
  parallel.sequence = random.integer(0, 1) == 1;
  parallel.overlap_messages = random.integer(0, 1) == 1;
  if (random.integer(0, 1) == 1) {
    parallel.schedule = PipelineSchedule::kInterleaved;
    parallel.chunks = 2;
  }
  return scenario;
}

ScheduleSpec random_rule(Random& random, const std::string& name) {
  ScheduleSpec spec =
      sample_schedule({.name = name, .poll_every = random.integer(1, 4), .micro_batches_per_round = kMicroBatches / 2});
  if (name != "zero1" && name != "ddp") return spec;
  if (random.integer(0, 1) == 1) spec.overlap = Overlap::kBackward;
  if (name == "zero1") spec.overlap_param_gather = random.integer(0, 1) == 1;
  return spec;
}

TEST(FoldStages, EveryRankOfAModelReplicaDoesTheSameFoldedOrNot) {
  for (int seed = 0; seed < cases(16); ++seed) {
    Random random(seed);
    const Scenario scenario = random_pipeline(random);
    const ScheduleSpec spec = random_rule(random, std::vector<const char*>{"ddp", "zero1", "dpu", "acco"}[seed % 4]);
    const EventGraph graph = build(spec, price(scenario, spec), kMicroBatches, kUpdates);
    const Folded folded = fold(graph);
    ASSERT_EQ(graph.ranks.size(), 16u);
    EXPECT_EQ(folded.graph.ranks.size(), 4u) << spec.name << " seed " << seed;
    expect_same_by_rank(graph, folded, spec.name + " seed " + std::to_string(seed));
  }
}

TEST(FoldStages, WhereOneNodeIsSlowItsReplicaIsPlayedBesideTheOther) {
  // The first node has half the adapter: the stages of its replica are other ranks than those of the second.
  for (const char* const name : {"zero1", "acco"}) {
    Random random(1);
    Scenario scenario = random_pipeline(random);
    NodeGroup slow = scenario.cluster.nodes[0];
    slow.count = 1;
    slow.nics.bandwidth = 0.5 * slow.nics.bandwidth;
    scenario.cluster.nodes[0].count = 7;
    scenario.cluster.nodes.insert(scenario.cluster.nodes.begin(), slow);
    const ScheduleSpec spec = random_rule(random, name);
    const EventGraph graph = build(spec, price(scenario, spec), kMicroBatches, kUpdates);
    const Folded folded = fold(graph);
    EXPECT_EQ(folded.graph.ranks.size(), 8u) << name;
    expect_same_by_rank(graph, folded, name);
  }
}

}  // namespace
}  // namespace accosim
