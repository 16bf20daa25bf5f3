// Where the time of an update goes, a bar a schedule.
#pragma once

#include <string>
#include <vector>

#include "reports/plot/plot.hpp"
#include "sim/explain/breakdown.hpp"

namespace accosim {

std::string breakdown_svg(const PlotHeading& heading, const std::vector<UpdateBreakdown>& breakdowns,
                          const PlotStyle& style);

}  // namespace accosim
