// Does every rank do the same, folded or not, where ranks meet in pairs along a pipeline or round a ring, and where a
// path takes links that nothing tells apart?
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/price/work.hpp"
#include "sim/graph/builder.hpp"
#include "sim/player/fold.hpp"
#include "sim/player/player.hpp"
#include "tests/support/one_program.hpp"
#include "tests/support/played_by_rank.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

struct Pipeline {
  int stages = 4, replicas = 8, tensor = 2;
  int ranks_a_node = 2;
  double core = 0;                ///< B/s; 0: none
  std::vector<double> seconds{};  ///< a forward of each stage
  std::vector<double> adapter{};  ///< B/s of each node, cyclically

  int ranks() const { return stages * replicas * tensor; }
  int rank(int replica, int stage, int t) const { return (replica * stages + stage) * tensor + t; }
};

enum Slot { kTensor, kData, kPrevious, kNext };
enum PlanOf { kWithin, kAmongReplicas, kForwards, kBackwards, kPlans };

/// GPipe with two micro-batches: all forwards, all backwards, then gradients are summed among the replicas.
Program stage_program(Tables& tables, const Pipeline& of, int stage) {
  ProgramBuilder program(tables, {"compute", "tensor", "data", "previous", "next"});
  const auto lane = [](Slot slot) { return 1 + static_cast<int>(slot); };
  const Seconds forward{of.seconds[stage]};
  const auto meets = [&](Slot slot, const char* what, double bytes, const std::vector<OpRef>& waits) {
    return program.collective(lane(slot), what, {CollectiveKind::kSendRecv, Bytes{bytes}}, waits);
  };
  const auto computes = [&](const char* what, OpClass cls, Seconds duration, const std::vector<OpRef>& waits) {
    const OpRef done = program.compute(0, what, cls, duration, waits);
    return meets(kTensor, "sum within the layer", kWithin, {done});
  };
  for (int m = 0; m < 2; ++m) {
    std::vector<OpRef> waits;
    if (stage > 0) waits = {meets(kPrevious, "activations", kForwards, {})};
    const OpRef done = computes("forward", OpClass::kForward, forward, waits);
    if (stage + 1 < of.stages) meets(kNext, "activations", kForwards, {done});
  }
  OpRef done{0, -1};
  for (int m = 0; m < 2; ++m) {
    std::vector<OpRef> waits;
    if (stage + 1 < of.stages) waits = {meets(kNext, "gradients", kBackwards, {})};
    done = computes("backward", OpClass::kBackward, 2 * forward, waits);
    if (stage > 0) meets(kPrevious, "gradients", kBackwards, {done});
  }
  meets(kData, "sum of gradients", kAmongReplicas, {done});
  Program made = program.take(1);
  for (std::size_t l = 1; l < made.lanes.size(); ++l)
    for (Op& op : made.lanes[l]) {
      op.slot = static_cast<int>(l) - 1;
      op.plan = static_cast<int>(tables.plans[op.plan].bytes.value);
      if (op.slot == kPrevious || op.slot == kNext) op.kind = OpKind::kTransfer;
    }
  return made;
}

