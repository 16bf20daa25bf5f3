// What a user should know about a prediction before acting on it: a closed list, each with what to do about it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/result/metrics.hpp"
#include "sim/what_if/what_if.hpp"

namespace accosim {

/// Adds to a result of run_schedule() its warnings and, where it may not fit, ways to fit. Each way is tried, which
/// takes as long as the play.
void add_advice(RunResult& result, const WhatIf& what_if, std::size_t schedule);
/// The same to results of a loaded scenario's schedules.
void add_advice(std::vector<RunResult>& results, const WhatIf& what_if);

/// The warnings that need no play, for whoever plays many settings: what the cluster says that no hardware has, and
/// constants that were not measured on what they price. `costs`: of any of the scenario's schedules.
std::vector<Warning> cautions_of(const Scenario& scenario, const Costs& costs);

/// That GPUs of several kinds in one job were seldom measured; nothing where they are of one.
std::optional<Warning> seldom_measured(const Cluster& cluster);

/// By how much the halves of a mean differ: "0.23 %", "less than 0.01 %".
std::string difference_in_words(double fraction);

}  // namespace accosim
