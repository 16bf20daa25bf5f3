// Bars of parts that add up, a bar a row: where the time of an update goes, and GPU memory by part.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "models/draw/axes.hpp"
#include "models/spec/parallel_words.hpp"
#include "reports/human.hpp"
#include "reports/plot/pictures.hpp"
#include "reports/plot/timeline_svg.hpp"

namespace accosim {
namespace {

/// Parts of one colour.
struct Use {
  const char* name;
  Fill fill;
};

struct BarPart {
  std::size_t use = 0;  ///< of BarChart::uses
  std::string name;
  double value = 0;
  std::string text;   ///< the value as it is written
  std::string brief;  ///< the same in the unit of the axis, where there is little room; empty: there is none
};

struct Bar {
  std::string name, detail{};  ///< the second in a line below
  std::vector<BarPart> parts{};
  std::string total{};            ///< behind the bar
  double low = 0, high = 0;       ///< interval of the sum
  std::optional<double> limit{};  ///< a line across
};

struct BarChart {
  PlotHeading heading;
  std::vector<Use> uses;
  std::vector<Bar> bars{};
  double unit = 1;     ///< of the axis, in that of the values
  std::string axis{};  ///< "time (s)"
};

constexpr double kBar = 24, kListLine = 14, kSmall = 10.5, kGap = 12;

/// Pixels left and right of the bars or, where these would have too little room, names and totals above them.
struct Columns {
  double names = 0, totals = 0;
  bool above = false;
};

Columns columns_of(const BarChart& chart, double width) {
  Columns columns;
  for (const Bar& bar : chart.bars) {
    columns.names = std::max({columns.names, text_width(bar.name, 12, true), text_width(bar.detail, kSmall)});
    columns.totals = std::max(columns.totals, text_width(bar.total, 11));
  }
  constexpr double kMostNames = 0.24, kLeastBars = 0.45;
  // Names of more than two lines are read better above.
  const bool long_names = columns.names > 2 * kMostNames * width;
  columns.names = std::min(columns.names, kMostNames * width) + kGap;
  columns.totals += kGap + 1;
  const double bars = width - 2 * kPlotMargin - columns.names - columns.totals;
  return long_names || bars < kLeastBars * width ? Columns{0, 0, true} : columns;
}

/// A bar as it is laid out: what does not fit into its parts is listed below, a line an entry.
struct Row {
  std::vector<bool> brief, labelled;  // by part
  std::vector<std::string> names, detail, total, below;
  double above = 0;  ///< pixels that they need above the bar
  double height() const {
    const double listed = std::max(1.0, static_cast<double>(below.size())) * kListLine;
    const double beside = above > 0 ? 0 : static_cast<double>(names.size() + detail.size()) * 15 - kBar;
    return above + kBar + 26 + std::max(listed, beside);
  }
};

Row row_of(const Bar& bar, const Scale& x, const Columns& columns, double width) {
  Row row;
  const double room = width - kPlotMargin - x.from, whole = width - 2 * kPlotMargin;
  const double names = columns.above ? whole : columns.names - 8;
  row.names = lines_in_pixels(bar.name, names, 12, true);
  row.detail = lines_in_pixels(bar.detail, names, kSmall);
  row.total = lines_in_pixels(bar.total, columns.above ? whole : columns.totals - kGap, 11);
  if (columns.above) row.above = static_cast<double>(row.names.size() + row.detail.size() + row.total.size()) * 15 + 6;
  for (const BarPart& part : bar.parts) {
    const double wide = x.at(part.value) - x.at(0);
    const bool fits = label_fits(part.text, wide, kSmall), brief = !fits && label_fits(part.brief, wide, kSmall);
    row.brief.push_back(brief);
    row.labelled.push_back(fits || brief);
    if (fits || brief || part.value <= 0) continue;
    const std::string entry = part.name + " " + part.text;
    if (!row.below.empty() && text_width(row.below.back() + ", " + entry, kSmall) <= room)
      row.below.back() += ", " + entry;
    else
      for (std::string& line : lines_in_pixels(entry, room, kSmall)) row.below.push_back(std::move(line));
  }
  return row;
}

void draw_bar(Svg& svg, const Bar& bar, const std::vector<Use>& uses, const Row& row, const Scale& x, double top) {
  double y = svg.lines(kPlotMargin, top + 12 - (row.above > 0 ? 8 : 0), row.names, {.bold = true});
  y = svg.lines(kPlotMargin, y, row.detail, {.size = kSmall, .colour = svg.ground().dim});
  if (row.above > 0) svg.lines(kPlotMargin, y, row.total, {.size = 11});
  top += row.above;
  double value = 0;
  for (std::size_t i = 0; i < bar.parts.size(); ++i) {
    const BarPart& part = bar.parts[i];
    if (part.value <= 0) continue;
    const Fill fill = uses[part.use].fill;
    const Box box{x.at(value), top, x.at(value + part.value) - x.at(value), kBar};
    svg.rect(box, svg.paint(fill), {fill.hue == Hue::kPaper ? svg.ground().dim : svg.ground().paper, 0.8});
    if (row.labelled[i]) draw_label(svg, box, fill, row.brief[i] ? part.brief : part.text, kSmall);
    value += part.value;
  }
  if (bar.high > bar.low) draw_whisker(svg, x.at(bar.low), x.at(bar.high), top - 6, 3.5);
  if (bar.limit) svg.line(x.at(*bar.limit), top - 4, x.at(*bar.limit), top + kBar + 4, {svg.ground().ink, 2.5});
  if (row.above == 0) svg.lines(x.to + kGap, top + kBar / 2 + 4, row.total, {.size = 11});
  svg.lines(x.from, top + kBar + kListLine, row.below, {.size = kSmall, .colour = svg.ground().dim, .halo = true});
}

/// Of the uses those that a bar has a part of.
std::vector<LegendEntry> legend_of(const BarChart& chart) {
  std::vector<bool> there(chart.uses.size());
  bool limited = false;
  for (const Bar& bar : chart.bars) {
    for (const BarPart& part : bar.parts) there[part.use] = there[part.use] || part.value > 0;
    limited = limited || bar.limit;
  }
  std::vector<LegendEntry> legend;
  for (std::size_t use = 0; use < there.size(); ++use)
    if (there[use]) legend.push_back({chart.uses[use].name, chart.uses[use].fill, LegendEntry::Shape::kBox});
  if (std::ranges::any_of(chart.bars, [](const Bar& bar) { return bar.high > bar.low; }))
    legend.push_back({"80 % interval", {}, LegendEntry::Shape::kWhisker});
  if (limited) legend.push_back({"capacity", {}, LegendEntry::Shape::kLine});
  return legend;
}

/// Parts that are too narrow for their number are listed below their bar.
std::string bar_chart_svg(const BarChart& chart, const PlotStyle& style) {
  Svg svg(style.theme, style.width, chart.heading.title);
  const double top = draw_legend(svg, legend_of(chart), draw_heading(svg, titled(chart.heading, style))) + 8;
  double most = 0;
  for (const Bar& bar : chart.bars) {
    most = std::max({most, sum_of<double>(bar.parts, &BarPart::value), bar.high, bar.limit.value_or(0)});
  }
  const Columns columns = columns_of(chart, style.width);
  const Scale x{0, most > 0 ? most : 1, kPlotMargin + columns.names, style.width - kPlotMargin - columns.totals};
  std::vector<Row> rows;
  double bottom = top;
  for (const Bar& bar : chart.bars) bottom += rows.emplace_back(row_of(bar, x, columns, style.width)).height();
  const double end = draw_unit_columns(svg, x, chart.unit, top, bottom, chart.axis);
  double y = top;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    draw_bar(svg, chart.bars[i], chart.uses, rows[i], x, y + 14);
    y += rows[i].height();
  }
  return svg.take(end);
}

/// In the order of TimeUse, each in the colour that a timeline has for it; a bubble is empty, as in a pipeline's
/// picture.
std::vector<Use> time_uses() {
  constexpr std::array<Fill, kTimeUses> kFills = {fill_of(Activity::kBackward),
                                                  fill_of(Activity::kOptimizer),
                                                  fill_of(Activity::kCopy),
                                                  fill_of(Activity::kHost),
                                                  fill_of(Activity::kExposedCommunication),
                                                  Fill{Hue::kPaper},
                                                  fill_of(Activity::kWaiting),
                                                  fill_of(Activity::kPause)};
  std::vector<Use> uses;
  for (std::size_t i = 0; i < kFills.size(); ++i) uses.push_back({name_of(static_cast<TimeUse>(i)), kFills[i]});
  return uses;
}

bool has_grown(const UpdateBreakdown& breakdown) { return std::abs(breakdown.batch_inflation - 1) > 5e-3; }

/// For as many samples as are asked of an update: else a schedule whose batch grows looks slow.
Bar bar_of(const UpdateBreakdown& breakdown, bool intervals) {
  Bar bar{.name = breakdown.label};
  const double share = has_grown(breakdown) ? 1 / breakdown.batch_inflation : 1;
  if (has_grown(breakdown)) bar.detail = human_factor(breakdown.batch_inflation) + " the batch";
  for (std::size_t use = 0; use < breakdown.parts.size(); ++use) {
    const Seconds time = share * breakdown.parts[use];
    constexpr double kNothing = 1e-6;  // of the update: what rounding leaves
    if (time > kNothing * share * breakdown.update_time)
      bar.parts.push_back({use, name_of(static_cast<TimeUse>(use)), time.value, human_time(time), ""});
  }
  bar.total = human_time(share * breakdown.update_time);
  if (!intervals) return bar;
  bar.total += fmt::format(" ({})", human_range(human_time(share * breakdown.low), human_time(share * breakdown.high)));
  bar.low = share * breakdown.low.value;
  bar.high = share * breakdown.high.value;
  return bar;
}

constexpr std::array<Use, 7> kMemoryUses = {{{"parameters", {Hue::kBlue}},
                                             {"gradients", {Hue::kOrange, Pattern::kDots}},
                                             {"optimizer states", {Hue::kGreen, Pattern::kVertical}},
                                             {"communication buffers", {Hue::kVermillion, Pattern::kRising}},
                                             {"activations", {Hue::kSky}},
                                             {"logits and loss", {Hue::kPurple, Pattern::kHorizontal}},
                                             {"allocator and context", {Hue::kGrey}}}};

std::size_t use_of(MemoryUse part) {
  switch (part) {
    case MemoryUse::kParameters:
    case MemoryUse::kFrozenParameters:
    case MemoryUse::kParameterShard:
    case MemoryUse::kPredictedParameters:
    case MemoryUse::kOlderParameters:
    case MemoryUse::kGatheredParameters: return 0;
    case MemoryUse::kGradients:
    case MemoryUse::kGradientShard:
    case MemoryUse::kPartialGradientShard:
    case MemoryUse::kNarrowGradients:
    case MemoryUse::kFp32GradientShard: return 1;
    case MemoryUse::kOptimizerStates:
    case MemoryUse::kStateClones:
    case MemoryUse::kOuterStates:
    case MemoryUse::kEstimate: return 2;
    case MemoryUse::kGradientBuckets:
    case MemoryUse::kReductionBuffers:
    case MemoryUse::kStageBuffers:
    case MemoryUse::kCommunicationBuffer: return 3;
    case MemoryUse::kActivations: return 4;
    case MemoryUse::kLogitsAndLoss: return 5;
    case MemoryUse::kAllocatorSlack:
    case MemoryUse::kReserved: break;
  }
  return 6;
}

const char* in_words(FitVerdict verdict) {
  return verdict == FitVerdict::kFits ? "fits" : verdict == FitVerdict::kTight ? "tight" : "does not fit";
}

/// In the order of kMemoryUses, so that equal colours stand together.
std::vector<BarPart> parts_of(const MemoryParts& parts, double unit) {
  std::vector<BarPart> result;
  for (std::size_t use = 0; use < kMemoryUses.size(); ++use)
    for (const MemoryPart& part : parts.parts)
      if (use_of(part.use) == use)
        result.push_back({use, name_of(part.use), part.bytes.value, human_memory(part.bytes),
                          fmt::format("{:.{}f}", part.bytes.value / unit, part.bytes.value < 9.95 * unit ? 1 : 0)});
  return result;
}

}  // namespace

