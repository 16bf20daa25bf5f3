#include "models/collectives/window.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/base/quantity.hpp"
#include "models/collectives/channels.hpp"
#include "models/collectives/route.hpp"
#include "models/spec/fabrics.hpp"

namespace accosim {
namespace {

constexpr BytesPerSecond kUnbounded{std::numeric_limits<double>::infinity()};

const Nics& nics_of(const Cluster& cluster, const Ring& ring, std::size_t i) {
  return cluster.nodes[static_cast<std::size_t>(ring.node_group[i])].nics;
}

Window window_of(const Cluster& cluster, const Ring& ring, std::size_t edge, int channels) {
  const std::size_t next = (edge + 1) % ring.node.size();
  const Bytes here = channel_window(nics_of(cluster, ring, edge)), there = channel_window(nics_of(cluster, ring, next));
  return {channels, here == Bytes{0} || there == Bytes{0} ? std::max(here, there) : std::min(here, there),
          2 * wire_latency(cluster, ring.node_group[edge], ring.node_group[next])};
}

}  // namespace

std::string in_words(const Window& window) {
  return fmt::format("{} {} x {} per {}", window.channels, window.channels == 1 ? "channel" : "channels",
                     to_text(window.each), to_text(window.round_trip));
}

Bytes channel_window(const Nics& nics) {
  const Bytes sockets = nics.sockets * nics.socket_window;
  if (nics.kind == kOwnRings) return sockets;
  return sockets > Bytes{0} ? std::min(kChannelBuffer, sockets) : kChannelBuffer;
}

std::vector<Window> edge_windows(const Cluster& cluster, const Ring& ring) {
  const int channels = network_channels(cluster, ring);
  std::vector<Window> windows;
  for (std::size_t i = 0; i < ring.node.size(); ++i) windows.push_back(window_of(cluster, ring, i, channels));
  return windows;
}

BytesPerSecond slowest_window(const Cluster& cluster, const Ring& ring) {
  if (cluster.fabric.latency <= Seconds{0} && !cluster.fabric.between_groups) return kUnbounded;
  BytesPerSecond slowest = kUnbounded;
  for (const Window& window : edge_windows(cluster, ring)) slowest = std::min(slowest, window.rate());
  return slowest;
}

}  // namespace accosim
