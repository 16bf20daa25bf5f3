// Plays an event graph: owns time, decides what is ready, repeats loops, lets the ranks of a collective meet, and
// reports what happened as spans.
#pragma once

#include <cstdint>

#include "models/spec/trace.hpp"
#include "sim/graph/graph.hpp"
#include "sim/network/network.hpp"

namespace accosim {

struct Played {
  Seconds end;           ///< of the last op
  std::int64_t ops = 0;  ///< executed, loop bodies counted as often as they ran
};

/// Throws std::logic_error where the graph cannot be played: an index out of range, a wait or a loop that can never be
/// satisfied. Called by play().
void check_graph(const EventGraph& graph);

/// Whether two flows can be on one link at the same time: two of one collective, those of two groups, or those of a
/// group that has collectives on several lanes. Where none can, all networks agree.
bool shares_links(const EventGraph& graph);

/// Plays `graph` on a network. SimGrid is asked only where links are shared. It runs in a child process (it allows
/// one simulation a process), and the spans come back over a pipe. `sink` may be empty. Throws std::logic_error as
/// check_graph(), or when ranks wait for each other for ever.
Played play(const EventGraph& graph, NetworkKind network, const SpanSink& sink);

}  // namespace accosim
