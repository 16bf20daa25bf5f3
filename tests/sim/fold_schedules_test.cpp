// Does every rank do the same, folded or not, in the graphs that schedules make: rings of equal and of unlike nodes
// beside each other on adapters, a core and links between sites?
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/price/price.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "sim/player/fold.hpp"
#include "sim/player/player.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/played_by_rank.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

/// 1 to 6 nodes of 1 to 4 GPUs in up to three groups with the same adapters or not, apart or not.
Scenario random_nodes(Random& random) {
  Scenario scenario = sample_scenario(1, random.integer(1, 4));
  scenario.model = sample_model(2, 128);
  NodeGroup one = scenario.cluster.nodes[0];
  one.nics.count = random.integer(1, 4);
  one.nics.bandwidth = BytesPerSecond{std::pow(10.0, random.uniform(7, 10))};
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
  const char* name = std::vector<const char*>{"zero3", "diloco", "local_sgd"}[random.integer(0, 2)];
  ScheduleSpec spec = sample_schedule(name);
  spec.overlap = random.integer(0, 1) == 1 ? Overlap::kBackward : Overlap::kNone;
  spec.sync = random.integer(0, 1) == 1 ? Sync::kEveryMicroBatch : Sync::kLastMicroBatch;
  spec.buckets = static_cast<Buckets>(random.integer(0, 2));
  spec.communicators = random.integer(1, 2);
  spec.prefetch = random.integer(0, 2);
  if (spec.name == "zero3") {
    spec.shard_group = ShardGroup::kNode;
    return spec;
  }
  spec.replica = random.integer(0, 2) == 0 ? Replica::kNode : Replica::kGroup;
  const bool unequal = !unequal_in_words(cluster.nodes, true).empty();
  const bool sharded = random.integer(0, 1) == 1 && !(unequal && spec.replica == Replica::kGroup);
  spec.inner = sharded ? Inner::kZero3 : Inner::kDdp;
  const bool apart = cluster.fabric.between_groups.has_value();
  const NodeGroup& first = cluster.nodes.front();
  const bool sites = node_count(cluster) > 1 && first.gpus * (apart ? first.count : 1) > 1 && !(unequal && apart);
  spec.meeting = sites && random.integer(0, 1) == 1 ? Meeting::kHierarchical : Meeting::kRing;
  spec.inner_updates = random.integer(1, 3);
  return spec;
}

TEST(FoldSchedules, EveryRankDoesTheSameFoldedOrNot) {
  std::size_t ranks = 0, folded_ranks = 0, on_shared_links = 0;
  for (int seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const Scenario scenario = random_nodes(random);
    const ScheduleSpec spec = random_sharded(random, scenario.cluster);
    const EventGraph graph = build(spec, price(scenario, spec), 2, 2);
    const Folded folded = fold(graph);
    ranks += graph.ranks.size();
    folded_ranks += folded.graph.ranks.size();
    on_shared_links += sharing_of(graph) == Sharing::kUnevenly ? 1 : 0;
    for (const NetworkKind network : {NetworkKind::kReference, NetworkKind::kSimgrid})
      expect_same_by_rank(graph, folded, network, spec.label + " seed " + std::to_string(seed));
  }
  EXPECT_LT(2 * folded_ranks, ranks) << "most of these ranks are meant to be equal";
  EXPECT_GT(on_shared_links, 80u);
}

TEST(FoldSchedules, EqualIslandsAreOneThoughEachHasTwoCommunicators) {
  // 4 islands of 2 nodes of 2 GPUs whose parameters are sharded, gathered and reduced by communicators of their own
  // over the same adapters, and shards that meet across islands.
  Scenario scenario = sample_scenario(2, 2);
  scenario.model = sample_model(2, 128);
  const NodeGroup island = scenario.cluster.nodes[0];
  scenario.cluster.nodes.assign(4, island);
  ScheduleSpec spec = sample_schedule("diloco");
  spec.replica = Replica::kGroup;
  spec.inner = Inner::kZero3;
  spec.communicators = 2;
  spec.inner_updates = 2;
  const EventGraph graph = build(spec, price(scenario, spec), 2, 2);
  const Folded folded = fold(graph);
  ASSERT_EQ(folded.graph.ranks.size(), 1u);
  EXPECT_EQ(folded.graph.ranks[0].multiplicity, 16);
  expect_same_by_rank(graph, folded, NetworkKind::kSimgrid, "islands");
}

}  // namespace
}  // namespace accosim
