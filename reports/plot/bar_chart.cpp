#include "reports/plot/bar_chart.hpp"

#include <algorithm>

namespace accosim {
namespace {

constexpr double kBar = 24, kListLine = 14, kSmall = 10.5, kGap = 12;

struct Columns {
  double names, totals;  // pixels left and right of the bars
};

Columns columns_of(const BarChart& chart, double width) {
  Columns columns{0, 0};
  for (const Bar& bar : chart.bars) {
    columns.names = std::max({columns.names, text_width(bar.name, 12, true), text_width(bar.detail, kSmall)});
    columns.totals = std::max(columns.totals, text_width(bar.total, 11));
  }
  constexpr double kMostNames = 0.24, kMostTotals = 0.4;  // in a narrow picture the total says more than the bar
  return {std::min(columns.names, kMostNames * width) + kGap, std::min(columns.totals, kMostTotals * width) + kGap + 1};
}

/// A bar as it is laid out: what does not fit into its parts is listed below, a line an entry.
struct Row {
  std::vector<bool> brief, labelled;  // by part
  std::vector<std::string> below;
  double height() const { return kBar + 26 + std::max(1.0, static_cast<double>(below.size())) * kListLine; }
};

Row row_of(const Bar& bar, const Scale& x, double width) {
  Row row;
  const double room = width - kPlotMargin - x.from;
  for (const BarPart& part : bar.parts) {
    const double wide = x.at(part.value) - x.at(0);
    const bool fits = label_fits(part.text, wide, kSmall), brief = !fits && label_fits(part.brief, wide, kSmall);
    row.brief.push_back(brief);
    row.labelled.push_back(fits || brief);
    if (fits || brief || part.value <= 0) continue;
    const std::string entry = part.name + " " + part.text;
    if (row.below.empty() || text_width(row.below.back() + ", " + entry, kSmall) > room)
      row.below.push_back(entry);
    else
      row.below.back() += ", " + entry;
  }
  return row;
}

void draw_bar(Svg& svg, const Bar& bar, const Row& row, const Scale& x, double top) {
  const double names = x.from - kPlotMargin - 8;
  svg.text(kPlotMargin, top + 12, cut_to_pixels(bar.name, names, 12, true), {.bold = true});
  svg.text(kPlotMargin, top + 26, cut_to_pixels(bar.detail, names, kSmall),
           {.size = kSmall, .colour = svg.ground().dim});
  double value = 0;
  for (std::size_t i = 0; i < bar.parts.size(); ++i) {
    const BarPart& part = bar.parts[i];
    if (part.value <= 0) continue;
    const Box box{x.at(value), top, x.at(value + part.value) - x.at(value), kBar};
    svg.rect(box, svg.paint(part.fill), {part.fill.hue == Hue::kPaper ? svg.ground().dim : svg.ground().paper, 0.8});
    if (row.labelled[i]) draw_label(svg, box, part.fill, row.brief[i] ? part.brief : part.text, kSmall);
    value += part.value;
  }
  if (bar.high > bar.low) draw_whisker(svg, x.at(bar.low), x.at(bar.high), top - 6, 3.5);
  if (bar.limit) svg.line(x.at(*bar.limit), top - 4, x.at(*bar.limit), top + kBar + 4, {svg.ground().ink, 2.5});
  const double totals = svg.width() - kPlotMargin - x.to - kGap;
  svg.text(x.to + kGap, top + kBar / 2 + 4, cut_to_pixels(bar.total, totals, 11), {.size = 11});
  for (std::size_t i = 0; i < row.below.size(); ++i)
    svg.text(x.from, top + kBar + kListLine * (static_cast<double>(i) + 1), row.below[i],
             {.size = kSmall, .colour = svg.ground().dim, .halo = true});
}

}  // namespace

std::string bar_chart_svg(const BarChart& chart, const PlotStyle& style) {
  Svg svg(style.theme, style.width, chart.heading.title);
  const double top = draw_legend(svg, chart.legend, draw_heading(svg, chart.heading)) + 8;
  double most = 0;
  for (const Bar& bar : chart.bars) {
    double sum = 0;
    for (const BarPart& part : bar.parts) sum += part.value;
    most = std::max({most, sum, bar.high, bar.limit.value_or(0)});
  }
  const Columns columns = columns_of(chart, style.width);
  const Scale x{0, most > 0 ? most : 1, kPlotMargin + columns.names, style.width - kPlotMargin - columns.totals};
  std::vector<Row> rows;
  double bottom = top;
  for (const Bar& bar : chart.bars) bottom += rows.emplace_back(row_of(bar, x, style.width)).height();
  draw_unit_columns(svg, x, chart.unit, top, bottom, chart.axis);
  double y = top;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    draw_bar(svg, chart.bars[i], rows[i], x, y + 14);
    y += rows[i].height();
  }
  return svg.take(bottom + 46);
}

}  // namespace accosim
