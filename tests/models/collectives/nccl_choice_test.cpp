// Does a cluster's file say who chooses, and does the choice hold in the prices? What cannot run is refused. And does
// AWS's tuner choose as its chart has it?
#include <gtest/gtest.h>

#include <string>

#include "models/collectives/aws_tuner.hpp"
#include "models/collectives/collectives.hpp"
#include "models/collectives/nccl_cost.hpp"
#include "models/collectives/nccl_node.hpp"
#include "models/collectives/nccl_search.hpp"
#include "models/read/load.hpp"
#include "models/read/read_nccl.hpp"
#include "models/spec/scenario_error.hpp"
#include "tests/support/gpus.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/thrown.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

std::string file_of(int count, int gpus, const std::string& device, const std::string& nics, const std::string& more) {
  return R"({"schema": "accosim.cluster/1", "name": "c", "nodes": [{"count": )" + std::to_string(count) +
         R"(, "gpus": )" + std::to_string(gpus) + R"(, "device": ")" + device + "\"" +
         (gpus > 1 ? R"(, "intra": {"kind": "nvswitch", "bandwidth": "450 GB/s"})" : "") + R"(, "nics": {"kind": ")" +
         nics + R"(", "count": )" + std::to_string(gpus) + R"(, "bandwidth": "400 Gbit/s"}}])" + more + "}";
}

class NcclChoice : public ::testing::Test {
 protected:
  Cluster cluster(const std::string& text) { return load_cluster(files_.write("c.json", text)); }
  std::string refusal(const std::string& text) {
    return thrown_by<ScenarioError>([&] { cluster(text); });
  }
  static CollectiveCost cost(const Cluster& cluster, CollectiveKind kind, double bytes) {
    Ring ring;
    const NodeGroup& group = cluster.nodes.front();
    for (int node = 0; node < group.count; ++node) {
      ring.node.push_back(node);
      ring.node_group.push_back(0);
      ring.gpus.push_back(first_gpus(group.gpus));
      ring.ranks += group.gpus;
    }
    return collective_cost(kind, Bytes{bytes}, cluster, ring);
  }

  Scratch files_;
};

TEST_F(NcclChoice, ComesWithPytorchWhereTheFileNamesNoRelease) {
  EXPECT_EQ(cluster(file_of(2, 8, "H100-SXM", "infiniband", "")).nccl.minor, 21);
  EXPECT_EQ(cluster(file_of(2, 8, "H100-SXM", "infiniband", R"(, "nccl": "2.18.5")")).nccl, (NcclRelease{18, 5}));
  // What --set takes for a number: its digits count, the last 0 too.
  EXPECT_EQ(cluster(file_of(2, 8, "H100-SXM", "infiniband", R"(, "nccl": 2.20)")).nccl, NcclRelease{20});
  EXPECT_EQ(nccl_of_pytorch(0), NcclRelease{14});
  EXPECT_EQ(nccl_of_pytorch(4), NcclRelease{20});
  EXPECT_EQ(nccl_of_pytorch(9), NcclRelease{27});
}

TEST_F(NcclChoice, AForcedWayIsTaken) {
  const Cluster ring =
      cluster(file_of(4, 8, "H100-SXM", "infiniband", R"(, "tuner": {"algorithm": "Ring", "protocol": "Simple"})"));
  for (const double bytes : {8.0, kMiB, 1024 * kMiB}) {
    const CollectiveCost cost = NcclChoice::cost(ring, CollectiveKind::kAllReduce, bytes);
    EXPECT_EQ(cost.algorithm, Algorithm::kRing);
    EXPECT_EQ(cost.protocol, Protocol::kSimple);
  }
  // A tree gathers nothing, so NCCL falls back to a ring there; the protocol stands.
  const Cluster tree =
      cluster(file_of(4, 8, "H100-SXM", "infiniband", R"(, "tuner": {"algorithm": "tree", "protocol": "LL"})"));
  EXPECT_EQ(cost(tree, CollectiveKind::kAllReduce, 1024 * kMiB).algorithm, Algorithm::kTree);
  EXPECT_EQ(cost(tree, CollectiveKind::kAllGather, 1024 * kMiB).algorithm, Algorithm::kRing);
  EXPECT_EQ(cost(tree, CollectiveKind::kAllGather, 1024 * kMiB).protocol, Protocol::kLowLatency);
}

