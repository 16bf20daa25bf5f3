// A schedule of a loaded scenario with more settings: "what if" is asked by settings alone, and answered by the
// scenario that loads with them.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/read/load.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/result/metrics.hpp"
#include "sim/result/tuned_rows.hpp"

namespace accosim {

struct Trial {
  std::vector<std::string> set;  ///< as --set takes them, more than the scenario's own
  std::size_t index = 0;         ///< of the schedule in the scenario's
  Scenario scenario;             ///< with those settings, and that schedule alone

  const ScheduleSpec& spec() const { return scenario.schedules.front(); }
};

/// A handle: copies share what they remember.
class WhatIf {
 public:
  /// `loaded` outlives it. `tuned`: what was added to its schedules.
  WhatIf(const LoadedScenario& loaded, const Evaluations& evaluations, const Tuned& tuned = {});

  const Scenario& scenario() const { return loaded_->scenario; }
  const Evaluations& evaluations() const { return evaluations_; }
  /// The same that plays on another network.
  WhatIf on(NetworkKind network) const;
  /// As it is.
  Trial now(std::size_t schedule) const;
  /// Nothing where they are refused.
  std::optional<Trial> with(std::size_t schedule, std::vector<std::string> set) const;

 private:
  using Grounds = std::map<std::vector<std::string>, std::optional<Scenario>>;

  const LoadedScenario* loaded_;
  Evaluations evaluations_;
  std::vector<JsonValue> added_;                                    ///< of "schedules", which write down what was added
  std::shared_ptr<Grounds> grounds_ = std::make_shared<Grounds>();  ///< by the settings that are not of schedules
};

// The same comparison under several seeds: how far what was drawn decides its figures.

/// Results of the same schedules under several seeds, the scenario's own first: the first, each with its bands over
/// all. Speedups are over the baseline under the same seed.
std::vector<RunResult> with_bands(const std::vector<std::vector<RunResult>>& by_seed);

/// The scenario under the seed `number` places after its own.
Scenario with_seed(const Scenario& scenario, int number);

}  // namespace accosim
