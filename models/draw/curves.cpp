#include "models/draw/curves.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace accosim {
namespace {

constexpr double kMargin = 14;
constexpr double kSample = 22;  // pixels of a line beside its name
constexpr double kLine = 15;    // pixels from one name to the next
constexpr double kName = kSample + 14;

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
      std::ranges::sort(parts);
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

/// Pixels right of the panels, for the longest name of a curve; nothing where they stand below.
std::optional<double> room_for_names(const std::vector<CurvePanel>& panels, double width) {
  constexpr double kMost = 0.36;  // of the width
  double longest = 0;
  for (const CurvePanel& panel : panels)
    for (const ChartCurve& curve : panel.curves) longest = std::max(longest, text_width(curve.name, 12));
  const double room = longest + kName + kMargin + 1;
  return room <= kMost * width ? std::optional(room) : std::nullopt;
}

void draw_curve(Svg& svg, const ChartCurve& curve, const CurvePanel& panel, const Scale& x, const Scale& y) {
  const auto at = [&](double value_x, double value_y) {
    return Point{x.at(value_x), y.at(std::clamp(value_y, panel.low, panel.high))};
  };
  std::vector<Point> band;
  for (std::size_t i = 0; i < curve.high.size(); ++i) band.push_back(at(curve.points[i].x, curve.high[i]));
  for (std::size_t i = curve.low.size(); i-- > 0;) band.push_back(at(curve.points[i].x, curve.low[i]));
  const Stroke stroke = stroke_of(curve.look, svg.theme());
  constexpr double kBand = 0.15;  // opacity
  // In print bands are told apart by their edges.
  const Stroke edge = svg.theme() == Theme::kPrint ? Stroke{stroke.colour, 0.6, stroke.dashes} : Stroke{};
  if (!band.empty()) svg.path(line_shape(band) + "z", stroke.colour, edge, kBand);
  for (const std::vector<Point>& run : within(curve.points, panel.low, panel.high)) {
    svg.path(line_shape(mapped<Point>(run, [&](const Point& point) { return at(point.x, point.y); })), "none", stroke);
  }
}

/// A line of its look, and its name, which takes so many lines as are returned.
std::size_t draw_name(Svg& svg, const ChartCurve& curve, double x, double y) {
  const double left = x + kSample + 6;
  const std::vector<std::string> lines = lines_in_pixels(curve.name, svg.width() - kMargin - left, 12);
  svg.line(x, y, x + kSample, y, stroke_of(curve.look, svg.theme()));
  svg.lines(left, y + 4, lines);
  return lines.size();
}

/// Names beside the curves' ends, at least a line apart, none below the panel.
void draw_names(Svg& svg, const CurvePanel& panel, const Scale& y, double left) {
  std::vector<std::pair<double, const ChartCurve*>> entries;
  for (const ChartCurve& curve : panel.curves)
    if (!curve.points.empty())
      entries.emplace_back(y.at(std::clamp(curve.points.back().y, panel.low, panel.high)), &curve);
  std::ranges::stable_sort(entries, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 1; i < entries.size(); ++i)
    entries[i].first = std::max(entries[i].first, entries[i - 1].first + kLine);
  double lowest = y.from;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry, lowest -= kLine)
    entry->first = std::min(entry->first, lowest);
  for (const auto& [at, curve] : entries) draw_name(svg, *curve, left + 8, at);
}

/// Returns where to go on.
double draw_names_below(Svg& svg, const CurvePanel& panel, double top) {
  double x = kMargin, y = top;
  for (const ChartCurve& curve : panel.curves) {
    if (curve.points.empty()) continue;
    const double wide = kName + text_width(curve.name, 12);
    if (x > kMargin && x + wide > svg.width() - kMargin) {
      x = kMargin;
      y += kLine;
    }
    const std::size_t lines = draw_name(svg, curve, x, y);
    x += wide + 10;
    if (lines > 1) y += kLine * static_cast<double>(lines - 1);
  }
  return y + kLine;
}

/// Returns where the next panel is.
double draw_panel(Svg& svg, const CurvePanel& panel, double top, std::optional<double> names) {
  constexpr double kLeast = 170, kMost = 300;
  const double height = std::clamp(svg.width() / 2, kLeast, kMost);
  const std::vector<Tick> rows = nice_ticks(panel.low, panel.high, static_cast<int>(height / 25));
  const double left = kMargin + room_for_rows(rows, panel.y_unit), right = svg.width() - names.value_or(kMargin + 8);
  const double wide = svg.width() - 2 * kMargin;
  const std::vector<std::string> title = lines_in_pixels(panel.title, wide, 13, true);
  double y = svg.lines(kMargin, top + kMargin + 12, title, {.size = 13, .bold = true});
  y = svg.lines(kMargin, y, lines_in_pixels(panel.y_title, wide, 12), {.colour = svg.ground().dim});
  const double first = y - 6, bottom = first + height;
  const Scale across{panel.least_x, panel.most_x, left, right}, up{panel.low, panel.high, bottom, first};
  const std::vector<Tick> columns = panel.x_ticks.empty()
                                        ? nice_ticks(panel.least_x, panel.most_x, static_cast<int>((right - left) / 60))
                                        : panel.x_ticks;
  y = draw_columns(svg, columns, across, first, bottom, panel.x_title);
  draw_rows(svg, rows, up, left, right, panel.y_unit);
  for (const double limit : panel.limits)
    svg.line(left, up.at(limit), right, up.at(limit), {svg.ground().ink, 1, "5 4"});
  for (const ChartCurve& curve : panel.curves) draw_curve(svg, curve, panel, across, up);
  if (!names) return draw_names_below(svg, panel, y + 8);
  draw_names(svg, panel, up, right);
  return y;
}

}  // namespace

std::string curves_svg(const std::string& title, const std::vector<CurvePanel>& panels, Theme theme, double width) {
  Svg svg(theme, width, title);
  const std::optional<double> names = room_for_names(panels, width);
  double top = 0;
  for (const CurvePanel& panel : panels) top = draw_panel(svg, panel, top, names);
  return svg.take(top);
}

}  // namespace accosim
