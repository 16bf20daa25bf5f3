// Do collectives cost what the ring algorithm moves, at the bandwidth of its slowest edge, as nccl-tests would report
// it?
#include "models/collectives/collectives.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "models/collectives/links.hpp"
#include "models/spec/cluster.hpp"
#include "tests/support/gpus.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter,
                                     CollectiveKind::kAllGather, CollectiveKind::kBroadcast};

/// `count` nodes of `gpus`: 240 GB/s achieved inside at 2 us a step, 10 GB/s achieved outside at 4 us, 1 us of fabric.
NodeGroup group(int count, int gpus) {
  NodeGroup g{.name = "group", .count = count, .gpus = gpus};
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
  return Cluster{.name = "test", .nodes = std::move(groups), .fabric = {.latency = Seconds{1e-6}}};
}

TEST(Collectives, RingGoesNodeByNode) {
  const Cluster c = cluster_of({group(2, 4), group(1, 2)});
  const Ring ring = whole_ring(c);
  EXPECT_EQ(ring.node, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(ring.node_group, (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(ring.gpus, (std::vector<std::vector<int>>{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1}}));
  EXPECT_EQ(ring.ranks, 10);
  const Ring some = ring_of(places_of(c), {1, 4, 5, 9});
  EXPECT_EQ(some.gpus, (std::vector<std::vector<int>>{{1}, {0, 1}, {1}}));
  EXPECT_EQ(some.ranks, 4);
}

TEST(Collectives, InsideANodeTheLengthOfWiresBetweenNodesIsNothing) {
  // Slots of buffers bound what is under way to a distant node, and nothing over NVLink.
  Cluster c = cluster_of({group(2, 8)});
  const Ring node = ring_of(places_of(c), {0, 1, 2, 3, 4, 5, 6, 7});
  const auto times = [&] {
    std::vector<double> all;
    for (const CollectiveKind kind : kKinds)
      for (const double bytes : {1e3, 1e6, 400e6}) all.push_back(collective_time(kind, Bytes{bytes}, c, node).value);
    return all;
  };
  const std::vector<double> near = times();
  c.fabric.latency = Seconds{40e-3};
  EXPECT_EQ(times(), near);
}

TEST(Collectives, OneRankCostsNothing) {
  const Cluster c = cluster_of({group(1, 1)});
  for (const CollectiveKind kind : kKinds) {
    const CollectiveCost cost = collective_cost(kind, Bytes{1e9}, c, whole_ring(c));
    EXPECT_EQ(cost.latency.value, 0) << name_of(kind);
    EXPECT_EQ(cost.intra.value, 0);
    EXPECT_EQ(cost.edge_bytes.value, 0);
    EXPECT_EQ(cost.sent_per_rank.value, 0);
    EXPECT_EQ(collective_time(kind, Bytes{1e9}, c, whole_ring(c)).value, 0);
  }
}

TEST(Collectives, BusBandwidthInOneNodeIsTheAchievedBandwidth) {
  // nccl-tests: busbw = algbw x 2(n-1)/n for all-reduce, x (n-1)/n for reduce-scatter and all-gather, x 1 for
  // broadcast.
  for (int gpus = 2; gpus <= 16; ++gpus) {
    const Cluster c = cluster_of({group(1, gpus)});
    const double n = gpus;
    for (const CollectiveKind kind : kKinds) {
      const CollectiveCost cost = collective_cost(kind, Bytes{1e9}, c, whole_ring(c));
      const double passes = kind == CollectiveKind::kAllReduce ? 2 : 1;
      const double factor = kind == CollectiveKind::kBroadcast ? 1 : passes * (n - 1) / n;
      EXPECT_NEAR(1e9 / cost.intra.value * factor, 240e9, 1) << name_of(kind);
      EXPECT_NEAR(cost.latency.value, passes * (n - 1) * 2e-6, 1e-15);
      EXPECT_EQ(cost.edge_bytes.value, 0);
      EXPECT_NEAR(collective_time(kind, Bytes{1e9}, c, whole_ring(c)).value, (cost.latency + cost.intra).value, 1e-15);
    }
  }
}

TEST(Collectives, StepsBetweenNodesPayForTheNetwork) {
  // 4 nodes of 8, all-reduce: 2 x 31 steps, 2 x 3 of them between nodes at 4 + 1 us, 56 inside at 2 us: 142 us.
  const Cluster c = cluster_of({group(4, 8)});
  const CollectiveCost all = collective_cost(CollectiveKind::kAllReduce, Bytes{32e9}, c, whole_ring(c));
  EXPECT_NEAR(all.latency.value, 142e-6, 1e-15);
  EXPECT_DOUBLE_EQ(all.edge_bytes.value, 62e9);
  EXPECT_DOUBLE_EQ(all.sent_per_rank.value, 62e9);
  EXPECT_DOUBLE_EQ(all.intra.value, 62e9 / 240e9);
  EXPECT_NEAR(collective_time(CollectiveKind::kAllReduce, Bytes{32e9}, c, whole_ring(c)).value, 142e-6 + 6.2, 1e-12);
  // Half the steps and bytes for a reduce-scatter or an all-gather.
  for (const CollectiveKind kind : {CollectiveKind::kReduceScatter, CollectiveKind::kAllGather}) {
    const CollectiveCost half = collective_cost(kind, Bytes{32e9}, c, whole_ring(c));
    EXPECT_DOUBLE_EQ(half.latency.value, all.latency.value / 2);
    EXPECT_DOUBLE_EQ(half.edge_bytes.value, 31e9);
    EXPECT_DOUBLE_EQ(half.sent_per_rank.value, 31e9);
  }
  // A broadcast is a chain: each of its 31 edges carries the buffer, so that the mean rank sends 31/32 of it.
  const CollectiveCost chain = collective_cost(CollectiveKind::kBroadcast, Bytes{32e9}, c, whole_ring(c));
  EXPECT_DOUBLE_EQ(chain.edge_bytes.value, 32e9);
  EXPECT_DOUBLE_EQ(chain.sent_per_rank.value, 31e9);
}

TEST(Collectives, OneRankANodeUsesNoInnerLink) {
  Cluster c = cluster_of({group(4, 1)});
  c.nodes[0].intra = IntraLink{};  // not even described
  const CollectiveCost cost = collective_cost(CollectiveKind::kAllReduce, Bytes{4e9}, c, whole_ring(c));
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
  const CollectiveCost cost = collective_cost(CollectiveKind::kReduceScatter, Bytes{13e9}, c, whole_ring(c));
  EXPECT_DOUBLE_EQ(cost.intra.value, 12e9 / 24e9);
  EXPECT_NEAR(cost.latency.value, 10 * 9e-6 + 2 * 8e-6, 1e-15);
  EXPECT_NEAR(collective_time(CollectiveKind::kReduceScatter, Bytes{13e9}, c, whole_ring(c)).value,
              cost.latency.value + 12.0, 1e-12);
  // Wherever the slowest adapter is: 11 us and the fabric's 1 on the first node.
  c.nodes[0].nics.latency = Seconds{11e-6};
  EXPECT_NEAR(collective_cost(CollectiveKind::kReduceScatter, Bytes{13e9}, c, whole_ring(c)).latency.value,
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
  const Seconds t = collective_time(CollectiveKind::kAllGather, Bytes{4e9}, c, whole_ring(c));
  EXPECT_NEAR(t.value, 2 * 2e-6 + 5e-6 + 3e9 / 240e9, 1e-15);
}

TEST(Collectives, CoreLimitsOnlyWhenOversubscribed) {
  Cluster c = cluster_of({group(4, 8)});
  EXPECT_EQ(core_bandwidth(c).value, 0);
  const Seconds free = collective_time(CollectiveKind::kAllReduce, Bytes{32e9}, c, whole_ring(c));
  c.fabric.oversubscription = 2;
  // 4 x 10 GB/s of adapters behind a core of 20 GB/s, which four edges share: 5 GB/s each.
  EXPECT_DOUBLE_EQ(core_bandwidth(c).value, 20e9);
  const Seconds shared = collective_time(CollectiveKind::kAllReduce, Bytes{32e9}, c, whole_ring(c));
  EXPECT_NEAR(shared.value - free.value, 62e9 / 5e9 - 62e9 / 10e9, 1e-9);
  // Two of the four nodes do not fill that core.
  std::vector<int> half(16);
  std::iota(half.begin(), half.end(), 0);
  const Ring two = ring_of(places_of(c), half);
  EXPECT_NEAR(collective_time(CollectiveKind::kAllGather, Bytes{16e9}, c, two).value, 14 * 2e-6 + 5e-6 + 15e9 / 10e9,
              1e-9);
}

TEST(Collectives, MoreBandwidthIsNeverSlowerAndMoreBytesNeverFaster) {
  std::uint64_t state = 11;
  const auto random = [&state](int least, int most) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return least + static_cast<int>((state >> 33) % static_cast<std::uint64_t>(most - least + 1));
  };
  for (int i = 0; i < cases(500); ++i) {
    Cluster c = cluster_of({group(random(1, 4), random(1, 8)), group(random(1, 3), random(1, 8))});
    c.fabric.oversubscription = random(1, 4);
    for (NodeGroup& g : c.nodes) {
      g.intra.bandwidth = BytesPerSecond{1e9 * random(1, 900)};
      g.nics.bandwidth = BytesPerSecond{1e9 * random(1, 100)};
    }
    const Ring ring = whole_ring(c);
    const Bytes bytes{1e6 * random(1, 10000)};
    const CollectiveKind kind = kKinds[random(0, 3)];
    const Seconds before = collective_time(kind, bytes, c, ring);
    Ring nobody_looked = ring;
    nobody_looked.as_before.clear();  // what is known of nodes that are alike moves no price
    EXPECT_EQ(collective_time(kind, bytes, c, nobody_looked), before);
    EXPECT_GE(collective_time(kind, 1.5 * bytes, c, ring), before);
    Cluster better = c;
    NodeGroup& g = better.nodes[static_cast<std::size_t>(random(0, 1))];
    if (random(0, 1) == 0) {
      g.intra.bandwidth = 2 * g.intra.bandwidth;
    } else {
      g.nics.count += 1;
    }
    EXPECT_LE(collective_time(kind, bytes, better, ring), before);
    // Reduce-scatter then all-gather is an all-reduce by rings; by the best algorithm it takes no longer.
    const double two = collective_time(CollectiveKind::kReduceScatter, bytes, c, ring).value +
                       collective_time(CollectiveKind::kAllGather, bytes, c, ring).value;
    EXPECT_NEAR(two, collective_time(CollectiveKind::kAllReduce, bytes, c, ring, Algorithm::kRing).value, 1e-12 * two);
    EXPECT_LE(collective_time(CollectiveKind::kAllReduce, bytes, c, ring).value, two * (1 + 1e-12));
  }
}

TEST(Collectives, ATreeOfTwoNodesMovesTheBufferOnce) {
  // 2 nodes of 8: a ring's edges carry 2 x 15/16 of the buffer, a tree's the buffer once (half up one tree, half down
  // the other). The chains inside carry 2 x 7/8 of it in 14 steps of 2 us; 2 steps between nodes of 4 + 1 us.
  const Cluster c = cluster_of({group(2, 8)});
  const CollectiveCost cost = collective_cost(CollectiveKind::kAllReduce, Bytes{16e9}, c, whole_ring(c));
  EXPECT_EQ(cost.algorithm, Algorithm::kTree);
  EXPECT_DOUBLE_EQ(cost.edge_bytes.value, 16e9);
  EXPECT_DOUBLE_EQ(cost.intra.value, 28e9 / 240e9);
  EXPECT_NEAR(cost.latency.value, 14 * 2e-6 + 2 * 5e-6, 1e-15);
  const CollectiveCost ring =
      collective_cost(CollectiveKind::kAllReduce, Bytes{16e9}, c, whole_ring(c), Algorithm::kRing);
  EXPECT_EQ(ring.algorithm, Algorithm::kRing);
  EXPECT_DOUBLE_EQ(ring.edge_bytes.value, 30e9);
  // Of three nodes the busiest has two edges in one tree and one in the other, of more three and one, for half each.
  for (const auto& [nodes, times] : {std::pair(3, 1.5), std::pair(4, 2.0), std::pair(9, 2.0)}) {
    const Cluster more = cluster_of({group(nodes, 8)});
    EXPECT_DOUBLE_EQ(collective_cost(CollectiveKind::kAllReduce, Bytes{16e9}, more, whole_ring(more), Algorithm::kTree)
                         .edge_bytes.value,
                     times * 16e9);
    EXPECT_DOUBLE_EQ(tree_passes(nodes), times);
  }
}

TEST(Collectives, ATreeTakesLogarithmicallyManyStepsWhereARingTakesAll) {
  // 16 nodes of 8, 8 bytes: 14 steps of 2 us inside, 2 x log2(16) = 8 of 5 us between: 68 us; its edges carry the
  // buffer twice. The ring: 224 steps of 2 us and 30 of 5 us.
  const Cluster c = cluster_of({group(16, 8)});
  const CollectiveCost cost = collective_cost(CollectiveKind::kAllReduce, Bytes{8}, c, whole_ring(c));
  EXPECT_EQ(cost.algorithm, Algorithm::kTree);
  EXPECT_NEAR(cost.latency.value, 68e-6, 1e-15);
  EXPECT_DOUBLE_EQ(cost.edge_bytes.value, 16);
}

/// 8 A100 behind a switch, as a cluster's file would have them: 24 channels of 10 GB/s, 30 us to launch with Simple and
/// 2 us a step; LL and LL128 as NCCL counts them.
Cluster node_of_a100() {
  Cluster c = cluster_of({group(1, 8)});
  NodeGroup& node = c.nodes[0];
  node.intra.generation = "ampere";
  node.intra.launch = Seconds{30e-6};
  node.intra.ll = {1, 1, 0.7};
  for (Device& device : node.devices) {
    device.architecture = "ampere";
    device.collective_sms = 24;
  }
  return c;
}

TEST(Collectives, AShortMessageTakesTheProtocolThatStartsAtOnce) {
  // NCCL's own estimates choose: LL up to some 2 MiB, then LL128, from 27 MiB on Simple. LL: 6.6 us and 14 steps of
  // 0.75 us. 8 B are one channel's, a byte of each rank, at 87.7 / 24 GB/s.
  const Cluster c = node_of_a100();
  const auto cost_of = [&](double bytes) {
    return collective_cost(CollectiveKind::kAllReduce, Bytes{bytes}, c, whole_ring(c));
  };
  const auto time_of = [&](double bytes) {
    return collective_time(CollectiveKind::kAllReduce, Bytes{bytes}, c, whole_ring(c)).value;
  };
  EXPECT_EQ(cost_of(8).protocol, Protocol::kLowLatency);
  EXPECT_NEAR(time_of(8), 6.6e-6 + 14 * (0.75e-6 + 1 / (87.7e9 / 24)), 1e-12);
  // LL128: 14 us and 14 steps of 1.43 us; of 12 MiB a rank's part of a channel is 64 KiB, at 0.7 x 300 / 24 GB/s.
  constexpr double kMiB = 1024 * 1024;
  EXPECT_EQ(cost_of(12 * kMiB).protocol, Protocol::kLl128);
  EXPECT_NEAR(time_of(12 * kMiB), 14e-6 + 14 * (1.43e-6 + kMiB / 16 / (210e9 / 24)), 1e-12);
  // Simple: 30 us; of 192 MiB a part is 1 MiB, at 10 GB/s; the hop of a slice hides behind the other one.
  EXPECT_EQ(cost_of(192 * kMiB).protocol, Protocol::kSimple);
  EXPECT_NEAR(time_of(192 * kMiB), 30e-6 + 14 * kMiB / 10e9, 1e-12);
}

TEST(Collectives, Ll128IsOffWhereItsEfficiencyIsNothing) {
  Cluster c = node_of_a100();
  c.nodes[0].intra.ll.efficiency128 = 0;
  for (double bytes = 8; bytes < 1e9; bytes *= 4) {
    const CollectiveCost cost = collective_cost(CollectiveKind::kAllReduce, Bytes{bytes}, c, whole_ring(c));
    EXPECT_NE(cost.protocol, Protocol::kLl128) << bytes;
    EXPECT_LT(cost.intra.value, 1) << bytes;
  }
}

TEST(Collectives, WhatWaitsBeforeAStepsCollectiveIsPaidOnce) {
  Cluster c = node_of_a100();
  const auto time = [&](CollectiveKind kind) { return collective_time(kind, Bytes{4096}, c, whole_ring(c)).value; };
  for (const CollectiveKind kind : values_of<CollectiveKind>()) {
    c.nodes[0].intra.start = Seconds{0};
    const double without = time(kind);
    c.nodes[0].intra.start = Seconds{9e-6};
    EXPECT_NEAR(time(kind), without + 9e-6, 1e-12) << name_of(kind);
  }
}

TEST(Collectives, TheLastReceiveOfARingTurns) {
  // As above, 192 MiB with Simple: a chunk of 1 MiB takes 14 steps, and half a one more.
  Cluster c = node_of_a100();
  c.nodes[0].intra.turnaround = 0.5;
  constexpr double kMiB = 1024 * 1024;
  EXPECT_NEAR(collective_time(CollectiveKind::kAllReduce, Bytes{192 * kMiB}, c, whole_ring(c)).value,
              30e-6 + 14.5 * kMiB / 10e9, 1e-12);
}

TEST(Collectives, ASmallChunkWaitsForTheHopOfEachStep) {
  // All-gather of 48 MiB: parts of 256 KiB in slices of 128 KiB, 13.1 us each at 10 GB/s. A step takes its hop and the
  // first slice, if that is longer than both slices: 20 + 13.1 us. Behind the last step comes its second slice.
  Cluster c = node_of_a100();
  c.nodes[0].intra.latency = Seconds{20e-6};
  constexpr double kSlice = 128 * 1024;
  EXPECT_NEAR(collective_time(CollectiveKind::kAllGather, Bytes{48.0 * 1024 * 1024}, c, whole_ring(c)).value,
              30e-6 + 7 * (20e-6 + kSlice / 10e9) + kSlice / 10e9, 1e-12);
}

TEST(Collectives, ASwitchThatReducesMovesLess) {
  // 8 Hopper GPUs of 300 GB/s, NVLS at 1.05 of them: 315 GB/s of bus bandwidth, so 180 GB/s of the buffer. 9 GB take
  // 50 ms; 16 blocks x 8 ranks x 128 KiB = 16 MiB fill the pipeline, and half of that is paid again; 25 us to launch,
  // and two steps of 2 us.
  Cluster c = node_of_a100();
  c.nodes[0].intra.nvls = {1.05, Seconds{25e-6}, 0.5};
  for (Device& device : c.nodes[0].devices) device.architecture = "hopper";
  const CollectiveCost cost = collective_cost(CollectiveKind::kAllReduce, Bytes{9e9}, c, whole_ring(c));
  EXPECT_EQ(cost.algorithm, Algorithm::kNvls);
  EXPECT_NEAR(cost.intra.value, 50e-3, 1e-12);
  EXPECT_NEAR(cost.latency.value, 25e-6 + 4e-6 + 0.5 * 16 * 1024 * 1024 / 180e9, 1e-12);
  EXPECT_EQ(collective_cost(CollectiveKind::kAllGather, Bytes{9e9}, c, whole_ring(c)).algorithm, Algorithm::kRing);
}

TEST(Collectives, GpusOverPcieCrowd) {
  // The bandwidth of n is (2/n)^crowding of that of two: 8 at 1.5 have an eighth of it.
  Cluster c = node_of_a100();
  c.nodes[0].intra.kind = "pcie";
  c.nodes[0].intra.crowding = 1.5;
  const auto rate = [&](int ranks) { return ring_bandwidth(c.nodes[0].intra, 8, first_gpus(ranks)).value; };
  EXPECT_DOUBLE_EQ(rate(2), 300e9);
  EXPECT_DOUBLE_EQ(rate(8), 300e9 / 8);
}

// 8 GPUs, four at each of two sockets, between which 12 GB/s pass. Whoever stays at a socket is not held back. Four
// pairs across have 3 GB/s each, two rings of four 6, one of eight 12. In an all-to-all each of the four at a socket
// sends 4 of 7 parts out of it: 16/7 x 5.25 GB/s = 12; so 8 GB to all take 7/8 x 8 GB / 5.25 GB/s, whatever share of
// PCIe is achieved.
TEST(Collectives, GroupsThatCrossSocketsShareTheLinkBetweenThem) {
  Cluster c = node_of_a100();
  IntraLink& link = c.nodes[0].intra;
  link.kind = "pcie";
  link.exchange = {0.8, Seconds{40e-6}, Seconds{0}};
  link.socket_gpus = 4;
  link.between_sockets = BytesPerSecond{12e9};
  const auto ring = [&](const std::vector<int>& here) { return socket_share(link, 8, here).ring.value; };
  EXPECT_TRUE(std::isinf(ring({4, 5, 6, 7})));
  EXPECT_DOUBLE_EQ(ring({0, 4}), 3e9);
  EXPECT_DOUBLE_EQ(ring({0, 2, 4, 6}), 6e9);
  EXPECT_DOUBLE_EQ(ring(first_gpus(8)), 12e9);
  const auto exchange = [&](const std::vector<int>& here) { return socket_share(link, 8, here).exchange.value; };
  EXPECT_TRUE(std::isinf(exchange({0, 1})));
  EXPECT_DOUBLE_EQ(exchange({3, 4}), 3e9);
  EXPECT_DOUBLE_EQ(exchange(first_gpus(8)), 5.25e9);
  const auto cost = [&](CollectiveKind kind) {
    return collective_cost(kind, Bytes{8e9}, c, whole_ring(c)).intra.value;
  };
  EXPECT_NEAR(cost(CollectiveKind::kAllToAll), 7 / 5.25, 1e-9);
  EXPECT_NEAR(cost(CollectiveKind::kAllGather), 7 / 12.0, 0.05);  // and the chunks that fill the ring
}

TEST(Collectives, AnExchangeOfAtMost16KiBToEachTakesLl) {
  // Launch 6.6 us as NCCL counts LL, and a step of 0.75 us, half of it again for each of the six other receivers,
  // against 40 us of Simple. A block sends 16 KiB at 0.3 x 20 GB/s, which takes longer than the links with half of
  // their rate.
  Cluster c = node_of_a100();
  c.nodes[0].intra.exchange = {0.8, Seconds{40e-6}, Seconds{0}};
  const auto cost = [&](double bytes) {
    return collective_cost(CollectiveKind::kAllToAll, Bytes{bytes}, c, whole_ring(c));
  };
  const double limit = 8 * 16 * 1024;
  EXPECT_EQ(cost(limit).protocol, Protocol::kLowLatency);
  EXPECT_NEAR(cost(limit).latency.value, 6.6e-6 + 4 * 0.75e-6, 1e-12);
  EXPECT_NEAR(cost(limit).intra.value, 16 * 1024 / 6e9, 1e-12);
  EXPECT_EQ(cost(limit + 8).protocol, Protocol::kSimple);
  EXPECT_NEAR(cost(limit + 8).latency.value, 40e-6 + 2e-6, 1e-12);  // and a step
  // In some releases as much goes on each of the four blocks that a pair of eight ranks has.
  for (const int minor : {22, 28}) {
    c.nccl = NcclRelease{minor};
    EXPECT_EQ(cost(4 * limit).protocol, Protocol::kLowLatency) << minor;
    EXPECT_EQ(cost(4 * limit + 8).protocol, Protocol::kSimple) << minor;
  }
  c.nccl = NcclRelease{29};
  EXPECT_EQ(cost(limit + 8).protocol, Protocol::kSimple);
}

TEST(Collectives, TheBlocksOfAnExchangeBoundIt) {
  // 32 blocks of 0.55 x 20 GB/s copy all of the buffer, what stays included: 352 GB/s. Between two ranks half of it
  // crosses links that would carry it at 270 GB/s; among eight, 7/8 of it cross.
  Cluster c = node_of_a100();
  c.nodes[0].intra.exchange = {0.9, Seconds{15e-6}, Seconds{0}};
  const auto rate = [&](const std::vector<int>& ranks) {
    return 1e9 / collective_cost(CollectiveKind::kAllToAll, Bytes{1e9}, c, ring_of(places_of(c), ranks)).intra.value;
  };
  EXPECT_NEAR(rate({0, 1}), 352e9, 1);
  EXPECT_NEAR(rate(first_gpus(8)), 270e9 * 8 / 7, 1);
  for (Device& device : c.nodes[0].devices) device.architecture = "blackwell";  // 40 GB/s
  EXPECT_NEAR(rate({0, 1}), 540e9, 1);
  c.nodes[0].intra.generation.clear();  // a plain node has links alone
  for (Device& device : c.nodes[0].devices) device.architecture = "ampere";
  EXPECT_NEAR(rate({0, 1}), 540e9, 1);
}

TEST(Collectives, EveryPairExchangesAtOnce) {
  // All-to-all on 2 nodes of 4, 8 GB a rank: 3/8 to others of the node at 240 GB/s, 12.5 ms; 4 ranks x 4/8 x 8 GB leave
  // a node at 10 GB/s. Send/recv inside: 8 GB at 240 GB/s.
  const Cluster c = cluster_of({group(2, 4)});
  const CollectiveCost all = collective_cost(CollectiveKind::kAllToAll, Bytes{8e9}, c, whole_ring(c));
  EXPECT_NEAR(all.intra.value, 12.5e-3, 1e-12);
  EXPECT_DOUBLE_EQ(all.edge_bytes.value, 16e9);
  EXPECT_DOUBLE_EQ(all.sent_per_rank.value, 7e9);
  const Ring pair = ring_of(places_of(c), {0, 1});
  EXPECT_NEAR(collective_cost(CollectiveKind::kSendRecv, Bytes{8e9}, c, pair).intra.value, 8 / 240.0, 1e-12);
}

TEST(Collectives, AnExchangePostsAMessageToEachRank) {
  // All-to-all over 16 nodes of 8, 8 B a rank: 120 of 128 ranks are elsewhere, each gets a message of 2 x 1 us. The
  // first is part of the step; 2 us inside and 4 + 2 + 1 us between come before.
  Cluster c = cluster_of({group(16, 8)});
  c.nodes[0].nics.message = Seconds{1e-6};
  const double wire = 8 * 120 / 128.0 * 8 / 10e9;
  EXPECT_NEAR(collective_time(CollectiveKind::kAllToAll, Bytes{8}, c, whole_ring(c)).value, 9e-6 + 119 * 2e-6,
              1e-9 + wire);
  // Send and receive of 1 MiB: 8 messages of 128 KiB, 14 us more than the first; the wire takes 105 us.
  EXPECT_NEAR(collective_time(CollectiveKind::kSendRecv, Bytes{1048576}, c, whole_ring(c)).value, 7e-6 + 1048576 / 10e9,
              1e-12);
}

TEST(Collectives, SendAndReceiveIsOnePairANode) {
  // A board of 4 GPUs, 300 GB/s each: 100 GB/s a pair, 80 achieved, however many take part. Between nodes of 4 with 4
  // adapters one rank sends to the next node, through one of them.
  NodeGroup board = group(2, 4);
  board.intra.kind = "nvlink";
  board.nics.count = 4;
  const Cluster c = cluster_of({board});
  const std::vector<Place> places = places_of(c);
  for (const std::vector<int>& members : {std::vector<int>{0, 1}, std::vector<int>{0, 1, 2, 3}})
    EXPECT_NEAR(collective_cost(CollectiveKind::kSendRecv, Bytes{8e9}, c, ring_of(places, members)).intra.value, 0.1,
                1e-12);
  EXPECT_NEAR(collective_time(CollectiveKind::kSendRecv, Bytes{8e9}, c, whole_ring(c)).value, 0.8, 1e-4);
}

TEST(Collectives, AForcedAlgorithmIsPricedWhateverTheLinks) {
  // A tree on two boards without a switch: each tree's half goes up one way and down the other.
  Cluster board = cluster_of({group(2, 8)});
  board.nodes[0].intra.kind = "nvlink";
  const CollectiveCost cost =
      collective_cost(CollectiveKind::kAllReduce, Bytes{16e9}, board, whole_ring(board), Algorithm::kTree);
  EXPECT_EQ(cost.algorithm, Algorithm::kTree);
  EXPECT_DOUBLE_EQ(cost.edge_bytes.value, 16e9);
  // An algorithm that the collective does not have is not forced.
  EXPECT_EQ(
      collective_cost(CollectiveKind::kAllGather, Bytes{1e9}, board, whole_ring(board), Algorithm::kTree).algorithm,
      Algorithm::kRing);
}

TEST(Collectives, FewRanksOfANodeReachTheAdaptersNextToThem) {
  // 8 GPUs and 4 adapters of 10 GB/s: one or two GPUs use one, three or four use two.
  NodeGroup g = group(2, 8);
  g.nics.count = 4;
  EXPECT_DOUBLE_EQ(node_bandwidth(g, first_gpus(1)).value, 10e9);
  EXPECT_DOUBLE_EQ(node_bandwidth(g, first_gpus(2)).value, 10e9);
  EXPECT_DOUBLE_EQ(node_bandwidth(g, first_gpus(3)).value, 20e9);
  EXPECT_DOUBLE_EQ(node_bandwidth(g, first_gpus(4)).value, 20e9);
  EXPECT_DOUBLE_EQ(node_bandwidth(g, first_gpus(8)).value, 40e9);
}

}  // namespace
}  // namespace accosim
