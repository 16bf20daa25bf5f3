// What a rank needs to find the others: made by whoever starts the ranks, taken by the transports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/base/names.hpp"
#include "models/base/units.hpp"

namespace accocal {

/// An IPv4 address and a TCP port, both as a number of the host's byte order.
struct Address {
  std::uint32_t host = 0;
  std::uint16_t port = 0;
};

/// One rank's place among `size`. The listening sockets of all ranks exist before the first rank connects, so there is
/// no port to guess and nothing to retry. The descriptors belong to the caller and outlive the transport.
struct Seat {
  int rank = 0;
  int size = 1;
  int listener = -1;                 ///< this rank's listening socket
  std::vector<Address> addresses{};  ///< of all ranks' listening sockets
  std::uint64_t job = 0;             ///< a random number that keeps strangers out
  /// A socket on which the launcher tells, in words, why the job ends; -1: nobody will. Its end of file means that the
  /// launcher is gone.
  int control = -1;
  Seconds timeout{60};      ///< how long one operation may make no progress
  BytesPerSecond pacing{};  ///< payload that this rank may send; 0: as fast as it goes
};

/// Why the job ends, if the launcher has said so within `patience`; empty otherwise.
std::string said_by_launcher(const Seat& seat, Seconds patience);

}  // namespace accocal
