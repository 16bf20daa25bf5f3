#include "reports/sweep/sweep_plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "models/base/errors.hpp"
#include "models/base/nearest.hpp"
#include "models/draw/curves.hpp"
#include "reports/human.hpp"
#include "reports/plot/figures_csv.hpp"
#include "reports/plot/series.hpp"
#include "reports/sweep/sweep_words.hpp"

namespace accosim {
namespace {

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
    if (std::ranges::find(cut.axes, i) == cut.axes.end() && row.point[i] != cut.at[i]) return false;
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
    if (std::ranges::find(cut.axes, i) == cut.axes.end())
      rest += fmt::format("{}{} = {}", rest.empty() ? "" : ", ", names[i], rows.heading.axes[i].values[cut.at[i]]);
  return {rows.heading.scenario, rest + (rest.empty() || what.empty() ? "" : "; ") + what};
}

/// Whether they span a factor of ten or more, and none is 0.
bool spans_decades(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax_element(values);
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

/// A number that somebody wrote, and none that a formula gave: of two digits, or a power of two.
bool is_round(double value) {
  int exponent = 0;
  if (std::frexp(std::abs(value), &exponent) == 0.5) return true;
  const double digits = value == 0 ? 0 : value / std::pow(10, std::floor(std::log10(std::abs(value))) - 1);
  return std::abs(digits - std::round(digits)) < 1e-9;
}

/// Ticks at every value, or where there is room for `most` only, or they are not round: at round numbers of an axis of
/// numbers, at every second, third... of others.
std::vector<Tick> ticks_of(const AxisWords& axis, const std::vector<double>& places, std::size_t most) {
  const std::vector<std::string>& values = axis.values;
  const bool rising = axis.numbers && std::ranges::is_sorted(axis.numbers->values);
  if (rising && (values.size() > most || (!axis.whole && !std::ranges::all_of(axis.numbers->values, is_round)))) {
    const std::vector<double>& all = axis.numbers->values;
    const bool logarithmic = spans_decades(all);
    const int room = static_cast<int>(std::max<std::size_t>(most, 2));
    std::vector<Tick> ticks =
        logarithmic ? log_ticks(all.front(), all.back(), room) : nice_ticks(all.front(), all.back(), room);
    for (Tick& tick : ticks) tick.value = place_of(tick.value, all, places, logarithmic);
    if (ticks.size() >= 2) return ticks;
    // No round numbers are between them: the ends.
    return {{places.front(), fmt::format("{:.3g}", all.front())}, {places.back(), fmt::format("{:.3g}", all.back())}};
  }
  std::vector<Tick> ticks;
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
std::vector<LegendEntry> map_legend(const DrawnRows& drawn, const Cut& cut, const Merit& merit, Theme theme) {
  const SweepRows& rows = drawn.rows;
  constexpr LegendEntry::Shape kText = LegendEntry::Shape::kNone;
  std::set<std::size_t> shown;
  std::set<std::pair<std::size_t, std::size_t>> open;
  std::string marks;
  for (const Row& row : rows.rows) {
    if (!in_cut(row, cut)) continue;
    const MapCell cell = map_cell(row, merit);
    marks += cell.mark;
    if (cell.schedule && cell.close) open.insert(std::minmax(*cell.schedule, *cell.close));
    if (cell.schedule) shown.insert(*cell.schedule);
  }
  std::vector<LegendEntry> legend;
  for (const std::size_t s : shown) legend.push_back({rows.heading.schedules[s], fill_of(drawn.looks[s], theme)});
  if (!open.empty()) legend.push_back({"~ or a dot: too near to tell apart", {}, kText});
  for (const auto& [one, other] : open)
    legend.push_back(
        {fmt::format("~ {} or {}", rows.heading.schedules[one], rows.heading.schedules[other]), {}, kText});
  constexpr std::pair<char, const char*> kMeanings[] = {
      {'*', "* or a dot: none without a caveat, this is the nearest"}, {'x', "x none fits"}, {'!', "! failed"}};
  for (const auto& [mark, meaning] : kMeanings)
    if (marks.find(mark) != std::string::npos) legend.push_back({meaning, {}, kText});
  return legend;
}

/// The text where it has room, else a dot.
void draw_mark(Svg& svg, const Box& box, Fill fill, const std::string& mark, double size) {
  constexpr double kDot = 2.4;
  if (label_fits(mark, box.width, size))
    draw_label(svg, box, fill, mark, size);
  else if (!mark.empty())
    svg.rect({box.x + (box.width - kDot) / 2, box.y + (box.height - kDot) / 2, kDot, kDot}, svg.ground().ink);
}

void draw_cell(Svg& svg, const Box& box, const MapCell& cell, const DrawnRows& drawn) {
  const Fill fill = cell.schedule ? fill_of(drawn.looks[*cell.schedule], svg.theme()) : Fill{Hue::kPaper};
  svg.rect(box, svg.paint(fill), {svg.ground().paper, 0.5});
  const double size = std::min(12.0, box.height);
  const std::string either = cell.close ? "or " + drawn.rows.heading.schedules[*cell.close] : std::string(cell.mark);
  draw_mark(svg, box, fill, label_fits(either, box.width, size) ? either : cell.mark, size);
}

/// The cells of a map between its axes: where they are drawn, and the titles and ticks of the axes around them.
struct MapGrid {
  double left, top, wide, high, bottom;  ///< pixels; of a cell
  double end;                            ///< where the picture goes on

  Box cell(std::size_t x, std::size_t y) const {
    return {left + wide * static_cast<double>(x), bottom - high * static_cast<double>(y + 1), wide, high};
  }
};

MapGrid draw_map_axes(Svg& svg, const AxisWords& across, const AxisWords& upward, double top) {
  const std::vector<std::string>&columns = across.values, &lines = upward.values;
  double left = kPlotMargin + 10;
  for (const std::string& value : lines) left = std::max(left, kPlotMargin + 10 + text_width(value, 11));
  left = std::min(left, svg.width() / 3);
  top = svg.lines(kPlotMargin, top + 8, lines_in_pixels(upward.title, svg.width() - 2 * kPlotMargin, 12),
                  {.colour = svg.ground().dim}) -
        8;
  MapGrid grid{left, top, (svg.width() - left - kPlotMargin) / static_cast<double>(columns.size()), 0, 0, 0};
  constexpr double kMostHeight = 420, kHeight = 0.7;  // of the width
  grid.high = std::clamp(std::min(kMostHeight, kHeight * svg.width()) / static_cast<double>(lines.size()), 4.0, 36.0);
  grid.bottom = top + grid.high * static_cast<double>(lines.size());
  const Scale x{0, 1, left, svg.width() - kPlotMargin};
  std::vector<double> at_lines, at_columns;
  for (std::size_t i = 0; i < lines.size(); ++i)
    at_lines.push_back(grid.bottom - grid.high * (static_cast<double>(i) + 0.5));
  for (std::size_t i = 0; i < columns.size(); ++i)
    at_columns.push_back(left + grid.wide * (static_cast<double>(i) + 0.5));
  for (const Tick& tick : ticks_of(upward, at_lines, static_cast<std::size_t>(std::max(2.0, (grid.bottom - top) / 16))))
    svg.text(left - 6, tick.value + 4, cut_to_pixels(tick.label, left - kPlotMargin, 11),
             {.size = 11, .anchor = Anchor::kEnd});
  double widest = 20;
  for (const std::string& value : columns) widest = std::max(widest, text_width(value, 11) + 10);
  const double room = across.numbers ? std::min(widest, 50.0) : widest;
  for (const Tick& tick :
       ticks_of(across, at_columns, static_cast<std::size_t>(std::max(2.0, (svg.width() - left) / room))))
    svg.text(tick.value, grid.bottom + 16, cut_to_pixels(tick.label, (svg.width() - left) / 2, 11),
             {.size = 11, .anchor = Anchor::kMiddle});
  grid.end = draw_columns(svg, {}, x, top, grid.bottom, across.title);
  return grid;
}

std::string unit_of(const ValueAsked& asked) {
  return asked.value == PlotValue::kSpeedup ? "x" : asked.value == PlotValue::kTime ? " h" : "";
}

/// "speedup over zero1, per token": without whose.
std::string value_in_words(const SweepRows& rows, const ValueAsked& asked) {
  switch (asked.value) {
    case PlotValue::kTime: return shown_in_words(rows, Score::kTime);
    case PlotValue::kCost: return shown_in_words(rows, Score::kCost);
    case PlotValue::kTokens: return "tokens per second";
    case PlotValue::kSpeedup: break;
  }
  if (asked.over) return fmt::format("speedup over {}, per token", asked.over->label);
  return shown_in_words(rows, asked.by);
}

/// Of a schedule that fits there. Where no interval is known its ends are the value.
std::optional<Shown> value_of(const Row& row, std::size_t schedule, const ValueAsked& asked) {
  const Metrics& figures = row.schedules[schedule];
  if (!row.done() || !row.has(schedule) || !figures.fits()) return std::nullopt;
  const auto exactly = [](double value) { return Shown{value, value, value}; };
  switch (asked.value) {
    case PlotValue::kTime: return shown_of(figures, Score::kTime);
    case PlotValue::kCost: return shown_of(figures, Score::kCost);
    case PlotValue::kTokens: {
      const double tokens = figures.tokens_per_second;
      const std::optional<Shown> time = shown_of(figures, Score::kTime);
      if (!time || !(time->low > 0)) return exactly(tokens);
      return Shown{tokens, tokens * time->value / time->high, tokens * time->value / time->low};
    }
    case PlotValue::kSpeedup: break;
  }
  if (!asked.over) return shown_of(figures, asked.by);
  const auto base = asked.over->tokens_per_second.find(row.index);
  if (base == asked.over->tokens_per_second.end()) return std::nullopt;
  return exactly(figures.tokens_per_second / base->second);
}

/// From values to colours: of speedups two colours that meet at 1, of others and in print one that deepens.
struct ValueColours {
  double low = 0, high = 1;
  bool around_one = false;
  Theme theme = Theme::kLight;

  std::string at(double value) const {
    const std::string paper = ground_of(theme).paper;
    constexpr double kFaint = 0.08, kDeep = 0.92;
    if (theme == Theme::kPrint || !around_one) {
      const double part = high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : 0.5;
      return mixed(paper, theme == Theme::kPrint ? "#303030" : colour_of(Hue::kBlue, theme),
                   kFaint + (kDeep - kFaint) * part);
    }
    const double most = std::max({std::abs(std::log(high)), std::abs(std::log(low)), 0.01});
    return mixed(paper, colour_of(value >= 1 ? Hue::kBlue : Hue::kVermillion, theme),
                 kFaint + (kDeep - kFaint) * std::min(1.0, std::abs(std::log(value)) / most));
  }
};

std::string number_of(double value, const ValueAsked& asked) {
  return asked.value == PlotValue::kSpeedup ? fmt::format("{:.2f}", value) : human_count(value);
}

/// Boxes from the least to the greatest value, with their numbers. Returns where to go on.
double draw_value_key(Svg& svg, const ValueColours& colours, const ValueAsked& asked, double top) {
  constexpr int kBoxes = 5;
  const double wide = std::min(60.0, (svg.width() - 2 * kPlotMargin) / kBoxes);
  for (int i = 0; i < kBoxes; ++i) {
    const double value = colours.low + (colours.high - colours.low) * i / (kBoxes - 1);
    const std::string colour = colours.at(value), number = number_of(value, asked) + unit_of(asked);
    svg.rect({kPlotMargin + wide * i, top, wide, 18}, colour, {svg.ground().dim, 0.5});
    svg.text(kPlotMargin + wide * (i + 0.5), top + 13, cut_to_pixels(number, wide - 2, 10.5),
             {.size = 10.5, .anchor = Anchor::kMiddle, .colour = ink_over(colour)});
  }
  return top + 24;
}

}  // namespace

Cut cut_of(const SweepRows& rows, std::size_t axes, const std::vector<std::string>& named,
           const std::vector<std::string>& at) {
  const Heading& heading = rows.heading;
  if (!heading.grid)
    throw BadInput(
        "the sweep's points are no grid (zip or Latin hypercube); accosim report ROWS -o page.html has bars of them, "
        "and accosim sweep --csv a table");
  if (heading.axes.size() < axes)
    throw BadInput(fmt::format("the sweep has one axis and a map has two; draw it with --kind curve"));
  Cut cut{{}, Coordinates(heading.axes.size(), 0)};
  if (named.size() > axes) throw BadInput(fmt::format("{} axes are named; this picture has {}", named.size(), axes));
  for (const std::string& name : named) {
    const std::size_t axis = axis_named(heading.axes, name);
    if (std::ranges::find(cut.axes, axis) != cut.axes.end())
      throw BadInput(fmt::format("--axis {}: is named twice; name another, or leave it out", in_quotes(name)));
    cut.axes.push_back(axis);
  }
  for (const std::size_t i : longest_first(heading.axes))
    if (cut.axes.size() < axes && std::ranges::find(cut.axes, i) == cut.axes.end()) cut.axes.push_back(i);
  choose_places(rows, cut);
  for (const std::string& each : at) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos) throw BadInput(fmt::format("--at {}: write axis=value", in_quotes(each)));
    const std::size_t axis = axis_named(heading.axes, each.substr(0, equals));
    const std::vector<std::string>& values = heading.axes[axis].values;
    const auto found = std::ranges::find(values, each.substr(equals + 1));
    if (found == values.end())
      throw BadInput(
          fmt::format("--at {}: the axis has no such value{}", in_quotes(each), hint(each.substr(equals + 1), values)));
    cut.at[axis] = static_cast<std::size_t>(found - values.begin());
  }
  return cut;
}

