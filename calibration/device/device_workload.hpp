// What a rank on a device computes between communications.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "calibration/device/device.hpp"
#include "calibration/train/training.hpp"

namespace accocal {

/// As Workload. Real is float or Bf16: of parameters and gradients.
template <typename Real>
class DeviceWorkload {
 public:
  virtual ~DeviceWorkload() = default;
  virtual std::size_t parameter_count() const = 0;
  virtual std::vector<Real> initial_parameters() const = 0;
  virtual int samples_per_micro_batch() const = 0;
  virtual int tokens_per_sample() const = 0;
  /// Given to the stream: adds the gradient of the micro-batch's mean loss to `gradient`, and that loss to *loss. All
  /// three are of the device.
  virtual void accumulate(const Real* parameters, std::int64_t micro_batch, Real* gradient, float* loss,
                          Stream& stream) = 0;
  /// Loss on what is held out of training, NaN where nothing is; waits for it. Nothing is accumulated afterwards.
  virtual double held_out_loss(const Real* parameters, Stream& stream) = 0;
  virtual std::int64_t memory() const { return 0; }  ///< bytes of activations and workspaces
};

/// What initial_parameters() of calibration/train/gpt.hpp gives, by all cores: a model for a device has up to a billion
/// of them.
template <typename Real>
std::vector<Real> initial_values(const GptShape& shape, std::uint64_t seed);

/// The GPT on the same micro-batches of text as gpt_workload() has them, or on random tokens.
template <typename Real>
std::unique_ptr<DeviceWorkload<Real>> gpt_on_device(const TrainingOptions& options);

}  // namespace accocal
