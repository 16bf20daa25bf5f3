// The constants are explained in README.md ("Uncertainty").
#include "models/price/interval.hpp"

#include <algorithm>
#include <cmath>

#include "models/price/spread.hpp"

namespace accosim {

double Spread::total() const { return std::hypot(compute, communication); }

double ratio_spread(const Spread& a, const Spread& b) {
  return std::hypot(a.compute - b.compute, a.communication - b.communication, kOperators);
}

Interval interval_80(double value, double spread) {
  const double factor = std::exp(kEightyPercent * spread);
  return {value / factor, value * factor};
}

double communication_spread(const Cluster& cluster, int nodes, Bytes bytes) {
  constexpr double kMiB = 1024.0 * 1024.0;
  double most = 0;
  for (const NodeGroup& group : cluster.nodes) {
    const LinkQuality& quality = nodes > 1 ? group.nics.quality : group.intra.quality;
    const double here = bytes.value < kMiB ? quality.spread_small : quality.spread;
    const double beyond = quality.nodes > 0 && nodes > quality.nodes ? std::log2(1.0 * nodes / quality.nodes) : 0;
    most = std::max(most, std::hypot(here, quality.growth * beyond));
  }
  return most;
}

}  // namespace accosim
