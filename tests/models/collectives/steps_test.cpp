// Does a ring or a tree between nodes take what its messages add up to?
#include "models/collectives/steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "models/collectives/channels.hpp"
#include "models/collectives/collectives.hpp"
#include "models/collectives/links.hpp"
#include "models/collectives/route.hpp"
#include "models/collectives/window.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/fabrics.hpp"
#include "tests/support/gpus.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

constexpr double kKiB = 1024;

/// One channel over one adapter of 10 GB/s, 2 us inside at 20 GB/s, 10 us between nodes, chunks of 2 MiB in two slices.
StepLinks links() {
  return StepLinks{.inner_hop = Seconds{2e-6},
                   .inner = BytesPerSecond{20e9},
                   .net_hop = Seconds{10e-6},
                   .wire = BytesPerSecond{10e9},
                   .chunk = Bytes{2048 * kKiB},
                   .slices = 2};
}

TEST(Steps, AShortRingWaitsForEachStep) {
  // 4 nodes of 2, 8 ranks, all-reduce of 64 KiB: a chunk of 8 KiB is one message of 8192 B. 14 steps, 7 between nodes:
  // 7 x (2 us + 8192 / 20e9) + 7 x (10 us + 8192 / 20e9 + 8192 / 10e9).
  const StepTime time = ring_time(links(), Bytes{64 * kKiB}, 8, 14, 7);
  EXPECT_NEAR(time.time().value, 7 * (2e-6 + 8192 / 20e9) + 7 * (10e-6 + 8192 / 20e9 + 8192 / 10e9), 1e-15);
  EXPECT_EQ(time.message.value, 8192);
  EXPECT_EQ(time.turns, 1);
  EXPECT_EQ(bound_of(time.terms), StepBound::kLatency);
}

TEST(Steps, AMessageIsASliceOfAtLeast32KiB) {
  // Chunks of 48 KiB go as 32 KiB first, of 96 KiB as two of 48.
  EXPECT_EQ(ring_time(links(), Bytes{8 * 48 * kKiB}, 8, 14, 7).message.value, 32 * kKiB);
  EXPECT_EQ(ring_time(links(), Bytes{8 * 96 * kKiB}, 8, 14, 7).message.value, 48 * kKiB);
  EXPECT_EQ(ring_time(links(), Bytes{8 * 9e6}, 8, 14, 7).message.value, 1024 * kKiB);
}

TEST(Steps, ALongRingIsAsLongAsItsWireIsBusy) {
  // 16 chunks of 2 MiB for each of 8 ranks: 16 turns of 14 steps, each 2 MiB / 10 GB/s, and a hop each.
  const StepTime time = ring_time(links(), Bytes{8 * 16 * 2048 * kKiB}, 8, 14, 7);
  EXPECT_NEAR(time.time().value, 16 * (14 * 2048 * kKiB / 10e9 + 10e-6), 1e-12);
  EXPECT_EQ(time.turns, 16);
  EXPECT_EQ(bound_of(time.terms), StepBound::kWire);
}

TEST(Steps, TheFirstSliceGoesOnAtOnceAndTheLastComesBehind) {
  // 8 ranks with chunks of 128 KiB in two slices s, 30 us between nodes: 14 steps wait for the first slice; the last is
  // on the slower of the two links, the wire of 10 GB/s, after it.
  StepLinks far = links();
  far.net_hop = Seconds{30e-6};
  const double s = 64 * kKiB;
  EXPECT_NEAR(ring_time(far, Bytes{8 * 2 * s}, 8, 14, 7).time().value,
              7 * (2e-6 + s / 20e9) + 7 * (30e-6 + s / 20e9 + s / 10e9) + s / 10e9, 1e-15);
}

TEST(Steps, ARankIsBusyWithEachStepInItsNode) {
  // At 2 GB/s inside, the two slices of a chunk of 2 MiB keep a rank busy for longer than the first of them needs for
  // the step, and its hop hides behind the second: 14 x 2 MiB / 2 GB/s.
  StepLinks slow = links();
  slow.inner = BytesPerSecond{2e9};
  const StepTime time = ring_time(slow, Bytes{8 * 2048 * kKiB}, 8, 14, 7);
  EXPECT_NEAR(time.time().value, 14 * 2048 * kKiB / 2e9, 1e-12);
  EXPECT_EQ(bound_of(time.terms), StepBound::kInside);
}

