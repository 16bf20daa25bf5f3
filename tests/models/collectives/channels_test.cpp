// Does a collective take the channels that its bytes need, and the bandwidth of those?
#include "models/collectives/channels.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "models/collectives/collectives.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {
namespace {

constexpr double kKiB = 1024;

int ring(double bytes, Protocol protocol, int ranks = 8, int channels = 16) {
  return channels_of(CollectiveKind::kAllReduce, Bytes{bytes}, ranks, Algorithm::kRing, protocol, channels);
}
int tree(double bytes, Protocol protocol) {
  return channels_of(CollectiveKind::kAllReduce, Bytes{bytes}, 8, Algorithm::kTree, protocol, 16);
}

/// Nodes with `adapters` whose devices have `channels`; Simple only, and nothing but bytes takes time: 240 GB/s inside,
/// 10 GB/s an adapter.
Cluster cluster_of(int nodes, int adapters, const std::vector<int>& channels) {
  NodeGroup group;
  group.count = nodes;
  group.gpus = static_cast<int>(channels.size());
  for (const int each : channels) {
    group.devices.emplace_back();
    group.devices.back().collective_sms = each;
  }
  group.intra.kind = "nvlink";
  group.intra.bandwidth = BytesPerSecond{240e9};
  group.nics.count = adapters;
  group.nics.bandwidth = BytesPerSecond{10e9};
  Cluster cluster;
  cluster.nodes = {group};
  return cluster;
}

TEST(Channels, FourBytesTakeOne) {
  for (const Protocol protocol : {Protocol::kSimple, Protocol::kLowLatency}) {
    EXPECT_EQ(ring(4, protocol), 1);
    EXPECT_EQ(tree(4, protocol), 1);
  }
}

TEST(Channels, AreDroppedWhileEachWouldHaveLessThanItsThreshold) {
  // Simple: 512 threads x 64 B = 32 KiB a channel. 16 channels want 512 KiB; a byte less leaves 15, 100 KiB leave 3.
  EXPECT_EQ(ring(512 * kKiB, Protocol::kSimple), 16);
  EXPECT_EQ(ring(512 * kKiB - 1, Protocol::kSimple), 15);
  EXPECT_EQ(tree(100 * kKiB, Protocol::kSimple), 3);
  EXPECT_EQ(ring(1e12, Protocol::kSimple), 16) << "never more than the communicator has";
  // LL: 512 x 8 B = 4 KiB a channel in a tree, 4 KiB x 8 ranks in a ring.
  EXPECT_EQ(tree(10 * kKiB, Protocol::kLowLatency), 2);
  EXPECT_EQ(tree(64 * kKiB, Protocol::kLowLatency), 16);
  EXPECT_EQ(ring(64 * kKiB, Protocol::kLowLatency), 2);
  EXPECT_EQ(ring(64 * kKiB, Protocol::kLowLatency, 32), 1);
}

TEST(Channels, OfNvlsAreSixteenAtMostAndOneForFourBytes) {
  const auto nvls = [](double bytes) {
    return channels_of(CollectiveKind::kAllReduce, Bytes{bytes}, 8, Algorithm::kNvls, Protocol::kSimple, 24);
  };
  EXPECT_EQ(nvls(4), 1);
  EXPECT_EQ(nvls(64 * kKiB), 2);
  EXPECT_EQ(nvls(1e9), 16);
}

TEST(Channels, ExchangesKeepTheCommunicators) {
  EXPECT_EQ(channels_of(CollectiveKind::kAllToAll, Bytes{4}, 8, Algorithm::kExchange, Protocol::kSimple, 16), 16);
}

TEST(Channels, OfACommunicatorAreThoseOfTheDeviceWithFewestAndTwiceWhatTheSearchFinds) {
  const auto channels = [](const Cluster& cluster) { return communicator_channels(cluster, whole_ring(cluster)); };
  EXPECT_EQ(channels(cluster_of(1, 1, {24, 12, 24})), 12) << "inside a node adapters do not matter";
  EXPECT_EQ(channels(cluster_of(2, 1, {24, 24})), 2);
  EXPECT_EQ(channels(cluster_of(2, 8, {24, 24})), 16);
  EXPECT_EQ(channels(cluster_of(2, 8, {24, 0})), 0) << "takes none";
  // One rank a node uses the adapter next to it.
  const Cluster cluster = cluster_of(2, 2, {24, 24});
  EXPECT_EQ(communicator_channels(cluster, ring_of(places_of(cluster), {0, 2})), 2);
  EXPECT_EQ(ring(4, Protocol::kSimple, 8, 0), 0);
}

TEST(Channels, FewOfThemHaveTheirPartOfTheBandwidth) {
  // Two ranks, 24 channels: an all-reduce sends each byte once (2 (n-1)/n). 3 MiB at 240 GB/s; 96 KiB have 3 channels,
  // so 30 GB/s; 4 bytes one, 10 GB/s.
  Cluster one = cluster_of(1, 1, {24, 24});
  one.nodes[0].intra.generation = "ampere";
  const auto inside = [&](double bytes) {
    return collective_time(CollectiveKind::kAllReduce, Bytes{bytes}, one, whole_ring(one)).value;
  };
  EXPECT_DOUBLE_EQ(inside(3 * 1024 * kKiB), 3 * 1024 * kKiB / 240e9);
  EXPECT_DOUBLE_EQ(inside(96 * kKiB), 96 * kKiB / 30e9);
  EXPECT_DOUBLE_EQ(inside(4), 4 / 10e9);
}

}  // namespace
}  // namespace accosim
