#include "sim/messages/message_query.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/collectives/window.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {
namespace {

/// Out of each node, to the next: what its adapters send and the next node's take, its share of the core and of the
/// link to another group.
std::vector<BytesPerSecond> wires_of(CollectiveKind kind, const Cluster& cluster, const Ring& ring) {
  const std::size_t nodes = ring.node.size();
  const double edges = static_cast<double>(nodes) - (kind == CollectiveKind::kBroadcast ? 1 : 0);
  const BytesPerSecond core = core_bandwidth(cluster);
  std::vector<BytesPerSecond> wires;
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::size_t next = (i + 1) % nodes;
    BytesPerSecond wire = std::min(node_bandwidth(group_of(cluster, ring, i), ring.ranks_here[i]),
                                   node_bandwidth(group_of(cluster, ring, next), ring.ranks_here[next]));
    if (core > BytesPerSecond{0}) wire = std::min(wire, core / edges);
    if (cluster.fabric.between_groups && ring.node_group[i] != ring.node_group[next])
      wire = std::min(wire, cluster.fabric.between_groups->bandwidth);
    wires.push_back(wire);
  }
  return wires;
}

/// Messages that a connection's buffer holds.
int slots_of(const StepLinks& links, const Cluster& cluster, const Ring& ring) {
  // A ring's chunk with Simple takes four of the eight slots, whatever it holds.
  const int slots = links.slices > 1 ? 2 * links.slices : kSlots;
  const Bytes message = links.chunk / links.slices;
  double least = slots;
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    const Bytes window = channel_window(group_of(cluster, ring, i).nics);
    if (window > Bytes{0} && window < kChannelBuffer) least = std::min(least, std::floor(window / message));
  }
  return std::max(1, static_cast<int>(least));
}

}  // namespace

MessageQuery message_query(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring,
                           const NcclWay& way) {
  MessageQuery query;
  query.kind = kind;
  query.tree = way.algorithm == Algorithm::kTree;
  query.bytes = bytes;
  query.links = nccl_steps(kind, bytes, cluster, ring, way).links;
  query.ranks_here = ring.ranks_here;
  query.wires = wires_of(kind, cluster, ring);
  query.wire_latency = cluster.fabric.latency;
  query.slots = slots_of(query.links, cluster, ring);
  query.in_turn = query.tree;
  query.one_thread = way.protocol != Protocol::kSimple;
  if (cluster.fabric.between_groups) {
    query.site = ring.node_group;
    query.between_sites = cluster.fabric.between_groups->latency;
  }
  return query;
}

}  // namespace accosim
