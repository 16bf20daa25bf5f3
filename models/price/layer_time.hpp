// Times of layers, summed from the bill of their kernels: a layer is never faster than the host can launch its kernels.
// And the times of what is in no micro-batch's bill: the optimizer and copies.
#pragma once

#include <vector>

#include "models/base/shared.hpp"
#include "models/base/units.hpp"
#include "models/price/bill.hpp"
#include "models/spec/device.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// The gradient of one parameter tensor.
struct GradientTensor {
  double elements = 0;
  double ready = 1;   ///< share of its layer's backward pass after which it is complete
  double needed = 0;  ///< share of its layer's forward pass after which the parameter is first read
  bool of_experts = false;
};

struct LayerTime {
  Seconds forward, backward;
  double parameters = 0;
  Shared<std::vector<GradientTensor>> gradients{};  ///< in the order in which they become ready
  Bytes frozen{};                                   ///< of parameters that are not trained
};

/// Time of one of the bill's layers: the longer of its operators' sum and kernels x launch interval; without the
/// device's slowdown, as the whole bill is. Launches are asynchronous: within a layer the host runs ahead of long
/// kernels and falls behind short ones. The gradients of an operator are ready when its backward kernels are done,
/// which run last operator first; its parameters are needed when its forward kernels begin. What runs beside all of
/// them is spread evenly. A layer with frozen parameters alone has one gradient of no element, so that it can be waited
/// for.
LayerTime layer_time(const Bill& bill, const BilledLayer& layer);

/// One a layer of the model.
std::vector<LayerTime> layer_times(const Bill& bill);

/// Time to read `read` and write `write` bytes at the achieved memory bandwidth, at least one launch interval; 0 for no
/// bytes. Without the device's slowdown, which applies to forward and backward alone.
Seconds memory_time(Bytes read, Bytes write, const Device& device);

/// AdamW on `parameters` elements. Fused, one pass: fp32 master, m and v read and written (24 B), the gradient read in
/// its dtype, the parameter written in its dtype unless it is the fp32 master itself. PyTorch's foreach: one pass each
/// for weight decay, m, v (two), square root, its correction, epsilon (8 B each) and the update (16 B); the gradient is
/// read for m and for v, and the parameter is copied. A device with a measured time per parameter uses that instead.
Seconds adamw_time(double parameters, Dtype parameter_dtype, Dtype gradient_dtype, const Device& device,
                   OptimizerImplementation implementation = OptimizerImplementation::kFused);

/// The global norm of `parameters` gradients (read) and their scaling (read and written).
Seconds clipping_time(double parameters, Dtype gradient_dtype, const Device& device);

}  // namespace accosim
