// Networks in namespaces: a bridge, a veth pair a rank, a token bucket on each rank's way out.
#pragma once

#include <cstdint>
#include <vector>

#include "calibration/ranks/local_network.hpp"

namespace accocal {

/// A token bucket of tc's, and the largest packet that is handed to it at once.
struct Bucket {
  std::int64_t burst = 0;       ///< bytes; as many can be sent at once after an idle time
  std::int64_t max_packet = 0;  ///< bytes of a GSO packet, which must fit into the bucket with room to spare
};

/// About 1 ms of the rate, at least a few frames, at most what is needed for packets of 64 KB up to 1 Gbit/s.
Bucket bucket_for(BytesPerSecond rate);

/// One namespace a rank, in a user namespace where the caller may not make them itself. Calls `ip` and `tc`.
/// Throws BadEnvironment.
Network make_namespaces(const std::vector<BytesPerSecond>& rates);

/// A listening socket at `host` in the caller's network namespace; throws BadEnvironment.
Descriptor listen_on(std::uint32_t host, Address& address);

}  // namespace accocal
