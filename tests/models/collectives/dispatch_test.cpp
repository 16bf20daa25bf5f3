// Exchanges of experts' rows by kernels that send a token once to each node: bytes by hand, rates as published.
#include "models/collectives/dispatch.hpp"

#include <gtest/gtest.h>

#include "models/collectives/ring.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

/// A part that none of the receivers is in, one after the other.
double missed(double parts, int receivers) {
  double share = 1;
  for (int i = 0; i < receivers; ++i) share *= (parts - 1) / parts;
  return share;
}

// Of n nodes of g ranks: each of the n - 1 others gets a token unless it has none of the K receivers; so does each
// rank, and of g - 1 of g ranks it comes over the links.
TEST(Dispatch, BytesAreThoseOfTokensThatReachANode) {
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    const int nodes = random.integer(1, 9), gpus = random.integer(1, 9), receivers = random.integer(1, 9);
    const double bytes = 1000.0 * random.integer(1, 10'000);
    const Cluster cluster = sample_scenario(nodes, gpus).cluster;
    const DispatchBytes sent = dispatch_bytes(Bytes{bytes}, receivers, whole_ring(cluster));
    const double between = bytes * (nodes - 1) * (1 - missed(nodes, receivers));
    const double inside = bytes * nodes * (gpus - 1) * (1 - missed(1.0 * nodes * gpus, receivers));
    EXPECT_NEAR(sent.between.value, between, 1e-6 * between);
    EXPECT_NEAR(sent.inside.value, inside, 1e-6 * inside);
  }
}

TEST(Dispatch, ARankAloneSendsNothing) {
  const Cluster cluster = sample_scenario(1, 1).cluster;
  EXPECT_EQ(dispatch_time(Bytes{1e6}, 8, cluster, whole_ring(cluster)).value, 0);
  EXPECT_EQ(reached(1, 8), 1);
  EXPECT_EQ(reached(4, 1), 1);
}

Cluster hopper(int nodes, const char* device_links, const char* kind) {
  Cluster cluster = sample_scenario(nodes, 8).cluster;
  NodeGroup& group = cluster.nodes.front();
  group.intra.kind = "nvswitch";
  group.intra.bandwidth = BytesPerSecond{std::string(device_links) == "H800" ? 200e9 : 450e9};
  group.nics.kind = kind;
  group.nics.count = 8;
  group.nics.bandwidth = BytesPerSecond{50e9};
  return cluster;
}

// 4096 tokens of 7168, 8 experts each; GB/s as the sources count them: tokens times what they reach, the own node and
// rank too. DeepEP's README (V1 on H800, V2 on Hopper), and UCCL-EP's on H200 inside a node.
TEST(Dispatch, TakesAboutAsLongAsPublished) {
  struct Row {
    int nodes;
    const char* links;
    const char* nics;
    double element, rate;
  };
  for (const Row& row : {Row{1, "H800", "infiniband", 1, 153e9},
                         {1, "H800", "infiniband", 2, 158e9},
                         {2, "H800", "infiniband", 1, 43e9},
                         {2, "H800", "infiniband", 2, 43e9},
                         {4, "H800", "infiniband", 1, 58e9},
                         {4, "H800", "infiniband", 2, 57e9},
                         {2, "H100", "infiniband", 1, 90e9},
                         {2, "H100", "infiniband", 2, 81e9},
                         {4, "H100", "infiniband", 1, 61e9},
                         {4, "H100", "infiniband", 2, 61e9},
                         {1, "H200", "efa_rdma", 1, 320e9},
                         {1, "H200", "efa_rdma", 2, 319e9}}) {
    const Cluster cluster = hopper(row.nodes, row.links, row.nics);
    const double once = 4096.0 * 7168 * row.element;
    const double published = once * reached(row.nodes == 1 ? 8 : row.nodes, 8) / row.rate;
    const double predicted = dispatch_time(Bytes{once}, 8, cluster, whole_ring(cluster)).value;
    EXPECT_NEAR(predicted / published, 1, 0.2) << row.nodes << " nodes, " << row.links << ", " << row.element;
  }
}

// A core of a fourth of 4 x 8 adapters of 50 GB/s, of which 0.9 are achieved, leaves each GPU 11.25 GB/s; a row reaches
// 4 (1 - (3/4)^8) of 4 nodes.
TEST(Dispatch, AnOversubscribedCoreIsSharedByAllRanks) {
  Cluster cluster = hopper(4, "H800", "infiniband");
  cluster.fabric.oversubscription = 4;
  const double between = 1e9 * 3 * (1 - missed(4, 8));
  EXPECT_NEAR(dispatch_time(Bytes{1e9}, 8, cluster, whole_ring(cluster)).value, 30e-6 + between / 11.25e9, 1e-9);
}

}  // namespace
}  // namespace accosim
