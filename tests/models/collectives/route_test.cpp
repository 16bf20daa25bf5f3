// Which links lie between two nodes, and what is left of them where a group shares them: by hand.
#include "models/collectives/route.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/spec/cluster.hpp"
#include "tests/support/gpus.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

/// Two nodes of 8 GPUs with 4 adapters of 1 GB/s: GPUs 0 and 1 are next to adapter 0, 2 and 3 to adapter 1 and so on.
Cluster two_nodes() {
  Cluster cluster;
  cluster.nodes = {sample_nodes(2, 8)};
  cluster.nodes[0].nics = {4, BytesPerSecond{1e9}, 1, Seconds{5e-6}};
  return cluster;
}

Ring ring_of_gpus(const std::vector<int>& gpus) {
  return {{0, 1}, {0, 0}, {gpus, gpus}, 2 * static_cast<int>(gpus.size())};
}

std::vector<std::string> words_of(const std::vector<Hop>& hops) {
  std::vector<std::string> words;
  for (const Hop& hop : hops) words.push_back(in_words(hop.link));
  return words;
}

TEST(Route, AllGpusOfANodeUseAllOfItsAdaptersTogether) {
  const Cluster cluster = two_nodes();
  const Ring all = ring_of_gpus(first_gpus(8));
  const std::vector<PortPair> ports = ports_of(cluster, all, 0);
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_EQ(words_of(route(cluster, ports[0].from, ports[0].to)),
            (std::vector<std::string>{"node 0 out", "node 1 in"}));
  EXPECT_DOUBLE_EQ(edge_wire(CollectiveKind::kAllReduce, cluster, all, 0).value, 4e9);
}

TEST(Route, SomeGpusUseTheAdaptersNextToThem) {
  const Cluster cluster = two_nodes();
  const auto wire = [&](const std::vector<int>& gpus, double rings) {
    return edge_wire(CollectiveKind::kAllReduce, cluster, ring_of_gpus(gpus), 0, rings).value;
  };
  EXPECT_DOUBLE_EQ(wire({0, 1}, 1), 1e9) << "both are next to adapter 0";
  EXPECT_DOUBLE_EQ(wire({0, 4}, 1), 2e9) << "adapters 0 and 2";
  EXPECT_DOUBLE_EQ(wire({1, 3, 5, 7}, 1), 4e9);
  // Four rings of two GPUs a node at once, 0 and 4, 1 and 5...: two rings share each adapter.
  EXPECT_DOUBLE_EQ(wire({0, 4}, 4), 1e9);
  // Rings of the two GPUs next to one adapter: each has it for itself.
  EXPECT_DOUBLE_EQ(wire({0, 1}, 4), 1e9);
  const std::vector<PortPair> ports = ports_of(cluster, ring_of_gpus({0, 4}), 1);
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_EQ(words_of(route(cluster, ports[1].from, ports[1].to)),
            (std::vector<std::string>{"node 1 out", "node 0 in", "node 1 adapter 2 out", "node 0 adapter 2 in"}));
}

TEST(Route, TheCoreAndTheLinkBetweenGroupsAreShared) {
  // Of 8 GB/s of all nodes a core with an oversubscription of 4 carries 2, over two edges 1 each. A chain has one edge.
  Cluster cluster = two_nodes();
  cluster.fabric.oversubscription = 4;
  const Ring all = ring_of_gpus(first_gpus(8));
  EXPECT_DOUBLE_EQ(wire_bandwidth(CollectiveKind::kAllReduce, cluster, all).value, 1e9);
  EXPECT_DOUBLE_EQ(wire_bandwidth(CollectiveKind::kBroadcast, cluster, all).value, 2e9);
  // Eight rings of one GPU a node: 16 edges share it.
  EXPECT_DOUBLE_EQ(wire_bandwidth(CollectiveKind::kAllReduce, cluster, ring_of_gpus({3}), 8).value, 2e9 / 16);

  Cluster apart = two_nodes();
  apart.nodes = {sample_nodes(1, 8), sample_nodes(1, 8)};
  for (NodeGroup& group : apart.nodes) group.nics = {4, BytesPerSecond{1e9}, 1, Seconds{5e-6}};
  apart.fabric.latency = Seconds{1e-6};
  apart.fabric.between_groups = BetweenGroups{BytesPerSecond{0.4e9}, Seconds{20e-3}};
  Ring ring = all;
  ring.node_group = {0, 1};
  EXPECT_DOUBLE_EQ(wire_bandwidth(CollectiveKind::kAllReduce, apart, ring).value, 0.4e9);
  ring.gpus = {{3}, {3}};
  ring.ranks = 2;
  EXPECT_DOUBLE_EQ(wire_bandwidth(CollectiveKind::kAllReduce, apart, ring, 8).value, 0.05e9);
  EXPECT_EQ(words_of(route(apart, {0, 0, 1}, {1, 1, 1})),
            (std::vector<std::string>{"node 0 out", "node 1 in", "node 0 adapter 1 out", "node 1 adapter 1 in",
                                      "node group 0 out", "node group 1 in"}));
  EXPECT_DOUBLE_EQ(wire_latency(apart, 0, 1).value, 20.001e-3);
  EXPECT_EQ(wire_latency(apart, 1, 1), Seconds{1e-6});
  EXPECT_EQ(edges_apart(apart, ring), 2);
}

TEST(Route, AdaptersAreCountedOnce) {
  // Whatever the numbers of GPUs and adapters: all GPUs have all adapters, none is next to two more than another, and
  // GPUs together have no more than each by itself, and no fewer than one of them.
  for (int seed = 0; seed < 200; ++seed) {
    Random random(seed);
    NodeGroup group = sample_nodes(1, random.integer(1, 16));
    group.nics.count = random.integer(1, 16);
    EXPECT_EQ(adapters_of(group, first_gpus(group.gpus)), group.nics.count) << seed;
    int sum = 0, most = 0, fewest = 100;
    std::vector<int> some;
    for (int gpu = 0; gpu < group.gpus; ++gpu) {
      const int own = adapters_of(group, {gpu});
      most = std::max(most, own);
      fewest = std::min(fewest, own);
      if (random.integer(0, 1) == 1) some.push_back(gpu), sum += own;
      EXPECT_EQ(adapter_next_to(group, first_gpu_at(group, adapter_next_to(group, gpu))), adapter_next_to(group, gpu));
    }
    EXPECT_LE(most - fewest, 1) << seed;
    EXPECT_LE(adapters_of(group, some), sum) << seed;
    EXPECT_GE(adapters_of(group, some), some.empty() ? 0 : fewest) << seed;
  }
}

}  // namespace
}  // namespace accosim
