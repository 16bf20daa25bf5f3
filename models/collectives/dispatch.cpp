#include "models/collectives/dispatch.hpp"

#include <algorithm>
#include <cmath>

#include "models/collectives/links.hpp"

namespace accosim {

double reached(double parts, double receivers) { return parts * (1 - std::pow(1 - 1 / parts, receivers)); }

DispatchBytes dispatch_bytes(Bytes bytes, double receivers, const Ring& ring) {
  const double nodes = static_cast<double>(ring.node.size()), here = most_here(ring), all = ring.ranks;
  return {reached(nodes, receivers) * (nodes - 1) / nodes * bytes, reached(all, receivers) * (here - 1) / here * bytes};
}

Seconds dispatch_time(Bytes bytes, double receivers, const Cluster& cluster, const Ring& ring) {
  if (ring.ranks < 2) return Seconds{0};
  const DispatchBytes sent = dispatch_bytes(bytes, receivers, ring);
  BytesPerSecond links, adapters;
  for (std::size_t i = 0; i < ring.node.size(); ++i) {
    const NodeGroup& group = group_of(cluster, ring, i);
    if (ring.here(i) > 1) {
      const BytesPerSecond sockets = socket_share(group.intra, group.gpus, ring.gpus[i]).exchange;
      take_slowest(links,
                   std::min(sockets, kDispatchLinks * exchange_bandwidth(group.intra, group.gpus, ring.gpus[i])));
    }
    take_slowest(adapters, kDispatchAdapters * adapters_of(group, ring.gpus[i]) / ring.here(i) * group.nics.bandwidth);
  }
  const BytesPerSecond core = core_bandwidth(cluster);  // all groups exchange at once
  if (core > BytesPerSecond{0}) take_slowest(adapters, core / gpu_count(cluster));
  Seconds longer;
  if (sent.inside > Bytes{0}) longer = sent.inside / links;
  if (sent.between > Bytes{0}) longer = std::max(longer, sent.between / adapters);
  return kDispatchFixed + longer;
}

}  // namespace accosim
