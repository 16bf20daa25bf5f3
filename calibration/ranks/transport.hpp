// What the ranks of a training step say to each other: the collectives that its schedules need, blocking, in place, on
// flat buffers. One implementation between processes, over sockets (the ring whose time the simulator prices), one
// between threads of a process, for learning curves and to check the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "calibration/base/names.hpp"
#include "models/base/units.hpp"

namespace accocal {

/// Storage of a number in 16 bits: the upper half of a float.
struct Bf16 {
  std::uint16_t bits = 0;
};

enum class ElementType : std::uint8_t { kFloat32, kFloat64, kBf16, kInt64 };

/// A flat buffer of any element type.
struct Buffer {
  void* data = nullptr;
  std::size_t count = 0;  ///< elements
  ElementType type = ElementType::kFloat32;
};

inline Buffer buffer_of(std::span<float> data) { return {data.data(), data.size(), ElementType::kFloat32}; }
inline Buffer buffer_of(std::span<double> data) { return {data.data(), data.size(), ElementType::kFloat64}; }
inline Buffer buffer_of(std::span<Bf16> data) { return {data.data(), data.size(), ElementType::kBf16}; }
inline Buffer buffer_of(std::span<std::int64_t> data) { return {data.data(), data.size(), ElementType::kInt64}; }

/// Elements [begin, end) of a flat buffer, those that one rank owns.
struct Shard {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
};

/// Slices of ceil(count / ranks) elements; the last ones are shorter, or empty.
constexpr Shard shard_of(std::size_t count, int rank, int ranks) {
  const std::size_t slice = (count + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
  const std::size_t begin = slice * static_cast<std::size_t>(rank);
  return {begin < count ? begin : count, begin + slice < count ? begin + slice : count};
}

/// Another rank is gone, or the network is: which and how, in words for the user.
class TransportError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One rank's end. Every rank calls the same functions in the same order with buffers of equal count and type; one
/// thread at a time. All throw TransportError within seconds when a rank dies. Sums are over ranks; in bf16 each
/// addition rounds to nearest even, as NCCL's do.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// How long an operation in which nothing moves is waited for.
  virtual Seconds timeout() const { return Seconds{60}; }
  virtual void all_reduce(Buffer data) = 0;
  /// The rank's own shard becomes the sum; the rest of the buffer is left in no defined state.
  virtual void reduce_scatter(Buffer data) = 0;
  /// Every rank's own shard goes to all.
  virtual void all_gather(Buffer data) = 0;
  virtual void broadcast(Buffer data, int root) = 0;
  /// What rank `from` has goes to the rank after it; what any other's buffer then holds is not said. Ranks that neither
  /// send nor receive need not wait.
  virtual void pass(Buffer data, int from) { broadcast(data, from); }
  virtual void barrier() = 0;
};

}  // namespace accocal
