#include "reports/sweep/sweep_plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "models/base/errors.hpp"
#include "models/base/nearest.hpp"
#include "models/base/text.hpp"
#include "models/draw/axes.hpp"
#include "models/draw/curves.hpp"
#include "models/spec/cluster.hpp"
#include "reports/sweep/sweep_words.hpp"

namespace accosim {
namespace {

/// Plain on a screen, where fine hatching flickers; in print patterns tell greys apart.
Fill fill_of(std::size_t schedule, Theme theme) {
  const Fill fill = series_look(schedule).fill;
  return theme == Theme::kPrint ? fill : Fill{fill.hue};
}

std::size_t axis_named(const std::vector<Axis>& axes, const std::string& name) {
  const std::vector<std::string> shorts = short_names(axes);
  std::vector<std::string> known;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (name == axes[i].pointer || name == shorts[i] || name == axes[i].label) return i;
    known.insert(known.end(), {shorts[i], axes[i].pointer});
  }
  throw BadInput(fmt::format("the sweep has no axis {}{}", in_quotes(name), hint(name, known)));
}

/// Whether a row is in the cut.
bool in_cut(const Row& row, const Cut& cut) {
  for (std::size_t i = 0; i < row.point.size(); ++i)
    if (std::find(cut.axes.begin(), cut.axes.end(), i) == cut.axes.end() && row.point[i] != cut.at[i]) return false;
  return true;
}

/// The other axes are at their middle, or at the value nearest to it at which most points along the first axis were
/// played: as on the page.
void choose_places(const SweepRows& rows, Cut& cut) {
  const std::vector<Axis>& axes = rows.heading.axes;
  for (std::size_t i = 0; i < axes.size(); ++i) cut.at[i] = (axes[i].values.size() - 1) / 2;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Cut one{{cut.axes.front()}, cut.at};
    const auto middle = static_cast<std::ptrdiff_t>(cut.at[i]);
    std::pair<std::ptrdiff_t, std::ptrdiff_t> best{-1, 0};  // points that were played, and minus the distance
    for (std::size_t at = 0; at < axes[i].values.size(); ++at) {
      one.at[i] = at;
      const auto played =
          std::ranges::count_if(rows.rows, [&](const Row& row) { return row.done() && in_cut(row, one); });
      const std::pair here{played, -std::abs(static_cast<std::ptrdiff_t>(at) - middle)};
      if (here <= best) continue;
      best = here;
      cut.at[i] = at;
    }
  }
}

PlotHeading heading_of(const SweepRows& rows, const Cut& cut, const std::string& what) {
  const std::vector<std::string> names = axis_names(rows.heading.axes);
  std::string rest;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::find(cut.axes.begin(), cut.axes.end(), i) == cut.axes.end())
      rest += fmt::format("{}{} = {}", rest.empty() ? "" : ", ", names[i], rows.heading.axes[i].values[cut.at[i]]);
  return {rows.heading.scenario, rest.empty() ? what : fmt::format("{}; {}", rest, what)};
}

/// Whether they span a factor of ten or more, and none is 0.
bool spans_decades(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  constexpr double kWide = 10;
  return *least > 0 && *most >= kWide * *least;
}

/// Where `value` lies between the places of the axis' values, which ascend.
double place_of(double value, const std::vector<double>& values, const std::vector<double>& places, bool logarithmic) {
  const auto above = std::lower_bound(values.begin(), values.end(), value);
  if (above == values.begin()) return places.front();
  if (above == values.end()) return places.back();
  const auto at = static_cast<std::size_t>(above - values.begin());
  const auto scaled = [&](double number) { return logarithmic ? std::log(number) : number; };
  const double part = (scaled(value) - scaled(values[at - 1])) / (scaled(values[at]) - scaled(values[at - 1]));
  return places[at - 1] + part * (places[at] - places[at - 1]);
}