Over over_of(const SweepRows& rows, std::size_t schedule, const std::string& label) {
  Over over{label, {}};
  for (const Row& row : rows.rows)
    if (row.done() && row.has(schedule) && row.schedules[schedule].fits())
      over.tokens_per_second.emplace(row.index, row.schedules[schedule].tokens_per_second);
  return over;
}

DrawnRows drawn_rows(SweepRows rows, const std::vector<std::string>& schedules,
                     const std::vector<std::string>& labels) {
  Heading& heading = rows.heading;
  const std::vector<std::size_t> places = series_named("--schedule", heading.schedules, schedules);
  const std::vector<SeriesLook> looks = looks_of(heading.schedules);
  const std::vector<std::string> names = renamed(heading.schedules, labels);
  for (std::size_t s = 0; s < names.size(); ++s)
    if (heading.baseline == heading.schedules[s]) {
      heading.baseline = names[s];
      break;
    }
  heading.schedules = picked(names, places);
  for (Row& row : rows.rows) {
    if (row.done()) row.schedules = picked(row.schedules, places);
    if (!row.left_out.empty()) row.left_out = picked(row.left_out, places);
  }
  return {std::move(rows), picked(looks, places)};
}

SweepPicture draw_curve(const DrawnRows& drawn, const Cut& cut, const ValueAsked& asked, const PlotStyle& style) {
  const SweepRows& rows = drawn.rows;
  const Heading& heading = rows.heading;
  const std::size_t axis = cut.axes.front();
  const AxisWords axis_words = std::move(axes_in_words(heading)[axis]);
  if (!axis_words.numbers)
    throw BadInput(fmt::format(
        "{} has values that are no numbers; {}", axis_words.pointer(),
        heading.axes.size() > 1 ? "draw it with --kind map" : "its summary and --csv have what each comes to"));
  const std::vector<double> places = places_of(axis_words.numbers->values);
  CurvePanel panel{.x_title = axis_words.title, .y_title = value_in_words(rows, asked), .y_unit = unit_of(asked)};
  const auto [least, most] = std::ranges::minmax_element(places);
  panel.least_x = *least;
  panel.most_x = *most > *least ? *most : *least + 1;
  panel.x_ticks = ticks_of(axis_words, places, static_cast<std::size_t>(style.width / 60));
  const bool over = asked.value == PlotValue::kSpeedup;  // a baseline, which is 1
  panel.low = over ? 1 : std::numeric_limits<double>::infinity();
  panel.high = over ? 1 : 0;
  if (over) panel.limits = {1};
  bool ranged = false;
  std::vector<std::string> nowhere;  // schedules that fit at no point
  std::string csv = "schedule," + in_csv(axis_words.title) + ",value,low,high\n";
  for (std::size_t s = 0; s < heading.schedules.size(); ++s) {
    ChartCurve curve{heading.schedules[s], drawn.looks[s], {}, {}, {}};
    for (const Row& row : rows.rows) {
      const std::optional<Shown> shown = in_cut(row, cut) ? value_of(row, s, asked) : std::nullopt;
      if (!shown) continue;
      curve.points.push_back({places[row.point[axis]], shown->value});
      curve.low.push_back(style.intervals ? shown->low : shown->value);
      curve.high.push_back(style.intervals ? shown->high : shown->value);
      ranged = ranged || curve.low.back() < curve.high.back();
      panel.low = std::min(panel.low, curve.low.back());
      panel.high = std::max(panel.high, curve.high.back());
      csv += fmt::format("{},{},{},{},{}\n", in_csv(curve.name), in_csv(axis_words.values[row.point[axis]]),
                         shown->value, shown->low, shown->high);
    }
    if (curve.points.empty()) nowhere.push_back(curve.name);
    panel.curves.push_back(std::move(curve));
  }
  std::vector<std::string> what;
  if (!nowhere.empty()) what.push_back(in_words(nowhere) + (nowhere.size() == 1 ? " fits" : " fit") + " nowhere");
  if (ranged) what.emplace_back("with 80 % intervals");
  const PlotHeading words = heading_of(rows, cut, fmt::format("{}", fmt::join(what, "; ")));
  panel.title = style.title ? *style.title
                            : fmt::format("{}{}{}", words.title, words.subtitle.empty() ? "" : ": ", words.subtitle);
  if (panel.low > panel.high) panel.low = 0, panel.high = 1;  // nothing is drawn
  const double room = 0.05 * std::max(over ? 0.1 : 1e-9 + 0.1 * panel.high, panel.high - panel.low);
  panel.low = std::max(0.0, panel.low - room);
  panel.high += room;
  return {curves_svg(words.title, {panel}, style.theme, style.width), std::move(csv)};
}

