// The verb `explain`: where the time of one update goes.
#include <iostream>

#include "reports/explain_text.hpp"
#include "sim/app/schedules.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/verbs.hpp"
#include "sim/result/balance.hpp"
#include "sim/result/critical_path.hpp"
#include "sim/result/run.hpp"

namespace accosim {
namespace {

ExitCode explain_each(const Arguments& arguments) {
  const Scenario scenario = load_balanced(arguments.text("scenario"), arguments.texts("--set")).scenario;
  for (const int index : chosen_schedules(scenario, arguments.texts("--schedule"))) {
    const ScheduleSpec& spec = scenario.schedules[index];
    const SteadyPlay play =
        play_steady(scenario, spec, scenario.training.gradient_accumulation_steps, network_of(arguments));
    write_explanation(std::cout, explain(spec, play), console_options());
  }
  return ExitCode::kDone;
}

}  // namespace

Verb explain_verb() {
  return {.name = "explain",
          .help = "Show where the time of one update goes",
          .options = play_options(),
          .modes = {{.reads = names_of(play_options()), .run = explain_each}}};
}

}  // namespace accosim
