// The pipeline as a picture: schedules one above the other, a row a stage, passes with the numbers of their
// micro-batches. Where an update has too many of them to be told apart, its begin and its end stand below it, larger.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/draw/axes.hpp"
#include "reports/plot/pictures.hpp"
#include "reports/plot/timeline_svg.hpp"

namespace accosim {
namespace {

constexpr double kNameRoom = 64;  // pixels for the names of stages
constexpr double kRow = 17, kRowGap = 3, kScheduleLine = 24, kPanelLine = 16, kAxis = 46, kScheduleGap = 10;
constexpr double kSmall = 10.5, kNumber = 9;
constexpr double kTellApart = 8, kLarge = 20;  // pixels of a mean forward pass: enough, and where it is drawn larger

/// A part of the update that is drawn on an axis of its own.
struct Panel {
  std::string name;  // empty: all of it
  double from = 0, to = 0;
};

double mean_forward(const PipelineChart& chart) {
  double sum = 0, count = 0;
  for (const PipelineRow& row : chart.rows)
    for (const PipelinePass& pass : row.passes)
      if (pass.forward) {
        sum += pass.end - pass.begin;
        ++count;
      }
  return count > 0 ? sum / count : 0;
}

/// `longest`: of all charts.
std::vector<Panel> panels_of(const PipelineChart& chart, double longest, double room) {
  std::vector<Panel> panels = {{"", 0, longest}};
  const double forward = mean_forward(chart), length = chart.length.value;
  if (forward <= 0 || forward / longest * room >= kTellApart) return panels;
  const double part = std::min(length / 2, room / kLarge * forward);
  panels.push_back({"its begin", 0, part});
  panels.push_back({"its end", length - part, length});
  return panels;
}

/// Later chunks are lighter.
double opacity_of(const PipelineChart& chart, int chunk) {
  constexpr double kLightest = 0.4;
  const int last = chart.parallel.chunks - 1;
  return last == 0 ? 1 : 1 - (1 - kLightest) * chunk / last;
}

constexpr Fill fill_of(const PipelinePass& pass) {
  return accosim::fill_of(pass.forward ? Activity::kForward : Activity::kBackward);
}

class RowDrawer {
 public:
  RowDrawer(Svg& svg, const PipelineChart& chart, const Scale& x, double top)
      : svg_(svg), chart_(chart), x_(x), top_(top) {}

  void draw(const PipelineRow& row) {
    // What is done or sent beside passes lies below them, so that only what they leave bare is seen.
    for (const bool sent : {true, false}) draw_others(row, sent);
    draw_passes(row);
    for (const PipelinePass& pass : row.passes) draw_number(pass);
  }

 private:
  bool is_shown(double begin, double end) const { return end > x_.low && begin < x_.high; }
  Box box_of(double begin, double end) const {
    constexpr double kShown = 0.6;  // pixels
    const double left = x_.at(std::max(begin, x_.low)), right = x_.at(std::min(end, x_.high));
    return {left, top_, std::max(kShown, right - left), kRow};
  }

  void draw_others(const PipelineRow& row, bool sent) {
    std::map<Activity, std::string> shapes;
    for (const TimelineSpan& span : row.others)
      if ((span.activity == Activity::kExposedCommunication) == sent && is_shown(span.begin, span.end))
        shapes[span.activity] += box_shape(box_of(span.begin, span.end));
    for (const auto& [activity, shape] : shapes) svg_.path(shape, svg_.paint(accosim::fill_of(activity)));
  }

  /// Those that are too narrow to be seen are one with their neighbours.
  void draw_passes(const PipelineRow& row) {
    const double pixel = (x_.high - x_.low) / (x_.to - x_.from);
    std::vector<TimelineSpan> spans;
    for (const PipelinePass& pass : row.passes)
      if (is_shown(pass.begin, pass.end))
        spans.push_back({pass.forward ? Activity::kForward : Activity::kBackward,
                         static_cast<std::uint16_t>(pass.chunk), pass.begin, pass.end, 1});
    std::map<std::pair<Activity, int>, std::string> narrow, wide;
    constexpr double kEdge = 5;  // pixels
    for (const TimelineSpan& span : aggregated(spans, pixel)) {
      const Box box = box_of(span.begin, span.end);
      (box.width < kEdge ? narrow : wide)[{span.activity, span.label}] += box_shape(box);
    }
    for (const auto* shapes : {&narrow, &wide})
      for (const auto& [of, shape] : *shapes) {
        // Paper below what is light: nothing else is to be seen through it.
        svg_.path(shape, svg_.ground().paper);
        svg_.path(shape, svg_.paint(accosim::fill_of(of.first)),
                  shapes == &wide ? Stroke{svg_.ground().paper, 0.7} : Stroke{}, opacity_of(chart_, of.second));
      }
  }

