// The collectives of a training step between GPUs, given to a stream. One implementation by NCCL, one for a rank alone,
// one in tests between threads.
#pragma once

#include <memory>

#include "calibration/device/device.hpp"
#include "calibration/ranks/transport.hpp"

namespace accocal {

/// Every rank gives the same collectives in the same order. Sums; in bf16 each addition rounds.
class DeviceTransport {
 public:
  virtual ~DeviceTransport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// In place, elements of kFloat32, kBf16 or kInt64 on the device.
  virtual void all_reduce(Buffer data, Stream& stream) = 0;
  /// The count divides by size(). The rank's own slice, number rank() of size(), becomes the sum; the rest is in no
  /// defined state.
  virtual void reduce_scatter(Buffer data, Stream& stream) = 0;
  /// The count divides by size(). Every rank's own slice goes to all.
  virtual void all_gather(Buffer data, Stream& stream) = 0;
  /// Throws where a collective that was given to a stream has failed since. Call it after the last one has ended or
  /// been abandoned.
  virtual void check() {}
  /// This rank has failed: gives up the collectives under way, so that the streams come to an end. Nothing may be given
  /// after it.
  virtual void abandon() noexcept {}
};

/// For a rank alone: nothing moves, since everything is in place.
class AloneTransport : public DeviceTransport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce(Buffer, Stream&) override {}
  void reduce_scatter(Buffer, Stream&) override {}
  void all_gather(Buffer, Stream&) override {}
};
inline std::unique_ptr<DeviceTransport> alone_transport() { return std::make_unique<AloneTransport>(); }

/// Over NCCL, by the host's transport for the exchange of identities. Throws DeviceError, and BadInput where NCCL was
/// not built in. Collectives that wait for a dead rank are given up after the timeout of `ranks`.
std::unique_ptr<DeviceTransport> nccl_transport(Transport& ranks);

}  // namespace accocal
