#include "reports/plot/timeline_svg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/human.hpp"

namespace accosim {
namespace {

constexpr double kMostNameRoom = 104;  // pixels for the names of lanes
constexpr double kLane = 18, kLaneGap = 6, kRankLine = 17, kScheduleGap = 14;
constexpr double kSmall = 10.5;

double name_room(double width) { return std::min(kMostNameRoom, 0.28 * width); }

std::vector<std::string> note_of(const Svg& svg, const ScheduleTimeline& timeline) {
  return lines_in_pixels(left_out_in_words(timeline), svg.width() - 2 * kPlotMargin - 8, kSmall);
}

std::vector<LegendEntry> legend_of(const TimelinePicture& picture) {
  const std::array<bool, kActivities> there = activities_in(picture);
  bool rounds = false;
  for (const ScheduleTimeline& timeline : picture.timelines)
    for (const TimelineRank& rank : timeline.ranks) rounds = rounds || !rank.rounds.empty();
  std::vector<LegendEntry> entries;
  using Shape = LegendEntry::Shape;
  for (int i = 0; i < kActivities; ++i)
    if (const auto activity = static_cast<Activity>(i); there[static_cast<std::size_t>(i)])
      entries.push_back({name_of(activity), fill_of(activity), Shape::kBox});
  entries.push_back({"critical path", {}, Shape::kThickLine});
  entries.push_back({mark_in_words(picture), {}, Shape::kLine});
  if (rounds) entries.push_back({"a round ends", {}, Shape::kDashedLine});
  return entries;
}

/// The spans of one lane: a path for each activity, so that many spans make a small file, then the labels.
void draw_spans(Svg& svg, const TimelineLane& lane, const std::vector<std::string>& labels, const Scale& x, double top,
                std::set<std::string>& shortened) {
  constexpr double kLeast = 1, kEdge = 7, kShown = 0.6;  // pixels
  const double pixel = (x.high - x.low) / (x.to - x.from);
  const std::vector<TimelineSpan> spans = aggregated(lane.spans, kLeast * pixel);
  std::array<std::string, kActivities> narrow, wide;
  const auto box_of = [&](const TimelineSpan& span) {
    return Box{x.at(span.begin), top, std::max(kShown, x.at(span.end) - x.at(span.begin)), kLane};
  };
  for (const TimelineSpan& span : spans) {
    const Box box = box_of(span);
    (box.width < kEdge ? narrow : wide)[static_cast<std::size_t>(span.activity)] += box_shape(box);
  }
  for (int i = 0; i < kActivities; ++i) {
    const auto of = static_cast<std::size_t>(i);
    if (narrow[of].empty() && wide[of].empty()) continue;
    const auto activity = static_cast<Activity>(i);
    const std::string paint = svg.paint(fill_of(activity));
    const bool waiting = activity == Activity::kWaiting;
    svg.path(narrow[of], paint);
    svg.path(wide[of], paint, {waiting ? svg.ground().dim : svg.ground().paper, waiting ? 0.5 : 0.7});
  }
  for (const TimelineSpan& span : spans)
    if (span.count == 1)
      draw_label(svg, box_of(span), fill_of(span.activity),
                 label_for(span.activity == Activity::kWaiting ? std::string("waiting") : labels[span.label],
                           box_of(span).width, kSmall, shortened),
                 kSmall);
}

void draw_critical(Svg& svg, const TimelineLane& lane, const Scale& x, double y) {
  const double pixel = (x.high - x.low) / (x.to - x.from);
  std::string shape;
  double from = 0, to = -1;
  const auto flush = [&] {
    if (to > from) shape += fmt::format("M{} {}H{}", pixels(x.at(from)), pixels(y), pixels(x.at(to)));
  };
  for (const auto& [begin, end] : lane.critical) {
    if (to >= from && begin <= to + 0.5 * pixel) {
      to = std::max(to, end);
      continue;
    }
    flush();
    from = begin;
    to = end;
  }
  flush();
  svg.path(shape, "none", {svg.ground().ink, 3});
}

/// Returns where to go on.
double draw_rank(Svg& svg, const TimelineRank& rank, const ScheduleTimeline& timeline, const std::string& name,
                 const Scale& x, double top, std::set<std::string>& shortened) {
  svg.text(kPlotMargin + 8, top + 12, cut_to_pixels(name, svg.width() - 2 * kPlotMargin - 8, kSmall),
           {.size = kSmall, .colour = svg.ground().dim, .halo = true});
  top += kRankLine;
  double y = top;
  for (const TimelineLane& lane : rank.lanes) {
    const double room = x.from - kPlotMargin - 8;
    const std::string lane_name = label_for(lane.name, room + 6, kSmall, shortened);
    svg.text(x.from - 8, y + kLane / 2 + 4, cut_to_pixels(lane_name.empty() ? lane.name : lane_name, room, kSmall),
             {.size = kSmall, .anchor = Anchor::kEnd});
    svg.rect({x.from, y, x.at(timeline.length.value) - x.from, kLane}, "none", {svg.ground().grid, 0.6});
    draw_spans(svg, lane, timeline.labels, x, y, shortened);
    draw_critical(svg, lane, x, y + kLane + 2.5);
    y += kLane + kLaneGap;
  }
  std::string rounds, updates;
  const auto mark = [&](double time, double above) {
    return fmt::format("M{} {}V{}", pixels(x.at(time)), pixels(top - above), pixels(y - 2));
  };
  for (const double time : rank.rounds) rounds += mark(time, 0);
  for (const double time : rank.updates) updates += mark(time, 2);
  svg.path(rounds, "none", {svg.ground().ink, 1.2, "2 2"});
  svg.path(updates, "none", {svg.ground().ink, 1.5});
  return y + 4;
}

/// Returns where to go on.
double draw_schedule(Svg& svg, const ScheduleTimeline& timeline, const RunResult& result, const Scale& x, double top,
                     std::set<std::string>& shortened) {
  double y = draw_schedule_heading(svg, timeline.label, update_in_words(result), top);
  const int ranks = result.rank_count();
  for (const TimelineRank& rank : timeline.ranks)
    y = draw_rank(svg, rank, timeline, rank_in_words(rank, ranks), x, y, shortened);
  y = svg.lines(kPlotMargin + 8, y + 10, note_of(svg, timeline), {.size = kSmall, .colour = svg.ground().dim}) - 10;
  return y + kScheduleGap;
}

/// Where that ends.
double end_of(Svg& svg, const ScheduleTimeline& timeline, const RunResult& result, double top) {
  double y = draw_schedule_heading(svg, timeline.label, update_in_words(result), top, false);
  for (const TimelineRank& rank : timeline.ranks)
    y += kRankLine + static_cast<double>(rank.lanes.size()) * (kLane + kLaneGap) + 4;
  return y + kScheduleGap + 1.25 * kSmall * static_cast<double>(note_of(svg, timeline).size());
}

}  // namespace

std::array<bool, kActivities> activities_in(const TimelinePicture& picture) {
  std::array<bool, kActivities> there{};
  for (const ScheduleTimeline& timeline : picture.timelines)
    for (const TimelineRank& rank : timeline.ranks)
      for (const TimelineLane& lane : rank.lanes)
        for (const TimelineSpan& span : lane.spans) there[static_cast<std::size_t>(span.activity)] = true;
  return there;
}

Seconds longest_in(const TimelinePicture& picture) {
  const Seconds longest = largest<Seconds>(picture.timelines, &ScheduleTimeline::length);
  return longest > Seconds{0} ? longest : Seconds{1};
}

std::string mark_in_words(const TimelinePicture& picture) {
  bool updates = picture.timelines.empty();
  int least = 0, most = 0;
  for (const ScheduleTimeline& timeline : picture.timelines) {
    const int each = timeline.updates_per_mark;
    updates = updates || each == 1;
    if (each == 1) continue;
    least = least == 0 ? each : std::min(least, each);
    most = std::max(most, each);
  }
  if (most == 0) return "an update ends";
  const std::string round = least == most ? fmt::format("a round of {} updates", most)
                                          : fmt::format("a round of {} to {} updates", least, most);
  return updates ? "an update ends, or " + round : round + " ends";
}

std::string rank_in_words(const TimelineRank& rank, int ranks) {
  if (rank.alike == ranks && ranks > 1) return fmt::format("{} ranks, all alike: {}", ranks, rank.device);
  std::string words = fmt::format("rank {}", rank.rank);
  if (rank.alike > 1) words += fmt::format(" (x{} alike)", rank.alike);
  return fmt::format("{}, node {}: {}", words, rank.node, rank.device);
}

std::string update_in_words(const RunResult& result) {
  std::string words = fmt::format("{} an update", human_time(result.update_time));
  constexpr double kSame = 5e-3;
  if (std::abs(result.batch_inflation - 1) > kSame)
    words += fmt::format(", of {} the batch", human_factor(result.batch_inflation));
  if (result.speedup) words += fmt::format("; {} per token", human_factor(*result.speedup));
  return words;
}

double draw_schedule_heading(Svg& svg, const std::string& label, const std::string& facts, double top, bool draw) {
  constexpr double kLine = 22, kNext = 15;
  const double right = svg.width() - kPlotMargin, room = right - kPlotMargin;
  const bool beside = text_width(label, 13, true) + 12 + text_width(facts, 11) <= room;
  const std::vector<std::string> name = lines_in_pixels(label, room, 13, true);
  const std::vector<std::string> below = beside ? std::vector<std::string>() : lines_in_pixels(facts, room, 11);
  const double lines = static_cast<double>(std::max<std::size_t>(1, name.size()) + below.size());
  if (draw) {
    svg.line(kPlotMargin, top, right, top, {svg.ground().grid});
    const double y = svg.lines(kPlotMargin, top + 17, name, {.size = 13, .bold = true});
    svg.lines(kPlotMargin, y, below, {.size = 11});
    if (beside) svg.text(right, top + 17, facts, {.size = 11, .anchor = Anchor::kEnd});
  }
  return top + kLine + kNext * (lines - 1);
}

std::string left_out_in_words(const ScheduleTimeline& timeline) {
  std::string words;
  const auto add = [&](const std::string& sentence) { words += (words.empty() ? "" : " ") + sentence; };
  if (timeline.left_out > 0)
    add(fmt::format("{} more ranks look different; --all-ranks draws them.", timeline.left_out));
  if (timeline.cut)
    add(fmt::format("The steady period is longer: drawn is its end, {}. --updates N draws N updates.",
                    human_time(timeline.length)));
  if (timeline.drawn) add("Micro-batches are drawn: other updates look different.");
  return words;
}

std::string timeline_svg(const TimelinePicture& picture, const PlotStyle& style) {
  Svg svg(style.theme, style.width, "Timeline of " + picture.heading.title);
  const double top = draw_legend(svg, legend_of(picture), draw_heading(svg, titled(picture.heading, style))) + 2;
  const Seconds longest = longest_in(picture);
  double bottom = top;
  for (std::size_t i = 0; i < picture.timelines.size(); ++i)
    bottom = end_of(svg, picture.timelines[i], picture.results[i], bottom);
  const Scale x{0, longest.value, kPlotMargin + name_room(style.width), style.width - kPlotMargin - 6};
  const TimeUnit unit = time_unit(longest);
  const double end = draw_unit_columns(svg, x, unit.size.value, top, bottom, fmt::format("time ({})", unit.name));
  double y = top;
  std::set<std::string> shortened;
  for (std::size_t i = 0; i < picture.timelines.size(); ++i)
    y = draw_schedule(svg, picture.timelines[i], picture.results[i], x, y, shortened);
  if (shortened.empty()) return svg.take(end);
  return svg.take(svg.lines(kPlotMargin, end + 6,
                            lines_in_pixels(shortened_in_words(shortened), style.width - 2 * kPlotMargin, kSmall),
                            {.size = kSmall, .colour = svg.ground().dim}));
}

}  // namespace accosim
