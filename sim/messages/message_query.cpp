#include "sim/messages/message_query.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/collectives/route.hpp"
#include "models/collectives/window.hpp"

namespace accosim {
namespace {

std::vector<BytesPerSecond> wires_of(CollectiveKind kind, const Cluster& cluster, const Ring& ring) {
  std::vector<BytesPerSecond> wires;
  for (std::size_t i = 0; i < ring.node.size(); ++i) wires.push_back(edge_wire(kind, cluster, ring, i));
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
  MessageQuery query{.kind = kind,
                     .tree = way.algorithm == Algorithm::kTree,
                     .bytes = bytes,
                     .links = nccl_steps(kind, bytes, cluster, ring, way).links};
  for (std::size_t i = 0; i < ring.node.size(); ++i) query.ranks_here.push_back(ring.here(i));
  query.wires = wires_of(kind, cluster, ring);
  // What all nodes' hosts and the fabric's collisions leave of the wires.
  const BytesPerSecond slowest = *std::ranges::min_element(query.wires);
  for (BytesPerSecond& wire : query.wires) wire = std::min(1.0, query.links.wire / slowest) * wire;
  query.wire_latency = cluster.fabric.latency;
  query.slots = slots_of(query.links, cluster, ring);
  query.in_turn = query.tree || kind == CollectiveKind::kBroadcast;
  query.one_thread = way.protocol != Protocol::kSimple;
  if (cluster.fabric.between_groups) {
    query.site = ring.node_group;
    query.between_sites = latency_apart(cluster);
  }
  return query;
}

}  // namespace accosim
