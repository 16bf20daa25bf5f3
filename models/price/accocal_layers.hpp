// accocal's own training step (models/spec/accocal_step.hpp) as layers to price: the implementation `accocal` of a
// scenario.
#pragma once

#include "models/price/kernel.hpp"
#include "models/price/operator.hpp"
#include "models/spec/accocal_step.hpp"
#include "models/spec/device.hpp"
#include "models/spec/model.hpp"

namespace accosim {

/// The launch as a kernel to price. `storage` is the dtype of the stored elements: bf16 or fp32.
Kernel kernel_of(const StepLaunch& launch, Dtype storage);

/// The layers that layers_of() returns for Implementation::kAccocal, elements stored as `storage`: operators made of
/// these kernels, with their parameters and what accocal keeps for the backward pass. For a block that is 16 t d + B H
/// L^2 elements, with t tokens of width d in B sequences of length L and H heads (x before both norms, the norms'
/// results, q, k and v, attention's weights and result, up before and after its gelu), and mean and scale of both
/// norms.
Layers accocal_layers(const Model& model, const AccocalSizes& z, Dtype storage);

}  // namespace accosim
