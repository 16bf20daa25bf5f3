#include "models/collectives/nccl_node.hpp"

#include <algorithm>
#include <limits>

#include "models/collectives/links.hpp"
#include "models/collectives/nccl_search.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

constexpr double kGB = 1e9;
constexpr double kNvlink = 25;  ///< a link of V100, GB/s

NcclNode node_of(const Cluster& cluster, const Ring& ring, std::size_t i) {
  const NodeGroup& group = group_of(cluster, ring, i);
  NcclNode node{.gpus = ring.here(i)};
  if (node.gpus > 1) {
    const double board = ring_bandwidth(group.intra, group.gpus, ring.gpus[i]).value / kGB;
    const bool pcie = is_over_pcie(group.intra.kind);
    node.nvlink = pcie ? slot_of(group) : kNvlinkCounted * board;
    node.pair = node.nvlink;
    if (group.intra.kind == "cube_mesh") node.pair = kNvlinkCounted * kNvlink;
    if (group.intra.kind == "nvlink" && node.gpus > 2) node.pair = node.nvlink / (node.gpus - 1);
  }
  node.slot = slot_of(group);
  node.adapters = std::max(1, devices_of(group, ring.gpus[i]));
  node.adapter = 1.0 * std::max(1, adapters_of(group, ring.gpus[i])) / node.adapters * group.nics.bandwidth.value / kGB;
  node.intel_root = !group.nics.beside_gpus && cpu_of(group) == Cpu::kIntel;
  node.capability = capability_of(group);
  node.minor = cluster.nccl.minor;
  return node;
}

NcclGraph least_of(const NcclGraph& a, const NcclGraph& b) {
  return {std::min(a.channels, b.channels), std::min(a.intra, b.intra), std::min(a.inter, b.inter)};
}

}  // namespace

Cpu cpu_of(const NodeGroup& group) { return group.cpu.value_or(capability_of(group) == 80 ? Cpu::kAmd : Cpu::kIntel); }

double slot_of(const NodeGroup& group) {
  if (group.nics.slot > BytesPerSecond{0}) return group.nics.slot.value / kGB;
  const int capability = capability_of(group);
  return capability < 80 ? 12 : capability < 90 ? 24 : 48;
}

BytesPerSecond ends_bandwidth(const Cluster& cluster, const Ring& ring) {
  BytesPerSecond slowest{std::numeric_limits<double>::infinity()};
  if (ring.node.size() < 2) return slowest;
  int channels = 0;  // that the search finds, once it is asked
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    if (is_like_the_one_before(ring, i)) continue;
    const NodeGroup& group = group_of(cluster, ring, i);
    const Nics& nics = group.nics;
    if (nics.kind.empty() || nics.kind == kOwnRings) continue;
    const int adapters = adapters_of(group, ring.gpus[i]), devices = devices_of(group, ring.gpus[i]);
    slowest = std::min(slowest, thread_bandwidth(nics, sending_threads(ring.here(i), adapters)));
    slowest = std::min(slowest, ring.here(i) * BytesPerSecond{kGB * slot_of(group)});
    if (nics.channels > 0 || devices == 1) continue;
    if (channels == 0) channels = graphs_between(cluster, ring).ring.channels;
    const double used = 1.0 * std::min(channels, devices) / devices;
    slowest = std::min(slowest, used * adapters * (nics.efficiency * nics.bandwidth));
  }
  return slowest;
}

NcclGraphs graphs_between(const Cluster& cluster, const Ring& ring) {
  const auto whole = [&](std::size_t i) { return ring.here(i) == group_of(cluster, ring, i).gpus; };
  bool all = true;  // GPUs of its nodes, for which the lines were printed
  for (std::size_t i = 0; i < ring.node.size(); ++i) all = all && (is_like_the_one_before(ring, i) || whole(i));
  if (cluster.graphs && all) return *cluster.graphs;
  NcclGraphs least;
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    if (is_like_the_one_before(ring, i)) continue;
    const NcclGraphs found = find_graphs(node_of(cluster, ring, i));
    least = i == 0 ? found : NcclGraphs{least_of(least.ring, found.ring), least_of(least.tree, found.tree)};
  }
  return least;
}

}  // namespace accosim
