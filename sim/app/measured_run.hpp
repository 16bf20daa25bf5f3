// A run that accocal made and the same run predicted on the machine that it was made on, for the verbs that show both.
#pragma once

#include <string>

#include "models/read/load.hpp"
#include "models/recorded/measured_run.hpp"
#include "sim/evidence/measured_timeline.hpp"
#include "sim/network/network.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// The machine's scenario, changed into the run.
struct RunOnMachine : LoadedScenario {
  MeasuredRun run;
};
/// Throws ScenarioError where the machine cannot be the one that the run was made on.
RunOnMachine load_run(const std::string& run_path, const std::string& machine_path);

/// What makes the two no comparison, on stderr.
void warn_of_differences(const RunOnMachine& both);

struct RunBesidePrediction {
  RunResult predicted;
  Timeline measured_line{}, predicted_line{};  ///< steady updates, as many of both
};
/// `updates`: of the timelines; more where a phase of DiLoCo has more.
RunBesidePrediction predict(const RunOnMachine& both, int updates, NetworkKind network);

}  // namespace accosim
