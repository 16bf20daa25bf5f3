// How far off a prediction may be: relative spreads of what it is made of, and the interval that they give. A spread is
// the standard deviation of the logarithm of measured over predicted time.
#pragma once

#include "models/base/units.hpp"
#include "models/collectives/collectives.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {

/// Spreads of computation and of communication, each already multiplied by its share of the total time. All kernels err
/// together (one fit, one clock), and so do all collectives; the two are independent.
struct Spread {
  double compute = 0;
  double communication = 0;

  /// Root of the sum of squares.
  double total() const;
};
/// What two predictions do not share of their spreads: root of the sum of the squared differences.
double spread_apart(const Spread& a, const Spread& b);
/// Spread of the ratio of two steps' times on the same GPUs: errors that both share cancel, but not what each way to
/// run the step has by itself, which is Constants::ratio_spread. Root of the sum of the squares of that and
/// spread_apart().
double ratio_spread(const Spread& a, const Spread& b);

/// Quantile of the normal distribution that leaves a tenth on either side.
inline constexpr double kEightyPercent = 1.2815515655446004;
struct Interval {
  double low = 0, high = 0;
};
/// The 80 % interval of a log-normal quantity whose median is `value`: value x exp(-+ kEightyPercent x spread).
Interval interval_80(double value, double spread);

/// Spread of collectives of so many bytes over so many nodes: the largest of its kinds of links (LinkQuality). Beyond
/// the number of nodes that a fabric was measured on it grows:
///   square(spread) + square(growth x log2(nodes / measured nodes)).
double communication_spread(const Cluster& cluster, int nodes, Bytes bytes);
/// The same over the ring's nodes and kinds of links alone.
double communication_spread(const Cluster& cluster, const Ring& ring, Bytes bytes);

}  // namespace accosim
