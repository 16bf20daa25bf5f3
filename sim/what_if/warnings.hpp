// What a user should know about a prediction before acting on it: a closed list, each with what to do about it.
#pragma once

#include <cstddef>
#include <vector>

#include "models/read/load.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/result/metrics.hpp"
#include "sim/what_if/what_if.hpp"

namespace accosim {

/// Adds to a result of run_schedule() its warnings and, where it may not fit, ways to fit. Each way is tried, which
/// takes as long as the play.
void add_advice(RunResult& result, const WhatIf& what_if, std::size_t schedule);
/// The same to results of a loaded scenario's own schedules.
void add_advice(std::vector<RunResult>& results, const LoadedScenario& loaded, const Evaluations& evaluations);

}  // namespace accosim
