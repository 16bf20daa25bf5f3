// Alpha-beta costs of ring collectives. The latency counts steps as NCCL's tuner does (src/graph/tuning.cc: of nsteps,
// those between nodes pay the network's latency, the rest the inner link's), the bytes are those of the ring algorithm
// (Patarasu and Yuan 2009), so that nccl-tests' bus bandwidth of a large collective is the achieved bandwidth of the
// slowest edge.
#include "models/collectives.hpp"

#include <algorithm>
#include <map>

namespace accosim {
namespace {

const NodeGroup& group_of(const Cluster& cluster, const Ring& ring, std::size_t i) {
  return cluster.nodes[static_cast<std::size_t>(ring.node_group[i])];
}

}  // namespace

const char* name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return "all_reduce";
    case CollectiveKind::kReduceScatter: return "reduce_scatter";
    case CollectiveKind::kAllGather: return "all_gather";
    case CollectiveKind::kBroadcast: return "broadcast";
  }
  return "";
}

Ring ring_of(const std::vector<Place>& places, const std::vector<int>& members) {
  struct Here {
    int group = 0;
    int ranks = 0;
  };
  std::map<int, Here> by_node;
  for (const int rank : members) {
    const Place& place = places[static_cast<std::size_t>(rank)];
    Here& here = by_node[place.node];
    here.group = place.group;
    ++here.ranks;
  }
  Ring ring;
  for (const auto& entry : by_node) {
    ring.node.push_back(entry.first);
    ring.node_group.push_back(entry.second.group);
    ring.ranks_here.push_back(entry.second.ranks);
    ring.ranks += entry.second.ranks;
  }
  return ring;
}

CollectiveCost collective_cost(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring) {
  CollectiveCost cost;
  if (ring.ranks < 2) return cost;
  const double n = ring.ranks;
  const double nodes = static_cast<double>(ring.node.size());
  const double passes = kind == CollectiveKind::kAllReduce ? 2 : 1;  // around the ring

  Seconds intra_step, inter_step;
  BytesPerSecond slowest;  // of the inner links; 0 while none is used
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    const NodeGroup& group = group_of(cluster, ring, i);
    inter_step = std::max(inter_step, group.nics.latency);
    if (ring.ranks_here[i] < 2) continue;
    intra_step = std::max(intra_step, group.intra.latency);
    const BytesPerSecond achieved = group.intra.efficiency * group.intra.bandwidth;
    slowest = slowest == BytesPerSecond{0} ? achieved : std::min(slowest, achieved);
  }
  inter_step += cluster.fabric.latency;
  const double inter_steps = passes * (nodes - 1);
  cost.latency = (passes * (n - 1) - inter_steps) * intra_step + inter_steps * inter_step;

  // Each edge of the ring carries (n-1)/n of the buffer in a pass. A broadcast is a chain: every edge carries it all,
  // and the last rank sends nothing, which makes the same mean.
  cost.sent_per_rank = passes * (n - 1) / n * bytes;
  const Bytes edge = kind == CollectiveKind::kBroadcast ? bytes : cost.sent_per_rank;
  if (slowest > BytesPerSecond{0}) cost.intra = edge / slowest;
  if (nodes > 1) cost.edge_bytes = edge;
  return cost;
}

BytesPerSecond node_bandwidth(const NodeGroup& group) {
  return group.nics.count * group.nics.efficiency * group.nics.bandwidth;
}

BytesPerSecond core_bandwidth(const Cluster& cluster) {
  if (cluster.fabric.oversubscription <= 1) return BytesPerSecond{0};
  BytesPerSecond all;
  for (const NodeGroup& group : cluster.nodes) all += group.count * node_bandwidth(group);
  return all / cluster.fabric.oversubscription;
}

Seconds collective_time(CollectiveKind kind, Bytes bytes, const Cluster& cluster, const Ring& ring) {
  const CollectiveCost cost = collective_cost(kind, bytes, cluster, ring);
  if (cost.edge_bytes == Bytes{0}) return cost.latency + cost.intra;
  const std::size_t nodes = ring.node.size();
  BytesPerSecond slowest = node_bandwidth(group_of(cluster, ring, 0));
  for (std::size_t i = 1; i < nodes; ++i) slowest = std::min(slowest, node_bandwidth(group_of(cluster, ring, i)));
  // All edges cross the core at once and share it: with equal bytes on each, max-min sharing ends with the slowest
  // adapter or, if the core is what limits, with all of them together.
  const BytesPerSecond core = core_bandwidth(cluster);
  const double edges = static_cast<double>(kind == CollectiveKind::kBroadcast ? nodes - 1 : nodes);
  if (core > BytesPerSecond{0}) slowest = std::min(slowest, core / edges);
  return cost.latency + std::max(cost.intra, cost.edge_bytes / slowest);
}

}  // namespace accosim
