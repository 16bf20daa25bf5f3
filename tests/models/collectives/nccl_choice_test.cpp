// Does a cluster's file say who chooses, and does the choice hold in the prices? What cannot run is refused. And does
// AWS's tuner choose as its chart has it?
#include <gtest/gtest.h>

#include <string>

#include "models/collectives/aws_tuner.hpp"
#include "models/collectives/collectives.hpp"
#include "models/read/load.hpp"
#include "models/read/read_nccl.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/scenario_error.hpp"
#include "tests/support/gpus.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/scratch.hpp"

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
    try {
      cluster(text);
    } catch (const ScenarioError& error) {
      return error.what();
    }
    return "";
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
  NcclCommunicator c;
  c.capability = 90;
  c.nodes = nodes;
  c.ranks = 8 * nodes;
  return c;
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

}  // namespace
}  // namespace accosim
