// The quantiles are tabulated, and beyond the table Cornish and Fisher's first term is exact to 2e-3.
#include "calibration/base/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace accocal {

double quantile(std::span<const double> sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double student_95(int degrees) {
  constexpr std::array<double, 30> kTable = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812,
                                             1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725,
                                             1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699, 1.697};
  if (degrees < 1) return std::numeric_limits<double>::infinity();
  if (degrees <= static_cast<int>(kTable.size())) return kTable[static_cast<std::size_t>(degrees) - 1];
  constexpr double kNormal = 1.6448536269514722;
  return kNormal + (kNormal * kNormal * kNormal + kNormal) / (4.0 * degrees);
}

Estimate mean_of(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("a mean of nothing");
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const int degrees = static_cast<int>(values.size()) - 1;
  const double half =
      degrees == 0 ? std::numeric_limits<double>::infinity() : student_95(degrees) * std::sqrt(squares / degrees / n);
  return {mean, mean - half, mean + half};
}

Estimate geometric_mean_of(std::span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  const Estimate mean = mean_of(logs);
  return {std::exp(mean.value), std::exp(mean.low), std::exp(mean.high)};
}

Line line_through(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  if (!(xx > 0)) throw std::invalid_argument("a line through less than two different points");
  return {mean_y - xy / xx * mean_x, xy / xx};
}

}  // namespace accocal
