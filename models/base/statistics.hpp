// Statistics of samples that scatter.
#pragma once

#include <span>
#include <vector>

namespace accosim {

/// The middle one, or the mean of the two in the middle; 0 of none.
double median(std::vector<double> values);

/// The value that a share `p` of the values is at most, linear between the two around it; 0 of none.
double percentile(std::vector<double> values, double p);

/// A mean and its 90 % interval.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

/// Student's t interval of the mean, 5 % beyond either end; so the interval lies within +-d exactly if both one-sided
/// tests of "beyond d" reject at 5 %. One value has an infinite interval; none throws std::invalid_argument.
Estimate mean_of(std::span<const double> values);
/// 95 % quantile of Student's distribution.
double student_95(int degrees);

}  // namespace accosim
