// The pipeline as a picture: schedules one above the other, a row a stage, passes with the numbers of their
// micro-batches. Where an update has too many of them to be told apart, the begins and the ends of all stand below it,
// larger.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/draw/axes.hpp"
#include "reports/plot/pictures.hpp"
#include "reports/plot/timeline_svg.hpp"

namespace accosim {
namespace {

constexpr double kNameRoom = 52;  // pixels for the names of stages
constexpr double kRow = 17, kRowGap = 3, kPanelLine = 18, kScheduleGap = 6;
constexpr double kSmall = 10.5, kNumber = 9.4;
constexpr double kTellApart = 8;              // pixels of a mean forward pass that are enough
constexpr double kLarge = 20, kLargest = 32;  // where it is drawn larger, and that for the numbers of narrow ones
constexpr double kLight = 0.45;               // opacity of a forward pass

constexpr std::array<Hue, 6> kHues = {Hue::kBlue, Hue::kOrange, Hue::kGreen, Hue::kPurple, Hue::kSky, Hue::kYellow};

std::string number_of(const PipelinePass& pass) { return fmt::format("{}", pass.micro_batch + 1); }

/// A part of the update that is drawn of all schedules on one axis.
struct Panel {
  std::string name;  // empty: all of it
  double length = 0;
  bool at_end = false;  // it ends where each schedule's update does
};

/// Where the numbers stand: a pass that waits for parameters on its way is in pieces, and has one.
std::vector<PipelinePass> numbered(const PipelineRow& row) {
  std::vector<PipelinePass> whole;
  for (const PipelinePass& pass : row.passes) {
    const bool goes_on = !whole.empty() && whole.back().forward == pass.forward && whole.back().chunk == pass.chunk &&
                         whole.back().micro_batch == pass.micro_batch;
    if (goes_on)
      whole.back().end = pass.end;
    else
      whole.push_back(pass);
  }
  return whole;
}

/// Pixels that a second takes where all numbers have room.
double scale_of_numbers(const PipelineChart& chart) {
  double scale = 0;
  for (const PipelineRow& row : chart.rows)
    for (const PipelinePass& pass : numbered(row))
      scale = std::max(scale, (text_width(number_of(pass), kNumber) + 1) / (pass.end - pass.begin));
  return scale;
}

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

std::vector<Panel> panels_of(const std::vector<PipelineChart>& charts, double room) {
  const double longest = largest<double>(charts, [](const PipelineChart& chart) { return chart.length.value; });
  std::vector<Panel> panels = {{"", longest}};
  double part = longest;
  bool small = false;
  for (const PipelineChart& chart : charts) {
    const double forward = mean_forward(chart);
    if (forward <= 0) continue;
    small = small || forward / longest * room < kTellApart;
    const double numbers = 1.001 * scale_of_numbers(chart), large = kLarge / forward;
    part = std::min(
        {part, chart.length.value / 2, room / (numbers < kLargest / forward ? std::max(large, numbers) : large)});
  }
  if (small) panels.insert(panels.end(), {{"Their begin", part}, {"Their end", part, true}});
  return panels;
}

/// Of many stages the first and last two, and between them those whose passes take another time than the stage
/// before's; then others, evenly spread.
std::vector<PipelineRow> shown_rows(const PipelineChart& chart) {
  constexpr std::size_t kMost = 8;
  const std::vector<PipelineRow>& rows = chart.rows;
  if (rows.size() <= kMost) return rows;
  const auto work = [](const PipelineRow& row) {
    return sum_of<double>(row.passes, [](const PipelinePass& pass) { return pass.end - pass.begin; });
  };
  std::set<std::size_t> shown = {0, 1, rows.size() - 2, rows.size() - 1};
  constexpr double kAnother = 0.01;
  for (std::size_t i = 1; i < rows.size() && shown.size() < kMost; ++i)
    if (std::abs(work(rows[i]) - work(rows[i - 1])) > kAnother * work(rows[i])) shown.insert(i);
  for (std::size_t i = 1; i < kMost && shown.size() < kMost; ++i) shown.insert(i * rows.size() / kMost);
  return mapped<PipelineRow>(shown, [&](const std::size_t i) { return rows[i]; });
}

/// A hue a chunk or, where a stage has only one, a micro-batch; those next to each other differ.
std::size_t colour_of(const PipelineChart& chart, const PipelinePass& pass) {
  return static_cast<std::size_t>(chart.parallel.chunks > 1 ? pass.chunk : pass.micro_batch) % kHues.size();
}

class RowDrawer {
 public:
  RowDrawer(Svg& svg, const PipelineChart& chart, const Scale& x, double top)
      : svg_(svg), chart_(chart), x_(x), top_(top) {}

  void draw(const PipelineRow& row, bool with_numbers) {
    // What is done or sent beside passes lies below them, so that only what they leave bare is seen.
    for (const bool sent : {true, false}) draw_others(row, sent);
    draw_passes(row);
    if (!with_numbers) return;
    for (const PipelinePass& pass : numbered(row)) draw_number(pass);
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
                         static_cast<std::uint16_t>(colour_of(chart_, pass)), pass.begin, pass.end, 1});
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
        svg_.path(shape, svg_.paint({kHues[static_cast<std::size_t>(of.second)]}),
                  shapes == &wide ? Stroke{svg_.ground().paper, 0.7} : Stroke{},
                  of.first == Activity::kForward ? kLight : 1);
      }
  }

  /// One that the panel's edge cuts has it where enough is left.
  void draw_number(const PipelinePass& pass) {
    const Box box = box_of(pass.begin, pass.end);
    if (!is_shown(pass.begin, pass.end) || box.width < text_width(number_of(pass), kNumber) + 1) return;
    draw_text_inside(svg_, box, {kHues[colour_of(chart_, pass)]}, number_of(pass), kNumber, pass.forward ? kLight : 1);
  }

  Svg& svg_;
  const PipelineChart& chart_;
  const Scale& x_;
  double top_;
};

