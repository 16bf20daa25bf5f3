#include "reports/plot/nodes_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

#include "reports/human.hpp"

namespace accosim {
namespace {

constexpr double kWide = 120, kHigh = 42, kAcross = 116, kDown = 40, kSmall = 10.5, kArrow = 5;
constexpr Fill kSound = {Hue::kShade, Pattern::kPlain}, kSlow = {Hue::kVermillion, Pattern::kRising};

/// Of a place or its link what is told.
struct Mark {
  std::string text;
  bool slow = false;
};

/// Of each place its slowest part.
std::map<std::size_t, Mark> marks_of(const InspectedMachine& machine, bool links) {
  std::map<std::size_t, Mark> marks;
  std::map<std::size_t, double> worst;
  for (const Verdict& one : machine.verdicts) {
    if ((one.part == MachinePart::kLink) != links) continue;
    double& most = worst[one.place];
    if (one.times / one.limit <= most) continue;
    most = one.times / one.limit;
    const std::string slow = human_factor(one.times);
    if (links)
      marks[one.place] = {human_rate(BytesPerSecond{one.measured}) + (one.slow() ? ", " + slow : ""), one.slow()};
    else
      marks[one.place] = {one.slow() ? fmt::format("{} {}", name_of(one.part), slow) : "sound", one.slow()};
  }
  return marks;
}

/// Where the boxes of one machine stand.
struct Grid {
  std::size_t columns = 1, count = 0;
  double left = 0, top = 0;
  std::size_t rows() const { return (count + columns - 1) / columns; }
  Box box(std::size_t place) const {
    const std::size_t row = place / columns, along = place % columns;
    const std::size_t column = row % 2 == 0 ? along : columns - 1 - along;
    return {left + static_cast<double>(column) * (kWide + kAcross), top + static_cast<double>(row) * (kHigh + kDown),
            kWide, kHigh};
  }
  double bottom() const { return top + static_cast<double>(rows()) * (kHigh + kDown); }
};

/// With a head at the end of its last line.
void draw_arrow(Svg& svg, const std::vector<Point>& way, const Mark& mark) {
  const std::string colour = mark.slow ? colour_of(Hue::kVermillion, svg.theme()) : svg.ground().dim;
  svg.path(line_shape(way), "none", {colour, mark.slow ? 2.5 : 1.2, mark.slow ? "6 3" : ""});
  const Point &to = way.back(), &before = way[way.size() - 2];
  const double length = std::max(1e-9, std::hypot(to.x - before.x, to.y - before.y));
  const double x = (to.x - before.x) / length * kArrow, y = (to.y - before.y) / length * kArrow;
  svg.path(line_shape({{to.x - x + y, to.y - y - x}, to, {to.x - x - y, to.y - y + x}}), "none", {colour, 1.5});
}

void draw_link(Svg& svg, const Grid& grid, std::size_t place, const Mark& mark) {
  const std::size_t next = (place + 1) % grid.count;
  const Box from = grid.box(place), to = grid.box(next);
  const double x = from.x + kWide / 2, y = from.y + kHigh / 2;
  Point label{x + 6, from.y + kHigh + kDown / 2 + 4};
  std::vector<Point> way = {{x, from.y + kHigh}, {x, to.y}};
  if (next == 0) {  // back to the first, below and left of all
    const double below = grid.bottom() - kDown / 2, side = grid.left - kPlotMargin, home = to.y + kHigh / 2;
    way = {{x, from.y + kHigh}, {x, below}, {side, below}, {side, home}, {to.x, home}};
    label = {grid.left, below + 12};
  } else if (from.y == to.y) {
    const bool right = to.x > from.x;
    way = {{right ? from.x + kWide : from.x, y}, {right ? to.x : to.x + kWide, y}};
    label = {std::min(from.x, to.x) + kWide + 6, y - 6};
  }
  draw_arrow(svg, way, mark);
  const double room = next != 0 && from.y == to.y ? kAcross - 8 : svg.width() - label.x;
  svg.text(label.x, label.y, cut_to_pixels(mark.text, room, kSmall), {.size = kSmall, .halo = true});
}

double draw_machine(Svg& svg, const InspectedMachine& machine, double top) {
  Grid grid;
  grid.count = machine.places.size();
  grid.left = 2 * kPlotMargin;
  const double room = svg.width() - grid.left - kPlotMargin + kAcross;
  grid.columns = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(1.0, room / (kWide + kAcross))), 1,
                                         std::max<std::size_t>(1, grid.count));
  grid.top = svg.lines(kPlotMargin, top + 14, lines_in_pixels(machine.name, svg.width() - 2 * kPlotMargin, 12, true),
                       {.bold = true}) -
             4;
  const std::map<std::size_t, Mark> marks = marks_of(machine, false), links = marks_of(machine, true);
  for (std::size_t place = 0; place < grid.count; ++place) {
    if (machine.ring) draw_link(svg, grid, place, links.contains(place) ? links.at(place) : Mark{});
    const Mark mark = marks.contains(place) ? marks.at(place) : Mark{"not told"};
    const Box box = grid.box(place);
    const Fill fill = mark.slow ? kSlow : kSound;
    svg.rect(box, svg.paint(fill), {svg.ground().ink, 0.8});
    const Box upper{box.x, box.y + 2, box.width, kHigh / 2 - 2},
        lower{box.x, box.y + kHigh / 2, box.width, kHigh / 2 - 2};
    draw_label(svg, upper, fill, cut_to_pixels(machine.places[place], kWide - 10, 12), 12);
    draw_label(svg, lower, fill, cut_to_pixels(mark.text, kWide - 10, kSmall), kSmall);
  }
  return grid.bottom();
}

}  // namespace

std::string nodes_svg(const PlotHeading& heading, const std::vector<InspectedMachine>& machines,
                      const PlotStyle& style) {
  Svg svg(style.theme, style.width, heading.title);
  double y = draw_heading(svg, titled(heading, style));
  y = draw_legend(svg, {{"sound", kSound}, {"slow: times as long as expected", kSlow}}, y);
  for (const InspectedMachine& machine : machines) y = draw_machine(svg, machine, y);
  return svg.take(y + kPlotMargin);
}

}  // namespace accosim
