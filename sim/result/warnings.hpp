// What a user should know about a prediction before acting on it: a closed list, each with what to do about it.
#pragma once

#include <vector>

#include "models/spec/spec.hpp"
#include "sim/result/metrics.hpp"
#include "sim/result/run.hpp"

namespace accosim {

std::vector<Warning> warnings_of(const Scenario& scenario, const ScheduleSpec& spec, const SteadyPlay& play,
                                 const RunResult& result, NetworkKind network);

}  // namespace accosim
