#include "models/collectives/channels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "models/spec/cluster.hpp"
#include "models/spec/device.hpp"
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
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    const NodeGroup& group = cluster.nodes[static_cast<std::size_t>(ring.node_group[i])];
    if (ring.node.size() > 1) channels = std::min(channels, group.nics.channels * adapters_of(group, ring.gpus[i]));
    if (seen[static_cast<std::size_t>(ring.node_group[i])]) continue;
    seen[static_cast<std::size_t>(ring.node_group[i])] = true;
    for (const Device& device : group.devices) channels = std::min(channels, device.collective_sms);
  }
  return channels == std::numeric_limits<int>::max() ? 0 : channels;
}

int network_channels(const Cluster& cluster, const Ring& ring) {
  const auto group = [&](std::size_t i) -> const NodeGroup& {
    return cluster.nodes[static_cast<std::size_t>(ring.node_group[i])];
  };
  for (std::size_t i = 0; i < ring.node.size(); ++i)
    if (group(i).nics.kind == kOwnRings) return 1;
  if (const int channels = communicator_channels(cluster, ring); channels > 0) return channels;
  int channels = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < ring.node.size(); ++i)
    channels = std::min(channels, group(i).nics.channels * adapters_of(group(i), ring.gpus[i]));
  return channels;
}

int channels_of(CollectiveKind kind, Bytes bytes, int ranks, Algorithm algorithm, Protocol protocol, int channels) {
  if (kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kSendRecv) return channels;
  if (algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree) channels = std::min(channels, kMostNvls);
  double of_one = kThreads * kSimpleThreshold;
  if (protocol == Protocol::kLowLatency)
    of_one = kThreads * kLowLatencyThreshold * (algorithm == Algorithm::kRing ? ranks : 1);
  if (protocol == Protocol::kLl128) of_one = kLl128Threads * kLowLatencyThreshold;
  const double fits = std::min(std::floor(bytes.value / of_one), static_cast<double>(channels));
  return std::min(channels, std::max(1, static_cast<int>(fits)));
}

}  // namespace accosim
