// Plays an event graph: owns time, decides what is ready, repeats loops, lets the ranks of a collective meet, and
// reports what happened as spans.
#pragma once

#include <cstdint>
#include <functional>

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

/// How flows share links.
enum class Sharing : std::uint8_t {
  kNone,      ///< never: all networks agree
  kEvenly,    ///< with flows alike alone, which begin and end together: each always has an equal part
  kUnevenly,  ///< two of one collective, those of two groups, or those of a group that has collectives on several lanes
};
Sharing sharing_of(const EventGraph& graph);

/// Lets who listens to a play decide how long it is.
struct GoingOn {
  std::function<bool()> done;  ///< nothing more is wanted; asked between two moments
  /// Makes the programs of the graph that is played longer, by whole updates: the ops, waits and loops that they have
  /// stay as they are, and stay where they are in memory.
  std::function<void()> write_more;
};

/// Plays `graph` on a network. SimGrid is asked only where links are shared. It runs in a child process (it allows
/// one simulation a process), and the spans come back from there. `sink` may be empty. Throws std::logic_error as
/// check_graph(), or when ranks wait for each other for ever.
///
/// With `go_on` a lane that has come to its end goes on with what is then written, and the play ends when nothing more
/// is wanted. Where the play is in a child, so is that graph: the caller's has to be written on by the caller.
Played play(const EventGraph& graph, NetworkKind network, const SpanSink& sink, const GoingOn* go_on = nullptr);

}  // namespace accosim