/// Ticks at every value, or where there is room for `most` only: at round numbers and both ends of an axis of numbers,
/// at every second, third... of others.
std::vector<Tick> ticks_of(const std::vector<std::string>& values, const std::vector<double>& places,
                           const std::optional<Numbers>& numbers, std::size_t most) {
  std::vector<Tick> ticks;
  // Short numbers are those that somebody wrote, and none that a formula gave.
  const auto is_short = [](const std::string& value) { return value.size() <= 4; };
  const bool written = std::all_of(values.begin(), values.end(), is_short);
  const bool rising = numbers && std::is_sorted(numbers->values.begin(), numbers->values.end());
  if (rising && (values.size() > most || !written)) {
    const std::vector<double>& all = numbers->values;
    const bool logarithmic = spans_decades(all);
    const int room = static_cast<int>(std::max<std::size_t>(most, 3)) - 2;
    for (const Tick& tick :
         logarithmic ? log_ticks(all.front(), all.back(), room) : nice_ticks(all.front(), all.back(), room))
      ticks.push_back({place_of(tick.value, all, places, logarithmic), tick.label});
    // The ends, in place of a round number that they would touch.
    const double length = std::abs(places.back() - places.front()), least = 0.7 * length / static_cast<double>(most);
    const auto touches = [&](double end) {
      return [=](const Tick& tick) { return std::abs(tick.value - end) < least; };
    };
    for (const std::size_t end : {std::size_t{0}, values.size() - 1}) {
      std::erase_if(ticks, touches(places[end]));
      ticks.push_back({places[end], fmt::format("{:.3g}", all[end])});
    }
    std::sort(ticks.begin(), ticks.end(), [](const Tick& a, const Tick& b) { return a.value < b.value; });
    return ticks;
  }
  const std::size_t step = (values.size() + most - 1) / most;
  for (std::size_t i = 0; i < values.size(); i += step) ticks.push_back({places[i], values[i]});
  return ticks;
}

/// Where points lie: in their logarithm where they span decades.
std::vector<double> places_of(const std::vector<double>& values) {
  std::vector<double> places = values;
  if (spans_decades(values))
    for (double& place : places) place = std::log10(place);
  return places;
}

/// What is on a map: the schedules that it names, and what its marks mean.
std::vector<LegendEntry> map_legend(const SweepRows& rows, const Cut& cut, const Merit& merit, Theme theme) {
  std::vector<std::size_t> shown;
  std::set<std::pair<std::size_t, std::size_t>> open;
  std::string marks;
  for (const Row& row : rows.rows) {
    if (!in_cut(row, cut)) continue;
    const MapCell cell = map_cell(row, merit);
    marks += cell.mark;
    if (cell.schedule && cell.close) open.insert(std::minmax(*cell.schedule, *cell.close));
    if (cell.schedule && std::find(shown.begin(), shown.end(), *cell.schedule) == shown.end())
      shown.push_back(*cell.schedule);
  }
  std::sort(shown.begin(), shown.end());
  std::vector<LegendEntry> legend;
  for (const std::size_t s : shown) legend.push_back({rows.heading.schedules[s], fill_of(s, theme)});
  if (!open.empty()) legend.push_back({"~ or a dot: too near to tell apart", {Hue::kPaper}});
  for (const auto& [one, other] : open)
    legend.push_back(
        {fmt::format("~ {} or {}", rows.heading.schedules[one], rows.heading.schedules[other]), {Hue::kPaper}});
  constexpr std::pair<char, const char*> kMeanings[] = {
      {'*', "* or a dot: none without a caveat, this is the nearest"}, {'x', "x none fits"}, {'!', "! failed"}};
  for (const auto& [mark, meaning] : kMeanings)
    if (marks.find(mark) != std::string::npos) legend.push_back({meaning, {Hue::kPaper}});
  return legend;
}

