// Chooses the schedules of a scenario, as compare, run and explain are asked for them.
#include "sim/app/schedules.hpp"

#include <fmt/format.h>

#include <iostream>

#include "models/base/outputs.hpp"
#include "models/base/stages.hpp"
#include "models/read/load.hpp"
#include "models/spec/scenario_error.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/trace.hpp"
#include "sim/evaluation/balance.hpp"
#include "sim/what_if/best_synchronous.hpp"
#include "sim/what_if/seeds.hpp"
#include "sim/what_if/warnings.hpp"

namespace accosim {

std::vector<Option> play_options() {
  return joined(scenario_options(), {{.names = "--schedule",
                                      .help = "Only this schedule, by label or name; may be repeated",
                                      .value = Texts(),
                                      .takes = "LABEL"},
                                     network_option("simgrid: flows contend for links; reference: no contention")});
}

Option seeds_option() {
  return {.names = "--seeds",
          .help =
              "Play N seeds of what is drawn (jitter, lengths, stragglers), from the scenario's on: medians and 10 "
              "to 90 % bands",
          .value = 1,
          .least = 1,
          .most = 10'000};
}

Option verbose_option() {
  return {.names = "-v,--verbose",
          .help = "Say on standard error where the program's own time and memory went",
          .value = false};
}

std::vector<Option> report_options() {
  const Option json = {.names = "--json", .help = "One JSON document instead of text", .value = false};
  return joined(joined(joined(play_options(), {json, seeds_option()}), trace_options()),
                {verbose_option(), force_option()});
}

Option tuned_option() {
  return {.names = "--no-tuned", .help = "Leave out the row of the best synchronous schedule", .value = false};
}

void add_tuned(ChosenSchedules& chosen, const Evaluations& evaluations, const Arguments& arguments) {
  if (arguments.flag("--no-tuned")) return;
  const Progress progress("looking for the best synchronous schedule");
  add_best_synchronous(chosen.scenario, chosen.indices, evaluations);
}

namespace {

/// Without advice.
std::vector<RunResult> played_over_seeds(const ChosenSchedules& chosen, const Arguments& arguments,
                                         const Results& results) {
  const int seeds = arguments.whole("--seeds");
  const std::size_t schedules = chosen.indices.size();
  const std::string what = fmt::format("playing {} schedule{}", schedules, schedules == 1 ? "" : "s");
  Progress progress(what);
  if (seeds == 1) return results(chosen.scenario);
  if (!chosen.scenario.training.unsteady.drawn())
    throw ScenarioError(
        {"--seeds: nothing in the scenario is drawn; give it a compute_jitter, sequence_lengths or "
         "stragglers, or leave --seeds out"});
  std::vector<std::vector<RunResult>> all;
  for (int i = 0; i < seeds; ++i) {
    progress.now(fmt::format("{}, seed {} of {}", what, i + 1, seeds));
    all.push_back(results(with_seed(chosen.scenario, i)));
  }
  return with_bands(all);
}

}  // namespace

std::vector<RunResult> over_seeds(const ChosenSchedules& chosen, const Evaluations& evaluations,
                                  const Arguments& arguments, const Results& results) {
  std::vector<RunResult> played = played_over_seeds(chosen, arguments, results);
  const Progress progress("looking for ways to fit");
  add_advice(played, chosen, evaluations);
  return played;
}

ChosenSchedules load_chosen(const Arguments& arguments, const std::vector<Output>& outputs, const Texts& inputs) {
  if (arguments.flag("--verbose")) watch_stages();
  const Stage stage("reading the scenario");
  const Texts& sets = arguments.texts("--set");
  LoadedScenario loaded = load_scenario(arguments.text("scenario"), sets);
  Scenario& scenario = loaded.scenario;
  loaded.files.insert(loaded.files.end(), inputs.begin(), inputs.end());
  check_outputs(outputs, loaded.files, arguments.flag("--force"));
  if (!sets.empty() && !scenario.published.empty()) {
    std::cerr << "accosim: with --set this is another run than the published one: errors are of both differences\n";
    scenario.published_of_another_run = true;
  }
  scenario.sets = sets;
  std::vector<int> chosen = chosen_schedules(scenario, arguments.texts("--schedule"));
  return {std::move(loaded), std::move(chosen)};
}

ChosenSchedules load_chosen(const Arguments& arguments, const Texts& inputs) {
  const std::string& trace = arguments.text("--trace");
  ChosenSchedules chosen = load_chosen(arguments, {{"--trace", trace, trace_kind_of(trace)}}, inputs);
  chosen_ranks(chosen.scenario, arguments, "--trace-ranks");
  return chosen;
}

}  // namespace accosim
