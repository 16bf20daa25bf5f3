// A launch script in the place of a scenario: the options that say what it does not, and the scenario that it becomes;
// and the way back, a scenario as it is typed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/launch/import_launch.hpp"
#include "models/read/load.hpp"
#include "reports/launch/typed_text.hpp"
#include "sim/app/verb.hpp"

namespace accosim {

/// --cluster, --nodes, --device and --with.
std::vector<Option> launch_options();
/// Whether a file is one by its name or its first line.
bool is_launch_script(const std::string& path);
/// The scenario that a script becomes; "-" is standard input. Throws ScenarioError.
ImportedLaunch launch_asked(const std::string& path, const Arguments& arguments);
/// Refuses a script where many settings of a scenario are tried.
void refuse_launch_script(const std::string& path, const std::string& verb);
/// Of a verb that takes scenarios alone.
std::vector<Option> without_launch(std::vector<Option> options);
/// --for, of a framework whose flags or file are printed.
Option form_option(const std::string& help);
std::optional<LaunchForm> form_asked(const Arguments& arguments);
/// The first schedule of a scenario that is the nearest in the form. `script`: the scenario that a launch script
/// became, against whose lines it is held.
TypedAnswer typed_answer(LaunchForm form, const Scenario& near, const LoadedScenario* script,
                         const std::string& command);
/// Refuses the options where the scenario at `path` is no script, or a script that is not there.
void refuse_launch_options(const std::string& path, const Arguments& arguments);

}  // namespace accosim