void draw_cell(Svg& svg, const Box& box, const MapCell& cell, const std::vector<std::string>& schedules, Theme theme) {
  const Fill fill = cell.schedule ? fill_of(*cell.schedule, theme) : Fill{Hue::kPaper};
  svg.rect(box, svg.paint(fill), {svg.ground().paper, 0.5});
  const double size = std::min(12.0, box.height);
  const std::string either = cell.close ? "or " + schedules[*cell.close] : std::string(cell.mark);
  const std::string mark = label_fits(either, box.width, size) ? either : cell.mark;
  if (mark.empty()) return;
  if (label_fits(mark, box.width, size)) {
    draw_label(svg, box, fill, mark, size);
  } else {
    constexpr double kDot = 2.4;
    svg.rect({box.x + (box.width - kDot) / 2, box.y + (box.height - kDot) / 2, kDot, kDot}, svg.ground().ink);
  }
}

}  // namespace

Cut cut_of(const SweepRows& rows, std::size_t axes, const std::vector<std::string>& named,
           const std::vector<std::string>& at) {
  const Heading& heading = rows.heading;
  if (!heading.grid)
    throw BadInput("the sweep's points are no grid (zip or Latin hypercube); use its table (--csv) for a picture");
  if (heading.axes.size() < axes)
    throw BadInput(fmt::format("the sweep has one axis and a map has two; draw it with --kind curve"));
  Cut cut{{}, Coordinates(heading.axes.size(), 0)};
  if (named.size() > axes) throw BadInput(fmt::format("{} axes are named; this picture has {}", named.size(), axes));
  for (const std::string& name : named) {
    const std::size_t axis = axis_named(heading.axes, name);
    if (std::find(cut.axes.begin(), cut.axes.end(), axis) != cut.axes.end())
      throw BadInput(fmt::format("--axis {}: is named twice; name another, or leave it out", in_quotes(name)));
    cut.axes.push_back(axis);
  }
  for (const std::size_t i : longest_first(heading.axes))
    if (cut.axes.size() < axes && std::find(cut.axes.begin(), cut.axes.end(), i) == cut.axes.end())
      cut.axes.push_back(i);
  choose_places(rows, cut);
  for (const std::string& each : at) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos) throw BadInput(fmt::format("--at {}: write axis=value", in_quotes(each)));
    const std::size_t axis = axis_named(heading.axes, each.substr(0, equals));
    const std::vector<std::string>& values = heading.axes[axis].values;
    const auto found = std::find(values.begin(), values.end(), each.substr(equals + 1));
    if (found == values.end())
      throw BadInput(
          fmt::format("--at {}: the axis has no such value{}", in_quotes(each), hint(each.substr(equals + 1), values)));
    cut.at[axis] = static_cast<std::size_t>(found - values.begin());
  }
  return cut;
}

std::string curve_svg(const SweepRows& rows, const Cut& cut, Score by, const PlotStyle& style) {
  const Heading& heading = rows.heading;
  const std::size_t axis = cut.axes.front();
  const AxisWords axis_words = std::move(axes_in_words(heading)[axis]);
  if (!axis_words.numbers)
    throw BadInput(fmt::format(
        "{} has values that are no numbers; {}", axis_words.pointer(),
        heading.axes.size() > 1 ? "draw it with --kind map" : "its summary and --csv have what each comes to"));
  const std::vector<double> places = places_of(axis_words.numbers->values);
  CurvePanel panel;
  const PlotHeading words = heading_of(rows, cut, shown_in_words(rows, by) + ", with 80 % intervals");
  panel.title = fmt::format("{}: {}", words.title, words.subtitle);
  panel.x_title = axis_words.title;
  panel.y_unit = by == Score::kTime ? " h" : by == Score::kCost ? "" : "x";
  const auto [least, most] = std::minmax_element(places.begin(), places.end());
  panel.least_x = *least;
  panel.most_x = *most > *least ? *most : *least + 1;
  panel.x_ticks = ticks_of(axis_words.values, places, axis_words.numbers, static_cast<std::size_t>(style.width / 60));
  const bool over = !is_spent(by);  // a baseline, which is 1
  panel.low = over ? 1 : std::numeric_limits<double>::infinity();
  panel.high = over ? 1 : 0;
  if (over) panel.limits = {1};
  for (std::size_t s = 0; s < heading.schedules.size(); ++s) {
    ChartCurve curve{heading.schedules[s], static_cast<int>(s), {}, {}, {}};
    for (const Row& row : rows.rows) {
      if (!row.done() || !in_cut(row, cut)) continue;
      const Metrics& figures = row.schedules[s];
      const std::optional<Shown> shown = shown_of(figures, by);
      if (!shown || !figures.fits()) continue;
      curve.points.push_back({places[row.point[axis]], shown->value});
      curve.low.push_back(shown->low);
      curve.high.push_back(shown->high);
      panel.low = std::min(panel.low, curve.low.back());
      panel.high = std::max(panel.high, curve.high.back());
    }
    panel.curves.push_back(std::move(curve));
  }
  if (panel.low > panel.high) panel.low = 0, panel.high = 1;  // nothing is drawn
  const double room = 0.05 * std::max(over ? 0.1 : 1e-9 + 0.1 * panel.high, panel.high - panel.low);
  panel.low = std::max(0.0, panel.low - room);
  panel.high += room;
  return curves_svg(panel.title, {panel}, style.theme, style.width);
}

