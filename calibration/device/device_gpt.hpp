// The GPT of calibration/train/gpt.hpp on a GPU: the same parameters in the same places, the same formulas, given to a
// stream kernel by kernel. Nothing here waits for the device, unless the host is many micro-batches ahead of it.
#pragma once

#include <cstdint>
#include <span>

#include "calibration/base/hidden.hpp"
#include "calibration/device/device.hpp"
#include "calibration/device/products.hpp"
#include "calibration/ranks/transport.hpp"
#include "calibration/train/gpt.hpp"

namespace accocal {

/// Real is float or Bf16: of parameters, gradients and activations; sums are in fp32. Holds the activations of one
/// micro-batch, so one stream at a time, whose work has ended when this is destroyed. Throws DeviceError when they do
/// not fit.
template <typename Real>
class DeviceGpt {
 public:
  /// `fp32`: whether the GEMMs of a float model run in fp32 or tf32; those of a Bf16 model run in bf16.
  DeviceGpt(const GptShape& shape, int sequences, ProductType fp32 = ProductType::kFp32);

  /// The gradient of the micro-batch's mean loss is added to `gradient` (device, as long as the parameters), the loss
  /// to *loss (device; may be null). `text`: for each sequence context + 1 tokens, on the host; copied before it
  /// returns. Each gradient is rounded to Real once a micro-batch, the tied embedding's twice.
  void accumulate(const Real* parameters, std::span<const std::int32_t> text, Real* gradient, float* loss,
                  Stream& stream);
  /// Forward alone: adds the mean loss to *loss.
  void forward(const Real* parameters, std::span<const std::int32_t> text, float* loss, Stream& stream);

  std::int64_t memory() const;  ///< bytes of activations and workspaces

 private:
  struct State;
  Hidden<State> state_;
};

}  // namespace accocal
