#include "models/collectives/ring.hpp"

#include <algorithm>
#include <map>

#include "models/spec/cluster.hpp"

namespace accosim {

double edges_of(CollectiveKind kind, const Ring& ring) {
  return static_cast<double>(ring.node.size()) - (kind == CollectiveKind::kBroadcast ? 1 : 0);
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

Ring whole_ring(const Cluster& cluster) {
  Ring ring;
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g)
    for (int i = 0; i < cluster.nodes[g].count; ++i) {
      ring.node.push_back(static_cast<int>(ring.node.size()));
      ring.node_group.push_back(static_cast<int>(g));
      ring.ranks_here.push_back(cluster.nodes[g].gpus);
      ring.ranks += cluster.nodes[g].gpus;
    }
  return ring;
}

const NodeGroup& group_of(const Cluster& cluster, const Ring& ring, std::size_t i) {
  return cluster.nodes[static_cast<std::size_t>(ring.node_group[i])];
}

BytesPerSecond node_bandwidth(const NodeGroup& group) { return node_bandwidth(group, group.gpus); }

int adapters_of(const NodeGroup& group, int ranks) {
  return static_cast<int>((std::int64_t{group.nics.count} * ranks + group.gpus - 1) / group.gpus);
}

BytesPerSecond node_bandwidth(const NodeGroup& group, int ranks) {
  const Nics& nics = group.nics;
  BytesPerSecond adapter = nics.efficiency * nics.bandwidth;
  if (nics.staging > BytesPerSecond{0}) adapter = std::min(adapter, nics.staging);
  return static_cast<double>(adapters_of(group, ranks)) * adapter;
}

Seconds start_of(const Cluster& cluster, const Ring& ring) {
  Seconds start;
  for (std::size_t i = 0; i < ring.node.size(); ++i) start = std::max(start, group_of(cluster, ring, i).intra.start);
  return start;
}

BytesPerSecond core_bandwidth(const Cluster& cluster) {
  if (cluster.fabric.oversubscription <= 1) return BytesPerSecond{0};
  BytesPerSecond all;
  for (const NodeGroup& group : cluster.nodes) all += group.count * node_bandwidth(group);
  return all / cluster.fabric.oversubscription;
}

void take_slowest(BytesPerSecond& slowest, BytesPerSecond bandwidth) {
  slowest = slowest == BytesPerSecond{0} ? bandwidth : std::min(slowest, bandwidth);
}

}  // namespace accosim
