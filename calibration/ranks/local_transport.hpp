// Ranks as threads of one process: the collectives in shared memory, bit by bit the same every time, so that the
// algorithms can be tested and their convergence compared without a network.
#pragma once

#include <functional>

#include "calibration/ranks/transport.hpp"

namespace accocal {

/// Calls `body` on `ranks` threads, each with its own end; sums are in the order of the ranks. Returns when all have
/// ended. When a body throws, the others' collectives throw TransportError, and the first failure is thrown here.
void run_local_ranks(int ranks, const std::function<void(Transport&)>& body);

}  // namespace accocal
