// Does a fabric of many nodes cost more in the mean, by its collisions and by the switches that messages cross?
#include "models/collectives/fabric_size.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/collectives/collectives.hpp"
#include "models/collectives/ring.hpp"
#include "models/spec/cluster.hpp"
#include "tests/support/fabric_nodes.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

TEST(FabricSize, BallsFallIntoBins) {
  // Of one bin and one ball in the mean: sum over k of P(more than k) is the mean of Poisson(1).
  EXPECT_NEAR(greatest_load(1), 1, 1e-9);
  // Of two: the mean of the greater of two. 2 - sum over k of (P(more than k))^2.
  double both = 0, below = 0, term = std::exp(-1.0);
  for (int k = 0; k < 30; ++k, term /= k) below += term, both += (1 - below) * (1 - below);
  EXPECT_NEAR(greatest_load(2), 2 - both, 1e-9);
  double last = 0;
  for (int flows = 1; flows <= 4096; flows *= 2) {
    EXPECT_GT(greatest_load(flows), last);
    last = greatest_load(flows);
  }
  EXPECT_LT(last, 8);
}

TEST(FabricSize, CollisionsTakeLongerOnMoreNodes) {
  NodeGroup group = group_of_kind("roce", 8, 8);
  group.nics.collisions = 0.1;
  const auto at = [&](int nodes) {
    const Cluster cluster = cluster_of(group, nodes);
    return contention(cluster, whole_ring(cluster));
  };
  EXPECT_DOUBLE_EQ(at(2), 1);
  EXPECT_NEAR(at(64), 1 + 0.1 * (greatest_load(64) - greatest_load(2)), 1e-12);
  const Cluster hashed = cluster_of(group, 64), free = cluster_of(group_of_kind("roce", 8, 8), 64);
  const Bytes bytes{4096 * kMiB};
  const CollectiveCost with = collective_cost(CollectiveKind::kAllReduce, bytes, hashed, whole_ring(hashed));
  const CollectiveCost without = collective_cost(CollectiveKind::kAllReduce, bytes, free, whole_ring(free));
  EXPECT_NEAR(with.edge_bytes / without.edge_bytes, at(64), 1e-9);
}

TEST(FabricSize, WhoLeavesALeafCrossesTwoMoreSwitches) {
  const NodeGroup group = group_of_kind("infiniband", 8, 8);
  const auto ring = [&](int nodes) {
    const Cluster cluster = cluster_of(group, nodes);
    return ring_crossings(cluster, whole_ring(cluster), 2).value * 1e9;
  };
  const auto tree = [&](int nodes) {
    const Cluster cluster = cluster_of(group, nodes);
    return tree_crossings(cluster, whole_ring(cluster)).value * 1e9;
  };
  EXPECT_DOUBLE_EQ(ring(32), 0);
  EXPECT_DOUBLE_EQ(tree(32), 0);
  // 128 nodes are 4 leaves: of a ring 4 edges lead out, twice around, 2 x 130 ns each. Of a tree 2 levels, both ways.
  EXPECT_NEAR(ring(128), 2 * 4 * 2 * 130, 1e-6);
  EXPECT_NEAR(tree(128), 2 * 2 * 2 * 130, 1e-6);
  // 2,048 are 64 leaves below 2 spines.
  EXPECT_NEAR(ring(2048), 2 * (64 + 2) * 2 * 130, 1e-6);
}

}  // namespace
}  // namespace accosim
