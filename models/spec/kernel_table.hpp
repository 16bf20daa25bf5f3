// Kernels that are bound by memory and were timed by themselves: their time by the size of their main operand, read
// from a short table. No formula has the knee where the operands leave the L2 cache, the latency of short kernels and
// the waves of blocks of a dozen kernels right at once; a table measured at the sizes that a step needs has.
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/units.hpp"
#include "models/spec/step_kernel.hpp"

namespace accosim {

enum class Dtype : std::uint8_t;

/// A time for a number of elements.
struct KernelPoint {
  double elements = 0;
  Seconds time;

  bool operator==(const KernelPoint&) const = default;
};
/// Sorted by elements, each once.
using KernelCurve = std::vector<KernelPoint>;

/// One kernel in one dtype as measured on one device.
struct KernelTable {
  StepKernel kernel = StepKernel::kCopy;
  Dtype dtype{};
  double rows = 0;    ///< of its operand; 0: of any
  KernelCurve times;  ///< with what the step has just written in the L2 cache as far as it fits; not empty
  double spread = 0;  ///< root mean square of the log of predicted over measured time, each inner sample left out
  int samples = 0;

  bool operator==(const KernelTable&) const = default;
};

/// Between two points a straight line in the logarithms of both; below the first its time; above the last its time per
/// element. The curve has a point.
Seconds time_at(const KernelCurve& curve, double elements);

/// Sizes of up to this ratio are one.
inline constexpr double kSameSize = 1.02;

/// Of samples in any order: those of nearly the same size (2 %) are one point, their geometric mean, and a point that a
/// line between its neighbours gives within `tolerance` is not kept.
KernelCurve curve_of(std::vector<KernelPoint> samples, double tolerance = 0.01);

/// log of predicted over measured time of each inner sample by the curve of the others.
std::vector<double> left_out_errors(const std::vector<KernelPoint>& samples);

}  // namespace accosim
