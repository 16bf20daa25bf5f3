// Laws that collectives between nodes keep on random clusters of all kinds of network: more bandwidth is not slower,
// more nodes are not faster, and a ring moves no more than its wire. NCCL breaks the first two where its estimate,
// which knows neither what hosts copy nor what messages cost, turns to another way or another number of channels. Each
// such case is a row of tests/golden/network_laws.md, with NCCL's choice, the faster one, and both times.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "build_info/project.hpp"
#include "models/collectives/collectives.hpp"
#include "models/collectives/nccl_cost.hpp"
#include "models/read/load.hpp"
#include "models/spec/fabrics.hpp"
#include "tests/support/random.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

constexpr double kTolerance = 1.01;
constexpr std::array kCollectives{CollectiveKind::kAllReduce, CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                  CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast};

struct Board {
  const char *device, *intra, *bandwidth;
  int most;  ///< of a node
  std::vector<const char*> releases;
};
const std::vector<Board>& boards() {
  static const std::vector<const char*> kOld{"2.14.3", "2.18.5", "2.20.5", "2.21.5", "2.27.5"};
  static const std::vector<const char*> kNew{"2.26.2", "2.28.3", "2.29.7"};
  static const std::vector<Board> kBoards{
      {"V100-SXM2-32GB", "cube_mesh", "150 GB/s", 8, kOld}, {"A100-SXM4-80GB", "nvswitch", "300 GB/s", 8, kOld},
      {"H100-SXM", "nvswitch", "450 GB/s", 8, kOld},        {"B200", "nvswitch", "900 GB/s", 8, kNew},
      {"GH200-96GB", "nvlink", "150 GB/s", 4, kOld},        {"L40S", "pcie_host", "32 GB/s", 8, kOld},
      {"A100-PCIE-80GB", "pcie", "32 GB/s", 8, kOld},       {"RTX-PRO-6000", "pcie", "63 GB/s", 8, kNew}};
  return kBoards;
}

/// A cluster of two nodes; those who ask change their number and their adapters' rate.
struct Drawn {
  Cluster cluster;
  std::string words;
};

Drawn draw(Random& random, const std::string& kind, const Scratch& files) {
  const Board& board = boards()[static_cast<std::size_t>(random.integer(0, static_cast<int>(boards().size()) - 1))];
  const bool whole = std::string(board.intra) == "cube_mesh" || std::string(board.intra) == "nvlink";
  const int gpus = random.integer(0, 4) == 0 ? 1 : whole ? board.most : 2 << random.integer(0, 2);
  const int adapters = std::max(1, gpus >> random.integer(0, 2));
  const char* const release =
      board.releases[static_cast<std::size_t>(random.integer(0, static_cast<int>(board.releases.size()) - 1))];
  const std::string intra =
      gpus > 1 ? fmt::format(R"(, "intra": {{"kind": "{}", "bandwidth": "{}"}})", board.intra, board.bandwidth) : "";
  return {
      load_cluster(files.write(
          "c.json", fmt::format(R"({{"schema": "accosim.cluster/1", "name": "c", "nccl": "{}", "nodes": [{{"count": 2,
                  "gpus": {}, "device": "{}"{}, "nics": {{"kind": "{}", "count": {}, "bandwidth": "100 Gbit/s"}}}}]}})",
                                release, gpus, board.device, intra, kind, adapters))),
      fmt::format("{} {}, {} x {}, NCCL {}", gpus, board.device, adapters, kind, release)};
}

Cluster with(Cluster cluster, int nodes, double gbit) {
  cluster.nodes.front().count = nodes;
  cluster.nodes.front().nics.bandwidth = BytesPerSecond{gbit * 1e9 / 8};
  return cluster;
}

struct Taken {
  CollectiveCost cost;
  Seconds time;
};

Taken taken(CollectiveKind kind, Bytes bytes, const Cluster& cluster) {
  const CollectiveCost cost = collective_cost(kind, bytes, cluster, whole_ring(cluster));
  return {cost, collective_time(cost)};
}

std::string way_of(const Taken& taken) {
  return fmt::format("{} {}, {} channels, {:.4g} us", name_of(taken.cost.algorithm), name_of(taken.cost.protocol),
                     taken.cost.channels, 1e6 * taken.time.value);
}

