// A launch script in the place of a scenario: the options that say what it does not, and the scenario that it becomes.
#pragma once

#include <string>
#include <vector>

#include "models/launch/import_launch.hpp"
#include "models/read/load.hpp"
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
/// Refuses the options where the scenario is no script.
void refuse_launch_options(const Arguments& arguments);

}  // namespace accosim
