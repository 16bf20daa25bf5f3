// Do hosts copy what they send and receive out of one budget, and does a fabric of many nodes cost more in the mean?
#include <gtest/gtest.h>

#include "models/collectives/collectives.hpp"
#include "models/collectives/nccl_cost.hpp"
#include "models/collectives/ring.hpp"
#include "models/spec/cluster.hpp"
#include "tests/support/fabric_nodes.hpp"
#include "tests/support/gpus.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

Ring ring_of_gpus(int gpus, int nodes = 2) {
  Ring ring;
  for (int i = 0; i < nodes; ++i) {
    ring.node.push_back(i);
    ring.node_group.push_back(0);
    ring.gpus.push_back(first_gpus(gpus));
    ring.ranks += gpus;
  }
  return ring;
}

TEST(HostCopies, AThreadPaysForWhatItSendsAndReceives) {
  // 3 GB/s a thread. One GPU: its thread sends 1.5 GB/s and receives as much. Four with one adapter: one thread sends
  // all and another receives all, 3 GB/s each. Four with four: each thread does both, 6 GB/s together. Adapters of 25.
  NodeGroup group = group_of_kind("tcp", 4, 1);
  group.nics.staging = BytesPerSecond{3e9};
  const auto edge = [&](int gpus) {
    return edge_bandwidth(CollectiveKind::kAllReduce, cluster_of(group, 2), ring_of_gpus(gpus)).value;
  };
  EXPECT_DOUBLE_EQ(edge(1), 1.5e9);
  EXPECT_DOUBLE_EQ(edge(4), 3e9);
  group.nics.count = 4;
  EXPECT_DOUBLE_EQ(edge(4), 6e9);
  // Rings of one GPU each have threads of their own: what they leave of the node's wire is not theirs.
  EXPECT_DOUBLE_EQ(node_bandwidth(group).value, 100e9);
  group.nics.staging = BytesPerSecond{100e9};  // the adapters are slower, and the GPUs' slots of 24 GB/s even more so
  EXPECT_DOUBLE_EQ(edge(4), 96e9);
}

TEST(HostCopies, OfANodeThatGpusWriteToAreOneBudget) {
  NodeGroup group = group_of_kind("omnipath", 4, 4);
  group.nics.staging = BytesPerSecond{20e9};
  EXPECT_DOUBLE_EQ(node_bandwidth(group).value, 10e9);
  EXPECT_DOUBLE_EQ(node_bandwidth(group, {0}).value, 10e9);
  EXPECT_DOUBLE_EQ(node_bandwidth(group_of_kind("slingshot", 4, 4)).value, 100e9);  // which copies nothing
}

TEST(HostCopies, WhoOnlySendsPaysHalf) {
  const auto times = [](const Cluster& cluster, CollectiveKind kind) {
    return collective_time(kind, Bytes{1024 * kMiB}, cluster, whole_ring(cluster)).value;
  };
  NodeGroup group = group_of_kind("tcp", 1, 1);
  group.nics.staging = BytesPerSecond{3e9};
  const Cluster cluster = cluster_of(group, 2);
  const Bytes bytes{1024 * kMiB};
  const Seconds both = collective_time(CollectiveKind::kSendRecv, bytes, cluster, whole_ring(cluster));
  const Seconds one = collective_time(CollectiveKind::kSend, bytes, cluster, whole_ring(cluster));
  EXPECT_NEAR(both.value, bytes.value / 1.5e9, 0.05 * both.value);
  EXPECT_NEAR(one.value, bytes.value / 3e9, 0.1 * one.value);
  // Where nothing is copied it is the same, also with two adapters for a GPU, and where a core is what limits.
  Cluster direct = cluster_of(group_of_kind("infiniband", 1, 2), 2);
  EXPECT_DOUBLE_EQ(times(direct, CollectiveKind::kSend), times(direct, CollectiveKind::kSendRecv));
  direct.fabric.oversubscription = 8;
  EXPECT_DOUBLE_EQ(times(direct, CollectiveKind::kSend), times(direct, CollectiveKind::kSendRecv));
}

TEST(HostCopies, ATreesHubPaysMoreThanARingsRank) {
  // Two adapters: a ring's four threads copy 6 GB/s each way, a tree's 8 / 3 as many as one 4 GB/s.
  NodeGroup group = group_of_kind("tcp", 4, 2);
  group.nics.staging = BytesPerSecond{3e9};
  const Cluster cluster = cluster_of(group, 8);
  const Ring ring = whole_ring(cluster);
  const auto links = [&](Algorithm algorithm) {
    return nccl_steps(CollectiveKind::kAllReduce, Bytes{64 * kMiB}, cluster, ring, {algorithm, Protocol::kSimple})
        .links;
  };
  EXPECT_NEAR(links(Algorithm::kRing).wire.value, 6e9, 1);
  EXPECT_NEAR(links(Algorithm::kTree).wire.value, 4e9, 1);
  EXPECT_NEAR(links(Algorithm::kTree).threads, 8.0 / 3, 1e-12);
}

}  // namespace
}  // namespace accosim
