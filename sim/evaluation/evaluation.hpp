// What has been priced and played so far, remembered by what it reads: a comparison, its baselines, its ladder and its
// advice are questions about a few settings of one scenario, and who asks for the same once more gets what is known.
#pragma once

#include <functional>
#include <memory>

#include "models/base/shared.hpp"
#include "models/price/price.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/network/network.hpp"

namespace accosim {

/// A handle: copies share what they remember.
class Evaluations {
 public:
  /// Where nothing was asked before, a network says all.
  Evaluations(NetworkKind network);  // NOLINT(google-explicit-constructor)

  NetworkKind network() const { return network_; }
  /// The same, with what is remembered, on another network.
  Evaluations on(NetworkKind network) const;

  /// The scenario with its work divided by speed for this schedule, where its training asks for that
  /// (divided_by_speed()); else as it is.
  Scenario divided(const Scenario& scenario, const ScheduleSpec& spec) const;
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
  Scenario known_division(const Scenario& scenario, const ScheduleSpec& spec,
                          const std::function<Scenario()>& divide) const;

  NetworkKind network_;
  std::shared_ptr<Remembered> remembered_;
};

}  // namespace accosim
