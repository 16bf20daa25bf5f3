// The programs of a schedule as one looks at them: of each kind of rank and each lane the ops in order, those that
// repeat once. Text and drawing say the same of them.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "reports/table.hpp"
#include "sim/graph/graph.hpp"

namespace accosim {

/// A schedule before anything is played.
struct ScheduleGraph {
  std::string label;
  std::vector<std::string> kinds;      ///< of ranks, by program: "A100-SXM4-80GB"
  EventGraph graph;                    ///< of two updates, every rank by itself
  std::vector<Program> before, first;  ///< of no update and of one: what the graph's programs begin with
};

/// As text for a person who asks why it does what it does: of each kind of rank what precedes all updates, and the
/// second update, lane by lane: the first may lack waits for the one before.
void write_graph(std::ostream& out, const ScheduleGraph& schedule, const ConsoleOptions& options);

/// As a drawing for Graphviz: a box for each lane, and in it one for each body. What is in order on a lane is joined by
/// solid arrows, what waits by dashed ones, a loop to the op that ends it by a dotted one; a collective of several
/// kinds of ranks has a node of its own, where they meet.
void write_dot(std::ostream& out, const std::vector<ScheduleGraph>& schedules);
/// How a file begins that write_dot() wrote.
inline constexpr const char* kDotBegins = "digraph accosim {";

}  // namespace accosim
