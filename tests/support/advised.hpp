// Results with what they advise, as `compare` and `run` have them.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "models/read/load.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/result/run.hpp"
#include "sim/what_if/warnings.hpp"

namespace accosim {

/// Of the schedule with that index.
inline RunResult advised(const LoadedScenario& loaded, std::size_t schedule, const Evaluations& evaluations) {
  RunResult result = run_schedule(loaded.scenario, loaded.scenario.schedules[schedule], evaluations);
  add_advice(result, WhatIf(loaded, evaluations), schedule);
  return result;
}
inline std::vector<RunResult> advised(const LoadedScenario& loaded, const std::vector<int>& chosen,
                                      const Evaluations& evaluations) {
  std::vector<RunResult> results = compare(loaded.scenario, chosen, evaluations);
  add_advice(results, WhatIf(loaded, evaluations));
  return results;
}
/// Of a scenario that no file writes: where it fits and nothing else of it is changed to give advice.
inline RunResult advised(const Scenario& scenario, ScheduleSpec spec, const Evaluations& evaluations) {
  LoadedScenario made;
  made.scenario = scenario;
  made.scenario.schedules.push_back(std::move(spec));
  return advised(made, made.scenario.schedules.size() - 1, evaluations);
}

}  // namespace accosim
