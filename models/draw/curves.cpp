#include "models/draw/curves.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace accosim {
namespace {

constexpr double kTop = 40, kHeight = 300, kBelow = 50, kLeft = 64, kRight = 150, kMargin = 14;
constexpr double kLine = 15;  // pixels from one name to the next

const SeriesLook& look_of(int series) { return series_look(static_cast<std::size_t>(series)); }

Stroke stroke_of(int series, Theme theme) {
  return {colour_of(look_of(series).fill.hue, theme), 1.7, look_of(series).dashes};
}

void draw_curve(Svg& svg, const ChartCurve& curve, const CurvePanel& panel, const Scale& x, const Scale& y) {
  const auto at = [&](double value_x, double value_y) {
    return Point{x.at(value_x), y.at(std::clamp(value_y, panel.low, panel.high))};
  };
  std::vector<Point> line, band;
  for (const Point& point : curve.points) line.push_back(at(point.x, point.y));
  for (std::size_t i = 0; i < curve.high.size(); ++i) band.push_back(at(curve.points[i].x, curve.high[i]));
  for (std::size_t i = curve.low.size(); i-- > 0;) band.push_back(at(curve.points[i].x, curve.low[i]));
  constexpr double kBand = 0.15;  // opacity
  if (!band.empty()) svg.path(line_shape(band) + "z", colour_of(look_of(curve.series).fill.hue, svg.theme()), {}, kBand);
  svg.path(line_shape(line), "none", stroke_of(curve.series, svg.theme()));
}

/// Names beside the curves' ends, at least a line apart, none below the panel.
void draw_names(Svg& svg, const CurvePanel& panel, const Scale& y, double left) {
  std::vector<std::pair<double, const ChartCurve*>> entries;
  for (const ChartCurve& curve : panel.curves)
    if (!curve.points.empty())
      entries.emplace_back(y.at(std::clamp(curve.points.back().y, panel.low, panel.high)), &curve);
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 1; i < entries.size(); ++i)
    entries[i].first = std::max(entries[i].first, entries[i - 1].first + kLine);
  double lowest = y.from;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry, lowest -= kLine)
    entry->first = std::min(entry->first, lowest);
  constexpr double kSample = 22;
  for (const auto& [at, curve] : entries) {
    svg.line(left + 8, at, left + 8 + kSample, at, stroke_of(curve->series, svg.theme()));
    svg.text(left + 14 + kSample, at + 4, cut_to_pixels(curve->name, svg.width() - kMargin - left - 14 - kSample, 12));
  }
}

void draw_panel(Svg& svg, const CurvePanel& panel, double top) {
  const double right = svg.width() - kRight, bottom = top + kHeight;
  const Scale x{panel.least_x, panel.most_x, kLeft, right}, y{panel.low, panel.high, bottom, top};
  svg.text(kLeft, top - 14, cut_to_pixels(panel.title, svg.width() - kLeft - kMargin, 13, true),
           {.size = 13, .bold = true});
  const int columns = static_cast<int>((right - kLeft) / 60);
  draw_columns(svg, panel.x_ticks.empty() ? nice_ticks(panel.least_x, panel.most_x, columns) : panel.x_ticks, x, top,
               bottom, panel.x_title);
  constexpr int kMostRows = 12;
  draw_rows(svg, nice_ticks(panel.low, panel.high, kMostRows), y, kLeft, right, panel.y_unit);
  for (const double limit : panel.limits)
    svg.line(kLeft, y.at(limit), right, y.at(limit), {svg.ground().ink, 1, "5 4"});
  for (const ChartCurve& curve : panel.curves) draw_curve(svg, curve, panel, x, y);
  draw_names(svg, panel, y, right);
}

}  // namespace

std::string curves_svg(const std::string& title, const std::vector<CurvePanel>& panels, Theme theme, double width) {
  Svg svg(theme, width, title);
  double top = 0;
  for (const CurvePanel& panel : panels) {
    draw_panel(svg, panel, top + kTop);
    top += kTop + kHeight + kBelow;
  }
  return svg.take(top);
}

}  // namespace accosim
