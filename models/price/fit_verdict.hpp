// Whether a schedule fits into a GPU, in three words and with a probability: what is predicted to be resident errs too,
// so near the capacity yes and no would both be too sure.
#pragma once

#include <cstdint>
#include <string>

#include "models/base/names.hpp"
#include "models/base/units.hpp"
#include "models/price/interval.hpp"
#include "models/price/memory.hpp"

namespace accosim {

enum class FitVerdict : std::uint8_t {
  kFits,        ///< all of the 80 % interval of what is resident is below the capacity: with kSurelyFits or more
  kTight,       ///< the interval holds the capacity
  kDoesNotFit,  ///< all of it is above
};
template <>
inline constexpr const char* kNames<FitVerdict>[] = {"fits", "tight", "does_not_fit"};

struct Fit {
  FitVerdict verdict = FitVerdict::kFits;
  double probability = 1;  ///< that what is resident is at most the capacity
};

/// The probability from which on it fits and nobody needs to ask.
inline constexpr double kSurelyFits = 0.9;

/// Standard deviation of the log of measured over predicted memory, where the allocator's slack is part of `total`: all
/// of it errs by kTensorSpread, and the slack by kSlackSpread of itself, independently:
///   sqrt(kTensorSpread^2 + (kSlackSpread slack / total)^2)
double memory_spread(Bytes total, Bytes slack);

/// The 80 % interval of what is resident in all, bytes.
Interval resident_interval(const MemoryParts& parts);

/// In how many spreads the capacity lies above what is resident, both as logs: what decides the verdict.
double spreads_of_room(const MemoryParts& parts, Bytes capacity);

/// Of the log-normal with that spread whose median is the total: probability = Phi(spreads_of_room()), and tight
/// between a tenth and nine tenths.
Fit fit_of(const MemoryParts& parts, Bytes capacity);

/// Root mean square of the log errors of the published runs whose tensors were counted, without the allocator's slack:
/// TinyLlama in litgpt, 2.4 to 4.3 % (group `memory` of reports/published/validation.md).
inline constexpr double kTensorSpread = 0.03;
/// What is left, beside kTensorSpread, of the errors of the five runs in which the allocator's memory was counted
/// (torchtitan, root mean square 7.0 %), over the slack's share of the total (12 to 15 %).
inline constexpr double kSlackSpread = 0.5;

/// "55 %"; beyond a thousandth from certainty "below 0.1 %" and "above 99.9 %".
std::string in_percent(double probability);

}  // namespace accosim
