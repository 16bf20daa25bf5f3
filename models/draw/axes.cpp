#include "models/draw/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace accosim {

double Scale::at(double value) const { return from + (value - low) / (high - low) * (to - from); }

std::vector<Tick> nice_ticks(double low, double high, int most) {
  std::vector<Tick> ticks;
  if (!(high > low) || !std::isfinite(high - low) || most < 1) return ticks;
  const double least = (high - low) / most;
  const double power = std::pow(10, std::floor(std::log10(least)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= least * (1 - 1e-9)) step = factor * power;
  const int decimals = std::clamp(-static_cast<int>(std::floor(std::log10(step) + 1e-9)), 0, 12);
  constexpr double kRounding = 1e-9;
  struct Large {
    double of;
    const char* unit;
  };
  Large large{1, ""};
  for (const Large each : {Large{1e3, "k"}, Large{1e6, "M"}, Large{1e9, "B"}, Large{1e12, "T"}})
    if (step >= each.of) large = each;
  for (double n = std::ceil(low / step - kRounding); n <= high / step + kRounding; n += 1) {
    const double value = n == 0 ? 0 : n * step;
    ticks.push_back({value, value == 0 || large.of == 1 ? fmt::format("{:.{}f}", value, decimals)
                                                        : fmt::format("{:g}{}", value / large.of, large.unit)});
  }
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high, int most) {
  std::vector<Tick> ticks;
  if (!(high > low) || !(low > 0) || !std::isfinite(high) || most < 1) return ticks;
  constexpr double kRounding = 1e-9;
  const int first = static_cast<int>(std::floor(std::log10(low))), last = static_cast<int>(std::ceil(std::log10(high)));
  const int step = std::max(1, (last - first + most - 1) / most);
  const auto add = [&](const std::vector<double>& digits) {
    ticks.clear();
    for (int power = first; power <= last; power += step)
      for (const double digit : digits) {
        const double value = digit * std::pow(10, power);
        if (value >= low * (1 - kRounding) && value <= high * (1 + kRounding))
          ticks.push_back({value, fmt::format("{:.4g}", value)});
      }
  };
  add({1, 2, 5});
  if (ticks.size() > static_cast<std::size_t>(most)) add({1});
  return ticks;
}

TimeUnit time_unit(Seconds longest) {
  constexpr double kEnough = 2;  // of a unit, to be written in it
  for (const TimeUnit unit :
       {TimeUnit{Seconds{86400}, "days"}, TimeUnit{Seconds{3600}, "h"}, TimeUnit{Seconds{60}, "min"}})
    if (longest >= 2 * kEnough * unit.size) return unit;
  for (const TimeUnit unit : {TimeUnit{Seconds{1}, "s"}, TimeUnit{Seconds{1e-3}, "ms"}, TimeUnit{Seconds{1e-6}, "us"}})
    if (longest >= kEnough * unit.size) return unit;
  return {Seconds{1e-9}, "ns"};
}

double room_for_rows(const std::vector<Tick>& ticks, const std::string& unit) {
  double room = 0;
  for (const Tick& tick : ticks) room = std::max(room, text_width(tick.label + unit, 12));
  return room + 10;
}

void draw_rows(Svg& svg, const std::vector<Tick>& ticks, const Scale& y, double left, double right,
               const std::string& unit) {
  for (const Tick& tick : ticks) {
    const double at = y.at(tick.value);
    svg.line(left, at, right, at, {svg.ground().grid});
    svg.text(left - 8, at + 4, tick.label + unit, {.anchor = Anchor::kEnd});
  }
}

double draw_columns(Svg& svg, const std::vector<Tick>& ticks, const Scale& x, double top, double bottom,
                    const std::string& title) {
  for (const Tick& tick : ticks) {
    const double at = x.at(tick.value);
    svg.line(at, top, at, bottom, {svg.ground().grid});
    svg.text(at, bottom + 16, tick.label, {.anchor = Anchor::kMiddle});
  }
  // In the middle of the axis, or as near to it as the picture's edges let it be.
  constexpr double kEdge = 8, kLabels = 34, kBelow = 12;
  double y = bottom + kLabels;
  for (const std::string& line : lines_in_pixels(title, svg.width() - 2 * kEdge, 12)) {
    const double half = text_width(line, 12) / 2 + kEdge;
    y = svg.lines(std::clamp((x.from + x.to) / 2, half, svg.width() - half), y, {line},
                  {.anchor = Anchor::kMiddle, .colour = svg.ground().dim});
  }
  return std::max(y - 15, bottom + kLabels) + kBelow;
}

}  // namespace accosim
