#include "reports/column_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace accosim {
namespace {

struct Scale {
  double unit;
  const char* name;
};

constexpr double kNothing = 5e-12;  // what sums leave over, as in human_time()

/// Decimals that give `value` so many digits.
int decimals_for(double value, int digits) {
  return value > 0 ? std::clamp(digits - 1 - static_cast<int>(std::floor(std::log10(value))), 0, 3) : 0;
}

/// In the largest of `scales` (ascending) of which the largest figure is at least `share`.
UnitFormat format_in(const std::vector<double>& figures, std::initializer_list<Scale> scales, double share) {
  double largest = 0, least = 0;
  for (const double figure : figures) {
    const double size = std::isfinite(figure) && std::fabs(figure) >= kNothing ? std::fabs(figure) : 0;
    largest = std::max(largest, size);
    if (size > 0 && (least == 0 || size < least)) least = size;
  }
  const Scale* best = scales.begin();
  for (const Scale& scale : scales)
    if (largest >= 0.9995 * share * scale.unit) best = &scale;
  return {best->unit, best->name, std::max(decimals_for(largest / best->unit, 3), decimals_for(least / best->unit, 2))};
}

std::vector<double> values_of(const auto& quantities) {
  std::vector<double> values;
  for (const auto& each : quantities) values.push_back(each.value);
  return values;
}

constexpr double kMinute = 60, kHour = 3600, kDay = 86400;

}  // namespace

std::string UnitFormat::text_of(double value) const {
  if (std::fabs(value) < kNothing) return "0";
  return std::isfinite(value) ? fmt::format("{:.{}f}", value / unit, decimals) : "?";
}

UnitFormat time_format(const std::vector<Seconds>& times) {
  const std::vector<double> values = values_of(times);
  const double longest = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  constexpr double kManySeconds = 999.5, kManyMinutes = 5999.5;  // as human_time()
  if (longest >= kManySeconds * kHour) return format_in(values, {{kDay, "d"}}, 1);
  if (longest >= kManyMinutes) return format_in(values, {{kHour, "h"}}, 1);
  if (longest >= kManySeconds) return format_in(values, {{kMinute, "min"}}, 1);
  return format_in(values, {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}}, 1);
}

std::string ClockFormat::text_of(Seconds time) const {
  if (!std::isfinite(time.value)) return "?";
  if (name == "h:mm:ss") {
    const long long seconds = std::llround(time.value);
    return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  }
  if (name == "d hh:mm") {
    const long long minutes = std::llround(time.value / kMinute);
    return fmt::format("{} {:02}:{:02}", minutes / 1440, minutes / 60 % 24, minutes % 60);
  }
  return unit.text_of(time.value);
}

ClockFormat clock_format(const std::vector<Seconds>& times) {
  const Seconds longest = times.empty() ? Seconds{0} : *std::max_element(times.begin(), times.end());
  constexpr double kShort = 59.5, kLong = 100 * kHour - 0.5, kTooLong = 1e13;
  const UnitFormat unit = time_format(times);
  if (!(longest.value >= kShort && longest.value < kTooLong)) return {unit.name, unit};
  return {longest.value < kLong ? "h:mm:ss" : "d hh:mm", unit};
}

UnitFormat flops_format(const std::vector<FlopsPerSecond>& rates) {
  constexpr double kShare = 0.1;
  return format_in(values_of(rates), {{1e6, "MFLOP/s"}, {1e9, "GFLOP/s"}, {1e12, "TFLOP/s"}}, kShare);
}

}  // namespace accosim
