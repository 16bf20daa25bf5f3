// The programs of schedules as a drawing for Graphviz.
#pragma once

#include <iosfwd>
#include <vector>

#include "reports/graph/schedule_graph.hpp"

namespace accosim {

/// How a file begins that write_dot() wrote.
inline constexpr const char* kDotBegins = "digraph accosim {";

/// A box for each lane, and in it one for each body. What is in order on a lane is joined by solid arrows, what waits
/// by dashed ones, a loop to the op that ends it by a dotted one; a collective of several kinds of ranks has a node of
/// its own, where they meet.
void write_dot(std::ostream& out, const std::vector<ScheduleGraph>& schedules);

}  // namespace accosim
