// The pictures of a comparison.
#pragma once

#include <string>
#include <vector>

#include "reports/plot/plot.hpp"
#include "sim/explain/breakdown.hpp"
#include "sim/explain/memory_bars.hpp"
#include "sim/explain/pipeline_chart.hpp"
#include "sim/what_if/ladder.hpp"

namespace accosim {

/// Where the time of an update goes, a bar a schedule.
std::string breakdown_svg(const PlotHeading& heading, const std::vector<UpdateBreakdown>& breakdowns,
                          const PlotStyle& style);

/// GPU memory by part against its capacity, a bar a schedule and kind of rank.
std::string memory_svg(const PlotHeading& heading, const std::vector<MemoryBar>& bars, const PlotStyle& style);

/// What the stages of a replica do, of each schedule: a row a stage, with the micro-batches' numbers and chunks shaded.
std::string pipeline_svg(const PlotHeading& heading, const std::vector<PipelineChart>& charts,
                         const std::vector<RunResult>& results, const PlotStyle& style);

/// The ladder between two schedules as a waterfall: how far each change leads, on a logarithmic axis, where equal
/// lengths are equal factors. The speedups of shown_speedup(). At the same batch a line marks what the last change can
/// bring at most, where an identity of the schedules says so.
std::string ladder_svg(const PlotHeading& heading, const Ladder& ladder, const PlotStyle& style);

}  // namespace accosim
