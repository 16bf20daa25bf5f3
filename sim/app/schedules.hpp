// What the verbs that play a scenario's schedules share: their options, and which schedules are meant.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/spec/spec.hpp"
#include "sim/app/verb.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// The scenario, --set, --schedule and --network.
std::vector<Option> play_options();
/// The same, --json, --force, and --trace with the options that need it.
std::vector<Option> report_options();

/// Indices of the schedules that --schedule names by label or by name; all without it. Throws ScenarioError.
std::vector<int> chosen_schedules(const Scenario& scenario, const Texts& wanted);

/// The scenario of report_options(), and the schedules to play.
struct ChosenSchedules {
  Scenario scenario;
  std::vector<int> indices;
};
/// What `results` gives for the scenario or, with --seeds, for each seed, as one with bands. Throws ScenarioError where
/// seeds change nothing.
using Results = std::function<std::vector<RunResult>(const Scenario&)>;
std::vector<RunResult> over_seeds(const ChosenSchedules& chosen, const Arguments& arguments, const Results& results);

/// Loads the scenario and checks the command line, so that what would fail after the work fails before it. `inputs`:
/// files that are read besides the scenario's, and must not be overwritten.
ChosenSchedules load_chosen(const Arguments& arguments, const Texts& inputs);

}  // namespace accosim
