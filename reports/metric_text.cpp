#include "reports/metric_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "reports/human.hpp"

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
ColumnText in_one_unit(const std::vector<double>& figures, std::initializer_list<Scale> scales, double share = 1) {
  double largest = 0, least = 0;
  for (const double figure : figures) {
    const double size = std::isfinite(figure) && std::fabs(figure) >= kNothing ? std::fabs(figure) : 0;
    largest = std::max(largest, size);
    if (size > 0 && (least == 0 || size < least)) least = size;
  }
  Scale best = *scales.begin();
  for (const Scale& scale : scales)
    if (largest >= 0.9995 * share * scale.unit) best = scale;
  const int decimals = std::max(decimals_for(largest / best.unit, 3), decimals_for(least / best.unit, 2));
  return {best.name, [best, decimals](double value) -> std::string {
            if (std::fabs(value) < kNothing) return "0";
            return std::isfinite(value) ? fmt::format("{:.{}f}", value / best.unit, decimals) : "?";
          }};
}

double longest_of(const std::vector<double>& times) { return times.empty() ? 0 : *std::ranges::max_element(times); }

ColumnText in_time(const std::vector<double>& times) {
  constexpr double kManySeconds = 999.5, kManyMinutes = 5999.5;  // as human_time()
  const double longest = longest_of(times);
  if (longest >= kManySeconds * 3600) return in_one_unit(times, {{86400, "d"}});
  if (longest >= kManyMinutes) return in_one_unit(times, {{3600, "h"}});
  if (longest >= kManySeconds) return in_one_unit(times, {{60, "min"}});
  return in_one_unit(times, {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}});
}

ColumnText on_a_clock(const std::vector<double>& times) {
  constexpr double kShort = 59.5, kLong = 100 * 3600 - 0.5, kTooLong = 1e13;
  const double longest = longest_of(times);
  if (!(longest >= kShort && longest < kTooLong)) return in_time(times);
  const bool days = longest >= kLong;
  return {days ? "d hh:mm" : "h:mm:ss", [days](double value) -> std::string {
            if (!std::isfinite(value)) return "?";
            return days ? human_days(Seconds{value}, "") : human_hours(Seconds{value});
          }};
}

}  // namespace

std::string in_words(Format format, double value) {
  switch (format) {
    case Format::kTime: return human_time(Seconds{value});
    case Format::kClock: return human_clock(Seconds{value});
    case Format::kCount: return human_count(value);
    case Format::kFactor: return human_factor(value);
    case Format::kPercent: return human_percent(value);
    case Format::kError: return human_error(value);
    case Format::kBytes: return human_bytes(Bytes{value});
    case Format::kMemory: return human_memory(Bytes{value});
    case Format::kFlops: return fmt::format("{:.4g}", value / 1e12);
    case Format::kYesNo: return value != 0 ? "yes" : "no";
  }
  return "";
}

ColumnText column_text(Format format, const std::vector<double>& values) {
  switch (format) {
    case Format::kTime: return in_time(values);
    case Format::kClock: return on_a_clock(values);
    case Format::kFlops: return in_one_unit(values, {{1e6, "MFLOP/s"}, {1e9, "GFLOP/s"}, {1e12, "TFLOP/s"}}, 0.1);
    default: return {"", [format](double value) { return in_words(format, value); }};
  }
}

}  // namespace accosim
