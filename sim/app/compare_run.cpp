// The verb `compare` of a run that accocal made: the same run predicted, side by side in numbers and on a timeline.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "models/base/outputs.hpp"
#include "models/base/standard_streams.hpp"
#include "models/base/whole_file.hpp"
#include "models/spec/scenario.hpp"
#include "reports/live_report.hpp"
#include "reports/trace_json.hpp"
#include "sim/app/modes.hpp"
#include "sim/app/shared.hpp"
#include "sim/evidence/live.hpp"
#include "sim/evidence/measured_timeline.hpp"

namespace accosim {

namespace {

/// What makes the two no comparison, on stderr.
void warn_of_differences(const MeasuredRun& run, const Cluster& machine) {
  const auto warn = [](const std::string& text) { tell("accosim: ", text); };
  if (!run.network.empty() && run.network != machine.name)
    warn(fmt::format("the run went over {}, the machine was measured over {}", run.network, machine.name));
  for (std::size_t rank = 0; rank < run.rates.size() && rank < machine.nodes.size(); ++rank) {
    const double measured = machine.nodes[rank].nics.bandwidth.value;
    constexpr double kSame = 0.01;
    if (std::abs(run.rates[rank] / measured - 1) > kSame)
      warn(
          fmt::format("rank {} sent at {:.4g} MB/s, the machine was measured at {:.4g}: measure it as the run was made",
                      rank, 1e-6 * run.rates[rank], 1e-6 * measured));
  }
  constexpr double kMostWaiting = 0.02;
  if (run.processor_wait_share > kMostWaiting)
    warn(fmt::format("the run's ranks waited {:.0f} % of the time for a processor, which is not predicted",
                     100 * run.processor_wait_share));
}

/// Both on one timeline: the measured ranks, and behind them as many predicted.
void write_both(const std::string& path, const MeasuredRun& run, const Timeline& measured, const Timeline& predicted) {
  WholeFile file(path);
  TraceWriter writer(file.stream());
  int pid = 1;
  for (const auto& [line, what] : {std::pair(&measured, "measured"), std::pair(&predicted, "predicted")}) {
    writer.begin_schedule(line->graph, run.algorithm + ", " + what, {}, pid);
    for (const Span& span : line->spans) writer.add(span);
    pid += run.ranks;
  }
  writer.finish();
  file.commit();
}

}  // namespace

ExitCode compare_with_run(const Arguments& arguments) {
  const std::string &path = arguments.text("scenario"), &machine_path = arguments.text("--machine");
  const MeasuredRun run = read_measured_run(read_file(path), path);
  LoadedScenario machine = load_scenario(machine_path, {});
  machine.files.push_back(path);
  check_outputs({{"--trace", arguments.text("--trace"), trace_kind()}}, machine.files, arguments.flag("--force"));
  const int ranks = static_cast<int>(places_of(machine.scenario.cluster).size());
  if (ranks != run.ranks)
    throw ScenarioError(
        {fmt::format("{} has {} ranks, the run {}; measure a machine of as many (accocal measure -n {})", machine_path,
                     ranks, run.ranks, run.ranks)});
  // A set time says what a micro-batch takes; else the machine's measurement does, of the model that was measured.
  const std::int64_t measured = machine.scenario.model.measured_parameters;
  if (!run.compute_time && static_cast<double>(measured) != run.parameters)
    throw ScenarioError({fmt::format(
        "{} was measured with a model of {} parameters, and the run trained one of {:.0f}; measure the machine with "
        "the run's --layers, --width, --heads, --context and --sequences",
        machine_path, measured, run.parameters)});
  const Scenario scenario = load_scenario_with(machine_path, settings_of(run)).scenario;
  warn_of_differences(run, scenario.cluster);
  const LivePrediction predicted = predict_run(machine_path, run, network_of(arguments));
  // Whole outer phases of DiLoCo.
  const int phase = updates_per_mark(run);
  const auto up = [phase](int updates) { return (updates + phase - 1) / phase * phase; };
  const int first = up(std::max(1, run.left_out));
  const int there = static_cast<int>(run.updates.size()) - first;
  const int count = std::min(up(arguments.whole("--trace-updates")), there / phase * phase);
  const Timeline measured_line = measured_timeline(run, first, std::max(1, count));
  constexpr int kSteady = 100;  // a prediction repeats itself long before
  const Timeline predicted_line = predicted_timeline(scenario, scenario.schedules.front(), std::min(first, up(kSteady)),
                                                     std::max(1, count), network_of(arguments));
  write_run_comparison(std::cout, run, {predicted.update_time, predicted.micro_batches},
                       compare_parts(measured_line, predicted_line), console_options());
  if (arguments.given("--trace")) write_both(arguments.text("--trace"), run, measured_line, predicted_line);
  return ExitCode::kDone;
}

}  // namespace accosim
