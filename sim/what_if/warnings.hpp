// What a user should know about a prediction before acting on it: a closed list, each with what to do about it.
#pragma once

#include <string>
#include <vector>

#include "models/price/price.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// Adds to a result of run_schedule() its warnings and, where it may not fit, ways to fit. Each way is tried, which
/// takes as long as the play.
void add_advice(RunResult& result, const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations);
/// The same to results of the scenario's own schedules.
void add_advice(std::vector<RunResult>& results, const Scenario& scenario, const Evaluations& evaluations);

/// The warnings that need no play, for whoever plays many settings: what the cluster says that no hardware has, and
/// constants that were not measured on what they price. `costs`: of any of the scenario's schedules.
std::vector<Warning> cautions_of(const Scenario& scenario, const Costs& costs);

/// By how much the halves of a mean differ: "0.23 %", "less than 0.01 %".
std::string difference_in_words(double fraction);

}  // namespace accosim