TEST_F(NcclChoice, WhatCannotRunIsRefused) {
  const auto said = [&](const std::string& device, int gpus, const std::string& nics, const std::string& more) {
    return refusal(file_of(4, gpus, device, nics, more));
  };
  EXPECT_TRUE(
      holds(said("A100-SXM4-80GB", 8, "infiniband", R"(, "tuner": {"algorithm": "nvlstree"})"), "needs Hopper"));
  EXPECT_TRUE(holds(said("H100-SXM", 8, "infiniband", R"(, "nccl": "2.17", "tuner": {"algorithm": "nvlstree"})"),
                    "came with NCCL 2.18"));
  EXPECT_TRUE(holds(said("H100-SXM", 8, "infiniband", R"(, "tuner": {"algorithm": "pat"})"), "nodes of one GPU"));
  EXPECT_TRUE(holds(said("H100-SXM", 8, "tcpx", R"(, "tuner": {"protocol": "ll128"})"), "NCCL_PROTO=Simple"));
  EXPECT_TRUE(holds(said("H100-SXM", 8, "tcpx", R"(, "tuner": {"algorithm": "nvlstree"})"), "NCCL_NVLS_ENABLE=0"));
  EXPECT_TRUE(holds(said("A100-SXM4-80GB", 8, "efa_rdma", R"(, "tuner": {"protocol": "ll"})"),
                    "bytes may overtake each other"));
  EXPECT_EQ(said("H100-SXM", 8, "efa_rdma", R"(, "tuner": {"protocol": "ll"})"), "");
  EXPECT_TRUE(holds(said("H100-SXM", 8, "slingshot", R"(, "tuner": {"protocol": "ll128"})"), "needs NVLink"));
  EXPECT_TRUE(holds(said("H100-SXM", 8, "infiniband", R"(, "nccl_graph": ["Pattern 4, crossNic 0, nChannels 1, bw 9/9",
                                             "Pattern 4, crossNic 0, nChannels 1, bw 9/9"])"),
                    "has two lines of rings"));
  EXPECT_TRUE(holds(said("H100-SXM", 8, "infiniband", R"(, "tuner": {"algorithm": "collnet"})"), "\"collnet\": true"));
  EXPECT_TRUE(holds(said("H100-SXM", 8, "infiniband", R"(, "tuner": {"algorithm": "nvlstree", "protocol": "ll"})"),
                    "is not one of nvlstree's"));
  EXPECT_TRUE(holds(said("H100-SXM", 8, "infiniband", R"(, "tuner": {})"), "forces nothing"));
  EXPECT_TRUE(holds(said("H100-SXM", 8, "infiniband", R"(, "tuner": {"algorithm": "butterfly"})"), "none of NCCL's"));
  EXPECT_TRUE(holds(said("H100-SXM", 8, "infiniband", R"(, "tuner": "aws")"), "AWS's adapters"));
  EXPECT_TRUE(holds(said("H100-SXM", 8, "sockets", R"(, "tuner": "fastest")"), "own rings"));
  EXPECT_TRUE(holds(said("H100-SXM", 8, "tcp", R"(, "collnet": true)"), "leave it out"));
  EXPECT_TRUE(holds(said("H100-SXM", 8, "infiniband", R"(, "tuner": "ring")"), R"({"algorithm": "ring")"));
  EXPECT_TRUE(holds(said("H100-SXM", 8, "infiniband", R"(, "nccl": 3)"), "is no release of NCCL 2"));
  EXPECT_EQ(said("H100-SXM", 8, "efa_rdma", R"(, "tuner": "aws")"), "");
  EXPECT_EQ(said("H100-SXM", 1, "infiniband", R"(, "nccl": "2.27", "tuner": {"algorithm": "pat"})"), "");
}

TEST_F(NcclChoice, AReleaseThatDoesNotKnowTheGpuIsRefused) {
  EXPECT_EQ(cluster(file_of(2, 8, "B200", "infiniband", "")).nccl, (NcclRelease{27, 5})) << "the usual one is older";
  EXPECT_TRUE(
      holds(refusal(file_of(2, 8, "B200", "infiniband", R"(, "nccl": "2.23.4")")), "does not run on blackwell"));
  EXPECT_EQ(cluster(file_of(2, 8, "B200", "infiniband", R"(, "nccl": "2.29.2")")).nccl, (NcclRelease{29, 2}));
}

