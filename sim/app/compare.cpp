// The verb `compare`: schedules side by side; and with --machine a run of accocal beside its prediction.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "models/base/outputs.hpp"
#include "models/base/standard_streams.hpp"
#include "models/recorded/convergence_file.hpp"
#include "models/recorded/recorded_settings.hpp"
#include "models/spec/scenario_error.hpp"
#include "reports/console.hpp"
#include "reports/evidence/live_report.hpp"
#include "reports/plot/timeline_svg.hpp"
#include "reports/result_json.hpp"
#include "reports/trace/trace_json.hpp"
#include "sim/app/measured_run.hpp"
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
  const auto baseline = std::ranges::find(results, scenario.baseline, &RunResult::label);
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
  Comparison compared{.tuned = chosen.tuned};
  compared.results = over_seeds(chosen, evaluations, arguments, [&](const Scenario& scenario) {
    return compare(scenario, chosen.indices, evaluations, chosen.tuned);
  });
  if (arguments.given("--convergence")) add_convergence(compared.results, chosen.scenario, arguments);
  compared.fair = while_shown("playing fair baselines", [&] {
    return fair_comparison(chosen.scenario, compared.results, evaluations, chosen.tuned);
  });
  compared.standing = while_shown("playing the winner at other batches", [&] {
    return standing_of(chosen.scenario, compared.results, winner_rule_of(arguments), evaluations, chosen.tuned);
  });
  if (arguments.flag("--json"))
    write_results_json(std::cout, chosen.scenario, arguments.text("--network"), compared, arguments.flag("--all-ranks"),
                       recorded_settings(chosen.resolved()));
  else if (arguments.flag("--markdown"))
    print_markdown(std::cout, comparison_page(chosen.scenario, compared, command_of(arguments)));
  else {
    ConsoleOptions console = console_options();
    console.wide = arguments.flag("--wide");
    print_terminal(std::cout, comparison_document(chosen.scenario, compared), console);
  }
  if (arguments.given("--timeline"))
    write_timeline(std::cout,
                   timeline_picture(chosen.scenario, chosen.indices, compared.results, evaluations, arguments),
                   console_options());
  std::cout.flush();
  write_trace(chosen, compared.results, arguments);
  return ExitCode::kDone;
}

/// Both on one timeline: the measured ranks, and behind them as many predicted.
void write_both(const std::string& path, const MeasuredRun& run, const Timeline& measured, const Timeline& predicted) {
  TraceFile file(path);
  TraceWriter writer(file.stream());
  int pid = 1;
  for (const auto& [line, what] : {std::pair(&measured, "measured"), std::pair(&predicted, "predicted")}) {
    writer.begin_schedule(line->graph, run.algorithm + ", " + what, {}, pid);
    for (const Span& span : line->spans) writer.add(span);
    pid += run.ranks;
  }
  writer.finish();
  file.commit();
  tell_written(path, "trace of the run and its prediction");
}

/// Predicts the run of accocal that the arguments name, and draws both.
ExitCode compare_with_run(const Arguments& arguments) {
  const RunOnMachine both = load_run(arguments.text("scenario"), arguments.text("--machine"));
  const std::string& trace = arguments.text("--trace");
  check_outputs({{"--trace", trace, trace_kind_of(trace)}}, both.files, arguments.flag("--force"));
  warn_of_differences(both);
  const RunBesidePrediction beside = predict(both, arguments.whole("--trace-updates"), network_of(arguments));
  print_terminal(std::cout,
                 run_reading(both.run, beside.predicted, compare_parts(beside.measured_line, beside.predicted_line)),
                 console_options());
  if (arguments.given("--trace")) write_both(trace, both.run, beside.measured_line, beside.predicted_line);
  return ExitCode::kDone;
}

/// --timeline and what is asked of it. --all-ranks is of --json too.
std::vector<Option> terminal_options() {
  return {flag_option("--wide", "Show every column, in further tables where the terminal is narrow", {"--json"}),
          flag_option("--markdown",
                      "One Markdown page instead of text: what each schedule takes, sends, holds and does to the "
                      "training",
                      {"--json", "--wide", "--timeline"}),
          flag_option("--timeline", "Draw what each lane of each rank does below the tables", {"--json"}),
          timeline_options("--timeline").front(),
          flag_option("--all-ranks",
                      "With --json: list each rank by itself too, not only ranks that do the same; with --timeline: "
                      "draw every rank that differs from the others, and not only six")};
}

std::vector<Option> options() {
  return joined(
      joined(joined(report_options(), terminal_options()), joined({tuned_option()}, winner_options())),
      {text_option("--machine",
                   "Predict a run of accocal train, given in place of a scenario, on this machine (accosim "
                   "fit SAMPLES -o MACHINE)",
                   "FILE"),
       text_option("--convergence",
                   "Document of accocal converge: predict the time to a loss too, beside the time per token", "FILE"),
       number_option("--critical-batch",
                     "Critical batch of your training, in samples: it says what a larger batch is worth; "
                     "default: the convergence file's",
                     0.0, 1e-9, 1e18, "--convergence")});
}

Mode of_a_run() {
  return flag_mode("a run", "--machine", {"scenario", "--network", "--trace", "--trace-updates", "--force"},
                   compare_with_run, {"--set", "--schedule", "--json", "--convergence"},
                   "--machine compares with one run; leave out --set, --schedule, --json and --convergence");
}

Mode of_schedules() {
  Texts reads = names_of(options());
  std::erase(reads, "--machine");
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
