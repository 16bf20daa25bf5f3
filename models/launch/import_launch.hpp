// A launch script becomes a scenario. The script is read, never run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/launch/draft.hpp"

namespace accosim {

struct LaunchOptions {
  std::string cluster{};  ///< its name or file: no script says what its GPUs and its network are
  std::string device{};   ///< in the place of the cluster's GPUs
  std::string model{};    ///< a shipped name or a config.json, where a trainer names its model by the hub's name
  int nodes = 0;          ///< 0: the script's, or the cluster's where the script starts one node
  std::vector<std::string> with{};  ///< arguments behind the script's own, or NAME=VALUE of a variable
};

/// The text of a script that is shown as `source`. Throws ScenarioError, with all that is missing or not modelled.
ImportedLaunch import_launch(std::string_view text, const std::string& source, const LaunchOptions& options);

}  // namespace accosim