/// All its groups; what leaves a node takes its adapter and the core.
EventGraph graph_of(const Pipeline& of) {
  Tables tables;
  for (int plan = 0; plan < kPlans; ++plan) tables.plan({CollectiveKind::kSendRecv, Bytes{1.0 * plan}});
  EventGraph graph;
  for (int stage = 0; stage < of.stages; ++stage) graph.programs.push_back(stage_program(tables, of, stage));
  graph.labels = tables.labels;
  for (int node = 0; node * of.ranks_a_node < of.ranks(); ++node)
    for (const char* way : {"out", "in"})
      graph.links.push_back({way, BytesPerSecond{of.adapter[node % of.adapter.size()]}});
  if (of.core > 0) graph.links.push_back({"core", BytesPerSecond{of.core}});
  for (int rank = 0; rank < of.ranks(); ++rank)
    graph.ranks.push_back({rank / of.tensor % of.stages, std::vector<int>(4, kNoGroup), 1});
  const auto send = [&](Plan& plan, int from, int to, double bytes) {
    const int out = from / of.ranks_a_node, in = to / of.ranks_a_node;
    if (out == in) {
      plan.fixed = Seconds{0.05};
      return;
    }
    plan.flows.push_back({static_cast<int>(graph.paths.size()), Bytes{bytes}});
    graph.paths.push_back({{2 * out, 2 * in + 1}});
    if (of.core > 0) graph.paths.back().links.push_back(static_cast<int>(graph.links.size()) - 1);
  };
  const auto add = [&](Slot slot, std::vector<int> members) -> Group& {
    for (const int rank : members) graph.ranks[rank].groups[slot] = static_cast<int>(graph.groups.size());
    graph.groups.emplace_back();
    graph.groups.back().members = std::move(members);
    graph.groups.back().plans.resize(kPlans);
    return graph.groups.back();
  };
  for (int replica = 0; replica < of.replicas; ++replica)
    for (int stage = 0; stage < of.stages; ++stage) {
      std::vector<int> members;
      for (int t = 0; t < of.tensor; ++t) members.push_back(of.rank(replica, stage, t));
      add(kTensor, members).plans[kWithin].fixed = Seconds{0.02};
      for (const int rank : members) {
        if (stage + 1 == of.stages) continue;
        const int next = rank + of.tensor;
        Group& pair = add(kNext, {rank});
        pair.members.push_back(next);
        graph.ranks[next].groups[kPrevious] = graph.ranks[rank].groups[kNext];
        send(pair.plans[kForwards], rank, next, 3);
        send(pair.plans[kBackwards], next, rank, 2);
      }
    }
  for (int stage = 0; stage < of.stages; ++stage)
    for (int t = 0; t < of.tensor; ++t) {
      std::vector<int> members;
      for (int replica = 0; replica < of.replicas; ++replica) members.push_back(of.rank(replica, stage, t));
      Plan& plan = add(kData, members).plans[kAmongReplicas];
      for (std::size_t i = 0; i < members.size() && of.replicas > 1; ++i)
        send(plan, members[i], members[(i + 1) % members.size()], 5);
    }
  return graph;
}

TEST(FoldPairs, AStageOfAPipelineIsOneRank) {
  // 4 stages of 2 ranks, 8 times, each stage on a node; a pair sends over the adapters that its neighbour's pair uses.
  for (const double core : {0.0, 9.0}) {
    const EventGraph graph = graph_of({.core = core, .seconds = {1, 1, 1, 1}, .adapter = {2}});
    const Folded folded = fold(graph);
    EXPECT_EQ(folded.graph.ranks.size(), 4u) << "the second and the third have one program, and unlike neighbours";
    EXPECT_EQ(folded.graph.groups.size(), 4u + 3 + 4) << "within, between neighbours, among replicas";
    for (const Rank& rank : folded.graph.ranks) EXPECT_EQ(rank.multiplicity, 16);
    expect_exact(graph, "core " + std::to_string(core));
  }
}

TEST(FoldPairs, EveryRankOfAPipelineDoesTheSameFoldedOrNot) {
  std::size_t ranks = 0, folded_ranks = 0;
  for (int seed = 0; seed < cases(60); ++seed) {
    Random random(seed);
    Pipeline of{.stages = random.integer(1, 5), .replicas = random.integer(1, 6), .tensor = random.integer(1, 3)};
    of.ranks_a_node = of.tensor * random.integer(1, 3);  // stages share a node, and replicas one that they part
    if (random.integer(0, 1) == 1) of.core = random.uniform(2, 20);
    for (int stage = 0; stage < of.stages; ++stage)
      of.seconds.push_back(random.integer(0, 2) == 0 ? random.uniform(0.5, 1.5) : 1);
    for (int i = random.integer(1, 3); i > 0; --i) of.adapter.push_back(random.integer(0, 2) == 0 ? 1.3 : 2);
    const EventGraph graph = graph_of(of);
    ranks += graph.ranks.size();
    folded_ranks += fold(graph).graph.ranks.size();
    expect_exact(graph, "seed " + std::to_string(seed));
  }
  EXPECT_LT(folded_ranks, ranks / 2);
}

