// The flat buffers of a rank on a device: the parameters, a sum of gradients, what is on the network.
#pragma once

#include <cstddef>
#include <cstdint>

#include "calibration/device/device.hpp"
#include "calibration/ranks/transport.hpp"

namespace accocal {

/// The elements that each rank owns: equal slices, rounded up to whole memory lines so that wide loads and NCCL's fast
/// paths handle all of them; so they are longer than shard_of()'s. The last slices hold fewer elements, or none.
struct Slices {
  std::size_t count = 0, slice = 0;

  Slices(std::size_t elements, int ranks) : count(elements) {
    const auto n = static_cast<std::size_t>(ranks);
    slice = ((count + n - 1) / n + kLine - 1) / kLine * kLine;
  }
  Shard of(int rank) const {
    const std::size_t begin = slice * static_cast<std::size_t>(rank);
    return {begin < count ? begin : count, begin + slice < count ? begin + slice : count};
  }
  static constexpr std::size_t kLine = 64;
};

/// `size()` elements, and zeros up to `padded()`, of which every rank has an equal slice. Copies and zeros are given to
/// the compute stream, which outlives this.
template <typename Real>
class DeviceValues {
 public:
  DeviceValues(std::size_t size, int ranks, Stream& compute)
      : size_(size),
        padded_(Slices(size, ranks).slice * static_cast<std::size_t>(ranks)),
        memory_(padded_ * sizeof(Real)),
        compute_(&compute) {
    set_zero();
  }

  std::size_t size() const { return size_; }
  Real* data() const { return memory_.as<Real>(); }
  Buffer buffer() const { return buffer_of(std::span(data(), size_)); }
  Buffer padded() const { return buffer_of(std::span(data(), padded_)); }

  void set_zero() { compute_->set_zero(memory_.data(), memory_.size()); }
  /// Of the same size.
  void copy_from(const DeviceValues& other) { compute_->copy_on_device(data(), other.data(), memory_.size()); }

 private:
  std::size_t size_, padded_;
  DeviceMemory memory_;
  Stream* compute_;
};

/// A sum of gradients, how many micro-batches are in it, which the host knows, and their losses' sum on the device.
template <typename Real>
class DeviceSum {
 public:
  DeviceSum(std::size_t size, int ranks, Stream& compute)
      : values(size, ranks, compute), loss_(sizeof(float)), compute_(&compute) {
    compute.set_zero(loss_.data(), loss_.size());
  }

  DeviceValues<Real> values;
  std::int64_t count = 0;
  float* loss() const { return loss_.as<float>(); }

  void copy_from(const DeviceSum& other) {
    values.copy_from(other.values);
    count = other.count;
    compute_->copy_on_device(loss(), other.loss(), sizeof(float));
  }
  void set_zero() {
    values.set_zero();
    count = 0;
    compute_->set_zero(loss_.data(), loss_.size());
  }

 private:
  DeviceMemory loss_;
  Stream* compute_;
};

}  // namespace accocal
