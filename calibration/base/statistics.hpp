// The little statistics that measurements need: quantiles of runs, a mean of ratios, a straight line.
#pragma once

#include <span>

#include "models/base/statistics.hpp"

namespace accocal {

/// The quantile `share` (0 to 1) of a sorted, non-empty list, interpolated linearly between neighbours.
double quantile(std::span<const double> sorted, double share);

using accosim::Estimate;
using accosim::mean_of;
using accosim::student_95;

/// mean_of() for positive values, computed on their logarithms.
Estimate geometric_mean_of(std::span<const double> values);

struct Line {
  double intercept = 0, slope = 0;
};
/// Least squares; at least two different x.
Line line_through(std::span<const double> x, std::span<const double> y);

}  // namespace accocal
