// GPU memory by part against its capacity, a bar a schedule and kind of rank.
#pragma once

#include <string>
#include <vector>

#include "reports/plot/plot.hpp"
#include "sim/explain/memory_bars.hpp"

namespace accosim {

std::string memory_svg(const PlotHeading& heading, const std::vector<MemoryBar>& bars, const PlotStyle& style);

}  // namespace accosim
