// The spreads are explained in README.md ("Uncertainty").
#include "models/price/fit_verdict.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace accosim {

double memory_spread(Bytes total, Bytes slack) { return std::hypot(kTensorSpread, kSlackSpread * (slack / total)); }

namespace {

double spread_of(const MemoryParts& parts) {
  return memory_spread(parts.total(), parts.part(MemoryUse::kAllocatorSlack));
}

}  // namespace

Interval resident_interval(const MemoryParts& parts) { return interval_80(parts.total().value, spread_of(parts)); }

double spreads_of_room(const MemoryParts& parts, Bytes capacity) {
  return std::log(capacity / parts.total()) / spread_of(parts);
}

Fit fit_of(const MemoryParts& parts, Bytes capacity) {
  const double room = spreads_of_room(parts, capacity);
  Fit fit{.probability = 0.5 * std::erfc(-room / std::numbers::sqrt2)};
  if (room < -kEightyPercent)
    fit.verdict = FitVerdict::kDoesNotFit;
  else if (room <= kEightyPercent)
    fit.verdict = FitVerdict::kTight;
  return fit;
}

std::string in_percent(double probability) {
  if (probability < 0.001) return "below 0.1 %";
  if (probability > 0.999) return "above 99.9 %";
  const bool near = probability < 0.0995 || probability > 0.9895;
  return fmt::format("{:.{}f} %", 100 * probability, near ? 1 : 0);
}

}  // namespace accosim
