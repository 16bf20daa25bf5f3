// The kernels of accocal's CUDA step that are not GEMMs, its optimizers and other kernels that are measured: one row
// each, which both programs read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/base/units.hpp"

namespace accosim {

/// As the functions of calibration/device/kernels.hpp; memset and copy are the device's own.
enum class StepKernel : std::uint8_t {
  kEmbedForward,
  kEmbedBackward,
  kNormForward,
  kNormBackward,
  kBiasBackward,
  kGeluForward,
  kGeluBackward,
  kSplitHeads,
  kMergeHeads,
  kSoftmaxForward,
  kSoftmaxBackward,
  kCrossEntropy,
  kAdd,
  kCast,
  kAdamw,
  kSgd,
  kMemset,
  kCopy,
};
inline constexpr int kStepKernelCount = static_cast<int>(StepKernel::kCopy) + 1;
const char* name_of(StepKernel kernel);
std::optional<StepKernel> step_kernel(const std::string& name);

/// Bytes that a kernel moves if it reads and writes each of its large operands once, for `elements` elements of its
/// main operand of `element` bytes each: see README.md of this folder.
Bytes bytes_of(StepKernel kernel, double elements, Bytes element);
/// The formulas of bytes_of() as text.
std::string byte_formulas();

/// How many kernels the function of that name launches.
int launches_of(StepKernel kernel);
/// Whether its main operand is a flat array; else it is a matrix of rows x columns.
bool is_flat(StepKernel kernel);
/// Whether its time per element depends on the length of the columns that it works on, so that each length has a table
/// of its own.
bool goes_by_rows(StepKernel kernel);

}  // namespace accosim
