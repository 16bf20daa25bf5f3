// Do collectives cost what the ring algorithm moves, at the bandwidth of its slowest edge, as nccl-tests would report
// it?
#include "models/collectives.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <utility>

#include "models/spec.hpp"

namespace accosim {
namespace {

constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter,
                                     CollectiveKind::kAllGather, CollectiveKind::kBroadcast};

/// `count` nodes of `gpus`: 240 GB/s achieved inside at 2 us a step, 10 GB/s achieved outside at 4 us, 1 us of fabric.
NodeGroup group(int count, int gpus) {
  NodeGroup g;
  g.name = "group";
  g.count = count;
  g.gpus = gpus;
  g.devices.resize(static_cast<std::size_t>(gpus));
  g.intra.kind = "nvswitch";
  g.intra.bandwidth = BytesPerSecond{300e9};
  g.intra.efficiency = 0.8;
  g.intra.latency = Seconds{2e-6};
  g.nics.bandwidth = BytesPerSecond{12.5e9};
  g.nics.efficiency = 0.8;
  g.nics.latency = Seconds{4e-6};
  return g;
}

Cluster cluster_of(std::vector<NodeGroup> groups) {
  Cluster c;
  c.name = "test";
  c.nodes = std::move(groups);
  c.fabric.latency = Seconds{1e-6};
  return c;
}

Ring whole(const Cluster& cluster) {
  const std::vector<Place> places = places_of(cluster);
  std::vector<int> members(places.size());
  std::iota(members.begin(), members.end(), 0);
  return ring_of(places, members);
}

TEST(Collectives, RingGoesNodeByNode) {
  const Cluster c = cluster_of({group(2, 4), group(1, 2)});
  const Ring ring = whole(c);
  EXPECT_EQ(ring.node, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(ring.node_group, (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(ring.ranks_here, (std::vector<int>{4, 4, 2}));
  EXPECT_EQ(ring.ranks, 10);
  const Ring some = ring_of(places_of(c), {1, 4, 5, 9});
  EXPECT_EQ(some.ranks_here, (std::vector<int>{1, 2, 1}));
  EXPECT_EQ(some.ranks, 4);
}

TEST(Collectives, OneRankCostsNothing) {
  const Cluster c = cluster_of({group(1, 1)});
  for (const CollectiveKind kind : kKinds) {
    const CollectiveCost cost = collective_cost(kind, Bytes{1e9}, c, whole(c));
    EXPECT_EQ(cost.latency.value, 0) << name_of(kind);
    EXPECT_EQ(cost.intra.value, 0);
    EXPECT_EQ(cost.edge_bytes.value, 0);
    EXPECT_EQ(cost.sent_per_rank.value, 0);
    EXPECT_EQ(collective_time(kind, Bytes{1e9}, c, whole(c)).value, 0);
  }
}

TEST(Collectives, BusBandwidthInOneNodeIsTheAchievedBandwidth) {
  // nccl-tests: busbw = algbw x 2(n-1)/n for all-reduce, x (n-1)/n for reduce-scatter and all-gather, x 1 for
  // broadcast.
  for (int gpus = 2; gpus <= 16; ++gpus) {
    const Cluster c = cluster_of({group(1, gpus)});
    const double n = gpus;
    for (const CollectiveKind kind : kKinds) {
      const CollectiveCost cost = collective_cost(kind, Bytes{1e9}, c, whole(c));
      const double passes = kind == CollectiveKind::kAllReduce ? 2 : 1;
      const double factor = kind == CollectiveKind::kBroadcast ? 1 : passes * (n - 1) / n;
      EXPECT_NEAR(1e9 / cost.intra.value * factor, 240e9, 1) << name_of(kind);
      EXPECT_NEAR(cost.latency.value, passes * (n - 1) * 2e-6, 1e-15);
      EXPECT_EQ(cost.edge_bytes.value, 0);
      EXPECT_NEAR(collective_time(kind, Bytes{1e9}, c, whole(c)).value, (cost.latency + cost.intra).value, 1e-15);
    }
  }
}

TEST(Collectives, StepsBetweenNodesPayForTheNetwork) {
  // 4 nodes of 8, all-reduce: 2 x 31 steps, 2 x 3 of them between nodes at 4 + 1 us, 56 inside at 2 us: 142 us.
  const Cluster c = cluster_of({group(4, 8)});
  const CollectiveCost all = collective_cost(CollectiveKind::kAllReduce, Bytes{32e9}, c, whole(c));
  EXPECT_NEAR(all.latency.value, 142e-6, 1e-15);
  EXPECT_DOUBLE_EQ(all.edge_bytes.value, 62e9);
  EXPECT_DOUBLE_EQ(all.sent_per_rank.value, 62e9);
  EXPECT_DOUBLE_EQ(all.intra.value, 62e9 / 240e9);
  EXPECT_NEAR(collective_time(CollectiveKind::kAllReduce, Bytes{32e9}, c, whole(c)).value, 142e-6 + 6.2, 1e-12);
  // Half the steps and bytes for a reduce-scatter or an all-gather.
  for (const CollectiveKind kind : {CollectiveKind::kReduceScatter, CollectiveKind::kAllGather}) {
    const CollectiveCost half = collective_cost(kind, Bytes{32e9}, c, whole(c));
    EXPECT_DOUBLE_EQ(half.latency.value, all.latency.value / 2);
    EXPECT_DOUBLE_EQ(half.edge_bytes.value, 31e9);
    EXPECT_DOUBLE_EQ(half.sent_per_rank.value, 31e9);
  }
  // A broadcast is a chain: each of its 31 edges carries the buffer, so that the mean rank sends 31/32 of it.
  const CollectiveCost chain = collective_cost(CollectiveKind::kBroadcast, Bytes{32e9}, c, whole(c));
  EXPECT_DOUBLE_EQ(chain.edge_bytes.value, 32e9);
  EXPECT_DOUBLE_EQ(chain.sent_per_rank.value, 31e9);
}

TEST(Collectives, OneRankANodeUsesNoInnerLink) {
  Cluster c = cluster_of({group(4, 1)});
  c.nodes[0].intra = IntraLink{};  // not even described
  const CollectiveCost cost = collective_cost(CollectiveKind::kAllReduce, Bytes{4e9}, c, whole(c));
  EXPECT_EQ(cost.intra.value, 0);
  EXPECT_NEAR(cost.latency.value, 6 * 5e-6, 1e-15);
  EXPECT_DOUBLE_EQ(cost.edge_bytes.value, 6e9);
}

TEST(Collectives, SlowestNodeThatTakesPartDecides) {
  Cluster c = cluster_of({group(1, 8), group(1, 4), group(1, 1)});
  c.nodes[1].intra.bandwidth = BytesPerSecond{30e9};
  c.nodes[1].intra.latency = Seconds{9e-6};
  c.nodes[1].nics.bandwidth = BytesPerSecond{1.25e9};
  c.nodes[2].intra.bandwidth = BytesPerSecond{1};  // one rank there: its inner link carries nothing
  c.nodes[2].nics.latency = Seconds{7e-6};
  const CollectiveCost cost = collective_cost(CollectiveKind::kReduceScatter, Bytes{13e9}, c, whole(c));
  EXPECT_DOUBLE_EQ(cost.intra.value, 12e9 / 24e9);
  EXPECT_NEAR(cost.latency.value, 10 * 9e-6 + 2 * 8e-6, 1e-15);
  EXPECT_NEAR(collective_time(CollectiveKind::kReduceScatter, Bytes{13e9}, c, whole(c)).value,
              cost.latency.value + 12.0, 1e-12);
  // Wherever the slowest adapter is: 11 us and the fabric's 1 on the first node.
  c.nodes[0].nics.latency = Seconds{11e-6};
  EXPECT_NEAR(collective_cost(CollectiveKind::kReduceScatter, Bytes{13e9}, c, whole(c)).latency.value,
              10 * 9e-6 + 2 * 12e-6, 1e-15);
  // Without the slow node the others do not feel it.
  const Ring fast = ring_of(places_of(c), {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_DOUBLE_EQ(collective_cost(CollectiveKind::kReduceScatter, Bytes{8e9}, c, fast).intra.value, 7e9 / 240e9);
}

TEST(Collectives, AdaptersOfANodeAddUp) {
  NodeGroup g = group(2, 8);
  EXPECT_DOUBLE_EQ(node_bandwidth(g).value, 10e9);
  g.nics.count = 4;
  EXPECT_DOUBLE_EQ(node_bandwidth(g).value, 40e9);
}

TEST(Collectives, InnerLinksLimitWhereTheNetworkIsFaster) {
  Cluster c = cluster_of({group(2, 2)});
  c.nodes[0].nics.bandwidth = BytesPerSecond{1e15};
  const Seconds t = collective_time(CollectiveKind::kAllGather, Bytes{4e9}, c, whole(c));
  EXPECT_NEAR(t.value, 2 * 2e-6 + 5e-6 + 3e9 / 240e9, 1e-15);
}

TEST(Collectives, CoreLimitsOnlyWhenOversubscribed) {
  Cluster c = cluster_of({group(4, 8)});
  EXPECT_EQ(core_bandwidth(c).value, 0);
  const Seconds free = collective_time(CollectiveKind::kAllReduce, Bytes{32e9}, c, whole(c));
  c.fabric.oversubscription = 2;
  // 4 x 10 GB/s of adapters behind a core of 20 GB/s, which four edges share: 5 GB/s each.
  EXPECT_DOUBLE_EQ(core_bandwidth(c).value, 20e9);
  const Seconds shared = collective_time(CollectiveKind::kAllReduce, Bytes{32e9}, c, whole(c));
  EXPECT_NEAR(shared.value - free.value, 62e9 / 5e9 - 62e9 / 10e9, 1e-9);
  // Two of the four nodes do not fill that core.
  std::vector<int> half(16);
  std::iota(half.begin(), half.end(), 0);
  const Ring two = ring_of(places_of(c), half);
  EXPECT_NEAR(collective_time(CollectiveKind::kAllReduce, Bytes{16e9}, c, two).value,
              28 * 2e-6 + 2 * 5e-6 + 30e9 / 10e9, 1e-9);
}

TEST(Collectives, MoreBandwidthIsNeverSlowerAndMoreBytesNeverFaster) {
  std::uint64_t state = 11;
  const auto random = [&state](int least, int most) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return least + static_cast<int>((state >> 33) % static_cast<std::uint64_t>(most - least + 1));
  };
  for (int i = 0; i < 500; ++i) {
    Cluster c = cluster_of({group(random(1, 4), random(1, 8)), group(random(1, 3), random(1, 8))});
    c.fabric.oversubscription = random(1, 4);
    for (NodeGroup& g : c.nodes) {
      g.intra.bandwidth = BytesPerSecond{1e9 * random(1, 900)};
      g.nics.bandwidth = BytesPerSecond{1e9 * random(1, 100)};
    }
    const Ring ring = whole(c);
    const Bytes bytes{1e6 * random(1, 10000)};
    const CollectiveKind kind = kKinds[random(0, 3)];
    const Seconds before = collective_time(kind, bytes, c, ring);
    EXPECT_GE(collective_time(kind, 1.5 * bytes, c, ring), before);
    Cluster better = c;
    NodeGroup& g = better.nodes[static_cast<std::size_t>(random(0, 1))];
    if (random(0, 1) == 0) {
      g.intra.bandwidth = 2 * g.intra.bandwidth;
    } else {
      g.nics.count += 1;
    }
    EXPECT_LE(collective_time(kind, bytes, better, ring), before);
    // Reduce-scatter then all-gather is an all-reduce.
    const double two = collective_time(CollectiveKind::kReduceScatter, bytes, c, ring).value +
                       collective_time(CollectiveKind::kAllGather, bytes, c, ring).value;
    EXPECT_NEAR(two, collective_time(CollectiveKind::kAllReduce, bytes, c, ring).value, 1e-12 * two);
  }
}

}  // namespace
}  // namespace accosim