TEST_F(NcclChoice, AForcedWayWithoutItsLinksIsRefused) {
  const auto node = [](const std::string& intra, const std::string& tuner) {
    return R"({"schema": "accosim.cluster/1", "name": "c", "nodes": [{"gpus": 8, "device": "H100-SXM", "intra": {"kind": )"
           R"("nvswitch", "bandwidth": "450 GB/s")" +
           intra + R"(}}], "tuner": )" + tuner + "}";
  };
  EXPECT_EQ(refusal(node("", R"({"protocol": "ll128"})")), "");
  EXPECT_TRUE(holds(refusal(node(R"(, "ll128_efficiency": 0)", R"({"protocol": "ll128"})")), "is off where"));
  EXPECT_TRUE(holds(refusal(node(R"(, "ll_rate": 0)", R"({"protocol": "ll"})")), "is off where"));
  EXPECT_TRUE(holds(refusal(node(R"(, "nvls_efficiency": 0)", R"({"algorithm": "nvls"})")), "NVSwitch that reduces"));
}

TEST_F(NcclChoice, EachAlgorithmIsPricedWhereItIsOn) {
  const Cluster hopper = cluster(file_of(4, 8, "H100-SXM", "infiniband", ""));
  EXPECT_EQ(cost(hopper, CollectiveKind::kAllReduce, 1024 * kMiB).algorithm, Algorithm::kNvlsTree);
  EXPECT_EQ(cost(hopper, CollectiveKind::kAllGather, 1024 * kMiB).algorithm, Algorithm::kRing);
  const Cluster alone = cluster(file_of(16, 1, "H100-SXM", "infiniband", R"(, "nccl": "2.27")"));
  EXPECT_EQ(cost(alone, CollectiveKind::kAllGather, kMiB).algorithm, Algorithm::kPat);
  const Cluster sharp =
      cluster(file_of(16, 8, "H100-SXM", "infiniband", R"(, "collnet": true, "tuner": {"algorithm": "collnet"})"));
  const CollectiveCost reduced = cost(sharp, CollectiveKind::kAllReduce, 1024 * kMiB);
  EXPECT_EQ(reduced.algorithm, Algorithm::kCollNet);
  // The switches reduce: a node sends the buffer once, a tree's twice.
  EXPECT_DOUBLE_EQ(reduced.edge_bytes.value, 1024 * kMiB);
  // AWS's plugin allows Simple alone where bytes may overtake each other.
  const Cluster p4d = cluster(file_of(2, 8, "A100-SXM4-40GB", "efa_rdma", ""));
  EXPECT_EQ(cost(p4d, CollectiveKind::kAllReduce, 8).protocol, Protocol::kSimple);
}

TEST_F(NcclChoice, ACollectiveTakesTheSumOfItsTerms) {
  for (const char* const more : {"", R"(, "tuner": {"algorithm": "tree"})", R"(, "tuner": {"algorithm": "ring"})"})
    for (const int gpus : {1, 8}) {
      const Cluster each = cluster(file_of(4, gpus, "H100-SXM", "infiniband", more));
      for (const CollectiveKind kind : values_of<CollectiveKind>())
        for (const double bytes : {8.0, kMiB, 1024 * kMiB}) {
          const CollectiveCost cost = NcclChoice::cost(each, kind, bytes);
          const double time = collective_time(cost).value;
          EXPECT_NEAR(cost.terms.sum().value, time, 1e-9 * time) << name_of(kind) << " " << bytes << more;
          Ring ring = whole_ring(each);
          ring.as_before.clear();  // what is known of nodes that are alike moves no price
          EXPECT_EQ(collective_time(kind, Bytes{bytes}, each, ring).value,
                    collective_time(kind, Bytes{bytes}, each, whole_ring(each)).value);
        }
    }
}

constexpr NcclWay kTreeLl{Algorithm::kTree, Protocol::kLowLatency}, kTree128{Algorithm::kTree, Protocol::kLl128},
    kRing128{Algorithm::kRing, Protocol::kLl128}, kRingLl{Algorithm::kRing, Protocol::kLowLatency},
    kRingSimple{Algorithm::kRing, Protocol::kSimple}, kNvlsTree{Algorithm::kNvlsTree, Protocol::kSimple};

