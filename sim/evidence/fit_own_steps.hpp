// Corrects what is predicted of a user's own machine by steps that were timed there.
#pragma once

#include <string>
#include <vector>

#include "models/spec/scenario.hpp"
#include "sim/network/network.hpp"

namespace accosim {

struct TimedStep {
  std::string label;
  Scenario scenario;
  int schedule = 0;  ///< index in its schedules
  Seconds measured;  ///< of an update
};

/// A factor on what the profile says, and how well the steps tell it.
struct OwnFactor {
  double factor = 1;  ///< 1 where the steps do not tell it
  double spread = 0;  ///< standard deviation of its log, of the prior and the steps together
  double before = 0;  ///< of the prior alone
  bool told() const { return spread < 0.9 * before; }
};

struct OwnStepFit {
  OwnFactor computation;  ///< on the kernels of forward and backward passes: Device::step_factor
  OwnFactor host;         ///< on the interval between two launches
  double left = 0;        ///< of ln(predicted / measured), root of the mean square
  double spread = 0;      ///< Device::step_spread
  struct Row {
    std::string label;
    Seconds measured, before;  ///< `before`: as the profile has it
    Seconds host;              ///< with the host's factor alone
    Seconds after;
  };
  std::vector<Row> rows{};

  /// Whether something else than both factors must differ.
  bool contradicts() const { return left > kContradiction; }
  static constexpr double kContradiction = 0.1;
};

/// Of ln(predicted / measured): what a timed step is off by in itself, and how much more kernels of other shapes may be
/// off than those that were timed. Both are assumptions.
inline constexpr double kStepNoise = 0.02, kOtherShapes = 0.03;

/// Robust least squares (minimise()) on ln(predicted / measured) of the steps as they are played, over kStepNoise. Both
/// factors, on all devices of the scenarios, are held to 1 by what is known without a timed step: compute_spread() of
/// the first step's, and kHost. Spreads are those of normal errors of kStepNoise, or of what is left where that is
/// more. A factor that the steps do not tell stays 1. What communicates stays as it is. Needs a step.
OwnStepFit fit_own_steps(const std::vector<TimedStep>& steps, NetworkKind network);

}  // namespace accosim
