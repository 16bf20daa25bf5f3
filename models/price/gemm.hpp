// Time of a matrix product by its shape, as a GPU runs it: the output is cut into tiles, the tiles are dealt to the
// multiprocessors in waves, each walks along k; operands and result pass the memory.
#pragma once

#include "models/base/units.hpp"
#include "models/spec/device.hpp"

namespace accosim {

/// `batch` products of m x k by k x n.
struct Gemm {
  double batch = 1, m = 0, n = 0, k = 0;
  Bytes in{2};                           ///< an element of the operands
  Bytes out{2};                          ///< an element of the result
  bool accumulate = false;               ///< the product is added to what the result holds, which is then read too
  GemmLayout layout = GemmLayout::kAny;  ///< only needed to find a GEMM that was measured
  bool across = false;                   ///< neither operand is stored along k, as of a weight's gradient

  bool operator==(const Gemm&) const = default;
};

inline Flops flops_of(const Gemm& g) { return Flops{2 * g.batch * g.m * g.n * g.k}; }
/// Each operand once, the result once, or twice where it is accumulated.
Bytes bytes_of(const Gemm& g);

/// Time on an idle device, launch excluded, with the constants of the device's fit for `dtype`:
///   fixed + (arithmetic^3 + memory^3)^(1/3)
/// memory = bytes / (streaming x achieved bandwidth)
/// arithmetic = exposed_result x result / achieved bandwidth + least over tiles (a x b) and splits s of k of
///   waves x 2 a b (k / s + k_fill) / (R / sm_count x tile efficiency)
///     [+ 15 % and the partial sums written and read in fp32, where s > 1]
/// with R = peak x peak_fraction x power_factor (x 0.629 for a tf32 product that is `across` on Hopper) and
/// waves = tiles s / sm_count, rounded up as far as `quantisation` says. The cubes: near the ridge of the roofline
/// neither side hides behind the other. A device without a fit (at gemm_efficiency) or without sm_count (at the fit's
/// fraction) takes the larger of arithmetic and memory traffic.
/// The device has a peak for `dtype`.
Seconds gemm_time(const Gemm& g, const Device& device, Dtype dtype);

/// Same silicon under another power limit holds clocks in proportion to the cube root of its power: dynamic power is
/// f V^2 and V follows f. 1 where either is unknown.
double power_factor(double power, double reference_power);

/// Arithmetic and memory traffic that overlap but do not hide each other: the 3-norm. Exact where one is much longer.
Seconds overlapped(Seconds a, Seconds b);

}  // namespace accosim
