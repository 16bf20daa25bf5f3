// Plays every message of a collective: threads handle slices, the host's threads post them, wires carry one message at
// a time in the order of arrival, and slots bound what is under way.
#pragma once

#include <cstdint>

#include "sim/messages/expand.hpp"

namespace accosim {

struct MessagesPlayed {
  Seconds end;                ///< when the last rank has all that it needs
  std::int64_t messages = 0;  ///< sent, inside nodes and between them
};

/// All ranks start at 0. An operation of a worker begins when its slice has come from everyone that it receives from,
/// when everyone that it sends to has a free slot, and when its thread has ended the one before; it lasts slice / inner
/// where it sends, and a hop more for a chunk's first slice where it sends inside the node. A message to another node
/// is then posted (`post`, one at a time for each adapter), waits for the wire, takes flags x slice / rate on it, and
/// arrives `latency` later. Throws std::logic_error where the graph cannot end.
MessagesPlayed play(const MessageGraph& graph);

}  // namespace accosim
