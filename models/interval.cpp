// See interval.hpp; the constants are explained in README.md ("Intervals").
#include "models/interval.hpp"

#include <cmath>

namespace accosim {

double Spread::total() const { return std::hypot(compute, communication); }

double ratio_spread(const Spread& a, const Spread& b) {
  return std::hypot(a.compute - b.compute, a.communication - b.communication);
}

Interval interval_80(double value, double spread) {
  const double factor = std::exp(kEightyPercent * spread);
  return {value / factor, value * factor};
}

double communication_spread(const Cluster&, bool between_nodes) { return between_nodes ? 0.3 : 0.2; }

}  // namespace accosim
