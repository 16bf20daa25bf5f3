// Chooses the schedules of a scenario, as compare, run and explain are asked for them.
#include "sim/app/schedules.hpp"

#include <fmt/format.h>

#include <iostream>

#include "models/base/stages.hpp"
#include "models/spec/scenario_error.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/trace.hpp"
#include "sim/study/tuned.hpp"
#include "sim/what_if/warnings.hpp"
#include "sim/what_if/what_if.hpp"

namespace accosim {

std::vector<Option> play_options() {
  return joined(scenario_options(),
                {texts_option("--schedule", "Only this schedule, by label or name; may be repeated", "LABEL"),
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
  return flag_option("-v,--verbose", "Say on standard error where the program's own time and memory went");
}

std::vector<Option> report_options() {
  return joined(joined(joined(play_options(), {json_option(), seeds_option()}), trace_options()),
                {verbose_option(), force_option()});
}

Option tuned_option() {
  return flag_option("--no-tuned",
                     "Leave out the tuned rows: the best synchronous schedule, and the best of the others");
}

void add_tuned(ChosenSchedules& chosen, const Evaluations& evaluations, const Arguments& arguments) {
  if (arguments.flag("--no-tuned")) return;
  const Progress progress("tuning both sides");
  Tuned& tuned = chosen.tuned =
      add_tuned(chosen.scenario, chosen.indices, evaluations, false, winner_rule_of(arguments));
  if (tuned.synchronous) tuned.beyond = beyond_schedules(WhatIf(chosen, evaluations, tuned), tuned.synchronous->index);
}

namespace {

/// Without advice.
std::vector<RunResult> played_over_seeds(const ChosenSchedules& chosen, const Arguments& arguments,
                                         const Results& results) {
  const int seeds = arguments.whole("--seeds");
  const std::string what = "playing " + so_many(chosen.indices.size(), "schedule");
  Progress progress(what);
  if (seeds == 1) return results(chosen.scenario);
  if (!chosen.scenario.training.unsteady.drawn())
    throw ScenarioError(
        {"--seeds: nothing in the scenario is drawn; give it a compute_jitter, sequence_lengths or "
         "stragglers, or leave --seeds out"});
  std::vector<std::vector<RunResult>> all;
  Steps steps(static_cast<std::size_t>(seeds));
  for (int i = 0; i < seeds; ++i) {
    progress.now(fmt::format("{}, seed {} of {}", what, i + 1, seeds));
    all.push_back(results(with_seed(chosen.scenario, i)));
    steps.over();
  }
  return with_bands(all);
}

/// The one schedule that the word names.
const ScheduleSpec& rung_named(const Scenario& scenario, const std::string& word) {
  const std::vector<int> named = schedules_named(scenario, "--ladder", {word});
  if (named.size() > 1)
    throw ScenarioError({fmt::format("--ladder {}: {} schedules have this name; write the label of one",
                                     printable(word), named.size())});
  return scenario.schedules[named.front()];
}

}  // namespace

std::vector<RunResult> over_seeds(const ChosenSchedules& chosen, const Evaluations& evaluations,
                                  const Arguments& arguments, const Results& results) {
  std::vector<RunResult> played = played_over_seeds(chosen, arguments, results);
  const Progress progress("looking for ways to fit");
  add_advice(played, WhatIf(chosen, evaluations, chosen.tuned));
  return played;
}

Option ladder_option() {
  return {.names = "--ladder",
          .help = "Walk from one schedule (a label or name) to another, a change at a time: --ladder ddp acco",
          .value = Texts(),
          .words = 2,
          .takes = "LABEL"};
}

Ladder ladder_asked_for(Scenario scenario, const Evaluations& evaluations, const Arguments& arguments, Tuned tuned) {
  const Texts& ends = arguments.texts("--ladder");
  if (ends.size() > 2) throw ScenarioError({"--ladder: names more than one pair of schedules; give it once"});
  const ScheduleSpec from = rung_named(scenario, ends[0]), to = rung_named(scenario, ends[1]);
  if (from.label == to.label)
    throw ScenarioError({fmt::format("--ladder {} {}: is one schedule, with nothing between; name two",
                                     printable(ends[0]), printable(ends[1]))});
  std::vector<int> all = chosen_schedules(scenario, {});
  if (!arguments.flag("--no-tuned") && !tuned.synchronous) tuned = add_tuned(scenario, all, evaluations);
  return ladder(scenario, from, to, evaluations, tuned);
}

ChosenSchedules load_chosen(const Arguments& arguments, const std::vector<Output>& outputs, const Texts& inputs) {
  if (arguments.flag("--verbose")) watch_stages();
  const Stage stage("reading the scenario");
  const Texts& sets = arguments.texts("--set");
  LoadedScenario loaded = load_asked(arguments, arguments.texts("--schedule"));
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
