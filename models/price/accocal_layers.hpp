// What the prices make of accocal's own training step (models/spec/accocal_step.hpp): the implementation `accocal` of a
// scenario.
#pragma once

#include <string>
#include <vector>

#include "models/price/kernel.hpp"
#include "models/price/layers.hpp"
#include "models/spec/accocal_step.hpp"

namespace accosim {

/// The launch as the prices see it, of elements as they are stored: bf16 or fp32.
Kernel kernel_of(const StepLaunch& launch, Dtype storage);

/// The layers that layers_of() gives for Implementation::kAccocal, with elements stored as kernel_of() says: operators
/// of these kernels, with the parameters and what accocal keeps for the backward pass: a block 16 t d + B H L^2
/// elements (x before both norms, the norms' results, q, k and v, attention's weights and result, up before and after
/// its gelu) and mean and scale of both norms.
std::vector<Layer> accocal_layers(const Model& model, const AccocalSizes& z, Dtype storage);

}  // namespace accosim
