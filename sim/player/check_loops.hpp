// What of a graph's loops would make it unplayable. Used by check_graph() alone.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/graph/graph.hpp"

namespace accosim {

template <typename... Args>
void require(bool good, fmt::format_string<Args...> what, Args&&... args) {
  if (!good) throw std::logic_error("event graph: " + fmt::format(what, std::forward<Args>(args)...));
}

inline bool has_op(const Program& program, OpRef ref) {
  return ref.lane >= 0 && ref.lane < static_cast<int>(program.lanes.size()) && ref.index >= 0 &&
         ref.index < static_cast<int>(program.lanes[ref.lane].size());
}

/// By loop of program `p`: whether some rank asks it whether its awaited op has ended. Members of a group whose first
/// one decides do not.
std::vector<bool> loops_asked_by(const EventGraph& graph, std::size_t p);

/// All below throw std::logic_error.
void check_loops(const Program& program, std::size_t p, const std::vector<bool>& asks);

/// By lane and op, -1 for none. Precondition of all that use it: check_loops().
struct LoopsAround {
  std::vector<std::vector<int>> innermost;
  std::vector<std::vector<int>> running_on;  ///< the one whose lanes run on
};
LoopsAround loops_around(const Program& program);

/// Of op `here` for an op that is there.
void check_wait(const Program& program, const LoopsAround& around, OpRef here, OpRef wait);

/// Goes through the program as a player would that repeats every body once and waits for the awaited op at its end:
/// whatever then stands still waits for itself. Collectives are taken as met, and the rounds before as over.
void check_can_end(const Program& program, std::size_t p, const std::vector<bool>& asks);

/// That all members of a group whose first one decides go through loops of equal looks. Precondition: the ranks' groups
/// are there.
void check_deciders(const EventGraph& graph);

}  // namespace accosim