TEST(Steps, ManySmallMessagesWaitForTheirThread) {
  // Two channels over one adapter, 40 us a message: 14 steps x 2 channels x 40 us, and the last hop, are longer than 14
  // steps of 12 us at the most.
  StepLinks two = links();
  two.channels = 2;
  two.post = Seconds{40e-6};
  const StepTime time = ring_time(two, Bytes{8 * kKiB}, 8, 14, 7);
  EXPECT_NEAR(time.time().value, 14 * 2 * 40e-6 + 10e-6, 1e-15);
  EXPECT_EQ(bound_of(time.terms), StepBound::kMessages);
}

TEST(Steps, FlagsDoubleWhatGoesOverTheWireAndNothingElse) {
  StepLinks ll = links();
  ll.flags = 2;
  ll.chunk = Bytes{32 * kKiB};
  ll.slices = 1;
  const double m = 8192;
  EXPECT_NEAR(ring_time(ll, Bytes{64 * kKiB}, 8, 14, 7).time().value,
              7 * (2e-6 + m / 20e9) + 7 * (10e-6 + m / 20e9 + 2 * m / 10e9), 1e-15);
}

TEST(Steps, ChunksFollowEachOtherThroughATree) {
  // 4 chunks of 512 KiB; 6 inner steps and 4 between nodes for the first, and of the others each as long as the wire
  // needs for it twice: m / 20 GB/s = 26.2 us inside, 52.4 us on the wire.
  StepLinks tree = links();
  tree.chunk = Bytes{512 * kKiB};
  tree.slices = 1;
  Pipeline pipeline;
  pipeline.inner_steps = 6;
  pipeline.net_steps = 4;
  pipeline.wire_passes = 2;
  const double m = 512 * kKiB;
  const StepTime time = pipeline_time(tree, Bytes{4 * m}, pipeline);
  EXPECT_NEAR(time.time().value, 6 * (2e-6 + m / 20e9) + 4 * (10e-6 + m / 20e9 + m / 10e9) + 3 * 2 * m / 10e9, 1e-15);
  EXPECT_EQ(time.turns, 4);
}

TEST(Steps, TheLastChunkIsWhatIsLeft) {
  // A chain to one other node, 512 KiB and then 1 KiB: both leave one after the other, and the last arrives a hop
  // later.
  StepLinks chain = links();
  chain.inner = BytesPerSecond{0};
  chain.chunk = Bytes{512 * kKiB};
  chain.slices = 1;
  Pipeline pipeline;
  pipeline.net_steps = 1;
  const StepTime time = pipeline_time(chain, Bytes{513 * kKiB}, pipeline);
  EXPECT_NEAR(time.time().value, 513 * kKiB / 10e9 + 10e-6, 1e-15);
  EXPECT_EQ(time.turns, 2);
}

TEST(Steps, TheLongestWayAroundARingLeavesOutInnerEdges) {
  // Two nodes of 4: of an all-reduce's 16 edges a chunk takes 14; the two that it leaves out can both be inner ones,
  // so it may cross all 4 edges between nodes. With 2 a node one left out is between nodes, with 1 both are.
  EXPECT_EQ(net_steps_of_ring(true, 2, 4), 4);
  EXPECT_EQ(net_steps_of_ring(true, 2, 2), 3);
  EXPECT_EQ(net_steps_of_ring(true, 4, 1), 6);
  EXPECT_EQ(net_steps_of_ring(false, 4, 8), 4);
  EXPECT_EQ(net_steps_of_ring(false, 4, 1), 3);
}

// Rings on NVLinks that do not join all GPUs alike, by hand.

TEST(Links, EveryGpuOfTheCubeMeshHasSixLinks) {
  const auto& links = cube_mesh();
  for (std::size_t i = 0; i < 8; ++i) {
    int sum = 0;
    for (std::size_t j = 0; j < 8; ++j) {
      EXPECT_EQ(links[i][j], links[j][i]);
      sum += links[i][j];
    }
    EXPECT_EQ(sum, 6) << i;
    EXPECT_EQ(links[i][i], 0);
  }
}

TEST(Links, RingsOfTheCubeMeshAreThoseThatNcclFinds) {
  // GPUs 0 and 1 share one link: one ring, both ways over it. 0, 1, 2: the triangle once, in two directions. 0 to 3:
  // 0-1-2-3 (needing 01, 12, 23, 30) and 0-2-1-3 (02, 21, 13, 30) fit together, 12 and 30 being double: 4 rings. All 8:
  // 6 links a GPU are 3 rings in two directions.
  EXPECT_EQ(rings_on(cube_mesh(), 2), 1);
  EXPECT_EQ(rings_on(cube_mesh(), 3), 2);
  EXPECT_EQ(rings_on(cube_mesh(), 4), 4);
  EXPECT_EQ(rings_on(cube_mesh(), 6), 2);
  EXPECT_EQ(rings_on(cube_mesh(), 8), 6);
}

