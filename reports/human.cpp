// Formatting goes through fmt, which knows no locale.
#include "reports/human.hpp"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>

namespace accosim {
namespace {

struct Scale {
  double factor;
  const char* unit;
};

/// Three significant digits for 1 <= |value| < 1000; two decimals below. What rounds up to the next power of ten has
/// one decimal less: 9.996 is "10.0".
std::string three_digits(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "?" : (value > 0 ? "inf" : "-inf");
  const double size = std::fabs(value);
  if (size >= 1e5) return fmt::format("{:.3g}", value);
  return fmt::format("{:.{}f}", value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

/// In the largest of `scales` (ascending) that leaves at least 1 after rounding.
std::string scaled(double value, std::initializer_list<Scale> scales) {
  if (!std::isfinite(value)) return three_digits(value) + scales.begin()->unit;
  const Scale* best = scales.begin();
  for (const Scale& scale : scales) {
    if (std::fabs(value) >= 0.9995 * scale.factor) best = &scale;
  }
  if (value == 0) return std::string("0") + best->unit;
  return three_digits(value / best->factor) + best->unit;
}

/// Rounding error must not show as "-0.0".
double without_sign_of_nothing(double percent) { return std::fabs(percent) < 0.05 ? 0 : percent; }

}  // namespace

std::string human_time(Seconds time) {
  if (std::fabs(time.value) < 999.5) {
    constexpr double kRounding = 5e-12;  // what would show as 0.00 ns is what sums leave over
    if (std::fabs(time.value) < kRounding) return "0 s";
    return scaled(time.value, {{1e-9, " ns"}, {1e-6, " us"}, {1e-3, " ms"}, {1, " s"}});
  }
  if (std::fabs(time.value) < 5999.5) return three_digits(time.value / 60) + " min";
  if (std::fabs(time.value) < 999.5 * 3600) return three_digits(time.value / 3600) + " h";
  return three_digits(time.value / 86400) + " d";
}

std::string human_clock(Seconds time) {
  if (!(time.value >= 59.5 && time.value < 1e13)) return human_time(time);
  return std::llround(time.value) < 100 * 3600 ? human_hours(time) : human_days(time);
}

std::string human_hours(Seconds time) {
  const long long seconds = std::llround(time.value);
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string human_days(Seconds time, const char* days) {
  const long long minutes = std::llround(time.value / 60);
  return fmt::format("{}{} {:02}:{:02}", minutes / 1440, days, minutes / 60 % 24, minutes % 60);
}

std::string human_count(double count) {
  if (std::fabs(count) < 999.5 && count == std::floor(count)) return fmt::format("{:.0f}", count);
  return scaled(count, {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "B"}, {1e12, "T"}});
}

std::string human_money(double amount, const std::string& currency) {
  return human_count(amount) + (currency.empty() ? "" : " " + currency);
}

std::string human_bytes(Bytes bytes) {
  return scaled(bytes.value, {{1, " B"}, {1e3, " kB"}, {1e6, " MB"}, {1e9, " GB"}, {1e12, " TB"}, {1e15, " PB"}});
}

std::string human_memory(Bytes bytes) {
  constexpr double kKi = 1024;
  return scaled(
      bytes.value,
      {{1, " B"}, {kKi, " KiB"}, {kKi * kKi, " MiB"}, {kKi * kKi * kKi, " GiB"}, {kKi * kKi * kKi * kKi, " TiB"}});
}

std::string human_rate(BytesPerSecond rate) { return human_bytes(Bytes{rate.value}) + "/s"; }

std::string human_flops(Flops flops) {
  return scaled(flops.value,
                {{1, " FLOP"}, {1e3, " kFLOP"}, {1e6, " MFLOP"}, {1e9, " GFLOP"}, {1e12, " TFLOP"}, {1e15, " PFLOP"}});
}

std::string human_percent(double fraction) {
  if (!std::isfinite(fraction)) return "?";
  return fmt::format("{:.1f} %", without_sign_of_nothing(100 * fraction));
}

std::string human_error(double fraction) {
  if (!std::isfinite(fraction)) return "?";
  return fmt::format("{:+.1f} %", without_sign_of_nothing(100 * fraction));
}

std::string human_factor(double factor) { return three_digits(factor) + "x"; }

std::string human_range(const std::string& low, const std::string& high, const char* to) {
  return low == high ? low : low + to + high;
}

}  // namespace accosim
