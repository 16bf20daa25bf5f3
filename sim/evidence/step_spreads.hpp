// By how much the intervals of published training steps were too narrow: of those on GPUs of several kinds in one job,
// and of those on each device. What a mix is predicted with is widened by both, since nobody has measured most mixes.
#pragma once

#include <vector>

#include "models/fit/published.hpp"
#include "models/fit/write_constants.hpp"
#include "sim/evidence/refit.hpp"
#include "sim/network/network.hpp"

namespace accosim {

/// A measured step: log(measured / predicted), and the spread that it was predicted with.
struct StepError {
  double error = 0, spread = 0;
};
/// What is to be added to the spreads, in squares, so that they come to what the errors are: of a normal distribution
/// the mean absolute value is sqrt(2 / pi) of the standard deviation, so
///   sqrt(max(0, pi / 2 x mean(|error|)^2 - mean(spread^2))).
/// Not from squares of errors: one run of which its authors warn would be nearly all of these.
double missing_spread(const std::vector<StepError>& errors);

/// Fewer steps on a device say nothing of it.
inline constexpr int kFewestSteps = 5;

/// Of steps of split models and of mixed ones, where there are any, and of devices with at least kFewestSteps scored
/// steps, models split or whole, that lack some. Steps that were priced by measurements of
/// their own machine are left out.
std::vector<FittedSpread> fit_step_spreads(const Published& published, const Refit& refit, int jobs,
                                           NetworkKind network);

}  // namespace accosim
