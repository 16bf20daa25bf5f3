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

/// What a prediction is to be multiplied with, and how well the steps tell.
struct OwnFactor {
  double factor = 1;
  double spread = 0;  ///< standard deviation of its log, of the prior and the steps together
  double before = 0;  ///< of the prior alone
  bool told() const { return spread < 0.9 * before; }
};

struct OwnStepFit {
  OwnFactor computation;  ///< of all kernels of forward and backward passes: Device::step_factor
  OwnFactor host;         ///< of the interval between two launches
  double left = 0;        ///< of the logs of predicted over measured, root of the mean square
  double spread = 0;      ///< Device::step_spread
  struct Row {
    std::string label;
    Seconds measured, before;  ///< `before`: as the profile has it
    Seconds host;              ///< with the host's factor alone
    Seconds after;
  };
  std::vector<Row> rows;
};

/// Of timed steps the noise, and of others how much more the kernels of another shape may be off.
inline constexpr double kStepNoise = 0.02, kOtherShapes = 0.03;

/// Least squares on the logs of the steps as they are played, with kStepNoise; both factors of the device of that name
/// are held to priors around 1, of the spreads that computation and the host have where nobody timed a step
/// (kOperators, kHost). What communicates stays as it is. Needs a step.
OwnStepFit fit_own_steps(const std::vector<TimedStep>& steps, const std::string& device, NetworkKind network);

}  // namespace accosim
