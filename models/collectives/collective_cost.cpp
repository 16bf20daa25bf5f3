#include "models/collectives/collective_cost.hpp"

#include <algorithm>

#include "models/collectives/window.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {
namespace {

/// The share of a group's link to other groups that one of the edges over it has. A ring, whose nodes are in order,
/// leaves a group once; in an all-to-all every node of the group sends to all that are elsewhere.
BytesPerSecond slowest_share_between_groups(CollectiveKind kind, const Cluster& cluster, const Ring& ring) {
  const BytesPerSecond link = cluster.fabric.between_groups->bandwidth;
  if (kind != CollectiveKind::kAllToAll) return link;
  double most = 0;
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    int in_group = 0, nodes = 0;
    for (std::size_t j = 0; j < ring.node.size(); ++j) {
      if (ring.node_group[j] != ring.node_group[i]) continue;
      in_group += ring.ranks_here[j];
      ++nodes;
    }
    // Of what a node sends to n - here ranks, that to n - in_group leaves the group.
    most = std::max(most, 1.0 * nodes * (ring.ranks - in_group) / (ring.ranks - ring.ranks_here[i]));
  }
  return link / most;
}

}  // namespace

/// All edges cross the core at once and share it: with equal bytes on each, max-min sharing ends with the slowest
/// adapter or, if the core is what limits, with all of them together.
BytesPerSecond wire_bandwidth(CollectiveKind kind, const Cluster& cluster, const Ring& ring) {
  BytesPerSecond slowest;
  for (std::size_t i = 0; i < ring.node.size(); ++i)
    // Of a node's ranks one sends to the next node, through the adapter next to it.
    take_slowest(slowest, node_bandwidth(group_of(cluster, ring, i),
                                         kind == CollectiveKind::kSendRecv ? 1 : ring.ranks_here[i]));
  if (edges_apart(cluster, ring) > 0) take_slowest(slowest, slowest_share_between_groups(kind, cluster, ring));
  const BytesPerSecond core = core_bandwidth(cluster);
  return core > BytesPerSecond{0} ? std::min(slowest, ring.core_share * core / edges_of(kind, ring)) : slowest;
}

BytesPerSecond edge_bandwidth(CollectiveKind kind, const Cluster& cluster, const Ring& ring) {
  return std::min(wire_bandwidth(kind, cluster, ring), slowest_window(cluster, ring));
}

Seconds collective_time(CollectiveKind kind, const CollectiveCost& cost, const Cluster& cluster, const Ring& ring) {
  if (cost.edge_bytes == Bytes{0}) return cost.latency + cost.intra;
  return cost.latency + std::max(cost.intra, cost.edge_bytes / edge_bandwidth(kind, cluster, ring));
}

}  // namespace accosim