TEST(FoldPairs, APipelineOnAThousandGpusIsAsManyRanksAsItHasStages) {
  Pipeline of{.stages = 16, .replicas = 8, .tensor = 8, .ranks_a_node = 8, .core = 100, .seconds = {}, .adapter = {4}};
  of.seconds.assign(16, 1);
  const Folded folded = fold(graph_of(of));
  EXPECT_EQ(folded.graph.ranks.size(), 16u);
  EXPECT_EQ(folded.graph.paths.size(), 15u + 15 + 16) << "forwards, backwards, among replicas";
}

/// `nodes` nodes of one rank, each of which sends to the next while it receives from the one before and computes: as
/// with a context that is parted among ranks. `slow`: so many of them have half the adapter.
EventGraph ring_of_pairs(int nodes, int slow, const Plan& plan) {
  Tables tables;
  ProgramBuilder program(tables, {"compute", "send", "receive"});
  Work work{0.7, 0.3, {}};
  for (std::size_t i = 0; i < work.waves.size(); ++i) work.waves[i] = 1 + 0.01 * kHeld[i];
  std::vector<OpRef> waits;
  for (const double seconds : {1.0, 0.2, 0.7}) {
    const OpRef received = program.collective(2, "receive", {CollectiveKind::kSendRecv, Bytes{1}}, waits);
    program.collective(1, "send", {CollectiveKind::kSendRecv, Bytes{1}}, waits);
    waits = {received, program.compute(0, "attention", OpClass::kForward, Seconds{seconds}, waits, 0, work)};
  }
  EventGraph graph = graph_of_one(tables, program);
  graph.programs[0].memory_bandwidth = BytesPerSecond{10};
  for (std::size_t lane = 1; lane < 3; ++lane)
    for (Op& op : graph.programs[0].lanes[lane]) {
      op.slot = static_cast<int>(lane) - 1;
      op.kind = OpKind::kTransfer;
    }
  for (int n = 0; n < nodes; ++n) {
    const int next = (n + 1) % nodes;
    for (const char* way : {"out", "in"}) graph.links.push_back({way, BytesPerSecond{n < slow ? 4.0 : 8.0}});
    graph.paths.push_back({{2 * n, 2 * next + 1}});
    Group pair{{n, next}, {plan}};
    pair.plans[0].flows.push_back({n, Bytes{5}});
    graph.groups.push_back(pair);
    graph.ranks.push_back({0, {n, (n + nodes - 1) % nodes}, 1});
  }
  return graph;
}

TEST(FoldPairs, WhoeverSendsToOnesLikeReceivesFromIt) {
  // All ranks are one, and so are all pairs, in which it meets itself: what it sends and what it receives. A transfer
  // takes 0.1 s and 5 B / 8 B/s, 0.725 s; beside the first it computes for 1 s, beside the others for less.
  Plan plan{.latency = Seconds{0.1}};
  const EventGraph graph = ring_of_pairs(6, 0, plan);
  const Folded folded = fold(graph);
  ASSERT_EQ(folded.graph.ranks.size(), 1u);
  ASSERT_EQ(folded.graph.groups.size(), 1u);
  EXPECT_EQ(folded.graph.groups[0].members, (std::vector<int>{0, 0}));
  EXPECT_NEAR(play(folded.graph, NetworkKind::kSimgrid, {}).end.value, 1 + 0.725 + 0.725, 1e-9);
  expect_exact(graph, "alike");
  expect_exact(ring_of_pairs(2, 0, plan), "two");
  expect_exact(ring_of_pairs(7, 2, plan), "two slow ones");
}

TEST(FoldPairs, SendingAndReceivingSlowOneGpuTwice) {
  Plan plan{.fixed = Seconds{0.4}, .sms = 8, .memory_traffic = BytesPerSecond{2}, .slowed = 1.5};
  const EventGraph graph = ring_of_pairs(5, 0, plan);
  EXPECT_EQ(fold(graph).graph.ranks.size(), 1u);
  const double alone = play(ring_of_pairs(5, 0, {}), NetworkKind::kReference, {}).end.value;
  EXPECT_GT(play(graph, NetworkKind::kReference, {}).end.value, alone);
  expect_exact(graph, "alike");
  expect_exact(ring_of_pairs(5, 1, plan), "a slow one");
}

