// What a user should know about a prediction before acting on it: a closed list, each with what to do about it.
#pragma once

#include <vector>

#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

std::vector<Warning> warnings_of(const Scenario& scenario, const ScheduleSpec& spec, const SteadyPlay& play,
                                 const RunResult& result, const Evaluations& evaluations);

/// What training.balance speed chose for a schedule, with the settings that write it down.
Warning work_is_divided(const Scenario& divided, const ScheduleSpec& spec);

}  // namespace accosim