/// Whether the numbers of all passes of a chart have room.
bool has_numbers(const PipelineChart& chart, double pixels_a_second) {
  return scale_of_numbers(chart) <= pixels_a_second;
}

std::string facts_of(const PipelineChart& chart, const RunResult& result) {
  return update_in_words(result) + (chart.bubble ? fmt::format("; bubble {:.1f} %", 100 * *chart.bubble) : "");
}

/// All schedules, one above the other. Returns where to go on.
double draw_panel(Svg& svg, const std::vector<PipelineChart>& charts, const std::vector<RunResult>& results,
                  const Panel& panel, double top) {
  if (!panel.name.empty()) {
    svg.text(kPlotMargin, top + 12, panel.name, {.bold = true});
    top += kPanelLine;
  }
  const double left = kPlotMargin + kNameRoom, right = svg.width() - kPlotMargin - 6;
  const auto facts = [&](std::size_t i) {
    return panel.name.empty() ? facts_of(charts[i], results[i]) : std::string();
  };
  std::vector<std::vector<PipelineRow>> rows;
  double bottom = top;
  for (std::size_t i = 0; i < charts.size(); ++i) {
    rows.push_back(shown_rows(charts[i]));
    bottom = draw_schedule_heading(svg, charts[i].label, facts(i), bottom, false) +
             static_cast<double>(rows.back().size()) * (kRow + kRowGap) + kScheduleGap;
  }
  const TimeUnit unit = time_unit(Seconds{panel.length});
  const Scale axis{panel.at_end ? -panel.length : 0, panel.at_end ? 0 : panel.length, left, right};
  const double end = draw_unit_columns(svg, axis, unit.size.value, top, bottom,
                                       fmt::format("time{} ({})", panel.at_end ? " from the end" : "", unit.name));
  double y = top;
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const PipelineChart& chart = charts[i];
    const double length = chart.length.value, from = panel.at_end ? length - panel.length : 0;
    const Scale x{from, from + panel.length, left, right};
    y = draw_schedule_heading(svg, chart.label, facts(i), y);
    for (const PipelineRow& row : rows[i]) {
      svg.text(left - 8, y + kRow / 2 + 4, fmt::format("stage {}", row.stage),
               {.size = kSmall, .anchor = Anchor::kEnd});
      svg.rect({left, y, x.at(std::min(x.high, length)) - left, kRow}, svg.ground().paper, {svg.ground().grid, 0.6});
      RowDrawer(svg, chart, x, y).draw(row, has_numbers(chart, (right - left) / panel.length));
      y += kRow + kRowGap;
    }
    y += kScheduleGap;
  }
  return end + kScheduleGap;
}

std::vector<LegendEntry> legend_of(const std::vector<PipelineChart>& charts) {
  std::array<bool, kActivities> there{};
  for (const PipelineChart& chart : charts)
    for (const PipelineRow& row : chart.rows)
      for (const TimelineSpan& span : row.others) there[static_cast<std::size_t>(span.activity)] = true;
  std::vector<LegendEntry> entries = {{"forward", {kHues[0]}, LegendEntry::Shape::kBox, kLight},
                                      {"backward", {kHues[0]}}};
  for (int i = 0; i < kActivities; ++i) {
    const auto activity = static_cast<Activity>(i);
    if (!there[static_cast<std::size_t>(i)]) continue;
    const bool sent = activity == Activity::kExposedCommunication;
    entries.push_back(
        {sent ? "exposed collectives" : name_of(activity), accosim::fill_of(activity), LegendEntry::Shape::kBox});
  }
  return entries;
}

std::string note_of(const std::vector<PipelineChart>& charts, double pixels_a_second) {
  bool chunks = false, numbers = false, left_out = false;
  for (const PipelineChart& chart : charts) {
    chunks = chunks || chart.parallel.chunks > 1;
    numbers = numbers || has_numbers(chart, pixels_a_second);
    left_out = left_out || shown_rows(chart).size() < chart.rows.size();
  }
  return fmt::format("A row a stage, of one replica{}. A colour a {}.{} Empty: nothing to compute.",
                     left_out ? ": the first, the last, those that differ and some between" : "",
                     chunks ? "chunk of a stage" : "micro-batch", numbers ? " Numbers: micro-batches." : "");
}

}  // namespace

std::string pipeline_svg(const PlotHeading& heading, const std::vector<PipelineChart>& charts,
                         const std::vector<RunResult>& results, const PlotStyle& style) {
  Svg svg(style.theme, style.width, "Pipeline of " + heading.title);
  const double room = style.width - 2 * kPlotMargin;
  const std::vector<Panel> panels = panels_of(charts, room - kNameRoom - 6);
  double y = draw_legend(svg, legend_of(charts), draw_heading(svg, titled(heading, style))) + 10;
  const double scale = (room - kNameRoom - 6) / panels.back().length;
  y = svg.lines(kPlotMargin, y, lines_in_pixels(note_of(charts, scale), room, kSmall),
                {.size = kSmall, .colour = svg.ground().dim});
  for (const Panel& panel : panels) y = draw_panel(svg, charts, results, panel, y);
  return svg.take(y);
}

}  // namespace accosim
