// Results with what they advise, as `compare` and `run` have them.
#pragma once

#include <vector>

#include "sim/evaluation/evaluation.hpp"
#include "sim/result/run.hpp"
#include "sim/what_if/warnings.hpp"

namespace accosim {

inline RunResult advised(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations) {
  RunResult result = run_schedule(scenario, spec, evaluations);
  add_advice(result, scenario, spec, evaluations);
  return result;
}
inline std::vector<RunResult> advised(const Scenario& scenario, const std::vector<int>& chosen,
                                      const Evaluations& evaluations) {
  std::vector<RunResult> results = compare(scenario, chosen, evaluations);
  add_advice(results, scenario, evaluations);
  return results;
}

}  // namespace accosim
