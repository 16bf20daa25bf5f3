// Pictures of a sweep: schedules along one axis, and which is the fastest over two.
#pragma once

#include <string>
#include <vector>

#include "reports/plot/plot.hpp"
#include "sim/sweep/summary.hpp"

namespace accosim {

/// The part of a grid that a picture shows: one or two axes, and the others at one value each.
struct Cut {
  std::vector<std::size_t> axes;  ///< of a curve the one across; of a map the one across, then the one upward
  Coordinates at;                 ///< of every axis; what it says of `axes` is not used
};
/// The axes by their pointers or short names; none given: those with the most values. `at` holds "axis=value", for the
/// other axes; one that is not named is at its first value. Throws BadInput, also where the points are no grid.
Cut cut_of(const SweepRows& rows, std::size_t axes, const std::vector<std::string>& named,
           const std::vector<std::string>& at);

/// The speedup over the baseline along an axis that has numbers, with its interval. Throws BadInput.
std::string curve_svg(const SweepRows& rows, const Cut& cut, Score by, const PlotStyle& style);

/// Which schedule is the fastest, a cell a point.
std::string map_svg(const SweepRows& rows, const Cut& cut, const Merit& merit, const PlotStyle& style);

}  // namespace accosim
