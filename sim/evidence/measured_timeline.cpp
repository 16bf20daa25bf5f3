#include "sim/evidence/measured_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "models/recorded/recorded_trace.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"

namespace accosim {
namespace {

OpClass class_of(const std::string& measured) {
  if (measured == "micro-batch") return OpClass::kForward;
  switch (use_of_measured(measured)) {
    case RecordedUse::kComputation: return OpClass::kOptimizer;
    case RecordedUse::kCopy: return OpClass::kCopy;
    default: return OpClass::kCommunication;
  }
}

/// Spans and marks from `from` to `to`, moved so that `from` is 0.
void cut(Timeline& timeline, Seconds from, Seconds to, bool under_way) {
  std::vector<Span>& spans = timeline.spans;
  const auto outside = [&](const Span& span) {
    return (under_way ? span.end <= from : span.begin < from) || to <= span.begin;
  };
  std::erase_if(spans, outside);
  for (Span& span : spans) {
    span.begin -= from;
    span.end -= from;
    span.arrived = std::max(Seconds{0}, span.arrived - from);
  }
  auto& marks = timeline.marks;
  const auto elsewhere = [&](const auto& mark) { return mark.second < from || to < mark.second; };
  std::erase_if(marks, elsewhere);
  for (auto& mark : marks) mark.second -= from;
  std::ranges::stable_sort(spans, {}, &Span::end);
}

}  // namespace

std::string measured_name(const std::string& name) {
  static const std::map<std::string, std::string> kNames = {{"forward", "micro-batch"},
                                                            {"backward", "micro-batch"},
                                                            {"all-reduce of counts", "count"},
                                                            {"all-reduce of changes", "all-reduce"},
                                                            {"changes to buffer", "outer optimizer"},
                                                            {"prediction", "optimizer"},
                                                            {"clone optimizer states", "save state"},
                                                            {"restore optimizer states", "restore state"},
                                                            {"swap buffers", "swap"},
                                                            {"swap and clear buffers", "swap"}};
  const auto known = kNames.find(name);
  return known == kNames.end() ? name : known->second;
}

Timeline measured_timeline(const MeasuredRun& run, int first, int count) {
  Timeline timeline;
  Program program{.lane_names = {"compute", "communication"}};
  program.lanes.resize(2);
  timeline.graph.programs.push_back(program);
  timeline.graph.ranks.assign(static_cast<std::size_t>(run.ranks), Rank{});
  std::map<std::string, std::uint16_t> labels;
  for (const MeasuredSpan& one : run.spans) {
    if (one.rank < 0 || one.rank >= run.ranks) continue;
    const auto [label, is_new] = labels.emplace(one.label, static_cast<std::uint16_t>(labels.size()));
    if (is_new) timeline.graph.labels.push_back({one.label, class_of(one.label)});
    Span span{.rank = one.rank, .lane = std::uint16_t{one.communication}, .label = label->second};
    span.arrived = span.begin = one.begin;
    span.end = one.end;
    timeline.spans.push_back(span);
  }
  Seconds from, to;
  for (int i = 0; i < static_cast<int>(run.updates.size()) && i < first + count; ++i) {
    to += run.updates[i].duration;
    if (i < first) from = to;
  }
  cut(timeline, from, to, false);
  return timeline;
}

int updates_for(const TimelineWindow& window, int updates_per_mark) {
  return std::max(4, (window.first + window.count + updates_per_mark - 1) / updates_per_mark + 1);
}

Timeline played_timeline(EventGraph graph, const TimelineWindow& window, NetworkKind network) {
  Timeline timeline{.graph = std::move(graph)};
  const int each = timeline.graph.updates_per_mark;
  Seconds from, to;
  int updates = 0;
  play(timeline.graph, network, [&](const Span& span) {
    const Label& label = timeline.graph.labels[span.label];
    if (label.mark != Mark::kNone) {
      if (span.rank != 0) return;
      timeline.marks.emplace_back(label.mark, span.end);
      if (label.mark != Mark::kUpdate) return;
      updates += each;
      if (updates <= window.first) from = span.end;
      if (updates < window.first + window.count + each) to = span.end;
      return;
    }
    if (!window.ranks.empty() && !window.ranks[span.rank]) return;
    if (span.repeat > window.most_spans - static_cast<std::int64_t>(timeline.spans.size())) {
      timeline.left_out += span.repeat;
      return;
    }
    for (std::int64_t i = 0; i < span.repeat; ++i) {
      Span one = span;
      one.repeat = 1;
      one.arrived = i == 0 ? span.arrived : span.begin + static_cast<double>(i) * span.period;
      one.begin = span.begin + static_cast<double>(i) * span.period;
      one.end = span.end + static_cast<double>(i) * span.period;
      timeline.spans.push_back(one);
    }
  });
  cut(timeline, from, to, window.under_way);
  return timeline;
}

Timeline predicted_timeline(const Scenario& scenario, const ScheduleSpec& spec, int first, int count,
                            NetworkKind network) {
  const TimelineWindow window{.first = first, .count = count};
  const int each = updates_per_mark(spec);
  Timeline timeline = played_timeline(graph_for_trace(scenario, spec, updates_for(window, each)), window, network);
  if (timeline.left_out > 0)
    throw std::range_error(
        fmt::format("the predicted updates hold more than {} parts, which nobody can look at", window.most_spans));
  return timeline;
}

std::vector<TimelinePart> compare_parts(const Timeline& measured, const Timeline& predicted) {
  std::vector<TimelinePart> parts;
  const auto part = [&](const std::string& name) -> TimelinePart& {
    const auto known = std::ranges::find_if(parts, [&](const auto& each) { return each.name == name; });
    if (known != parts.end()) return *known;
    parts.push_back({name, 0, 0, {}, {}});
    return parts.back();
  };
  for (const Span& span : measured.spans) {
    TimelinePart& one = part(measured.graph.labels[span.label].name);
    one.measured += span.end - span.begin;
    ++one.measured_count;
  }
  for (const Span& span : predicted.spans) {
    const Label& label = predicted.graph.labels[span.label];
    TimelinePart& one = part(measured_name(label.name));
    one.predicted += span.end - (label.cls == OpClass::kCommunication ? span.arrived : span.begin);
    if (label.name != "forward") ++one.predicted_count;  // a micro-batch is forward and backward
  }
  for (TimelinePart& one : parts) {
    if (one.measured_count > 0) one.measured = 1.0 / one.measured_count * one.measured;
    if (one.predicted_count > 0) one.predicted = 1.0 / one.predicted_count * one.predicted;
  }
  return parts;
}

}  // namespace accosim
