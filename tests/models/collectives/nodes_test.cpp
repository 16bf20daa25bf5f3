// Which links lie between two nodes, and what is left of them where a group shares them: by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/collectives/collectives.hpp"
#include "models/collectives/fabric_size.hpp"
#include "models/collectives/nccl_cost.hpp"
#include "models/collectives/ring.hpp"
#include "models/collectives/route.hpp"
#include "models/read/load.hpp"
#include "models/spec/fabrics.hpp"
#include "tests/support/gpus.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

/// Two nodes of 8 GPUs with 4 adapters of 1 GB/s: GPUs 0 and 1 are next to adapter 0, 2 and 3 to adapter 1 and so on.
Cluster two_nodes() {
  Cluster cluster{.nodes = {sample_nodes(2, 8)}};
  cluster.nodes[0].nics = {4, BytesPerSecond{1e9}, 1, Seconds{5e-6}};
  return cluster;
}

Ring ring_of_gpus(const std::vector<int>& gpus) {
  return {{0, 1}, {0, 0}, {gpus, gpus}, 2 * static_cast<int>(gpus.size())};
}

std::vector<std::string> words_of(const std::vector<Hop>& hops) {
  return mapped<std::string>(hops, [](const Hop& hop) { return in_words(hop.link); });
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

// Does a fabric of many nodes cost more in the mean, by its collisions and by the switches that messages cross?

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

/// Nodes of A100 with adapters of a kind, of 25 GB/s all of which is reached and without collisions.
NodeGroup group_of_kind(const std::string& kind, int gpus, int adapters) {
  NodeGroup group{.count = 8, .gpus = gpus};
  group.devices.assign(static_cast<std::size_t>(gpus), Device{});
  for (Device& device : group.devices) device.architecture = "ampere";
  group.intra = usual_intra("nvswitch", "ampere");
  group.intra.bandwidth = BytesPerSecond{300e9};
  group.nics = usual_nics(kind);
  group.nics.count = adapters;
  group.nics.bandwidth = BytesPerSecond{25e9};
  group.nics.efficiency = 1;
  group.nics.collisions = 0;
  return group;
}

Cluster cluster_of(const NodeGroup& group, int nodes) {
  Cluster cluster{.nodes = {group}};
  cluster.nodes.front().count = nodes;
  return cluster;
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

// Do hosts copy what they send and receive out of one budget, and does a fabric of many nodes cost more in the mean?

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

// What single kinds of machines have of their own: AWS's plugin makes one device of several adapters, switches that
// reduce fill a tree of nodes slowly, and two racks are not faster than one.

class NetworkKinds : public ::testing::Test {
 protected:
  /// So many nodes, each of 8 H100 or a rack of 72 GB200.
  Cluster nodes(int count, const std::string& kind, int adapters, int gbit, const std::string& release = "2.20.3",
                bool rack = false) {
    return load_cluster(files_.write(
        "c.json",
        R"({"schema": "accosim.cluster/1", "name": "c", "nccl": ")" + release + R"(", "nodes": [{"count": )" +
            std::to_string(count) +
            (rack ? R"(, "gpus": 72, "device": "GB200", "intra": {"kind": "nvswitch", "bandwidth": "900 GB/s"})"
                  : R"(, "gpus": 8, "device": "H100-SXM", "intra": {"kind": "nvswitch", "bandwidth": "450 GB/s"})") +
            R"(, "nics": {"kind": ")" + kind + R"(", "count": )" + std::to_string(adapters) + R"(, "bandwidth": ")" +
            std::to_string(gbit) + R"( Gbit/s"}}]})"));
  }
  static double time_of(const Cluster& cluster, double bytes, CollectiveKind kind = CollectiveKind::kAllReduce) {
    return collective_time(kind, Bytes{bytes}, cluster, whole_ring(cluster)).value;
  }

  Scratch files_;
};

TEST_F(NetworkKinds, TheSameWireOfEfaTakesTheSameTimeHoweverItIsSpelt) {
  // A p5 has 32 adapters of 100 Gbit/s, a p5en 16 of 200: both show NCCL eight devices of 400.
  for (const int count : {2, 4, 16})
    for (const CollectiveKind kind : values_of<CollectiveKind>())
      for (const double bytes : {1024.0, kMiB, 256 * kMiB, 16384 * kMiB}) {
        const double eight = time_of(nodes(count, "efa_rdma", 8, 400), bytes, kind);
        EXPECT_DOUBLE_EQ(time_of(nodes(count, "efa_rdma", 16, 200), bytes, kind), eight) << name_of(kind) << bytes;
        EXPECT_DOUBLE_EQ(time_of(nodes(count, "efa_rdma", 32, 100), bytes, kind), eight) << name_of(kind) << bytes;
      }
}

