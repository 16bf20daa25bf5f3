// Which candidates are played: all of them where the budget allows, else those that a fixed procedure comes to. What is
// played depends on the space, the budget and the results alone, never on the order in which results arrive.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/advise/candidates.hpp"
#include "sim/advise/evaluate.hpp"

namespace accosim {

/// A choice that was tried.
struct TriedPoint {
  std::size_t index = 0;  ///< in the space, where it is a candidate
  Evaluation evaluation{};
  std::string refusal{};  ///< why the scenario cannot be so
  std::string label{};    ///< of its schedule
};

/// What is spent (time, or money) is counted in steps of this fraction, so that rounding decides nothing. Of equal
/// ones, of equal cost the one that takes less time is better, then that of less memory, and then the lower index.
inline constexpr double kEqualTimes = 1e-4;

/// Whether `a` is the better choice, by what it comes to (in the order of PointState); of those that were played the
/// one with fewer caveats, then the one that spends less.
bool better(const TriedPoint& a, const TriedPoint& b);

/// Of two that were played the one that spends less; in equal steps the quicker one, then that of less memory, then the
/// lower index.
bool faster(const TriedPoint& a, const TriedPoint& b);

/// The points of these indices, in their order.
using TryPoints = std::function<std::vector<TriedPoint>(const std::vector<std::size_t>&, const PlayLimit&)>;

/// So many times as many points as may be played are looked at, where others are refused, do not fit or cannot win.
inline constexpr std::size_t kLooksAPlay = 10;

/// A space of at most `budget` points is tried as a whole. Of a larger one: first every alternative of the coarse knobs
/// with all others at their first one (thinned out evenly, where half of the budget is less); then around the best of
/// each form every change of one knob, until that brings nothing; then, from the best form on, every change of two
/// knobs, and again of one; until `budget` points have been played. Of the points that are tried together, those that
/// take long to play come last, held against the best so far.
std::vector<TriedPoint> search(const CandidateSpace& space, std::size_t budget, const TryPoints& tried,
                               double within = 0);

}  // namespace accosim
