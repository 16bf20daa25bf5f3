// The constants are explained in README.md ("Uncertainty").
#include "models/price/interval.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/spec/constants.hpp"

namespace accosim {

double Spread::total() const { return std::hypot(compute, communication); }

double spread_apart(const Spread& a, const Spread& b) {
  return std::hypot(a.compute - b.compute, a.communication - b.communication);
}

double ratio_spread(const Spread& a, const Spread& b) {
  return std::hypot(spread_apart(a, b), constants().ratio_spread);
}

Interval interval_80(double value, double spread) {
  const double factor = std::exp(kEightyPercent * spread);
  return {value / factor, value * factor};
}

namespace {

/// `ranks_here`: ranks of a node of the group.
double spread_over(const NodeGroup& group, int nodes, int ranks_here, Bytes bytes) {
  constexpr double kMiB = 1024.0 * 1024.0;
  const LinkQuality& quality = nodes > 1 ? group.nics.quality : group.intra.quality;
  const double here = bytes.value < kMiB ? quality.spread_small : quality.spread;
  const double together = nodes > 1 ? nodes : ranks_here;
  const double beyond = quality.nodes > 0 && together > quality.nodes ? std::log2(together / quality.nodes) : 0;
  return std::hypot(here, quality.growth * beyond);
}

}  // namespace

double communication_spread(const Cluster& cluster, int nodes, Bytes bytes) {
  return largest<double>(cluster.nodes,
                         [&](const NodeGroup& group) { return spread_over(group, nodes, group.gpus, bytes); });
}

double communication_spread(const Cluster& cluster, const Ring& ring, Bytes bytes) {
  const int nodes = static_cast<int>(ring.node.size());
  double most = 0;
  for (std::size_t i = 0; i < ring.node.size(); ++i)
    if (i == 0 || ring.node_group[i] != ring.node_group[i - 1])
      most = std::max(most, spread_over(group_of(cluster, ring, i), nodes, ring.here(i), bytes));
  return most;
}

}  // namespace accosim
