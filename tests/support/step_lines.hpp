// The step as models/spec/accocal_step.hpp states it, line by line as the played device logs what it was given.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/train/gpt.hpp"
#include "models/spec/accocal_step.hpp"

namespace accocal {

inline AccocalSizes step_sizes(const GptShape& g, int sequences) {
  AccocalSizes sizes;
  sizes.sequences = sequences;
  sizes.context = g.context;
  sizes.width = g.width;
  sizes.heads = g.heads;
  sizes.vocabulary = g.vocabulary;
  sizes.layers = g.layers;
  return sizes;
}

/// "product m x n x k (batch) TN", with what is not usual of it behind.
inline std::string line_of(const StepProduct& p) {
  std::string line = fmt::format("product {:.0f} x {:.0f} x {:.0f} ({:.0f}) {}{}", p.m, p.n, p.k, p.batch,
                                 p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N');
  if (p.ldb > 0) line += fmt::format(", B {:.0f} apart", p.ldb);
  if (p.ldc > 0) line += fmt::format(", C {:.0f} apart", p.ldc);
  if (p.alpha != 1) line += ", scaled";
  if (p.bias) line += " + bias";
  if (p.added_to == AddedTo::kStream) line += " + D";
  if (p.added_to == AddedTo::kItself) line += " + C";
  return line;
}

/// Or "norm_forward 768 x 1024", "set_zero 4096" in bytes. `element`: bytes of a parameter.
inline std::string line_of(const StepLaunch& launch, int element) {
  if (launch.product) return line_of(*launch.product);
  if (launch.kernel == StepKernel::kMemset) return fmt::format("set_zero {:.0f}", launch.rows * element);
  return fmt::format("{} {:.0f} x {:.0f}", name_of(launch.kernel), launch.rows, launch.columns);
}

inline std::vector<std::string> step_lines(const AccocalSizes& sizes, int element) {
  return mapped<std::string>(accocal_micro_batch(sizes),
                             [&](const StepLaunch& each) { return line_of(each, element); });
}

}  // namespace accocal
