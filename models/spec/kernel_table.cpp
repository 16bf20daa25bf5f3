#include "models/spec/kernel_table.hpp"

#include <algorithm>
#include <cmath>

namespace accosim {
namespace {

double log_line(const KernelPoint& a, const KernelPoint& b, double elements) {
  const double share = std::log(elements / a.elements) / std::log(b.elements / a.elements);
  return (1 - share) * std::log(a.time.value) + share * std::log(b.time.value);
}

/// Points of nearly one size as one.
KernelCurve merged(std::vector<KernelPoint> samples) {
  std::ranges::sort(samples, [](const KernelPoint& a, const KernelPoint& b) {
    return a.elements != b.elements ? a.elements < b.elements : a.time < b.time;
  });
  KernelCurve curve;
  for (std::size_t i = 0; i < samples.size();) {
    double elements = 0, time = 0, count = 0;
    for (const double first = samples[i].elements; i < samples.size() && samples[i].elements <= kSameSize * first;
         ++i) {
      elements += std::log(samples[i].elements);
      time += std::log(samples[i].time.value);
      count += 1;
    }
    curve.push_back({std::round(std::exp(elements / count)), Seconds{std::exp(time / count)}});
  }
  return curve;
}

/// Keeps of first to last those that no line explains (Douglas and Peucker, with the error in the time).
void keep(const KernelCurve& all, std::size_t first, std::size_t last, double tolerance, KernelCurve& kept) {
  double worst = tolerance;
  std::size_t at = first;
  for (std::size_t i = first + 1; i < last; ++i) {
    const double error = std::abs(log_line(all[first], all[last], all[i].elements) - std::log(all[i].time.value));
    if (error > worst) worst = error, at = i;
  }
  if (at == first) {
    kept.push_back(all[last]);
    return;
  }
  keep(all, first, at, tolerance, kept);
  keep(all, at, last, tolerance, kept);
}

}  // namespace

Seconds time_at(const KernelCurve& curve, double elements) {
  if (elements <= curve.front().elements) return curve.front().time;
  if (elements >= curve.back().elements) return elements / curve.back().elements * curve.back().time;
  const auto above = std::upper_bound(curve.begin(), curve.end(), elements,
                                      [](double value, const KernelPoint& point) { return value < point.elements; });
  return Seconds{std::exp(log_line(*(above - 1), *above, elements))};
}

KernelCurve curve_of(std::vector<KernelPoint> samples, double tolerance) {
  KernelCurve all = merged(std::move(samples));
  if (all.size() < 3) return all;
  KernelCurve kept{all.front()};
  keep(all, 0, all.size() - 1, tolerance, kept);
  return kept;
}

std::vector<double> left_out_errors(const std::vector<KernelPoint>& samples) {
  const KernelCurve all = merged(samples);
  std::vector<double> errors;
  for (std::size_t i = 1; i + 1 < all.size(); ++i)
    errors.push_back(log_line(all[i - 1], all[i + 1], all[i].elements) - std::log(all[i].time.value));
  return errors;
}

}  // namespace accosim
