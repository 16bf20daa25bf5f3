// The little statistics that measurements need: quantiles of runs, Student's interval of a mean, a straight line.
#pragma once

#include <span>

namespace accocal {

/// The quantile `share` (0 to 1) of a sorted, non-empty list, interpolated linearly between neighbours.
double quantile(std::span<const double> sorted, double share);

/// A mean and its 90 % interval.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

/// Student's t interval of the mean, 5 % beyond either end; so the interval lies within +-d exactly if both one-sided
/// tests of "beyond d" reject at 5 %. One value has an infinite interval; none throws std::invalid_argument.
Estimate mean_of(std::span<const double> values);
/// The same for positive values, computed on their logarithms.
Estimate geometric_mean_of(std::span<const double> values);
/// 95 % quantile of Student's distribution.
double student_95(int degrees);

struct Line {
  double intercept = 0, slope = 0;
};
/// Least squares; at least two different x.
Line line_through(std::span<const double> x, std::span<const double> y);

}  // namespace accocal
