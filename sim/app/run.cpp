// The verb `run`: everything about each schedule by itself.
#include "sim/result/run.hpp"

#include <iostream>

#include "reports/console.hpp"
#include "reports/result_json.hpp"
#include "sim/app/schedules.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/trace.hpp"
#include "sim/app/verbs.hpp"

namespace accosim {
namespace {

ExitCode run_each(const Arguments& arguments) {
  const ChosenSchedules chosen = load_chosen(arguments, {});
  std::vector<RunResult> results;
  for (const int index : chosen.indices)
    results.push_back(run_schedule(chosen.scenario, chosen.scenario.schedules[index], network_of(arguments)));
  if (arguments.flag("--json"))
    write_results_json(std::cout, chosen.scenario, arguments.text("--network"), results);
  else
    for (const RunResult& result : results) write_run(std::cout, chosen.scenario, result, console_options());
  std::cout.flush();
  write_trace(chosen, results, arguments);
  return ExitCode::kDone;
}

}  // namespace

Verb run_verb() {
  return {.name = "run",
          .help = "Show all that is predicted of each schedule",
          .options = report_options(),
          .modes = {{.reads = names_of(report_options()), .run = run_each}}};
}

}  // namespace accosim
