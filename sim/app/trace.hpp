// The trace of the verbs compare and run: its options, and the file.
#pragma once

#include <vector>

#include "models/spec/spec.hpp"
#include "sim/app/schedules.hpp"
#include "sim/app/verb.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// --trace and what belongs to it.
std::vector<Option> trace_options();

/// What --trace-ranks chooses of the scenario's ranks, in order; empty: all. Throws ScenarioError.
std::vector<int> traced_ranks(const Scenario& scenario, const Arguments& arguments);

/// Where --trace asks for one. `results` are those of `chosen`: what a trace shows is played anew, rank by rank, at
/// their prices.
void write_trace(const ChosenSchedules& chosen, const std::vector<RunResult>& results, const Arguments& arguments);

}  // namespace accosim
