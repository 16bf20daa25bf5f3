// The trace of the verbs compare and run: its options, and the file.
#pragma once

#include <vector>

#include "models/spec/spec.hpp"
#include "sim/app/schedules.hpp"
#include "sim/app/verb.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// --trace and the options that need it.
std::vector<Option> trace_options();

/// What --trace-ranks chooses of the scenario's ranks, in order; empty: all. Throws ScenarioError.
std::vector<int> traced_ranks(const Scenario& scenario, const Arguments& arguments);

/// Writes the trace, where --trace asks for one. `results` are those of `chosen`: each schedule is simulated again,
/// every rank by itself, at their prices.
void write_trace(const ChosenSchedules& chosen, const std::vector<RunResult>& results, const Arguments& arguments);

}  // namespace accosim
