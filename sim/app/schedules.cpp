// Chooses the schedules of a scenario, as compare, run and explain are asked for them.
#include "sim/app/schedules.hpp"

#include <fmt/format.h>

#include <iostream>

#include "models/base/nearest.hpp"
#include "models/base/outputs.hpp"
#include "models/base/text.hpp"
#include "models/spec/scenario.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/trace.hpp"
#include "sim/result/balance.hpp"
#include "sim/result/seeds.hpp"

namespace accosim {

std::vector<Option> play_options() {
  return joined(
      scenario_options(),
      {{.names = "--schedule", .help = "Only this schedule, by label or name; may be repeated", .value = Texts()},
       network_option("simgrid: flows contend for links; reference: no contention")});
}

std::vector<Option> report_options() {
  const Option json = {.names = "--json", .help = "One JSON document instead of text", .value = false};
  const Option seeds = {.names = "--seeds",
                        .help =
                            "Play N seeds of what is drawn (jitter, lengths, stragglers), from the scenario's on: "
                            "medians and 10 to 90 % bands",
                        .value = 1,
                        .least = 1,
                        .most = 10'000};
  return joined(joined(joined(play_options(), {json, seeds}), trace_options()), {force_option()});
}

std::vector<int> chosen_schedules(const Scenario& scenario, const Texts& wanted) {
  std::vector<bool> chosen(scenario.schedules.size(), wanted.empty());
  std::vector<std::string> errors;
  for (const std::string& want : wanted) {
    bool any = false;
    const auto choose = [&](auto&& matches) {
      for (std::size_t i = 0; i < chosen.size(); ++i)
        if (matches(scenario.schedules[i])) chosen[i] = any = true;
    };
    choose([&](const ScheduleSpec& spec) { return spec.label == want; });
    if (!any) choose([&](const ScheduleSpec& spec) { return spec.name == want; });
    if (any) continue;
    std::string labels;
    Texts known;
    for (const ScheduleSpec& spec : scenario.schedules) {
      labels += fmt::format("{}\"{}\"", labels.empty() ? "" : ", ", spec.label);
      known.insert(known.end(), {spec.label, spec.name});
    }
    errors.push_back(fmt::format("--schedule {}: the scenario has no such schedule; {}its schedules are {}",
                                 printable(want), did_you_mean(want, known), labels));
  }
  if (!errors.empty()) throw ScenarioError(errors);
  std::vector<int> indices;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) indices.push_back(static_cast<int>(i));
  return indices;
}

std::vector<RunResult> over_seeds(const ChosenSchedules& chosen, const Arguments& arguments, const Results& results) {
  const int seeds = arguments.whole("--seeds");
  if (seeds == 1) return results(chosen.scenario);
  if (!chosen.scenario.training.unsteady.drawn())
    throw ScenarioError(
        {"--seeds: nothing in the scenario is drawn; give it a compute_jitter, sequence_lengths or "
         "stragglers, or leave --seeds out"});
  std::vector<std::vector<RunResult>> all;
  for (int i = 0; i < seeds; ++i) all.push_back(results(with_seed(chosen.scenario, i)));
  return with_bands(all);
}

ChosenSchedules load_chosen(const Arguments& arguments, const Texts& inputs) {
  const Texts& sets = arguments.texts("--set");
  LoadedScenario loaded = load_balanced(arguments.text("scenario"), sets);
  Scenario& scenario = loaded.scenario;
  loaded.files.insert(loaded.files.end(), inputs.begin(), inputs.end());
  check_outputs({{"--trace", arguments.text("--trace"), trace_kind()}}, loaded.files, arguments.flag("--force"));
  traced_ranks(scenario, arguments);
  if (!sets.empty() && !scenario.published.empty()) {
    std::cerr << "accosim: with --set this is another run than the published one: errors are of both differences\n";
    scenario.published_of_another_run = true;
  }
  std::vector<int> chosen = chosen_schedules(scenario, arguments.texts("--schedule"));
  return {std::move(scenario), std::move(chosen)};
}

}  // namespace accosim
