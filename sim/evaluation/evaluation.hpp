// What has been priced and played so far, remembered by what it reads: a comparison, its baselines, its ladder and its
// advice are questions about a few settings of one scenario, and who asks for the same once more gets what is known.
#pragma once

#include <functional>
#include <memory>

#include "models/base/shared.hpp"
#include "models/price/price.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/network/network.hpp"

namespace accosim {

/// A scenario and a schedule of it as they are played: with nothing left to divide.
struct Division {
  Scenario scenario;
  ScheduleSpec spec;
  bool as_written = true;  ///< every GPU does what is written for it, or as many times more or less as the others
};

/// A handle: copies share what they remember.
class Evaluations {
 public:
  /// Where nothing was asked before, a network says all.
  Evaluations(NetworkKind network);  // NOLINT(google-explicit-constructor)

  NetworkKind network() const { return network_; }
  /// The same, with what is remembered, on another network.
  Evaluations on(NetworkKind network) const;

  /// The scenario with its work divided by speed for this schedule, where that asks for it (divided_by_speed()), into
  /// about `samples` an update, or those that are asked for; or with the schedule's own micro-batch; else as it is.
  Division divided(const Scenario& scenario, const ScheduleSpec& spec, double samples) const;
  Division divided(const Scenario& scenario, const ScheduleSpec& spec) const {
    return divided(scenario, spec, samples_asked(scenario));
  }
  /// price() of the divided scenario.
  Shared<Costs> costs(const Scenario& scenario, const ScheduleSpec& spec) const;
  /// play_steady() at those costs: at `accumulation_steps` micro-batches per update of each rank that has none of its
  /// own, or at those of the training.
  std::shared_ptr<const SteadyPlay> play(const Scenario& scenario, const ScheduleSpec& spec, int accumulation_steps,
                                         Keep keep = Keep::kLastUpdate) const;
  std::shared_ptr<const SteadyPlay> play(const Scenario& scenario, const ScheduleSpec& spec,
                                         Keep keep = Keep::kLastUpdate) const {
    return play(scenario, spec, scenario.training.gradient_accumulation_steps, keep);
  }

 private:
  struct Remembered;

  /// divide(), once.
  Division known_division(const Scenario& scenario, const ScheduleSpec& spec, double samples,
                          const std::function<Division()>& divide) const;

  NetworkKind network_;
  std::shared_ptr<Remembered> remembered_;
};

}  // namespace accosim