/// Adapters of 100 and of 200 Gbit/s.
constexpr BytesPerSecond kP5{12.5e9}, kP5en{25e9};

/// Nodes of 8 H100.
NcclCommunicator nodes_of_8(int nodes) {
  return NcclCommunicator{.capability = 90, .ranks = 8 * nodes, .nodes = nodes};
}

TEST(AwsTuner, ChoosesByRegionsOfSizeAndRanks) {
  // Corners of the chart's regions with 64 ranks between them, both axes logarithmic. p5en: LL up to 192 KiB; tree and
  // LL128 up to the line from 13.1 MB at 16 ranks to 129.5 MB at 127, at 64 ranks 67 MB; ring and LL128 up to 589 MB;
  // NVLSTree up to the line from 509.6 MB at 32 to 7.5 GB at 256, at 64 ranks 1.25 GB.
  const NcclCommunicator c = nodes_of_8(8);
  const auto all_reduce = [&](double bytes) { return aws_choice(c, kP5en, CollectiveKind::kAllReduce, Bytes{bytes}); };
  EXPECT_EQ(all_reduce(8), kTreeLl);
  EXPECT_EQ(all_reduce(128 * 1024), kTreeLl);
  EXPECT_EQ(all_reduce(kMiB), kTree128);
  EXPECT_EQ(all_reduce(60e6), kTree128);
  EXPECT_EQ(all_reduce(80e6), kRing128);
  EXPECT_EQ(all_reduce(500e6), kRing128);
  EXPECT_EQ(all_reduce(800e6), kNvlsTree);
  EXPECT_EQ(all_reduce(2e9), kRingSimple);
  EXPECT_EQ(aws_choice(c, kP5en, CollectiveKind::kAllGather, Bytes{kMiB}), kRingLl);
  EXPECT_EQ(aws_choice(c, kP5en, CollectiveKind::kReduceScatter, Bytes{100 * kMiB}), kRing128);
}

TEST(AwsTuner, TheFirstGenerationTakesLl128ForAllThatIsSmall) {
  const NcclCommunicator c = nodes_of_8(8);
  EXPECT_EQ(aws_choice(c, kP5, CollectiveKind::kAllReduce, Bytes{8}), kTree128);
  EXPECT_EQ(aws_choice(c, kP5, CollectiveKind::kAllReduce, Bytes{100e6}), kTree128);  // up to 117 MB at 64 ranks
  EXPECT_EQ(aws_choice(c, kP5, CollectiveKind::kAllReduce, Bytes{500e6}), kRing128);
  EXPECT_EQ(aws_choice(nodes_of_8(128), kP5, CollectiveKind::kAllReduce, Bytes{1e9}), kNvlsTree);
  EXPECT_EQ(aws_choice(c, kP5, CollectiveKind::kAllGather, Bytes{kMiB}), std::nullopt);
}

TEST(AwsTuner, LeavesTheRestToNccl) {
  EXPECT_EQ(aws_choice(nodes_of_8(2), kP5en, CollectiveKind::kAllReduce, Bytes{kMiB}), std::nullopt);
  EXPECT_EQ(aws_choice(nodes_of_8(8), kP5en, CollectiveKind::kBroadcast, Bytes{kMiB}), std::nullopt);
  NcclCommunicator ampere = nodes_of_8(8);
  ampere.capability = 80;
  EXPECT_EQ(aws_choice(ampere, kP5en, CollectiveKind::kAllReduce, Bytes{kMiB}), std::nullopt);
  NcclCommunicator four = nodes_of_8(8);
  four.ranks = 32;
  EXPECT_EQ(aws_choice(four, kP5en, CollectiveKind::kAllReduce, Bytes{kMiB}), std::nullopt);
}

// Does the least form of NCCL's search find what NCCL finds? Expected values are what machines printed with
// NCCL_DEBUG_SUBSYS=GRAPH (the issue is named), or what NCCL's own sources give for a described machine.

NcclNode a100(int gpus, int adapters, double adapter, int minor = 21) {
  NcclNode node{.gpus = gpus};
  node.nvlink = node.pair = 240;  // 12 links of 20 GB/s
  node.adapters = adapters;
  node.adapter = adapter;
  node.minor = minor;
  return node;
}

