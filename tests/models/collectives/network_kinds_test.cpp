// What single kinds of machines have of their own: AWS's plugin makes one device of several adapters, switches that
// reduce fill a tree of nodes slowly, and two racks are not faster than one.
#include <gtest/gtest.h>

#include <string>

#include "models/collectives/collectives.hpp"
#include "models/collectives/nccl_cost.hpp"
#include "models/read/load.hpp"
#include "models/spec/cluster.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

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
