#include "sim/advise/takeover.hpp"

#include <cmath>

namespace accosim {
namespace {

/// Candidate 0 unless another one is clearly better.
std::size_t best_at(const TimesAt& times, double factor) {
  const std::vector<std::optional<double>> all = times(factor);
  std::size_t best = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (!all[i]) continue;
    const double margin = best == 0 ? 1 - kClearlyBetter : 1;
    if (!all[best] || *all[i] < *all[best] * margin) best = i;
  }
  return best;
}

std::optional<Takeover> towards(const TimesAt& times, double step, double end) {
  double same = 1;
  for (double factor = step; step > 1 ? factor <= end : factor >= end; factor *= step) {
    std::size_t by = best_at(times, factor);
    if (by == 0) {
      same = factor;
      continue;
    }
    double other = factor;
    while (std::abs(std::log(other / same)) > std::log(kRateResolution)) {
      const double middle = std::sqrt(other * same);
      const std::size_t best = best_at(times, middle);
      if (best == 0) {
        same = middle;
      } else {
        other = middle;
        by = best;
      }
    }
    return Takeover{std::sqrt(other * same), by};
  }
  return std::nullopt;
}

}  // namespace

Takeovers takeovers_of(const TimesAt& times) {
  return {1 / kMostRateFactor, kMostRateFactor, towards(times, 0.5, 1 / kMostRateFactor),
          towards(times, 2, kMostRateFactor)};
}

}  // namespace accosim
