// The flat buffers of a rank: fp32, or bf16 as the paper stores parameters and gradients. Everything is computed in
// fp32; only what is stored is rounded.
#pragma once

#include <span>
#include <vector>

#include "calibration/ranks/transport.hpp"

namespace accocal {

class FlatBuffer {
 public:
  /// Zeros. `type` is kFloat32 or kBf16.
  FlatBuffer(std::size_t count, ElementType type);

  std::size_t size() const;
  Buffer buffer();
  void set_zero();
  /// Copies a buffer of the same length and type.
  void copy_from(const FlatBuffer& other);

  /// Elements of a shard as fp32: in place where they are stored so, else copied into `scratch`.
  std::span<const float> read(Shard shard, std::vector<float>& scratch) const;
  std::span<const float> read(std::vector<float>& scratch) const { return read({0, size()}, scratch); }
  /// Writes the values, rounded to the stored type.
  void write(Shard shard, std::span<const float> values);
  /// The elements themselves, to add to directly, where they are fp32; empty in bf16.
  std::span<float> floats() { return float_; }
  /// Adds the values; each sum is rounded to the stored type.
  void add(std::span<const float> values);

 private:
  ElementType type_;
  std::vector<float> float_;
  std::vector<Bf16> bf16_;
};

}  // namespace accocal
