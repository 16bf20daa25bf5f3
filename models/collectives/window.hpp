// What may be under way between two nodes. A sender stops when its receiver's buffers are full and goes on when they
// are empty again, a round trip later: on a wire of some length that, and not its rate, is what a connection carries.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/collectives/ring.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {

/// NCCL's buffers of the Simple protocol, for each channel and connection: the receiver posts them before anything is
/// sent (src/include/device.h, NCCL_BUFFSIZE; src/transport/net.cc).
inline constexpr Bytes kChannelBuffer{4 * 0x1p20};

/// The window of one collective's traffic between two neighbouring nodes of its ring.
struct Window {
  int channels = 1;
  Bytes each;          ///< of one channel; 0: nothing bounds it
  Seconds round_trip;  ///< 0: the wire has no length, and the window never limits

  /// channels x each / round_trip; infinite where nothing limits.
  BytesPerSecond rate() const {
    if (round_trip <= Seconds{0} || each <= Bytes{0}) return BytesPerSecond{std::numeric_limits<double>::infinity()};
    return channels * each / round_trip;
  }

  bool operator==(const Window&) const = default;
};
/// "2 channels x 4 MiB per 60 ms".
std::string in_words(const Window& window);

/// What one channel may have under way: NCCL's buffers (accocal's own rings, of kind "sockets", have none), and over
/// TCP no more than its connections together.
Bytes channel_window(const Nics& nics);

/// Of each of the ring's edges, from a node to the next: the communicator's channels, the smaller window of the two
/// nodes, and twice the wire, as the cluster's file has it. A step's latency (Nics) is not in it: what that costs is in
/// the efficiency, which was measured with it.
std::vector<Window> edge_windows(const Cluster& cluster, const Ring& ring);

/// The smallest rate() of all edges of the ring.
BytesPerSecond slowest_window(const Cluster& cluster, const Ring& ring);

}  // namespace accosim
