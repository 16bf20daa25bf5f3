// The verb `run`: everything about each schedule by itself.
#include "sim/result/run.hpp"

#include <iostream>

#include "models/recorded/recorded_settings.hpp"
#include "reports/console.hpp"
#include "reports/result_json.hpp"
#include "sim/app/schedules.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/trace.hpp"
#include "sim/app/verbs.hpp"

namespace accosim {
namespace {

ExitCode run_each(const Arguments& arguments) {
  const ChosenSchedules chosen = load_chosen(arguments, {});
  const Evaluations evaluations(network_of(arguments));
  const std::vector<RunResult> results = over_seeds(chosen, evaluations, arguments, [&](const Scenario& scenario) {
    return mapped<RunResult>(chosen.indices, [&](const int index) {
      return run_schedule(scenario, scenario.schedules[index], evaluations);
    });
  });
  const auto standing = [&](const std::vector<RunResult>& of) {
    return standing_of(chosen.scenario, of, winner_rule_of(arguments), evaluations);
  };
  if (arguments.flag("--json"))
    write_results_json(std::cout, chosen.scenario, arguments.text("--network"),
                       {results, results.size() == 1 ? standing(results) : Standing{}}, arguments.flag("--all-ranks"),
                       recorded_settings(chosen.resolved()));
  else
    for (const RunResult& result : results)
      print_terminal(std::cout, run_document(chosen.scenario, result, standing({result})), console_options());
  std::cout.flush();
  write_trace(chosen, results, arguments);
  return ExitCode::kDone;
}

std::vector<Option> options() {
  return joined(joined(report_options(), winner_options()),
                {{.names = "--all-ranks",
                  .help = "List each rank by itself too, not only ranks that do the same",
                  .value = false,
                  .needs = "--json"}});
}

}  // namespace

Verb run_verb() {
  return {.name = "run",
          .help = "Show all that is predicted of each schedule",
          .options = options(),
          .modes = {{.reads = names_of(options()), .run = run_each}}};
}

}  // namespace accosim
