// How sure the price of a micro-batch is: a sum over its bill of what the fits of its kernels left over.
#pragma once

#include "models/price/costs.hpp"

namespace accosim {

/// Shares of a micro-batch's kernel time, 0 to 1.
struct FitUse {
  double inherited = 0;  ///< in kernels whose constants were measured on a relative of the device
  double extrapolated =
      0;  ///< in kernels more than twice outside the FLOPs that were measured, or outside() their table
};
FitUse fit_use(const RankKind& kind);

/// Standard deviation of the log of a micro-batch's time. Equal kernels err together, different ones independently, so
///   variance = kOperators^2 + sum over different kernels of (share of the time x spread)^2
///              + (share of memory-bound kernels x kBandwidthSpread)^2 + (share of launch-bound time x kHost)^2
/// spread being that of the kernel's fit, with kInheritedSpread added in squares where the fit is inherited or
/// extrapolated. A kernel that was measured by itself counts as a product does, with the spread of its table, at least
/// kMeasuredSpread, and is extrapolated where it is outside() that; a product measured in just its sizes has
/// kMeasuredSpread. For accocal's own step kListed stands for kOperators. A device without fits, whose constants are
/// the user's: kConstantSpread for all products.
double compute_spread(const RankKind& kind);

/// The same of the optimizer on all parameters: of accocal's the spread of its table, else kBandwidthSpread.
double optimizer_spread(const Costs& costs);

inline constexpr double kOperators = 0.08;   ///< what the list of operators misses of a framework's code
inline constexpr double kListed = 0.03;      ///< the same where every kernel is listed: clocks, the order in the caches
inline constexpr double kLayerAlone = 0.14;  ///< more than kOperators in one layer's forward or backward by itself
inline constexpr double kHost = 0.25;        ///< of the host's launches, where these decide

}  // namespace accosim
