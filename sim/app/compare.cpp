// The verb `compare`: schedules side by side; and with --machine a run of accocal beside its prediction.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "models/base/standard_streams.hpp"
#include "models/recorded/convergence_file.hpp"
#include "models/recorded/recorded_settings.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/scenario_error.hpp"
#include "reports/console.hpp"
#include "reports/plot/timeline_svg.hpp"
#include "reports/result_json.hpp"
#include "sim/app/modes.hpp"
#include "sim/app/schedules.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/terminal.hpp"
#include "sim/app/timeline.hpp"
#include "sim/app/trace.hpp"
#include "sim/app/verbs.hpp"
#include "sim/evidence/time_to_loss.hpp"
#include "sim/result/run.hpp"
#include "sim/what_if/fairness.hpp"

namespace accosim {
namespace {

void add_convergence(std::vector<RunResult>& results, const Scenario& scenario, const Arguments& arguments) {
  const std::string& path = arguments.text("--convergence");
  const MeasuredConvergence convergence = read_convergence(read_file(path), path);
  const auto baseline = std::find_if(results.begin(), results.end(),
                                     [&](const RunResult& each) { return each.label == scenario.baseline; });
  if (baseline == results.end())
    throw ScenarioError({fmt::format("--convergence compares with the baseline, \"{}\"; choose it too with --schedule",
                                     scenario.baseline)});
  add_time_to_loss(results, RunResult(*baseline), scenario, convergence, arguments.number("--critical-batch"));
}

/// As a page says how it was written.
std::string command_of(const Arguments& arguments) {
  std::string command = "accosim compare " + arguments.text("scenario");
  if (arguments.given("--convergence")) command += " --convergence " + arguments.text("--convergence");
  return command + " --markdown";
}

ExitCode compare_schedules(const Arguments& arguments) {
  if (arguments.flag("--all-ranks") && !arguments.flag("--json") && !arguments.given("--timeline")) {
    tell("", "--all-ranks lists ranks in --json, or draws them in --timeline; give one of the two");
    return ExitCode::kBadCommandLine;
  }
  ChosenSchedules chosen = load_chosen(arguments, {arguments.text("--convergence")});
  const Evaluations evaluations(network_of(arguments));
  add_tuned(chosen, evaluations, arguments);
  std::vector<RunResult> results = over_seeds(chosen, evaluations, arguments, [&](const Scenario& scenario) {
    return compare(scenario, chosen.indices, evaluations);
  });
  if (arguments.given("--convergence")) add_convergence(results, chosen.scenario, arguments);
  const FairComparison fair =
      while_shown("playing fair baselines", [&] { return fair_comparison(chosen.scenario, results, evaluations); });
  const Standing standing = while_shown("playing the winner at other batches", [&] {
    return standing_of(chosen.scenario, results, winner_rule_of(arguments), evaluations);
  });
  if (arguments.flag("--json"))
    write_results_json(std::cout, chosen.scenario, arguments.text("--network"), results, standing, fair,
                       arguments.flag("--all-ranks") ? RankRows::kAll : RankRows::kClasses,
                       recorded_settings(chosen.resolved()));
  else if (arguments.flag("--markdown"))
    write_comparison_markdown(std::cout, chosen.scenario, results, standing, command_of(arguments));
  else {
    ConsoleOptions console = console_options();
    console.wide = arguments.flag("--wide");
    write_comparison(std::cout, chosen.scenario, results, standing, console, fair);
  }
  if (arguments.given("--timeline"))
    write_timeline(std::cout, timeline_picture(chosen.scenario, chosen.indices, results, evaluations, arguments),
                   console_options());
  std::cout.flush();
  write_trace(chosen, results, arguments);
  return ExitCode::kDone;
}

/// --timeline and what is asked of it. --all-ranks is of --json too.
std::vector<Option> terminal_options() {
  std::vector<Option> options = timeline_options("--timeline");
  for (Option& option : options)
    if (option.names == "--all-ranks") {
      option.help =
          "With --json: list each rank by itself too, not only ranks that do the same; with --timeline: draw every "
          "rank that differs from the others, and not only six";
      option.needs.clear();
    }
  return joined({{.names = "--wide",
                  .help = "Show every column, in further tables where the terminal is narrow",
                  .value = false,
                  .excludes = {"--json"}},
                 {.names = "--markdown",
                  .help = "One Markdown page instead of text: what each schedule takes, sends, holds and does to the "
                          "training",
                  .value = false,
                  .excludes = {"--json", "--wide", "--timeline"}},
                 {.names = "--timeline",
                  .help = "Draw what each lane of each rank does below the tables",
                  .value = false,
                  .excludes = {"--json"}}},
                options);
}

std::vector<Option> options() {
  return joined(joined(joined(report_options(), terminal_options()), joined({tuned_option()}, winner_options())),
                {{.names = "--machine",
                  .help = "Predict a run of accocal train, given in place of a scenario, on this machine (accosim fit "
                          "SAMPLES -o MACHINE)",
                  .takes = "FILE"},
                 {.names = "--convergence",
                  .help = "Document of accocal converge: predict the time to a loss too, beside the time per token",
                  .takes = "FILE"},
                 {.names = "--critical-batch",
                  .help = "Critical batch of your training, in samples: it says what a larger batch is worth; default: "
                          "the convergence file's",
                  .value = 0.0,
                  .least = 1e-9,
                  .most = 1e18,
                  .needs = "--convergence"}});
}

Mode of_a_run() {
  const std::string one_run = "--machine compares with one run; leave out --set, --schedule, --json and --convergence";
  return {.of = "of a run (--machine)",
          .reads = {"scenario", "--machine", "--network", "--trace", "--trace-updates", "--force"},
          .run = compare_with_run,
          .is_meant = [](const Arguments& arguments) { return arguments.given("--machine"); },
          .refusals = {{"--set", one_run}, {"--schedule", one_run}, {"--json", one_run}, {"--convergence", one_run}}};
}

Mode of_schedules() {
  Texts reads = names_of(joined(report_options(), terminal_options()));
  for (const Option& option : winner_options()) reads.push_back(option.names);
  for (const char* const name : {"--convergence", "--critical-batch", "--no-tuned"}) reads.emplace_back(name);
  return {.of = "of schedules", .reads = reads, .run = compare_schedules};
}

}  // namespace

Verb compare_verb() {
  return {.name = "compare",
          .help = "Compare schedules with a baseline: time, speedup, memory",
          .options = options(),
          .modes = {of_a_run(), of_schedules()}};
}

}  // namespace accosim
