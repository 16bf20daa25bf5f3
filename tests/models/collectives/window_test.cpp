// Does an edge between two nodes carry what may be under way on it, where the wire is long, and does nothing change
// where it is short?
#include "models/collectives/window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/collectives/collectives.hpp"
#include "models/collectives/route.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/fabrics.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 0x1p20;

/// Groups of `nodes` with one GPU and one adapter of 10 GB/s each, Simple only: nothing but bytes and wires takes time.
Cluster islands(const std::vector<int>& nodes) {
  Cluster cluster;
  for (const int count : nodes) {
    NodeGroup group;
    group.count = count;
    group.devices.emplace_back();
    group.nics.bandwidth = BytesPerSecond{10e9};
    cluster.nodes.push_back(group);
  }
  return cluster;
}

double time_of(CollectiveKind kind, double bytes, const Cluster& cluster) {
  return collective_time(kind, Bytes{bytes}, cluster, whole_ring(cluster)).value;
}

TEST(Window, IsWhatChannelsHaveUnderWayInARoundTrip) {
  // 2 x 4 MiB in 60 ms: 8388608 / 0.06 B/s.
  const Window window{2, kChannelBuffer, Seconds{60e-3}};
  EXPECT_DOUBLE_EQ(window.rate().value, 8388608 / 0.06);
  EXPECT_EQ(Window{}.rate().value, std::numeric_limits<double>::infinity()) << "a wire without length limits nothing";
  EXPECT_EQ(in_words(window), "2 channels x 4 MiB per 60 ms");
}

TEST(Window, OfAChannelIsNcclsBuffersOrWhatItsSocketsTake) {
  Nics nics;
  nics.kind = "infiniband";
  EXPECT_EQ(channel_window(nics), Bytes{4 * kMiB});
  nics.kind = "tcp";
  nics.socket_window = kSocketWindow;
  EXPECT_EQ(channel_window(nics), Bytes{4 * kMiB}) << "6 MiB are more than NCCL has under way";
  nics.socket_window = Bytes{1 * kMiB};
  EXPECT_EQ(channel_window(nics), Bytes{1 * kMiB});
  nics.sockets = 3;
  EXPECT_EQ(channel_window(nics), Bytes{3 * kMiB});
  nics.sockets = 16;
  EXPECT_EQ(channel_window(nics), Bytes{4 * kMiB});
  nics.kind = kOwnRings;
  EXPECT_EQ(channel_window(nics), Bytes{16 * kMiB}) << "accocal's rings have no buffers of NCCL";
}

TEST(Window, TheWiresLengthIsTheFabricsAndThatBetweenGroups) {
  Cluster cluster = islands({2, 1});
  cluster.fabric.latency = Seconds{1e-3};
  EXPECT_EQ(wire_latency(cluster, 0, 1), Seconds{1e-3});
  cluster.fabric.between_groups = BetweenGroups{BytesPerSecond{1e9}, Seconds{29e-3}};
  EXPECT_EQ(wire_latency(cluster, 0, 0), Seconds{1e-3});
  EXPECT_DOUBLE_EQ(wire_latency(cluster, 0, 1).value, 30e-3);
  // Nodes 0 and 1 are neighbours of one group; 1 to 2 and 2 to 0 cross. Twice the wire, two channels of one adapter.
  const Ring ring = whole_ring(cluster);
  EXPECT_EQ(edge_windows(cluster, ring)[0].round_trip, Seconds{2e-3});
  EXPECT_DOUBLE_EQ(edge_windows(cluster, ring)[1].round_trip.value, 60e-3);
  EXPECT_DOUBLE_EQ(edge_windows(cluster, ring)[2].round_trip.value, 60e-3);
  EXPECT_EQ(edge_windows(cluster, ring)[0].channels, 2);
  EXPECT_EQ(edges_apart(cluster, ring), 2);
  EXPECT_DOUBLE_EQ(slowest_window(cluster, ring).value, 8388608 / 0.06);
}

TEST(Window, TheSmallerOfTwoNodesDecides) {
  Cluster cluster = islands({1, 1});
  cluster.fabric.latency = Seconds{10e-3};
  cluster.nodes[1].nics.kind = "tcp";
  cluster.nodes[1].nics.socket_window = Bytes{1 * kMiB};
  cluster.nodes[0].nics.channels = 8;
  const Ring ring = whole_ring(cluster);
  for (const std::size_t edge : {0, 1}) {
    EXPECT_EQ(edge_windows(cluster, ring)[edge].each, Bytes{1 * kMiB});
    EXPECT_EQ(edge_windows(cluster, ring)[edge].channels, 2) << "a communicator has as many channels everywhere";
  }
  cluster.nodes[0].nics.kind = kOwnRings;
  EXPECT_EQ(edge_windows(cluster, ring)[0].channels, 1);
}

TEST(Window, ChangesNothingOnAShortWire) {
  // 8 adapters: 16 channels x 4 MiB in 20 us are 3.3 TB/s, on adapters of 10 GB/s. What is left is the wire's latency
  // in each of the 3 steps.
  Cluster cluster = islands({4});
  cluster.nodes[0].nics.count = 8;
  const double without = time_of(CollectiveKind::kAllGather, 1e9, cluster);
  cluster.fabric.latency = Seconds{10e-6};
  EXPECT_NEAR(time_of(CollectiveKind::kAllGather, 1e9, cluster), without + 3 * 10e-6, 1e-15);
  EXPECT_TRUE(std::isinf(slowest_window(islands({4}), whole_ring(islands({4}))).value))
      << "and without a length nothing";
}