NcclNode h100(int gpus, int adapters, double adapter, int minor = 21) {
  NcclNode node = a100(gpus, adapters, adapter, minor);
  node.nvlink = node.pair = 370.8;  // 18 of 20.6
  node.slot = 48;
  node.capability = 90;
  return node;
}

NcclNode v100(int gpus, int adapters, bool intel) {
  NcclNode node = a100(gpus, adapters, 12.5);
  node.nvlink = 120;  // 6 of 20, one or two to a neighbour
  node.pair = 20;
  node.slot = 12;
  node.capability = 70;
  node.intel_root = intel;
  return node;
}

void expect(const NcclNode& node, const NcclGraph& ring, double tree_intra, const std::string& what) {
  const NcclGraphs found = find_graphs(node);
  EXPECT_EQ(found.ring.channels, ring.channels) << what;
  EXPECT_DOUBLE_EQ(found.ring.intra, ring.intra) << what;
  EXPECT_DOUBLE_EQ(found.ring.inter, ring.inter) << what;
  EXPECT_EQ(found.tree.channels, ring.channels) << what;
  EXPECT_DOUBLE_EQ(found.tree.intra, tree_intra) << what;
  EXPECT_DOUBLE_EQ(found.tree.inter, ring.inter) << what;
}

void expect_ring(const NcclNode& node, const NcclGraph& ring, const std::string& what) {
  EXPECT_EQ(find_graphs(node).ring, ring) << what;
}

TEST(NcclSearch, IsWhatMachinesPrinted) {
  // NVIDIA/nccl 1189: 2 H20 with an adapter of 400 Gbit/s each, "nChannels 4, bw 24.000000/24.000000".
  expect_ring(h100(2, 2, 50), {4, 24, 24}, "2 H20");
  // NVIDIA/nccl 1313: 8 H800 with two of 400 Gbit/s, "nChannels 4, bw 24/24".
  NcclNode h800 = h100(8, 2, 50);
  h800.nvlink = h800.pair = 164.8;  // 8 of 20.6
  expect_ring(h800, {4, 24, 24}, "8 H800");
  // NVIDIA/nccl 601: four adapters of 10 Gbit/s, GPUs joined by the CPUs, "nChannels 4, speed 1.2/1.2".
  NcclNode slow = a100(4, 4, 1.25, 12);
  slow.nvlink = slow.pair = 12;
  expect_ring(slow, {4, 1.2, 1.2}, "10 Gbit/s");
  // NVIDIA/nccl 1406: one GPU and one adapter of 200 Gbit/s, rings of 24/24 and trees of 48/24.
  expect(a100(1, 1, 25), {1, 24, 24}, 48, "one GPU");
  // NVIDIA/nccl 524: the same behind a CPU that is not said, with 100 Gbit/s, 12/12 and 24/12.
  expect(a100(1, 1, 12.5), {1, 12, 12}, 24, "one GPU of 100 Gbit/s");
}

// NCCL's own search, of the releases 2.12 to 2.27, run on descriptions of these machines.
TEST(NcclSearch, IsWhatItsSourcesGive) {
  NcclNode h800 = h100(8, 2, 50);
  h800.nvlink = h800.pair = 164.8;
  expect(a100(8, 8, 25), {8, 24, 24}, 30, "DGX A100");
  expect(a100(8, 4, 12.5), {4, 12, 12}, 24, "8 A100, 4 x 100 Gbit/s");
  expect(a100(8, 4, 25), {4, 24, 24}, 48, "8 A100, 4 x 200 Gbit/s");
  expect(a100(4, 2, 25), {2, 24, 24}, 48, "4 A100, 2 x 200 Gbit/s");
  NcclNode intel = a100(8, 2, 25);
  expect(intel, {2, 24, 24}, 48, "behind switches");
  intel.intel_root = true;  // 20 x 6/5 fill a slot of 24
  expect(intel, {2, 20, 20}, 48, "behind an Intel CPU");
  intel.minor = 12;  // which has 22 and 18 where later ones have 20
  expect(intel, {2, 18, 18}, 48, "behind an Intel CPU, 2.12");
  expect(h800, {4, 24, 24}, 40, "8 H800");  // 4 x 42 are more than 164.8
  expect(v100(8, 1, false), {1, 12, 12}, 20, "8 V100 behind a switch");
  expect(v100(8, 1, true), {1, 10, 10}, 20, "8 V100 behind an Intel CPU");
  expect(v100(1, 1, true), {1, 9, 9}, 18, "one V100 behind an Intel CPU");
  // All four send and receive: 10 + 10 / 8 of 12.
  expect(v100(4, 4, false), {4, 10, 10}, 20, "4 V100");
  expect(h100(8, 8, 50, 18), {8, 45, 45}, 48, "DGX H100, 2.18");
  expect(h100(8, 8, 50), {8, 48, 48}, 48, "DGX H100");
  // Made of 4 x 48, since four are few.
  expect(h100(8, 4, 50), {8, 24, 24}, 48, "8 H100, 4 x 400 Gbit/s");
  expect(h100(1, 1, 50), {2, 24, 24}, 48, "GH200");
}

