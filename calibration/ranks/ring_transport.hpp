// Collectives over a ring of TCP connections: the algorithm whose time the simulator prices, so that what is measured
// and what is predicted are the same thing.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/ranks/seat.hpp"
#include "calibration/ranks/transport.hpp"
#include "models/base/descriptor.hpp"

namespace accocal {

/// Rank r sends to r + 1 and receives from r - 1, both at once, and forwards what it received as soon as it is added;
/// so a reduce-scatter of B bytes takes (N - 1)/N B / rate and N - 1 latencies, an all-reduce twice that, a broadcast
/// B / rate and N - 1 latencies. The sum of shard s is formed in the ring's order, starting at rank s + 1:
/// ((x[s+1] + x[s+2]) + ...) + x[s]; it is the same on every rank and in every run.
class RingTransport : public Transport {
 public:
  /// Connects to both neighbours: sockets without Nagle's delay, with buffers of 1 MB, reno's congestion control where
  /// the system has it, and the seat's pacing. Throws TransportError where that takes longer than the seat's timeout.
  explicit RingTransport(const Seat& seat);

  int rank() const override { return seat_.rank; }
  int size() const override { return seat_.size; }
  Seconds timeout() const override { return seat_.timeout; }
  void all_reduce(Buffer data) override;
  void reduce_scatter(Buffer data) override;
  void all_gather(Buffer data) override;
  void broadcast(Buffer data, int root) override;
  void pass(Buffer data, int from) override;
  void barrier() override;

 private:
  struct Stream;

  int next() const { return (seat_.rank + 1) % seat_.size; }
  int previous() const { return (seat_.rank + seat_.size - 1) % seat_.size; }
  std::span<std::byte> shard_bytes(Buffer data, int owner) const;
  /// Sends every shard but one, from that `first` places before this rank's own on, each after its predecessor has
  /// come.
  void pass_on(Stream& stream, Buffer data, int first);
  /// Moves everything, both ways.
  void run(Stream& stream);
  bool send_some(Stream& stream);
  bool receive_some(Stream& stream);
  void wait(const Stream& stream);
  [[noreturn]] void lost(const Stream& stream, int neighbour, const std::string& how) const;

  Seat seat_;
  Descriptor to_next_;
  Descriptor from_previous_;
  std::vector<std::byte> arrived_;  ///< received and not yet added
};

}  // namespace accocal
