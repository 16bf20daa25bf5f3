// The verb `resolve`: the scenario with everything filled in, or one of its schedules as it is typed for a framework.
#include <fmt/format.h>

#include <iostream>
#include <utility>

#include "models/fit/kernel_rows.hpp"
#include "models/read/load.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/app/launch.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/verbs.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/result/run.hpp"
#include "sim/study/tuned.hpp"

namespace accosim {
namespace {

std::vector<Option> options() {
  return joined(
      scenario_options(),
      {form_option("Print a schedule as it is typed for this framework: arguments or a file; what it lacks is "
                   "replaced by the nearest, and told"),
       flag_option("--kernels",
                   "Print the matrix products and attention that a schedule runs, as a table "
                   "(CSV) to measure and to fit"),
       text_option("--schedule",
                   "With --for or --kernels: this schedule, by its label or name; without it the baseline",
                   "SCHEDULE")});
}

const ScheduleSpec& schedule_asked(const Scenario& scenario, const Arguments& arguments) {
  if (!arguments.given("--schedule")) return baseline_of(scenario);
  const std::vector<int> found = schedules_named(scenario, "--schedule", {arguments.text("--schedule")});
  const ScheduleSpec& last = scenario.schedules[static_cast<std::size_t>(found.back())];
  if (found.size() > 1)
    throw ScenarioError(
        {fmt::format("--schedule {}: {} schedules have that name; give the label of one, such as \"{}\"",
                     arguments.text("--schedule"), found.size(), last.label)});
  return last;
}

/// An entry of "schedules" that is the best synchronous one of a scenario.
JsonValue best_synchronous(const LoadedScenario& loaded, const Evaluations& evaluations) {
  Scenario tried = loaded.scenario;
  std::vector<int> chosen{0};
  const Tuned tuned = add_tuned(tried, chosen, evaluations);
  if (!tuned.synchronous) return resolved_entry(loaded, loaded.scenario.baseline);
  const AddedSchedule& best = *tuned.synchronous;
  JsonValue entry = best.own() ? resolved_entry(loaded, best.form) : best.entry;
  if (best.micro_batch_size > 0) entry.set("micro_batch_size", best.micro_batch_size);
  if (best.virtual_stages > 0) entry.set("virtual_pipeline_stages", best.virtual_stages);
  return entry;
}

ExitCode resolve_for(const Arguments& arguments) {
  const LaunchForm form = form_asked(arguments).value();
  const LoadedScenario loaded = load_asked(arguments);
  const ScheduleSpec& spec = schedule_asked(loaded.scenario, arguments);
  const Evaluations evaluations(NetworkKind::kSimgrid);
  std::vector<std::string> said;
  Nearest nearest = nearest_to(form, loaded, resolved_entry(loaded, is_synchronous(spec) ? spec.label : ""));
  LoadedScenario near = load_again(loaded, nearest.set);
  if (!is_synchronous(spec)) {
    said.push_back(who_has(loaded.scenario, spec));
    std::erase_if(nearest.replaced, [](const Replaced& each) { return !each.schedule.empty(); });
    near = load_again(near, nearest_to(form, near, best_synchronous(near, evaluations)).set);
  }
  for (const Replaced& each : nearest.replaced) said.push_back(in_words(each));
  if (!said.empty())
    said.push_back(cost_in_words(run_schedule(near.scenario, near.scenario.schedules.front(), evaluations),
                                 run_schedule(loaded.scenario, spec, evaluations)));
  TypedAnswer answer = typed_answer(form, near.scenario, nullptr, command_of("resolve", options(), {}, arguments));
  answer.said = std::move(said);
  std::cout << typed_text(answer);
  return ExitCode::kDone;
}

ExitCode print_kernels(const Arguments& arguments) {
  const LoadedScenario loaded = load_asked(arguments);
  const Evaluations evaluations(NetworkKind::kReference);
  write_kernel_rows(std::cout, loaded.scenario.name,
                    evaluations.costs(loaded.scenario, schedule_asked(loaded.scenario, arguments)));
  return ExitCode::kDone;
}

ExitCode resolve(const Arguments& arguments) {
  std::cout << load_asked(arguments).resolved();
  return ExitCode::kDone;
}

}  // namespace

Verb resolve_verb() {
  return {.name = "resolve",
          .help =
              "Print the scenario with every default filled in, and where each value came from; with --for as it is "
              "typed for a framework",
          .options = options(),
          .modes = {flag_mode("a framework", "--for", scenario_and({"--schedule"}), resolve_for),
                    flag_mode("kernels", "--kernels", scenario_and({"--schedule"}), print_kernels),
                    {.of = "of a scenario",
                     .reads = scenario_and({}),
                     .run = resolve,
                     .refusals = {{"--schedule", "--schedule requires --for or --kernels: all schedules are printed"}},
                     .refused = ExitCode::kBadCommandLine}}};
}

}  // namespace accosim