TEST(NcclSearch, ACommunicatorHasTwiceItsChannels) {
  EXPECT_EQ(channels_between({8, 24, 24}, 80, 21), 16);
  EXPECT_EQ(channels_between({8, 48, 48}, 90, 21), 16);  // not fewer than 16 already
  EXPECT_EQ(channels_between({2, 24, 24}, 90, 21), 4);   // NVIDIA/nccl 1291: "Channel 00/04" on GH200
  EXPECT_EQ(channels_between({2, 48, 48}, 90, 21), 8);
  EXPECT_EQ(channels_between({8, 48, 48}, 90, 19), 32);  // 2.18 and 2.19 while 32 hold them
}

/// Of an all-reduce over two nodes, GB/s of algorithm bandwidth that NCCL counts, and its bus bandwidth.
double estimate(const NcclGraphs& graphs, Algorithm algorithm) {
  NcclCommunicator c{.version = NcclRelease{21},
                     .ranks = 16,
                     .nodes = 2,
                     .channels = graphs.ring.channels,
                     .intra = graphs.ring.intra,
                     .inter = graphs.ring.inter,
                     .tree_intra = graphs.tree.intra,
                     .tree_inter = graphs.tree.inter};
  return nccl_estimate(c, CollectiveKind::kAllReduce, algorithm, Protocol::kSimple).bandwidth;
}

TEST(NcclSearch, OnTwoNodesATreeWinsWhereAChannelGets100GbitAndARingWhereItGets200) {
  // 8 x 24 n / (2 (n - 1)) = 102.4; min(0.92 x 8 x 30, 8 x 23.6) / 2 = 94.4. NVIDIA/nccl 812: 192 GB/s, 8 x 24 of a
  // ring.
  const NcclGraphs dgx = find_graphs(a100(8, 8, 25));
  EXPECT_NEAR(estimate(dgx, Algorithm::kRing), 102.4, 1e-9);
  EXPECT_NEAR(estimate(dgx, Algorithm::kTree), 94.4, 1e-9);
  // 4 x 12 x 16 / 30 = 25.6; 0.92 x 4 x 24 / 2 = 44.16.
  const NcclGraphs four = find_graphs(a100(8, 4, 12.5));
  EXPECT_NEAR(estimate(four, Algorithm::kRing), 25.6, 1e-9);
  EXPECT_NEAR(estimate(four, Algorithm::kTree), 44.16, 1e-9);
  // NVIDIA/nccl 837, two of 200 Gbit/s: a bus bandwidth of 57 GB/s is more than a ring's 50, so a tree must have run.
  // Behind an Intel CPU NCCL takes it: 2 x 20 x 16 / 30 = 21.3; min(0.92 x 2 x 48, 2 x 23.6) / 2 = 23.6.
  NcclNode two = a100(8, 2, 25);
  two.intel_root = true;
  EXPECT_NEAR(estimate(find_graphs(two), Algorithm::kRing), 64.0 / 3, 1e-9);
  EXPECT_NEAR(estimate(find_graphs(two), Algorithm::kTree), 23.6, 1e-9);
  // Behind switches a ring: 2 x 24 x 16 / 30 = 25.6.
  EXPECT_NEAR(estimate(find_graphs(a100(8, 2, 25)), Algorithm::kRing), 25.6, 1e-9);
}

