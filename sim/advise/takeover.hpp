// At which rate of the network another candidate becomes the best one.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace accosim {

/// Times per sample of the candidates where the network is `factor` times as fast; nothing of one that cannot win
/// there.
using TimesAt = std::function<std::vector<std::optional<double>>(double factor)>;

struct Takeover {
  double factor = 1;   ///< of the network's rate: beyond it another one wins
  std::size_t by = 0;  ///< index of that candidate
};

struct Takeovers {
  double least = 1, most = 1;            ///< factors that were looked at
  std::optional<Takeover> below, above;  ///< the first on each side
};

inline constexpr double kMostRateFactor = 16;
/// A takeover is found to this, as a ratio.
inline constexpr double kRateResolution = 1.02;
/// One takes over where it is better by more than this fraction.
inline constexpr double kClearlyBetter = 1e-3;

/// Candidate 0 is the best at 1. The rate is doubled, and halved, up to kMostRateFactor; where another one then wins,
/// the rate between is bisected in its logarithm. One that wins between two of these rates and loses at both is not
/// seen.
Takeovers takeovers_of(const TimesAt& times);

}  // namespace accosim