TEST_F(NetworkKinds, FewerAdaptersThanGpusStayDevicesOfTheirOwn) {
  // As a p4d has them, four for eight GPUs.
  const Cluster four = nodes(2, "efa_rdma", 4, 100);
  EXPECT_EQ(devices_of(four.nodes.front(), whole_ring(four).gpus.front()), 4);
  const Cluster many = nodes(2, "infiniband", 32, 100);
  EXPECT_EQ(devices_of(many.nodes.front(), whole_ring(many).gpus.front()), 32) << "no plugin makes one of several";
}

TEST_F(NetworkKinds, NvlsTreeFillsAWaveAtATime) {
  // 128 MiB on two nodes: chunks of 128 KiB (less than 16 times 16 x 8 x 256 KiB), so eight waves of 16 x 8 of them.
  // What lasts is two moves of a chunk at a block's rate: the pipeline has one wave, seven more, and 2 + 2 stages of
  // which each adds `nvls_fill` of a wave.
  const Cluster two = nodes(2, "infiniband", 8, 400);
  const Ring ring = whole_ring(two);
  const NcclWay way{Algorithm::kNvlsTree, Protocol::kSimple};
  const NcclSteps steps = nccl_steps(CollectiveKind::kAllReduce, Bytes{128 * kMiB}, two, ring, way);
  EXPECT_EQ(steps.links.channels, 128);
  EXPECT_EQ(steps.links.chunk.value, kMiB / 8);
  const Nvls& nvls = two.nodes.front().intra.nvls;
  const Seconds wave = 2 * (steps.links.chunk / steps.links.inner);
  const CollectiveCost cost = NcclPrices(CollectiveKind::kAllReduce, two, ring).of(Bytes{128 * kMiB}, way);
  const Seconds inside = 2 * steps.links.inner_hop + wave + 4 * nvls.fill * wave + 7 * (steps.links.inner_hop + wave);
  EXPECT_NEAR(cost.terms.inside.value, inside.value, 1e-9);
  EXPECT_EQ(cost.channels, 16) << "multiprocessors that it holds: a block serves a channel for all GPUs";
}

TEST_F(NetworkKinds, TwoRacksAreNotFasterThanOne) {
  // An all-reduce of 256 MiB took 861 us on two racks and 1,230 us on one while a tree of them had no filling.
  for (const std::string release : {"2.25.1", "2.27.5", "2.29.7"})
    for (double bytes = kMiB; bytes <= 16384 * kMiB; bytes *= 4)
      EXPECT_GE(time_of(nodes(2, "infiniband", 72, 400, release, true), bytes),
                time_of(nodes(1, "infiniband", 72, 400, release, true), bytes))
          << bytes / kMiB << " MiB, NCCL " << release;
}

TEST_F(NetworkKinds, BoardsWithAnAdapterEachGoThroughIt) {
  // 8 boards on PCIe 5.0, of which two nodes were measured with an adapter of 400 Gbit/s behind each board's own
  // switch: 40.69 ms for an all-reduce of 1 GiB, 49.5 GB/s of bus bandwidth. In servers whose boards share root ports
  // eight crowd to 18.8 GB/s; where adapters are slower than the slot, or reached through the CPU, or fewer, NCCL stays
  // there.
  const auto bus = [&](const std::string& nics) {
    const Cluster cluster = load_cluster(files_.write(
        "c.json", R"({"schema": "accosim.cluster/1", "name": "c", "nccl": "2.30", "nodes": [{"count": 2, "gpus": 8,
            "device": "RTX-PRO-6000", "intra": {"kind": "pcie", "bandwidth": "63 GB/s"}, "nics": {"kind": "roce", )" +
                      nics + "}}]}"));
    return 1024 * kMiB * 2 * 15 / 16 / time_of(cluster, 1024 * kMiB) / 1e9;
  };
  EXPECT_GT(bus(R"("count": 8, "bandwidth": "400 Gbit/s")"), 42);
  EXPECT_LT(bus(R"("count": 8, "bandwidth": "400 Gbit/s")"), 50) << "no more than the adapter carries";
  for (const char* const crowded :
       {R"("count": 8, "bandwidth": "200 Gbit/s")", R"("count": 4, "bandwidth": "400 Gbit/s")",
        R"("count": 8, "bandwidth": "400 Gbit/s", "path": "cpu")"})
    EXPECT_LT(bus(crowded), 20) << crowded;
}

TEST_F(NetworkKinds, ASwitchReducesForAtMost32Gpus) {
  const Cluster racks = nodes(2, "infiniband", 72, 400, "2.27.5", true);
  const NcclSteps steps = nccl_steps(CollectiveKind::kAllReduce, Bytes{16384 * kMiB}, racks, whole_ring(racks),
                                     {Algorithm::kNvlsTree, Protocol::kSimple});
  EXPECT_EQ(steps.links.channels, 16 * 32);
  EXPECT_EQ(steps.links.threads, 32);
}

}  // namespace
}  // namespace accosim