std::string breakdown_svg(const PlotHeading& heading, const std::vector<UpdateBreakdown>& breakdowns,
                          const PlotStyle& style) {
  BarChart chart{heading, time_uses()};
  Seconds longest;
  for (const UpdateBreakdown& breakdown : breakdowns) {
    const Bar& bar = chart.bars.emplace_back(bar_of(breakdown, style.intervals));
    longest = std::max({longest, Seconds{bar.high}, has_grown(breakdown) ? Seconds{} : breakdown.update_time});
  }
  const TimeUnit unit = time_unit(longest);
  chart.unit = unit.size.value;
  const bool grown = std::any_of(breakdowns.begin(), breakdowns.end(), has_grown);
  chart.axis = fmt::format("time {}, mean of the ranks ({})",
                           grown ? "for the samples that are asked of an update" : "of an update", unit.name);
  return bar_chart_svg(chart, style);
}

std::string memory_svg(const PlotHeading& heading, const std::vector<MemoryBar>& bars, const PlotStyle& style) {
  BarChart chart{heading, {kMemoryUses.begin(), kMemoryUses.end()}};
  double most = 0;
  for (const MemoryBar& memory : bars) most = std::max({most, memory.high.value, memory.capacity.value});
  constexpr double kGiB = 0x1p30, kMiB = 0x1p20;
  chart.unit = most >= 2 * kGiB ? kGiB : kMiB;
  chart.axis = fmt::format("memory of a GPU ({})", chart.unit == kGiB ? "GiB" : "MiB");
  for (const MemoryBar& memory : bars) {
    Bar bar{.name = memory.label};
    if (!memory.stages.empty()) bar.name += ", " + stages_in_words(memory.stages);
    bar.detail = fmt::format("{} x {}", memory.ranks, memory.device);
    bar.parts = parts_of(memory.parts, chart.unit);
    if (style.intervals) bar.low = memory.low.value, bar.high = memory.high.value;
    bar.limit = memory.capacity.value;
    bar.total = fmt::format("{} of {}: {}", human_memory(memory.parts.total()), human_memory(memory.capacity),
                            in_words(memory.fit.verdict));
    chart.bars.push_back(bar);
  }
  return bar_chart_svg(chart, style);
}

}  // namespace accosim