std::string map_svg(const SweepRows& rows, const Cut& cut, const Merit& merit, const PlotStyle& style) {
  const Heading& heading = rows.heading;
  const std::size_t across = cut.axes[0], upward = cut.axes[1];
  const PlotHeading words =
      heading_of(rows, cut, fmt::format("the {} schedule {}", words_of(merit.by).best, words_of(merit.by).how));
  Svg svg(style.theme, style.width, words.title);
  double top = draw_heading(svg, words);
  top = draw_legend(svg, map_legend(rows, cut, merit, style.theme), top) + 10;
  const std::vector<AxisWords> axes = axes_in_words(heading);
  const AxisWords &sideways = axes[across], &upwards = axes[upward];
  const std::vector<std::string>&columns = sideways.values, &lines = upwards.values;
  double left = kPlotMargin + 30;
  for (const std::string& value : lines) left = std::max(left, kPlotMargin + 24 + text_width(value, 11));
  left = std::min(left, style.width / 3);
  const double wide = (style.width - left - kPlotMargin) / static_cast<double>(columns.size());
  const double high = std::clamp(420 / static_cast<double>(lines.size()), 4.0, 36.0);
  const double bottom = top + high * static_cast<double>(lines.size());
  for (const Row& row : rows.rows) {
    if (!in_cut(row, cut)) continue;
    const Box box{left + wide * static_cast<double>(row.point[across]),
                  bottom - high * static_cast<double>(row.point[upward] + 1), wide, high};
    draw_cell(svg, box, map_cell(row, merit), heading.schedules, style.theme);
  }
  const std::size_t most_lines = static_cast<std::size_t>(std::max(2.0, (bottom - top) / 16));
  std::vector<double> at_lines, at_columns;
  for (std::size_t i = 0; i < lines.size(); ++i) at_lines.push_back(bottom - high * (static_cast<double>(i) + 0.5));
  for (std::size_t i = 0; i < columns.size(); ++i) at_columns.push_back(left + wide * (static_cast<double>(i) + 0.5));
  for (const Tick& tick : ticks_of(lines, at_lines, upwards.numbers, most_lines))
    svg.text(left - 6, tick.value + 4, cut_to_pixels(tick.label, left - kPlotMargin - 20, 11),
             {.size = 11, .anchor = Anchor::kEnd});
  double widest = 20;
  for (const std::string& value : columns) widest = std::max(widest, text_width(value, 11) + 10);
  const std::size_t most_columns = static_cast<std::size_t>(std::max(2.0, (style.width - left) / widest));
  for (const Tick& tick : ticks_of(columns, at_columns, sideways.numbers, most_columns))
    svg.text(tick.value, bottom + 16, tick.label, {.size = 11, .anchor = Anchor::kMiddle});
  svg.text((left + style.width - kPlotMargin) / 2, bottom + 34, sideways.title,
           {.anchor = Anchor::kMiddle, .colour = svg.ground().dim});
  svg.text(kPlotMargin, top - 2, upwards.title, {.colour = svg.ground().dim});
  return svg.take(bottom + 46);
}

}  // namespace accosim