/// A ring over nodes whose adapters send and receive over one link of `bandwidth` B/s.
EventGraph ring_on_half_duplex(const std::vector<double>& bandwidth) {
  Tables tables;
  ProgramBuilder program(tables, {"communication"});
  for (int i = 0; i < 2; ++i) program.collective(0, "sum", {CollectiveKind::kAllReduce, Bytes{1}});
  EventGraph graph = graph_of_one(tables, program);
  const int nodes = static_cast<int>(bandwidth.size());
  Group world;
  world.plans.emplace_back();
  for (int n = 0; n < nodes; ++n) {
    graph.links.push_back({"adapter", BytesPerSecond{bandwidth[n]}});
    graph.paths.push_back({{n, (n + 1) % nodes}});
    world.plans[0].flows.push_back({n, Bytes{12}});
    world.members.push_back(n);
    graph.ranks.push_back({0, {0}, 1});
  }
  graph.groups.push_back(world);
  return graph;
}

TEST(FoldPairs, APathTakesTwoLinksThatNothingElseTellsApart) {
  // Each adapter of 4 B/s carries the flow that leaves and the one that comes, 2 B/s each: 12 B take 6 s, twice. Round
  // the ring they become every first and every second; an odd one out tells each apart by how far it is from it.
  for (const int nodes : {4, 5, 6}) {
    const EventGraph graph = ring_on_half_duplex(std::vector<double>(nodes, 4));
    const EventGraph folded = fold(graph).graph;
    EXPECT_EQ(folded.ranks.size(), 1u);
    EXPECT_EQ(folded.links.size(), nodes % 2 == 0 ? 2u : nodes);
    EXPECT_NEAR(play(folded, NetworkKind::kSimgrid, {}).end.value, 12, 1e-9);
    expect_exact(graph, "equal");
  }
  expect_exact(ring_on_half_duplex({4, 10, 4, 10}), "every other");
  expect_exact(ring_on_half_duplex({4, 10, 10, 10, 10, 10}), "one slow");
}

TEST(FoldPairs, WhatTwoFlowsOfARingLeaveOfAnAdapterIsTheSame) {
  // Beside the ring, and begun 1 s after it, every node sends 12 B by its adapter alone. A port of 0.5 B/s holds back
  // each flow of the ring: two of them take 1 B/s of the adapter's 4, and leave 3: 4 s; the ring takes 24 s.
  EventGraph graph = ring_on_half_duplex({4, 4, 4, 4, 4, 4});
  Tables tables;
  ProgramBuilder program(tables, {"communication", "other"});
  program.collective(0, "sum", {CollectiveKind::kAllReduce, Bytes{1}});
  program.compute(1, "compute", OpClass::kForward, Seconds{1});
  program.collective(1, "other", {CollectiveKind::kAllReduce, Bytes{1}});
  graph.programs = {program.take(1)};
  graph.programs[0].lanes[1][1].slot = 1;
  graph.labels = tables.labels;
  for (int n = 0; n < 6; ++n) {
    graph.paths[n].links.push_back(static_cast<int>(graph.links.size()));
    graph.links.push_back({"port", BytesPerSecond{0.5}});
    Group alone{.members = {n}};
    alone.plans.emplace_back();
    alone.plans[0].flows.push_back({static_cast<int>(graph.paths.size()), Bytes{12}});
    graph.paths.push_back({{n}});
    graph.ranks[n].groups.push_back(static_cast<int>(graph.groups.size()));
    graph.groups.push_back(alone);
  }
  const Folded folded = fold(graph);
  EXPECT_EQ(folded.graph.ranks.size(), 2u);
  EXPECT_EQ(sharing_of(folded.graph), Sharing::kUnevenly);
  const auto once = by_rank(folded.graph, NetworkKind::kSimgrid).at(0);
  ASSERT_EQ(once.size(), 3u);
  EXPECT_NEAR(std::get<5>(once[0]), 24, 1e-9);
  EXPECT_NEAR(std::get<5>(once[2]), 1 + 4, 1e-9);
  expect_exact(graph, "held back");
  graph.links[6].bandwidth = BytesPerSecond{1.7};  // of one node
  expect_exact(graph, "held back by one");
}

}  // namespace
}  // namespace accosim
