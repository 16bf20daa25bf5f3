#include "models/draw/curves.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace accosim {
namespace {

constexpr double kTop = 40, kHeight = 300, kBelow = 50, kLeft = 64, kMargin = 14;
constexpr double kSample = 22;  // pixels of a line beside its name
constexpr double kLine = 15;    // pixels from one name to the next

const SeriesLook& look_of(int series) { return series_look(static_cast<std::size_t>(series)); }

/// In print the fills' greys would be too light for lines: dark and middle grey in turn, beside the dashes.
Stroke stroke_of(int series, Theme theme) {
  const Hue hue = theme != Theme::kPrint ? look_of(series).fill.hue : series % 2 == 0 ? Hue::kInk : Hue::kBlue;
  return {colour_of(hue, theme), 1.7, look_of(series).dashes};
}

/// The runs of a curve between `low` and `high`, which begin and end where it crosses them: drawn along the edge, what
/// lies outside would look like a plateau.
std::vector<std::vector<Point>> within(const std::vector<Point>& points, double low, double high) {
  std::vector<std::vector<Point>> runs;
  const auto inside = [&](const Point& point) { return point.y >= low && point.y <= high; };
  bool open = false;
  const auto add = [&](const Point& point) {
    if (!open) runs.emplace_back();
    runs.back().push_back(point);
    open = true;
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& here = points[i];
    if (i > 0 && points[i - 1].y != here.y) {
      const Point& before = points[i - 1];
      std::vector<double> parts;
      for (const double edge : {low, high}) {
        const double part = (edge - before.y) / (here.y - before.y);
        if (part > 0 && part < 1) parts.push_back(part);
      }
      std::sort(parts.begin(), parts.end());
      for (std::size_t k = 0; k < parts.size(); ++k) {
        add({before.x + parts[k] * (here.x - before.x), before.y + parts[k] * (here.y - before.y)});
        if (k + 1 == parts.size() && !inside(here)) open = false;
      }
    }
    if (inside(here))
      add(here);
    else
      open = false;
  }
  return runs;
}

/// Pixels right of the panels, for the longest name of a curve.
double room_for_names(const std::vector<CurvePanel>& panels, double width) {
  double longest = 0;
  for (const CurvePanel& panel : panels)
    for (const ChartCurve& curve : panel.curves) longest = std::max(longest, text_width(curve.name, 12));
  return std::min(longest + 14 + kSample + kMargin, width / 3);
}

void draw_curve(Svg& svg, const ChartCurve& curve, const CurvePanel& panel, const Scale& x, const Scale& y) {
  const auto at = [&](double value_x, double value_y) {
    return Point{x.at(value_x), y.at(std::clamp(value_y, panel.low, panel.high))};
  };
  std::vector<Point> band;
  for (std::size_t i = 0; i < curve.high.size(); ++i) band.push_back(at(curve.points[i].x, curve.high[i]));
  for (std::size_t i = curve.low.size(); i-- > 0;) band.push_back(at(curve.points[i].x, curve.low[i]));
  constexpr double kBand = 0.15;  // opacity
  if (!band.empty())
    svg.path(line_shape(band) + "z", colour_of(look_of(curve.series).fill.hue, svg.theme()), {}, kBand);
  for (const std::vector<Point>& run : within(curve.points, panel.low, panel.high)) {
    std::vector<Point> line;
    for (const Point& point : run) line.push_back(at(point.x, point.y));
    svg.path(line_shape(line), "none", stroke_of(curve.series, svg.theme()));
  }
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
  for (const auto& [at, curve] : entries) {
    svg.line(left + 8, at, left + 8 + kSample, at, stroke_of(curve->series, svg.theme()));
    svg.text(left + 14 + kSample, at + 4, cut_to_pixels(curve->name, svg.width() - kMargin - left - 14 - kSample, 12));
  }
}

/// In two lines where one is too short.
void draw_title(Svg& svg, const std::string& title, double top) {
  const double room = svg.width() - kLeft - kMargin;
  const TextStyle style{.size = 13, .bold = true};
  std::size_t end = title.size();
  while (end != std::string::npos && end > 0 && text_width(title.substr(0, end), 13, true) > room)
    end = title.rfind(' ', end - 1);
  if (end == title.size() || end == std::string::npos || end == 0)
    return svg.text(kLeft, top - 14, cut_to_pixels(title, room, 13, true), style);
  svg.text(kLeft, top - 24, title.substr(0, end), style);
  svg.text(kLeft, top - 8, cut_to_pixels(title.substr(end + 1), room, 13, true), style);
}

void draw_panel(Svg& svg, const CurvePanel& panel, double top, double names) {
  const double right = svg.width() - names, bottom = top + kHeight;
  const Scale x{panel.least_x, panel.most_x, kLeft, right}, y{panel.low, panel.high, bottom, top};
  draw_title(svg, panel.title, top);
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
  const double names = room_for_names(panels, width);
  double top = 0;
  for (const CurvePanel& panel : panels) {
    draw_panel(svg, panel, top + kTop, names);
    top += kTop + kHeight + kBelow;
  }
  return svg.take(top);
}

}  // namespace accosim