SweepPicture draw_map(const DrawnRows& drawn, const Cut& cut, const Merit& merit, const PlotStyle& style) {
  const SweepRows& rows = drawn.rows;
  const PlotHeading words =
      heading_of(rows, cut, fmt::format("the {} schedule {}", words_of(merit.by).best, words_of(merit.by).how));
  Svg svg(style.theme, style.width, words.title);
  const double top =
      draw_legend(svg, map_legend(drawn, cut, merit, style.theme), draw_heading(svg, titled(words, style)));
  const std::vector<AxisWords> axes = axes_in_words(rows.heading);
  const AxisWords &across = axes[cut.axes[0]], &upward = axes[cut.axes[1]];
  const MapGrid grid = draw_map_axes(svg, across, upward, top + 4);
  std::string csv = fmt::format("schedule,{},{},mark\n", in_csv(across.title), in_csv(upward.title));
  for (const Row& row : rows.rows) {
    if (!in_cut(row, cut)) continue;
    const std::size_t x = row.point[cut.axes[0]], y = row.point[cut.axes[1]];
    const MapCell cell = map_cell(row, merit);
    draw_cell(svg, grid.cell(x, y), cell, drawn);
    csv += fmt::format("{},{},{},{}\n", cell.schedule ? in_csv(rows.heading.schedules[*cell.schedule]) : "",
                       in_csv(across.values[x]), in_csv(upward.values[y]), cell.mark);
  }
  return {svg.take(grid.end), std::move(csv)};
}

