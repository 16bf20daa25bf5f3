// The places of inspected machines and the links between them: what is slow stands out.
#pragma once

#include <string>
#include <vector>

#include "reports/plot/plot.hpp"
#include "sim/evidence/inspect.hpp"

namespace accosim {

/// A box a rank or GPU, row by row and every second row backwards, so that each is beside the next; of a ring the links
/// with what they carry. What is slow is filled, and says how many times as slow it is.
std::string nodes_svg(const PlotHeading& heading, const std::vector<InspectedMachine>& machines,
                      const PlotStyle& style);

}  // namespace accosim