TEST(Links, AGpuWithOneNeighbourIsReachedThroughIt) {
  // GPU 4 hangs on GPU 0 alone, by two links: a ring comes and goes through 0, twice at most.
  EXPECT_GT(rings_on(cube_mesh(), 5), 0);
  EXPECT_LE(rings_on(cube_mesh(), 5), 2);
  // Two pairs that nothing joins: no ring.
  EXPECT_EQ(rings_on({{0, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 1, 0}}, 4), 0);
}

TEST(Links, ARingUsesAllLinksOfABoardAndFewOfAPair) {
  IntraLink board{.kind = "nvlink"};
  board.bandwidth = BytesPerSecond{300e9};  // 4 GPUs, 100 GB/s a pair
  EXPECT_DOUBLE_EQ(ring_bandwidth(board, 4, first_gpus(2)).value, 100e9);
  EXPECT_DOUBLE_EQ(ring_bandwidth(board, 4, first_gpus(4)).value, 300e9);
  IntraLink mesh = board;
  mesh.kind = "cube_mesh";
  mesh.bandwidth = BytesPerSecond{150e9};
  mesh.links = cube_mesh();
  EXPECT_DOUBLE_EQ(ring_bandwidth(mesh, 8, first_gpus(2)).value, 25e9);
  EXPECT_DOUBLE_EQ(ring_bandwidth(mesh, 8, first_gpus(4)).value, 100e9);
  EXPECT_DOUBLE_EQ(ring_bandwidth(mesh, 8, first_gpus(8)).value, 150e9);
  EXPECT_DOUBLE_EQ(exchange_bandwidth(mesh, 8, first_gpus(2)).value, 25e9);
  EXPECT_DOUBLE_EQ(exchange_bandwidth(mesh, 8, first_gpus(4)).value, 3 * 25e9);  // the weakest pair has one link
  IntraLink sw = board;
  sw.kind = "nvswitch";
  EXPECT_DOUBLE_EQ(ring_bandwidth(sw, 8, first_gpus(2)).value, 300e9);
  IntraLink pcie = board;
  pcie.kind = "pcie";
  pcie.bandwidth = BytesPerSecond{30e9};
  pcie.crowding = 0.5;  // 8 GPUs have the root of a quarter of what two have
  EXPECT_DOUBLE_EQ(ring_bandwidth(pcie, 8, first_gpus(2)).value, 30e9);
  EXPECT_DOUBLE_EQ(ring_bandwidth(pcie, 8, first_gpus(8)).value, 15e9);
}

TEST(Links, ManyLinksEndTheSearchAll) {
  // Two halves of 4 with 6 links between each two of a half and 1 to the other half: millions of ways to pack rings.
  // A ring crosses at least twice: 16 links across let at most 8 rings through, two directions each.
  std::vector<std::vector<int>> links(8, std::vector<int>(8, 0));
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j)
      if (i != j) links[i][j] = i / 4 == j / 4 ? 6 : 1;
  EXPECT_GE(rings_on(links, 8), 8);
  EXPECT_LE(rings_on(links, 8), 16);
}

// Does a collective take the channels that its bytes need, and the bandwidth of those?

int ring(double bytes, Protocol protocol, int ranks = 8, int channels = 16) {
  return channels_of(CollectiveKind::kAllReduce, Bytes{bytes}, ranks, Algorithm::kRing, protocol, channels);
}
int tree(double bytes, Protocol protocol) {
  return channels_of(CollectiveKind::kAllReduce, Bytes{bytes}, 8, Algorithm::kTree, protocol, 16);
}

/// Nodes with `adapters` whose devices have `channels`; Simple only, and nothing but bytes takes time: 240 GB/s inside,
/// 10 GB/s an adapter.
Cluster cluster_of(int nodes, int adapters, const std::vector<int>& channels) {
  NodeGroup group{.count = nodes, .gpus = static_cast<int>(channels.size())};
  for (const int each : channels) {
    group.devices.emplace_back();
    group.devices.back().collective_sms = each;
  }
  group.intra.kind = "nvlink";
  group.intra.bandwidth = BytesPerSecond{240e9};
  group.nics.count = adapters;
  group.nics.bandwidth = BytesPerSecond{10e9};
  return Cluster{.nodes = {group}};
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

// Does an edge between two nodes carry what may be under way on it, where the wire is long, and does nothing change
// where it is short?

constexpr double kMiB = 0x1p20;

/// Groups of `nodes` with one GPU and one adapter of 10 GB/s each, Simple only: nothing but bytes and wires takes time.
Cluster islands(const std::vector<int>& nodes) {
  Cluster cluster;
  for (const int count : nodes) {
    NodeGroup group{.count = count};
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
  Nics nics{.kind = "infiniband"};
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
