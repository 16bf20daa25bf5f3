// The kernels that a scenario runs as a table to measure: the columns that `accosim fit` reads, without times.
#pragma once

#include <ostream>
#include <string>

#include "models/price/price.hpp"

namespace accosim {

/// CSV: each different matrix product and fused attention of a micro-batch once, with the columns of "Your own kernels"
/// (calibration/README.md) and two more: `pass` (forward, input_gradient or weight_gradient, which says how operands
/// lie in memory) and `per_micro_batch`, how often the rank that runs it most does so in a micro-batch. Products of
/// several experts or heads at once, and attention over windows or packed sequences, are other kernels: comments name
/// them.
void write_kernel_rows(std::ostream& out, const std::string& scenario, const Costs& costs);

}  // namespace accosim