TEST(Window, ACollectiveOverALongWireIsPacedByIt) {
  // All-gather of 4 GB over 4 nodes: each edge carries 3 GB, in 3 steps of 30 ms, at 2 x 4 MiB / 60 ms.
  Cluster cluster = islands({4});
  cluster.fabric.latency = Seconds{30e-3};
  EXPECT_NEAR(time_of(CollectiveKind::kAllGather, 4e9, cluster), 3 * 30e-3 + 3e9 / (8388608 / 0.06), 1e-9);
  cluster.nodes[0].nics.channels = 32;  // 2.24 GB/s
  EXPECT_NEAR(time_of(CollectiveKind::kAllGather, 4e9, cluster), 3 * 30e-3 + 3e9 / (32 * 4194304 / 0.06), 1e-9);
  cluster.nodes[0].nics.bandwidth = BytesPerSecond{1e9};
  EXPECT_NEAR(time_of(CollectiveKind::kAllGather, 4e9, cluster), 3 * 30e-3 + 3, 1e-9);
}

TEST(Window, FewBytesFindItOpen) {
  // 4 bytes on one channel: a reduce-scatter between two nodes is one step of the wire.
  Cluster cluster = islands({2});
  cluster.fabric.latency = Seconds{30e-3};
  EXPECT_NEAR(time_of(CollectiveKind::kReduceScatter, 4, cluster), 30e-3, 1e-6);
}

TEST(Islands, ARingCrossesToEachGroupOnceAndTheSlowestEdgeDecides) {
  // Two groups of two nodes, 1.25 GB/s and 30 ms apart, 32 channels so that no window binds. All-gather of 4 GB: 3 GB
  // on each edge, at 1.25 GB/s on those that cross; of 3 steps between nodes two cross.
  Cluster cluster = islands({2, 2});
  for (NodeGroup& group : cluster.nodes) group.nics.channels = 32;
  cluster.fabric.between_groups = BetweenGroups{BytesPerSecond{1.25e9}, Seconds{30e-3}};
  EXPECT_NEAR(time_of(CollectiveKind::kAllGather, 4e9, cluster), 2 * 30e-3 + 3 / 1.25, 1e-9);
  // The first group alone knows nothing of it: 2 nodes, 2 GB on an edge at 10 GB/s.
  const Ring first = ring_of(places_of(cluster), {0, 1});
  EXPECT_NEAR(collective_time(CollectiveKind::kAllGather, Bytes{4e9}, cluster, first).value, 2.0 / 10, 1e-9);
  // Two groups of one node have one step, and it crosses; a chain of three groups crosses twice, a ring in 2 steps.
  cluster.nodes[0].count = cluster.nodes[1].count = 1;
  EXPECT_NEAR(time_of(CollectiveKind::kAllGather, 4e9, cluster), 30e-3 + 2 / 1.25, 1e-9);
  cluster.nodes.push_back(cluster.nodes[0]);
  EXPECT_NEAR(time_of(CollectiveKind::kBroadcast, 3e9, cluster), 2 * 30e-3 + 3 / 1.25, 1e-9);
}

TEST(Islands, AnAllToAllSendsFromEveryNodeToEveryOtherGroup) {
  // 2 + 2 nodes. Each sends 1/4 of its 4 GB to each other: 2 GB to the other group, from both nodes over one link:
  // 4 GB at 1.25 GB/s; one step of 30 ms.
  Cluster cluster = islands({2, 2});
  for (NodeGroup& group : cluster.nodes) group.nics.channels = 32;
  cluster.fabric.between_groups = BetweenGroups{BytesPerSecond{1.25e9}, Seconds{30e-3}};
  EXPECT_NEAR(time_of(CollectiveKind::kAllToAll, 4e9, cluster), 30e-3 + 4 / 1.25, 1e-9);
}

TEST(Islands, ALongerWireIsNeverFasterAndMoreChannelsNeverSlower) {
  for (int seed = 0; seed < cases(200); ++seed) {
    Random random(seed);
    Cluster cluster = islands({random.integer(1, 4), random.integer(1, 4)});
    cluster.fabric.between_groups =
        BetweenGroups{BytesPerSecond{std::pow(10, random.uniform(6, 10))}, Seconds{random.uniform(0, 0.1)}};
    const CollectiveKind kind = values_of<CollectiveKind>()[static_cast<std::size_t>(random.integer(0, 5))];
    const double bytes = std::pow(10, random.uniform(0, 11));
    const double before = time_of(kind, bytes, cluster);
    Cluster longer = cluster, wider = cluster, faster = cluster;
    longer.fabric.between_groups->latency += Seconds{random.uniform(0, 0.1)};
    EXPECT_GE(time_of(kind, bytes, longer), before) << "seed " << seed;
    faster.fabric.between_groups->bandwidth = 2 * cluster.fabric.between_groups->bandwidth;
    EXPECT_LE(time_of(kind, bytes, faster), before) << "seed " << seed;
    for (NodeGroup& group : wider.nodes) group.nics.channels = 8;
    EXPECT_LE(time_of(kind, std::max(bytes, 1e6), wider), time_of(kind, std::max(bytes, 1e6), cluster) * (1 + 1e-12))
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace accosim
