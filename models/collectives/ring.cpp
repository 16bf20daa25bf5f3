#include "models/collectives/ring.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "models/spec/fabrics.hpp"

namespace accosim {

bool is_exchange(CollectiveKind kind) { return kind == CollectiveKind::kAllToAll || is_to_one(kind); }

bool is_to_one(CollectiveKind kind) { return kind == CollectiveKind::kSendRecv || kind == CollectiveKind::kSend; }

double edges_of(CollectiveKind kind, const Ring& ring) {
  return static_cast<double>(ring.node.size()) - (kind == CollectiveKind::kBroadcast ? 1 : 0);
}

namespace {

/// Every price of the ring asks.
Ring looked_at(Ring ring) {
  std::vector<bool> as_before(ring.node.size());
  for (std::size_t i = 0; i < ring.node.size(); ++i) as_before[i] = is_like_the_one_before(ring, i);
  ring.as_before = std::move(as_before);
  return ring;
}

}  // namespace

Ring ring_of(const std::vector<Place>& places, const std::vector<int>& members) {
  struct Here {
    int group = 0;
    std::vector<int> gpus;
  };
  std::map<int, Here> by_node;
  for (const int rank : members) {
    const Place& place = places[static_cast<std::size_t>(rank)];
    Here& here = by_node[place.node];
    here.group = place.group;
    here.gpus.push_back(place.gpu);
  }
  Ring ring;
  for (auto& [node, here] : by_node) {
    std::ranges::sort(here.gpus);
    ring.node.push_back(node);
    ring.node_group.push_back(here.group);
    ring.ranks += static_cast<int>(here.gpus.size());
    ring.gpus.push_back(std::move(here.gpus));
  }
  return looked_at(std::move(ring));
}

Ring whole_ring(const Cluster& cluster) {
  Ring ring;
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g) {
    std::vector<int> gpus(static_cast<std::size_t>(cluster.nodes[g].gpus));
    std::iota(gpus.begin(), gpus.end(), 0);
    for (int i = 0; i < cluster.nodes[g].count; ++i) {
      ring.node.push_back(static_cast<int>(ring.node.size()));
      ring.node_group.push_back(static_cast<int>(g));
      ring.gpus.push_back(gpus);
      ring.ranks += cluster.nodes[g].gpus;
    }
  }
  return looked_at(std::move(ring));
}

bool is_like_the_one_before(const Ring& ring, std::size_t i) {
  if (!ring.as_before.empty()) return ring.as_before[i];
  return i > 0 && ring.node_group[i] == ring.node_group[i - 1] && ring.gpus[i] == ring.gpus[i - 1];
}

int most_here(const Ring& ring) {
  int most = 0;
  for (std::size_t i = 0; i < ring.node.size(); ++i) most = std::max(most, ring.here(i));
  return most;
}

int fewest_here(const Ring& ring) {
  int fewest = ring.ranks;
  for (std::size_t i = 0; i < ring.node.size(); ++i) fewest = std::min(fewest, ring.here(i));
  return fewest;
}

const NodeGroup& group_of(const Cluster& cluster, const Ring& ring, std::size_t i) {
  return cluster.nodes[static_cast<std::size_t>(ring.node_group[i])];
}

int adapter_next_to(const NodeGroup& group, int gpu) { return gpu * group.nics.count / group.gpus; }

int first_gpu_at(const NodeGroup& group, int adapter) {
  int gpu = 0;
  while (gpu + 1 < group.gpus && adapter_next_to(group, gpu) < adapter) ++gpu;
  return gpu;
}

int adapters_of(const NodeGroup& group, const std::vector<int>& gpus) {
  int adapters = 0, end = 0;  // of those that are counted
  for (const int gpu : gpus) {
    const int first = std::max(end, adapter_next_to(group, gpu));
    end = std::max({end, adapter_next_to(group, gpu) + 1, adapter_next_to(group, gpu + 1)});
    adapters += end - first;
  }
  return adapters;
}

// aws-ofi-nccl, src/nccl_ofi_topo.cpp and src/nccl_ofi_rdma.cpp: adapters are grouped by the GPU that they are nearest
// to, and a group's speed is the sum; its other protocol, of the first EFA, shows every adapter.
int devices_of(const NodeGroup& group, const std::vector<int>& gpus) {
  const int adapters = adapters_of(group, gpus);
  const bool merged = is_aws(group.nics.kind) && data_path(group.nics.kind) == DataPath::kDirect;
  return merged ? std::min(adapters, static_cast<int>(gpus.size())) : adapters;
}

int sending_threads(int gpus, int adapters) { return std::max(1, std::min(gpus, 2 * adapters)); }

BytesPerSecond thread_bandwidth(const Nics& nics, double threads) {
  if (data_path(nics.kind) != DataPath::kCopied || nics.staging <= BytesPerSecond{0})
    return BytesPerSecond{std::numeric_limits<double>::infinity()};
  return threads / 2 * nics.staging;
}

namespace {

BytesPerSecond bandwidth_of(const Nics& nics, int adapters) {
  const BytesPerSecond wires = adapters * (nics.efficiency * nics.bandwidth);
  if (data_path(nics.kind) != DataPath::kStaged || nics.staging <= BytesPerSecond{0}) return wires;
  return std::min(wires, 0.5 * nics.staging);
}

}  // namespace

BytesPerSecond node_bandwidth(const NodeGroup& group) { return bandwidth_of(group.nics, group.nics.count); }

BytesPerSecond node_bandwidth(const NodeGroup& group, const std::vector<int>& gpus) {
  return bandwidth_of(group.nics, adapters_of(group, gpus));
}

std::optional<BytesPerSecond> binding_copies(const Cluster& cluster, const Ring& ring) {
  BytesPerSecond slowest;
  std::optional<BytesPerSecond> copies;
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    const NodeGroup& group = group_of(cluster, ring, i);
    const int adapters = adapters_of(group, ring.gpus[i]);
    const BytesPerSecond wires = adapters * (group.nics.efficiency * group.nics.bandwidth);
    const BytesPerSecond here = std::min(bandwidth_of(group.nics, adapters),
                                         thread_bandwidth(group.nics, sending_threads(ring.here(i), adapters)));
    if (i > 0 && here >= slowest) continue;
    slowest = here;
    copies = here < wires ? std::optional(here) : std::nullopt;
  }
  return copies;
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
