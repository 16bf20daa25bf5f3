// A measured run and the prediction of it as timelines of the same form, each from the same update on, so that they can
// be drawn under each other and compared part by part.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/recorded/measured_run.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/trace.hpp"
#include "sim/graph/graph.hpp"
#include "sim/network/network.hpp"

namespace accosim {

struct Timeline {
  EventGraph graph;           ///< the trace writer uses its ranks, lanes and labels
  std::vector<Span> spans{};  ///< in order of their ends; time 0 is where the first update that is shown begins
  /// What rank 0 ended in it, rounds and updates, and when. Of predictions.
  std::vector<std::pair<Mark, Seconds>> marks{};
  std::int64_t left_out = 0;  ///< spans beyond the most that were asked for
};

/// A part of a play: updates `first` to first + count - 1.
struct TimelineWindow {
  int first = 0, count = 1;
  std::int64_t most_spans = 2'000'000;  ///< a rank that is a million times faster than its communication has more
  bool under_way = false;               ///< with the spans that are under way when it begins, which begin before 0
  std::vector<bool> ranks{};            ///< of the graph: whose spans are wanted; empty: all
};
/// Plays `graph`, which holds at least that many updates and one more. Repeated spans come one by one.
Timeline played_timeline(EventGraph graph, const TimelineWindow& window, NetworkKind network);
/// Updates that a graph for the window must hold.
int updates_for(const TimelineWindow& window, int updates_per_mark);

/// Updates `first` (0 is the first of the run) to first + count - 1. Those of a DiLoCo run are inner ones.
Timeline measured_timeline(const MeasuredRun& run, int first, int count);
/// Throws std::range_error where that would be more parts than can be looked at.
Timeline predicted_timeline(const Scenario& scenario, const ScheduleSpec& spec, int first, int count,
                            NetworkKind network);

/// What the simulator's ops of that name are called in accocal.
std::string measured_name(const std::string& name);

/// Mean time of one occurrence of a part on any rank, waiting for others included.
struct TimelinePart {
  std::string name;
  int measured_count = 0, predicted_count = 0;
  Seconds measured, predicted;
};
/// In the order in which the measured run has them; parts under their measured names.
std::vector<TimelinePart> compare_parts(const Timeline& measured, const Timeline& predicted);

}  // namespace accosim