/// The law is broken from `before` to `now`, and NCCL's choice is what breaks it: another way, or other channels, keeps
/// it. Nothing where none does.
std::string row_of(const Drawn& drawn, CollectiveKind kind, Bytes bytes, const std::string& step, const Taken& before,
                   const Taken& now, const Cluster& of_slow, Seconds needed) {
  const std::optional<FasterWay> faster = faster_way(kind, bytes, of_slow, whole_ring(of_slow), 1);
  const bool kept = faster && faster->time <= kTolerance * needed;
  // Of LL over PCIe few channels carry a message, each its part of all: an adapter each is the fewest that can be
  // asked.
  const bool of_channels = before.cost.protocol == Protocol::kLowLatency && of_slow.nodes.front().nics.count > 1 &&
                           (of_slow.nodes.front().gpus == 1 || is_over_pcie(of_slow.nodes.front().intra.kind));
  // Up to 2.19 a tree's chunks of a small message are the smaller the deeper it is.
  const bool of_chunks =
      before.cost.algorithm == Algorithm::kTree && now.cost.message < before.cost.message && of_slow.nccl.minor < 20;
  if (!kept && !of_channels && !of_chunks) return "";
  std::string instead = of_chunks ? "smaller chunks" : "fewer channels than NICs";
  if (kept)
    instead =
        fmt::format("{} {}{}, {:.4g} us", name_of(faster->way.algorithm), name_of(faster->way.protocol),
                    faster->channels > 0 ? fmt::format(", {} a NIC", faster->channels) : "", 1e6 * faster->time.value);
  return fmt::format("| {} | {} of {:.0f} KiB | {} | {} | {} | {} |\n", drawn.words, name_of(kind), bytes.value / 1024,
                     step, way_of(before), way_of(now), instead);
}

TEST(NetworkLaws, AreKeptUnlessNcclChoosesOtherwise) {
  const Scratch files;
  Random random(20);
  std::vector<std::string> kinds = nic_kinds();
  kinds.erase(std::remove(kinds.begin(), kinds.end(), kOwnRings), kinds.end());
  std::string rates, nodes;
  int asked = 0;
  for (int i = 0; i < 300; ++i) {
    const Drawn drawn = draw(random, kinds[static_cast<std::size_t>(i) % kinds.size()], files);
    const NodeGroup& group = drawn.cluster.nodes.front();
    for (const bool all_reduce : {true, false}) {
      const CollectiveKind kind =
          all_reduce ? CollectiveKind::kAllReduce : kCollectives[static_cast<std::size_t>(random.integer(0, 4))];
      const Bytes bytes{1024.0 * std::exp2(random.integer(0, 23))};
      const int count = 2 << random.integer(0, 5);
      std::optional<Taken> before;
      std::string from;
      for (const double gbit : {25, 50, 100, 200, 400}) {
        const Cluster cluster = with(drawn.cluster, count, gbit);
        const Taken now = taken(kind, bytes, cluster);
        ++asked;
        const std::string step = fmt::format("{} nodes, {} to {:.0f} Gbit/s", count, from, gbit);
        if (before && now.time > kTolerance * before->time) {
          const std::string row = row_of(drawn, kind, bytes, step, *before, now, cluster, before->time);
          EXPECT_NE(row, "") << drawn.words << " " << name_of(kind) << " " << bytes.value << " " << step;
          rates += row;
        }
        if (now.cost.algorithm == Algorithm::kRing && kind != CollectiveKind::kBroadcast) {
          const double n = 1.0 * group.gpus * count, passes = kind == CollectiveKind::kAllReduce ? 2 : 1;
          EXPECT_LE(passes * (n - 1) / n * bytes / now.time, group.nics.count * cluster.nodes.front().nics.bandwidth)
              << drawn.words << " " << name_of(kind) << " " << bytes.value << " " << step;
        }
        before = now;
        from = fmt::format("{:.0f}", gbit);
      }
      // On one node over PCIe a ring has a fitted last receive that no way between nodes has.
      before.reset();
      std::optional<Cluster> of_before;
      for (int more = group.gpus == 1 || is_over_pcie(group.intra.kind) ? 2 : 1; more <= 64; more *= 2) {
        const Cluster cluster = with(drawn.cluster, more, 100);
        const Taken now = taken(kind, bytes, cluster);
        ++asked;
        const std::string step = fmt::format("{} to {} nodes", more / 2, more);
        if (before && before->time > kTolerance * now.time) {
          const std::string row = row_of(drawn, kind, bytes, step, *before, now, *of_before, now.time);
          EXPECT_NE(row, "") << drawn.words << " " << name_of(kind) << " " << bytes.value << " " << step;
          nodes += row;
        }
        before = now;
        of_before = cluster;
      }
    }
  }
  const std::string head =
      "\n| nodes of | collective | from, to | before | after | instead |\n|---|---|---|---|---|---|\n";
  const std::string text = fmt::format(
      "# Where NCCL's choice breaks a law\n\nOf {} prices of collectives on 300 random clusters those that "
      "more bandwidth makes slower, or more nodes faster, by more than 1 %: NCCL's choice before and after, "
      "and what keeps the law instead. Written by network_laws_test (UPDATE_GOLDEN=1).\n\n## More "
      "bandwidth, slower\n{}{}\n## More nodes, faster: instead, on fewer nodes\n{}{}",
      asked, head, rates, head, nodes);
  const std::string path = std::string(kSourceFolder) + "/tests/golden/network_laws.md";
  if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::stringstream known;
  known << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, known.str());
}

}  // namespace
}  // namespace accosim
