#include "models/collectives/collective_cost.hpp"

#include <algorithm>

#include "models/collectives/nccl_node.hpp"
#include "models/collectives/route.hpp"
#include "models/collectives/window.hpp"

namespace accosim {

BytesPerSecond edge_bandwidth(CollectiveKind kind, const Cluster& cluster, const Ring& ring) {
  return std::min({wire_bandwidth(kind, cluster, ring), slowest_window(cluster, ring), ends_bandwidth(cluster, ring)});
}

Seconds collective_time(const CollectiveCost& cost) {
  if (cost.edge_bytes == Bytes{0}) return cost.latency + cost.intra;
  return cost.latency + std::max(cost.intra, cost.edge_bytes / cost.edge);
}

}  // namespace accosim
