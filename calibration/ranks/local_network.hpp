// The network that ranks on one machine talk over: loopback as it is, loopback with a pace, or one of its own with a
// rate a rank, in namespaces that nothing outside can see.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/ranks/seat.hpp"
#include "models/base/descriptor.hpp"
#include "models/base/units.hpp"

namespace accocal {

enum class NetworkKind : std::uint8_t {
  kLoopback,    ///< 127.0.0.1, as fast as the machine copies
  kPaced,       ///< 127.0.0.1, each rank's payload paced by the kernel's TCP
  kNamespaces,  ///< a network namespace a rank, on a bridge; each rank's frames shaped on their way out
};

struct NetworkSpec {
  NetworkKind kind = NetworkKind::kLoopback;
  /// What each rank may send, one a rank; empty for kLoopback. Of kPaced it counts payload, of kNamespaces whole
  /// Ethernet frames, of which payload_share() is payload.
  std::vector<BytesPerSecond> rates;
};

/// Share of a shaped rate that is payload, where every rank sends as much as it receives: of a packet of k segments
/// 1448 k bytes arrive of 1514 k sent, and its acknowledgement, 66 bytes, leaves through the receiver's shaper, which
/// is as busy with its own packets. k is what fits into bucket_for(rate).max_packet: 44 at 1 Gbit/s (0.9554), 2 below
/// 24 Mbit/s (0.936).
double payload_share(BytesPerSecond rate);

/// "loopback", "paced:RATE" or "netns:RATE" for all ranks, and "RANK=RATE" for single ones. Throws BadInput.
NetworkSpec parse_network(const std::string& network, const std::vector<std::string>& single_rates, int ranks);

/// Payload bytes that a rank can send a second; infinite for kLoopback.
BytesPerSecond payload_rate(const NetworkSpec& network, int rank);

/// One rank's end of a network that stands.
struct RankPlace {
  Descriptor net;       ///< its network namespace; none: the caller's
  Descriptor listener;  ///< listening socket in it
  Address address;      ///< of the listener
  BytesPerSecond pacing{};
};

/// A network that stands as long as this object, or as long as a process is in it. Nothing of it is in the file system
/// or in the caller's own network namespace, so it goes with the last process that knows it, however that one ends.
struct Network {
  Descriptor user;    ///< user namespace that owns the others; none: the caller's
  Descriptor bridge;  ///< network namespace of the bridge; none for loopback
  std::vector<RankPlace> places;
};

/// Throws BadEnvironment, with what to use instead.
Network make_network(const NetworkSpec& network, int ranks);

/// Moves the calling process, which must have one thread only, into a rank's namespaces. Throws BadEnvironment.
void enter(const Network& network, int rank);

}  // namespace accocal

template <>
inline constexpr const char* accosim::kNames<accocal::NetworkKind>[] = {"loopback", "paced", "netns"};
