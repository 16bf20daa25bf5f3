// Measured kernels: the rows that the fits of a device profile come from.
#pragma once

#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/price/kernel.hpp"
#include "models/spec/device.hpp"

namespace accosim {

struct KernelSample {
  std::string source;  ///< who measured
  std::string device;  ///< the name of a profile
  Dtype dtype = Dtype::kBf16;
  Kernel kernel{};
  Seconds time{};
};

/// What is wrong with a kernel of so many FLOPs; empty when nothing is.
std::string wrong_flops(Flops flops);

/// A table of kernels: lines that begin with # are comments, the first other line names the columns, in any order:
/// source, device, kind, dtype, batch, time_us (or time_s), and for kind gemm m, n, k, out_dtype, accumulate (0 or 1),
/// for kind attention_forward, attention_backward and attention_both (one time for the two) heads, kv_heads, seq,
/// head_dim, value_dim and, where it is not 1, causal (0 or 1), where it is not 0, flash_3 (1: by FlashAttention 3).
/// Where it is not 0, bytes_beside: what a memory-bound kernel before it moves in the same time, such as the cast of an
/// operand. Throws ScenarioError with all that is wrong, as "name:line:column: what".
std::vector<KernelSample> read_kernel_samples(const std::string& text, const std::string& name);

}  // namespace accosim