/// What the line at 1.0 and the crosses mean; returns where it ends.
double draw_value_legend(Svg& svg, const ValueColours& colours, bool absent, double top) {
  std::vector<LegendEntry> legend;
  if (colours.around_one && colours.low < 1 && colours.high > 1)
    legend.push_back({"1.0", {}, LegendEntry::Shape::kThickLine});
  if (absent) legend.push_back({"x does not fit, or was not played", {}, LegendEntry::Shape::kNone});
  return draw_legend(svg, legend, top);
}

SweepPicture draw_value_map(const DrawnRows& drawn, const Cut& cut, const ValueAsked& asked, const Merit& merit,
                            const PlotStyle& style) {
  const SweepRows& rows = drawn.rows;
  const std::vector<AxisWords> axes = axes_in_words(rows.heading);
  const AxisWords &across = axes[cut.axes[0]], &upward = axes[cut.axes[1]];
  std::vector<std::optional<double>> values(across.values.size() * upward.values.size());
  const auto value_at = [&](std::size_t x, std::size_t y) -> std::optional<double>& {
    return values[y * across.values.size() + x];
  };
  ValueColours colours{1e300, -1e300, asked.value == PlotValue::kSpeedup, style.theme};
  std::string csv = fmt::format("schedule,{},{},value,low,high\n", in_csv(across.title), in_csv(upward.title));
  bool absent = false;
  for (const Row& row : rows.rows) {
    if (!in_cut(row, cut)) continue;
    const std::size_t x = row.point[cut.axes[0]], y = row.point[cut.axes[1]];
    const std::optional<std::size_t> schedule = asked.of ? asked.of : map_cell(row, merit).schedule;
    const std::optional<Shown> shown = schedule ? value_of(row, *schedule, asked) : std::nullopt;
    absent = absent || !shown;
    if (!shown) continue;
    value_at(x, y) = shown->value;
    colours.low = std::min(colours.low, shown->value);
    colours.high = std::max(colours.high, shown->value);
    csv += fmt::format("{},{},{},{},{},{}\n", in_csv(rows.heading.schedules[*schedule]), in_csv(across.values[x]),
                       in_csv(upward.values[y]), shown->value, shown->low, shown->high);
  }
  if (colours.low > colours.high)
    throw BadInput("there is no such value at any point of this map; choose another --at");
  const std::string of = asked.of ? rows.heading.schedules[*asked.of] : "the best schedule at each point";
  const PlotHeading words = heading_of(rows, cut, fmt::format("{}: {}", of, value_in_words(rows, asked)));
  Svg svg(style.theme, style.width, words.title);
  double top = draw_value_key(svg, colours, asked, draw_heading(svg, titled(words, style)) + 2);
  top = draw_value_legend(svg, colours, absent, top);
  const MapGrid grid = draw_map_axes(svg, across, upward, top + 4);
  const double size = std::clamp(grid.high - 4, kLeastLetters, 11.0);
  std::string contour;
  for (std::size_t x = 0; x < across.values.size(); ++x)
    for (std::size_t y = 0; y < upward.values.size(); ++y) {
      const Box box = grid.cell(x, y);
      const std::optional<double> value = value_at(x, y);
      if (!value) {
        draw_mark(svg, box, {Hue::kPaper}, "x", size);
        continue;
      }
      const std::string colour = colours.at(*value), number = number_of(*value, asked);
      svg.rect(box, colour, {svg.ground().paper, 0.5});
      if (text_width(number, size) + 2 <= box.width && box.height >= size + 2)
        svg.text(box.x + box.width / 2, box.y + box.height / 2 + 0.36 * size, number,
                 {.size = size, .anchor = Anchor::kMiddle, .colour = ink_over(colour)});
      const auto crosses = [&](std::size_t i, std::size_t k) {
        const bool there = i < across.values.size() && k < upward.values.size();
        const double other = there ? value_at(i, k).value_or(*value) : *value;
        return colours.around_one && (*value >= 1) != (other >= 1);
      };
      if (crosses(x + 1, y))
        contour += line_shape({{box.x + box.width, box.y}, {box.x + box.width, box.y + box.height}});
      if (crosses(x, y + 1)) contour += line_shape({{box.x, box.y}, {box.x + box.width, box.y}});
    }
  svg.path(contour, "none", {svg.ground().ink, 3});
  return {svg.take(grid.end), std::move(csv)};
}

}  // namespace accosim
