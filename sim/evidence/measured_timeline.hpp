// A measured run and the prediction of it as timelines of the same form, each from the same update on, so that they can
// be drawn under each other and compared part by part.
#pragma once

#include <string>
#include <vector>

#include "models/fit/measured_run.hpp"
#include "models/spec/spec.hpp"
#include "models/spec/trace.hpp"
#include "sim/graph/graph.hpp"
#include "sim/network/network.hpp"

namespace accosim {

struct Timeline {
  EventGraph graph;         ///< the trace writer uses its ranks, lanes and labels
  std::vector<Span> spans;  ///< in order of their ends; time 0 is where the first update that is shown begins
};

/// Updates `first` (0 is the first of the run) to first + count - 1. Those of a DiLoCo run are inner ones.
Timeline measured_timeline(const MeasuredRun& run, int first, int count);
/// Throws std::range_error where that would be more parts than can be looked at.
Timeline predicted_timeline(const Scenario& scenario, const ScheduleSpec& spec, int first, int count,
                            NetworkKind network);

/// Mean time of one occurrence of a part on any rank, waiting for others included.
struct TimelinePart {
  std::string name;
  int measured_count = 0, predicted_count = 0;
  Seconds measured, predicted;
};
/// In the order in which the measured run has them; parts under their measured names.
std::vector<TimelinePart> compare_parts(const Timeline& measured, const Timeline& predicted);

}  // namespace accosim
