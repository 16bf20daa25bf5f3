// How far the price of one kernel is to be trusted: by what the fit or the table behind it left over.
#pragma once

#include <cstdint>

#include "models/price/kernel.hpp"
#include "models/spec/device.hpp"

namespace accosim {

/// What a price rests on, and so what errs with it.
enum class Basis : std::uint8_t {
  kBandwidth,  ///< of a memory-bound kernel without a table; all of these err together
  kMeasured,   ///< a fit or a table; equal kernels err together, different ones independently
  kConstants,  ///< the user's, of a device without fits; all of these err together
};

struct Trust {
  Basis basis = Basis::kBandwidth;
  double spread = 0;              ///< standard deviation of the log of measured over predicted time
  bool inherited = false;         ///< the constants were measured on a relative of the device
  bool other_generation = false;  ///< and that is of another architecture; all of these err together
  bool extrapolated = false;      ///< more than twice outside the FLOPs that were measured, or outside() its table
};

inline constexpr double kMeasuredSpread = 0.02;   ///< of a kernel that was measured in just its sizes
inline constexpr double kBandwidthSpread = 0.12;  ///< of memory-bound kernels together
inline constexpr double kInheritedSpread = 0.1;   ///< more, where a fit is inherited or extrapolated
/// More of all kernels together, where fits are of another generation: with it 80 % intervals hold for 87 % of the
/// published steps of each generation that is left out (accosim validate --leave-out generation).
inline constexpr double kGenerationSpread = 0.2;
inline constexpr double kConstantSpread = 0.15;  ///< of GEMMs and fused attention whose constants are the user's

/// A product that was measured in just its sizes has kMeasuredSpread for a spread, a table at least that, a fit its
/// own; a price without any of these kBandwidthSpread or kConstantSpread.
Trust trust_of(const Kernel& kernel, const Device& device, Dtype compute);

}  // namespace accosim
