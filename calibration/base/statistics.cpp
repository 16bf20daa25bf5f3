#include "calibration/base/statistics.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

namespace accocal {

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
