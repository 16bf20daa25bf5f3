// The ladder as a waterfall.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "models/draw/axes.hpp"
#include "reports/human.hpp"
#include "reports/plot/pictures.hpp"

namespace accosim {
namespace {

constexpr double kBar = 24, kRow = 48, kSmall = 10.5, kGap = 12;
constexpr Fill kGain = {Hue::kGreen, Pattern::kPlain}, kLoss = {Hue::kVermillion, Pattern::kRising};

/// A rung as it is drawn.
struct Row {
  std::string name, detail{};  ///< the second in a line below
  double before = 1, after = 1;
  std::string times{}, speedup{};  ///< of the change, and of all so far
  std::optional<double> limit{};   ///< the speedup that it cannot exceed
};

std::vector<Row> rows_of(const Ladder& ladder) {
  const bool at_same_batch = known_at_same_batch(ladder);
  const Rung& last = ladder.rungs.back();
  std::vector<Row> rows;
  for (std::size_t i = 0; i < ladder.rungs.size(); ++i) {
    const Rung& rung = ladder.rungs[i];
    Row row{.name = rung.change};
    // Of the batch that the bars are of: the last one's where the speedups are at the same batch.
    const Seconds update =
        at_same_batch ? shown_speedup(ladder, ladder.rungs.size() - 1) / shown_speedup(ladder, i) * last.update_time
                      : rung.update_time;
    row.detail = fmt::format("{} an update, {} samples", human_time(update),
                             human_count((at_same_batch ? last : rung).samples_per_update));
    row.before = shown_speedup(ladder, i == 0 ? 0 : i - 1);
    row.after = shown_speedup(ladder, i);
    if (i > 0) row.times = human_factor(shown_times(ladder, i));
    row.speedup = human_factor(row.after);
    if (at_same_batch && rung.most_same_batch > 0) {
      row.limit = shown_speedup(ladder, rung.most_over) * rung.most_same_batch;
      row.detail += ", at most " + human_factor(*row.limit);
    }
    rows.push_back(row);
  }
  return rows;
}

/// Of the logarithm of speedups, with a little room at both ends. A change of a few per cent fills no picture.
Scale scale_of(const std::vector<Row>& rows, double from, double to) {
  double low = 1, high = 1;
  for (const Row& row : rows) {
    low = std::min(low, row.after);
    high = std::max({high, row.after, row.limit.value_or(1)});
  }
  constexpr double kLeast = 1.25, kRoom = 0.03;
  const double least = std::log(low), most = std::log(std::max(high, kLeast * low)), room = kRoom * (most - least);
  return {least - room, most + room, from, to};
}

/// At their logarithms, as far apart as their labels need.
std::vector<Tick> ticks_of(const Scale& x) {
  constexpr double kApart = 44;  // pixels
  std::vector<Tick> ticks;
  for (double power = std::floor(x.low / std::log(10)); power <= x.high / std::log(10); ++power)
    for (const double digit : {1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0}) {
      const double value = digit * std::pow(10, power), at = std::log(value);
      const bool near = !ticks.empty() && x.at(at) - x.at(ticks.back().value) < kApart;
      if (at >= x.low && at <= x.high && !near) ticks.push_back({at, fmt::format("{:.3g}x", value)});
    }
  return ticks;
}

/// `names`: pixels for what stands left of the bar or, where that has no room, `above` it.
struct RowLayout {
  double names = 0;
  bool above = false;
};

/// A row's texts in lines.
struct RowLines {
  std::vector<std::string> name, detail;
  double bar = 0;  ///< pixels from the top of the row
  double height() const { return kRow + bar; }
};
RowLines lines_of(const Row& row, const RowLayout& layout) {
  RowLines lines{lines_in_pixels(row.name, layout.names, 12, true), lines_in_pixels(row.detail, layout.names, kSmall)};
  const double texts = 15 * static_cast<double>(lines.name.size() + lines.detail.size());
  lines.bar = layout.above ? texts + 4 : 0;
  return lines;
}

void draw_row(Svg& svg, const Row& row, const RowLines& lines, const Scale& x, double top) {
  const double y = svg.lines(kPlotMargin, top + 12, lines.name, {.bold = true, .halo = true});
  svg.lines(kPlotMargin, y, lines.detail, {.size = kSmall, .colour = svg.ground().dim, .halo = true});
  top += lines.bar;
  const double after = x.at(std::log(row.after));
  if (row.times.empty()) {
    svg.line(after, top, after, top + kBar, {svg.ground().ink, 1.5});
  } else {
    const double left = x.at(std::log(std::min(row.before, row.after)));
    const double right = x.at(std::log(std::max(row.before, row.after)));
    constexpr double kThin = 1;
    const Box box{left, top, std::max(kThin, right - left), kBar};
    const Fill fill = row.after >= row.before ? kGain : kLoss;
    svg.rect(box, svg.paint(fill), {svg.ground().paper, 0.8});
    const double wide = text_width(row.times, kSmall) + 6;
    if (label_fits(row.times, box.width, kSmall))
      draw_label(svg, box, fill, row.times, kSmall);
    else if (right + wide <= x.to)
      svg.text(right + 4, top + kBar / 2 + 4, row.times, {.size = kSmall, .halo = true});
    else
      svg.text(left - 4, top + kBar / 2 + 4, row.times, {.size = kSmall, .anchor = Anchor::kEnd, .halo = true});
  }
  if (row.limit)
    svg.line(x.at(std::log(*row.limit)), top - 4, x.at(std::log(*row.limit)), top + kBar + 4, {svg.ground().ink, 2.5});
  svg.text(x.to + kGap, top + kBar / 2 + 4, cut_to_pixels(row.speedup, svg.width() - kPlotMargin - x.to - kGap, 11),
           {.size = 11});
}

std::vector<LegendEntry> legend_of(const std::vector<Row>& rows) {
  std::vector<LegendEntry> legend = {{"a change that gains", kGain, LegendEntry::Shape::kBox}};
  const auto any = [&](auto&& holds) { return std::any_of(rows.begin(), rows.end(), holds); };
  if (any([](const Row& row) { return row.after < row.before; }))
    legend.push_back({"a change that loses", kLoss, LegendEntry::Shape::kBox});
  if (any([](const Row& row) { return row.limit.has_value(); }))
    legend.push_back({"its bound at the same batch, over serial ZeRO-1", {}, LegendEntry::Shape::kLine});
  return legend;
}

}  // namespace

std::string ladder_svg(const PlotHeading& heading, const Ladder& ladder, const PlotStyle& style) {
  Svg svg(style.theme, style.width, heading.title);
  const std::vector<Row> rows = rows_of(ladder);
  const double top = draw_legend(svg, legend_of(rows), draw_heading(svg, titled(heading, style))) + 8;
  double names = 0, speedups = 0;
  for (const Row& row : rows) {
    names = std::max({names, text_width(row.name, 12, true), text_width(row.detail, kSmall)});
    speedups = std::max(speedups, text_width(row.speedup, 11));
  }
  constexpr double kMostNames = 0.36;
  RowLayout layout{names, names > kMostNames * style.width};
  if (layout.above) layout.names = style.width - 2 * kPlotMargin;
  const Scale x =
      scale_of(rows, kPlotMargin + (layout.above ? 0 : names) + kGap, style.width - kPlotMargin - speedups - kGap - 1);
  std::vector<RowLines> lines;
  double bottom = top;
  for (const Row& row : rows) bottom += lines.emplace_back(lines_of(row, layout)).height();
  const double end = draw_columns(svg, ticks_of(x), x, top, bottom,
                                  fmt::format("speedup over {} {} (logarithmic)", ladder.from,
                                              known_at_same_batch(ladder) ? "at the same batch" : "per token"));
  double y = top + 14;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    draw_row(svg, rows[i], lines[i], x, y);
    y += lines[i].height();
    // To where the next change begins.
    const double after = x.at(std::log(rows[i].after));
    if (i + 1 < rows.size())
      svg.line(after, y - kRow + kBar, after, y + lines[i + 1].bar, {svg.ground().dim, 0.8, "2 2"});
  }
  return svg.take(end);
}

}  // namespace accosim
