// What the verbs that play a scenario's schedules share: their options, and which schedules are meant.
#pragma once

#include <functional>
#include <vector>

#include "models/base/outputs.hpp"
#include "models/read/load.hpp"
#include "sim/app/verb.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/result/metrics.hpp"
#include "sim/result/tuned_rows.hpp"
#include "sim/what_if/ladder.hpp"

namespace accosim {

/// The scenario, --set, --schedule and --network.
std::vector<Option> play_options();
/// --seeds.
Option seeds_option();
/// -v, which load_chosen() obeys.
Option verbose_option();
/// play_options(), -v, --json, --seeds, --force, and --trace with the options that need it.
std::vector<Option> report_options();

/// The scenario of report_options(), the schedules to play, and which of them were added.
struct ChosenSchedules : LoadedScenario {
  std::vector<int> indices;
  Tuned tuned{};
};
/// --no-tuned, and what add_tuned() does unless it is given: adds the best synchronous schedule to the chosen ones.
Option tuned_option();
void add_tuned(ChosenSchedules& chosen, const Evaluations& evaluations, const Arguments& arguments);

/// What `results` gives for the scenario or, with --seeds, for each seed, as one with bands; and add_advice(). Throws
/// ScenarioError where seeds change nothing.
using Results = std::function<std::vector<RunResult>(const Scenario&)>;
std::vector<RunResult> over_seeds(const ChosenSchedules& chosen, const Evaluations& evaluations,
                                  const Arguments& arguments, const Results& results);

/// --ladder FROM TO.
Option ladder_option();
/// Between the two schedules that it names. Throws ScenarioError where they are not two of the scenario's. `tuned`:
/// what was added to these; where nothing was, that is looked for.
Ladder ladder_asked_for(Scenario scenario, const Evaluations& evaluations, const Arguments& arguments,
                        Tuned tuned = {});

/// Loads the scenario, checks the outputs and which schedules are chosen, so that what would fail after the work fails
/// before it. `inputs`: files that are read besides the scenario's, and must not be overwritten.
ChosenSchedules load_chosen(const Arguments& arguments, const std::vector<Output>& outputs, const Texts& inputs);
/// The same with the options of report_options().
ChosenSchedules load_chosen(const Arguments& arguments, const Texts& inputs);

}  // namespace accosim
