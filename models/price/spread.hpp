// How uncertain the time of a micro-batch is, from the errors that the fits of its kernels leave.
#pragma once

#include "models/price/price.hpp"

namespace accosim {

/// Shares of a micro-batch's kernel time, 0 to 1.
struct FitUse {
  double inherited = 0;         ///< in kernels whose constants were measured on a relative of the device
  double other_generation = 0;  ///< of these, on one of another generation
  double extrapolated = 0;      ///< in kernels with Trust::extrapolated
};
FitUse fit_use(const RankKind& kind);

/// Standard deviation of the log of a micro-batch's time. Equal kernels err together, different ones independently, so
///   variance = kOperators^2 + sum over different kernels of (share of the time x spread)^2
///              + (share of memory-bound kernels x kBandwidthSpread)^2 + (share of launch-bound time x kHost)^2
/// where a kernel's spread is that of its fit, combined with kInheritedSpread (root of squares) where the fit is
/// inherited or extrapolated; kernels with fits of another generation add (their share x kGenerationSpread)^2 together,
/// since they err together; their share is 1 on a device that only steps of other generations stand behind
/// (Device::steps), and one that a relative's stand behind adds kInheritedSpread^2. A kernel with a measured table
/// counts in the sum over kernels, with the table's spread but at least kMeasuredSpread, and is extrapolated where it
/// is outside() the table; a GEMM measured at exactly its sizes has kMeasuredSpread. For accocal's own step kListed
/// replaces kOperators. On a device without fits, whose constants are the user's, GEMMs and fused attention together
/// have kConstantSpread. Where steps
/// were timed on the machine itself, what they leave (Device::step_spread) stands for all but the host's part.
double compute_spread(const RankKind& kind);

/// What the time of a step adds, root of squares: where several GPUs share a model what published steps of such models
/// were off by beyond their intervals; where GPUs of several kinds do one job what mixed steps were, and what steps on
/// the worst known of its devices were. 0 where neither is so.
double step_spread(const Cluster& cluster, const Parallel& parallel);

/// The same for the optimizer on all parameters: the spread of its table for accocal's own, else kBandwidthSpread.
double optimizer_spread(const Costs& costs);

inline constexpr double kOperators = 0.08;   ///< what the list of operators misses of a framework's code
inline constexpr double kListed = 0.03;      ///< the same where all kernels are listed: clocks, contents of caches
inline constexpr double kLayerAlone = 0.14;  ///< added (root of squares) for a single layer's forward or backward
inline constexpr double kHost = 0.25;        ///< of launch-bound time

}  // namespace accosim
