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
  double rows = 0;      ///< rows of the main operand; 0: valid for any number
  KernelCurve times{};  ///< with operands that the step has just written in the L2 cache, as far as they fit; not empty
  double spread = 0;    ///< root mean square of the log of predicted over measured time, each inner sample left out
  int samples = 0;

  bool operator==(const KernelTable&) const = default;
};

/// Between two points a straight line in the logarithms of both; below the first its time; above the last its time per
/// element. The curve has a point.
Seconds time_at(const KernelCurve& curve, double elements);

/// Sizes that differ by at most this ratio count as equal.
inline constexpr double kSameSize = 1.02;

/// Makes a curve of samples in any order: samples of nearly the same size (2 %) become one point, their geometric mean,
/// and a point is dropped where a line between its neighbours predicts it within `tolerance`.
KernelCurve curve_of(std::vector<KernelPoint> samples, double tolerance = 0.01);

/// log of predicted over measured time of each inner sample by the curve of the others.
std::vector<double> left_out_errors(const std::vector<KernelPoint>& samples);

}  // namespace accosim