  void draw_number(const PipelinePass& pass) {
    if (!is_shown(pass.begin, pass.end)) return;
    const std::string number = fmt::format("{}", pass.micro_batch + 1);
    const Box box = box_of(pass.begin, pass.end);
    if (text_width(number, kNumber) + 1 <= box.width)
      draw_text_inside(svg_, box, fill_of(pass), number, kNumber, opacity_of(chart_, pass.chunk));
  }

  Svg& svg_;
  const PipelineChart& chart_;
  const Scale& x_;
  double top_;
};

/// Returns where to go on.
double draw_panel(Svg& svg, const PipelineChart& chart, const Panel& panel, double top) {
  const Scale x{panel.from, panel.to, kPlotMargin + kNameRoom, svg.width() - kPlotMargin - 6};
  double y = top;
  if (!panel.name.empty()) {
    svg.text(kPlotMargin, y + 11, panel.name, {.size = kSmall, .colour = svg.ground().dim});
    y += kPanelLine;
  }
  const double bottom = y + static_cast<double>(chart.rows.size()) * (kRow + kRowGap);
  const TimeUnit unit = time_unit(Seconds{panel.to});
  draw_unit_columns(svg, x, unit.size.value, y, bottom, fmt::format("time ({})", unit.name));
  for (const PipelineRow& row : chart.rows) {
    svg.text(x.from - 8, y + kRow / 2 + 4, fmt::format("stage {}", row.stage),
             {.size = kSmall, .anchor = Anchor::kEnd});
    const double end = std::min(panel.to, chart.length.value);
    svg.rect({x.from, y, x.at(end) - x.from, kRow}, svg.ground().paper, {svg.ground().grid, 0.6});
    RowDrawer(svg, chart, x, y).draw(row);
    y += kRow + kRowGap;
  }
  return bottom + kAxis;
}

std::vector<LegendEntry> legend_of(const std::vector<PipelineChart>& charts) {
  std::array<bool, kActivities> there{};
  for (const PipelineChart& chart : charts)
    for (const PipelineRow& row : chart.rows)
      for (const TimelineSpan& span : row.others) there[static_cast<std::size_t>(span.activity)] = true;
  there[static_cast<std::size_t>(Activity::kForward)] = there[static_cast<std::size_t>(Activity::kBackward)] = true;
  std::vector<LegendEntry> entries;
  for (int i = 0; i < kActivities; ++i) {
    const auto activity = static_cast<Activity>(i);
    if (!there[static_cast<std::size_t>(i)]) continue;
    const bool sent = activity == Activity::kExposedCommunication;
    entries.push_back({sent ? "bare communication, but between stages" : name_of(activity), accosim::fill_of(activity),
                       LegendEntry::Shape::kBox});
  }
  return entries;
}

std::string note_of(const std::vector<PipelineChart>& charts) {
  const bool chunks =
      std::any_of(charts.begin(), charts.end(), [](const PipelineChart& each) { return each.parallel.chunks > 1; });
  return fmt::format("A row a stage, of one replica. Numbers: micro-batches.{} Empty: nothing to compute.",
                     chunks ? " The chunks of a stage: from dark to light." : "");
}

}  // namespace

std::string pipeline_svg(const PlotHeading& heading, const std::vector<PipelineChart>& charts,
                         const std::vector<RunResult>& results, const PlotStyle& style) {
  Svg svg(style.theme, style.width, "Pipeline of " + heading.title);
  const double room = style.width - 2 * kPlotMargin;
  double y = draw_legend(svg, legend_of(charts), draw_heading(svg, heading)) + 2;
  svg.text(kPlotMargin, y + 8, cut_to_pixels(note_of(charts), room, kSmall),
           {.size = kSmall, .colour = svg.ground().dim});
  y += 20;
  double longest = 0;
  for (const PipelineChart& chart : charts) longest = std::max(longest, chart.length.value);
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const PipelineChart& chart = charts[i];
    draw_schedule_heading(svg, chart.label, results[i], y);
    y += kScheduleLine;
    for (const Panel& panel : panels_of(chart, longest, room - kNameRoom)) y = draw_panel(svg, chart, panel, y);
    y += kScheduleGap;
  }
  return svg.take(y);
}

}  // namespace accosim
