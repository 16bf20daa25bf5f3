// The kernels of accocal's CUDA step that are no matrix products, with its optimizers and what is measured beside them:
// a row each, which both programs read.
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

/// What a kernel moves if it reads and writes each of its large operands once, for `elements` of its main operand, of
/// which each has `element` bytes: see the ledger (README.md).
Bytes bytes_of(StepKernel kernel, double elements, Bytes element);
/// How bytes_of() counts, for people.
std::string byte_formulas();

/// How many kernels the function of that name launches.
int launches_of(StepKernel kernel);
/// Its main operand is so many elements; else a matrix of rows x columns.
bool is_flat(StepKernel kernel);
/// Its time an element depends on how long the columns are that it works on, so that each length has a table of its
/// own.
bool goes_by_rows(StepKernel kernel);

}  // namespace accosim
