#include "models/base/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>

namespace accosim {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double at = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= values.size()) return values.back();
  return values[below] + (at - static_cast<double>(below)) * (values[below + 1] - values[below]);
}

// Tabulated, and beyond the table Cornish and Fisher's first term is exact to 2e-3.
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

}  // namespace accosim
