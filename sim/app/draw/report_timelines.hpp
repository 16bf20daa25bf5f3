// The timelines of the verb `report`: each schedule played once more, equal ranks once.
#pragma once

#include <vector>

#include "reports/page.hpp"
#include "sim/app/schedules.hpp"
#include "sim/network/network.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

struct TimelineChoice {
  std::vector<int> ranks;  ///< those to draw; empty: some of each kind that differs
  int updates = 2;
};

/// One a result, of steady updates.
std::vector<PageTimeline> page_timelines(const ChosenSchedules& chosen, const std::vector<RunResult>& results,
                                         const TimelineChoice& choice, NetworkKind network);

/// All ranks of a graph of which each stands for itself.
std::vector<PageRow> rows_of_all(const EventGraph& graph);

}  // namespace accosim
