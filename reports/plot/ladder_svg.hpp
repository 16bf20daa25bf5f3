// The ladder between two schedules as a waterfall: how far each change leads, on a logarithmic axis, where equal
// lengths are equal factors.
#pragma once

#include <string>

#include "reports/plot/plot.hpp"
#include "sim/what_if/ladder.hpp"

namespace accosim {

/// The speedups of shown_speedup(). At the same batch a line marks what the last change can bring at most, where an
/// identity of the schedules says so.
std::string ladder_svg(const PlotHeading& heading, const Ladder& ladder, const PlotStyle& style);

}  // namespace accosim
