// The little statistics that measurements need beside those of models/base: a mean of ratios, a straight line.
#pragma once

#include <span>

#include "calibration/base/names.hpp"
#include "models/base/statistics.hpp"

namespace accocal {

/// mean_of() for positive values, computed on their logarithms.
Estimate geometric_mean_of(std::span<const double> values);

struct Line {
  double intercept = 0, slope = 0;
};
/// Least squares; at least two different x.
Line line_through(std::span<const double> x, std::span<const double> y);

}  // namespace accocal
