// How the ring's connections come about; apart from what then runs over them.
#pragma once

#include "calibration/base/names.hpp"
#include "calibration/ranks/seat.hpp"
#include "models/base/descriptor.hpp"

namespace accocal {

struct RingLinks {
  Descriptor to_next;
  Descriptor from_previous;
};

/// Non-blocking sockets to both neighbours, without Nagle's delay, with buffers of 1 MB, reno's congestion control
/// where the system has it, and the seat's pacing. At least two ranks. Throws TransportError.
RingLinks connect_ring(const Seat& seat);

}  // namespace accocal
