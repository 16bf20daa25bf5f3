#include "models/collectives/channels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "models/collectives/nccl_node.hpp"
#include "models/collectives/nccl_search.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

constexpr int kMostNvls = 16;  // src/enqueue.cc: "NVLS should not need more than 16 channels to get peak BW"
constexpr double kThreads = 512;
constexpr double kLl128Threads = 640;
constexpr double kSimpleThreshold = 64, kLowLatencyThreshold = 8;  // bytes a thread; LL128 as LL

}  // namespace

int communicator_channels(const Cluster& cluster, const Ring& ring) {
  int channels = std::numeric_limits<int>::max();
  std::vector<bool> seen(cluster.nodes.size(), false);
  for (const int node_group : ring.node_group) {
    if (seen[static_cast<std::size_t>(node_group)]) continue;
    seen[static_cast<std::size_t>(node_group)] = true;
    for (const Device& device : cluster.nodes[static_cast<std::size_t>(node_group)].devices)
      channels = std::min(channels, device.collective_sms);
  }
  if (channels == std::numeric_limits<int>::max()) return 0;
  return channels == 0 || ring.node.size() < 2 ? channels : network_channels(cluster, ring);
}

int network_channels(const Cluster& cluster, const Ring& ring) {
  int capability = std::numeric_limits<int>::max(), said = capability;
  bool all_say = true;
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    if (is_like_the_one_before(ring, i)) continue;
    const NodeGroup& group = group_of(cluster, ring, i);
    if (group.nics.kind == kOwnRings) return 1;
    capability = std::min(capability, capability_of(group));
    all_say = all_say && group.nics.channels > 0;
    if (group.nics.channels > 0) said = std::min(said, group.nics.channels * devices_of(group, ring.gpus[i]));
  }
  if (all_say) return said;
  return std::min(said, channels_between(graphs_between(cluster, ring).ring, capability, cluster.nccl.minor));
}

int channels_of(CollectiveKind kind, Bytes bytes, int ranks, Algorithm algorithm, Protocol protocol, int channels) {
  if (is_exchange(kind)) return channels;
  if (algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree) channels = std::min(channels, kMostNvls);
  double of_one = kThreads * kSimpleThreshold;
  if (protocol == Protocol::kLowLatency)
    of_one = kThreads * kLowLatencyThreshold * (algorithm == Algorithm::kRing ? ranks : 1);
  if (protocol == Protocol::kLl128) of_one = kLl128Threads * kLowLatencyThreshold;
  const double fits = std::min(std::floor(bytes.value / of_one), static_cast<double>(channels));
  return std::min(channels, std::max(1, static_cast<int>(fits)));
}

}  // namespace accosim