TEST(NcclSearch, ALineIsReadAsNcclPrintsIt) {
  int pattern = 0;
  NcclGraph graph;
  EXPECT_TRUE(
      read_pattern("node1:7:7 [0] NCCL INFO Pattern 4, crossNic 1, nChannels 4, bw 24.000000/22.000000, type "
                   "NVL/PIX, sameChannels 0",
                   pattern, graph));
  EXPECT_EQ(pattern, 4);
  EXPECT_EQ(graph, (NcclGraph{4, 24, 22}));
  EXPECT_TRUE(read_pattern("Pattern 3, crossNic 0, nChannels 2, speed 48.0/24.0, type NVL/PIX", pattern, graph));
  EXPECT_EQ(pattern, 3);
  for (const char* line :
       {"", "Pattern", "Pattern 4, crossNic 0, nChannels 0, bw 1/1", "nChannels 4, bw 24/24",
        "Pattern 4, crossNic 0, nChannels 4, bw 0/24", "Pattern 4, crossNic 0, nChannels 4, bw inf/24",
        "Pattern 4, crossNic 0, nChannels 99, bw 1/1"})
    EXPECT_FALSE(read_pattern(line, pattern, graph)) << line;
}

class GraphOfACluster : public ::testing::Test {
 protected:
  Cluster cluster(const std::string& nics, const std::string& more, const std::string& group = "") {
    return load_cluster(files_.write(
        "c.json", R"({"schema": "accosim.cluster/1", "name": "c", "nodes": [{"count": 2, "gpus": 8, "device":
        "A100-SXM4-80GB", "intra": {"kind": "nvswitch", "bandwidth": "300 GB/s"}, "nics": )" +
                      nics + group + "}]" + more + "}"));
  }
  std::string refusal(const std::string& nics, const std::string& more, const std::string& group = "") {
    return thrown_by<ScenarioError>([&] { cluster(nics, more, group); });
  }

  static constexpr const char* kTwo = R"({"count": 2, "bandwidth": "200 Gbit/s")";
  Scratch files_;
};

TEST_F(GraphOfACluster, FollowsFromItsFile) {
  const auto ring = [](const Cluster& cluster) { return graphs_between(cluster, whole_ring(cluster)).ring; };
  const std::string two = kTwo;
  EXPECT_EQ(ring(cluster(two + "}", "")), (NcclGraph{2, 24, 24}));
  EXPECT_EQ(ring(cluster(two + R"(, "path": "cpu"})", "", R"(, "cpu": "intel")")), (NcclGraph{2, 20, 20}));
  EXPECT_EQ(ring(cluster(two + R"(, "path": "cpu"})", "", R"(, "cpu": "amd")")), (NcclGraph{2, 24, 24}));
  EXPECT_EQ(ring(cluster(two + R"(, "slot": "12 GB/s"})", "")), (NcclGraph{2, 12, 12}));
  const Cluster said =
      cluster(two + "}", R"(, "nccl_graph": ["Pattern 4, crossNic 0, nChannels 3, bw 9/8, type NVL/PXB",
                                            "NCCL INFO Pattern 1, crossNic 0, nChannels 3, bw 18/8, type NVL/PXB"])");
  EXPECT_EQ(ring(said), (NcclGraph{3, 9, 8}));
  EXPECT_EQ(said.graphs->tree, (NcclGraph{3, 18, 8}));
  EXPECT_EQ(communicator_of(said, whole_ring(said)).tree_intra, 18);
}

TEST_F(GraphOfACluster, WhatCannotBeIsRefused) {
  const std::string two = kTwo;
  EXPECT_TRUE(holds(refusal(two + R"(, "path": "pxb"})", ""), "write one of: \"switch\", \"cpu\""));
  EXPECT_TRUE(holds(refusal(two + "}", "", R"(, "cpu": "epyc")"), "\"intel\", \"amd\", \"arm\""));
  EXPECT_TRUE(holds(refusal(two + "}", R"(, "nccl_graph": "Pattern 4")"), "is no list"));
  EXPECT_TRUE(holds(refusal(two + "}", R"(, "nccl_graph": ["Patern 4"])"), "is no line that NCCL prints"));
  EXPECT_TRUE(holds(refusal(two + "}", R"(, "nccl_graph": ["Pattern 1, crossNic 0, nChannels 3, bw 18/8"])"),
                    "has no line of rings"));
  EXPECT_TRUE(
      holds(refusal(R"({"kind": "sockets", "bandwidth": "10 Gbit/s", "path": "cpu"})", ""), "are for NCCL's search"));
}

}  // namespace
}  // namespace accosim
