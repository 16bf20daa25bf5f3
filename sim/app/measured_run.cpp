// Reads a run and its machine, and refuses what does not belong together.
#include "sim/app/measured_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/standard_streams.hpp"
#include "models/spec/scenario_error.hpp"
#include "sim/app/shared.hpp"
#include "sim/result/run.hpp"

namespace accosim {

RunOnMachine load_run(const std::string& run_path, const std::string& machine_path) {
  MeasuredRun run = read_measured_run(read_file(run_path), run_path);
  const LoadedScenario machine = load_scenario(machine_path, {});
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
  RunOnMachine both{load_scenario_with(machine_path, settings_of(run)), std::move(run)};
  both.files.push_back(run_path);
  return both;
}

void warn_of_differences(const RunOnMachine& both) {
  const MeasuredRun& run = both.run;
  const Cluster& machine = both.scenario.cluster;
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

RunBesidePrediction predict(const RunOnMachine& both, int updates, NetworkKind network) {
  const MeasuredRun& run = both.run;
  const ScheduleSpec& spec = both.scenario.schedules.front();
  RunBesidePrediction beside{.predicted = run_schedule(both.scenario, spec, network)};
  // Whole outer phases of DiLoCo.
  const int phase = updates_per_mark(run);
  const auto up = [phase](int some) { return (some + phase - 1) / phase * phase; };
  const int first = up(std::max(1, run.left_out));
  const int there = static_cast<int>(run.updates.size()) - first;
  const int count = std::max(1, std::min(up(updates), there / phase * phase));
  beside.measured_line = measured_timeline(run, first, count);
  constexpr int kSteady = 100;  // a prediction repeats itself long before
  beside.predicted_line = predicted_timeline(both.scenario, spec, std::min(first, up(kSteady)), count, network);
  return beside;
}

}  // namespace accosim
