// Where a script starts the training: which trainer, on how many nodes and GPUs, with which arguments.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/launch/shell.hpp"

namespace accosim {

/// A number and the line that says so.
struct Stated {
  int number = 0;
  int line = 0;
};

struct LaunchLine {
  std::string trainer;  ///< the file's name, or the module's behind "-m"
  int line = 0;
  std::vector<std::string> launcher{};  ///< what stands before it
  std::vector<ShellText> arguments{};   ///< what follows it
  std::optional<Stated> nodes{}, gpus_per_node{};
  std::string device_hint{};  ///< "a100", of the batch system's header
  ShellScript script{};
};

/// `more` is added behind the trainer's own arguments, or is NAME=VALUE of a variable. Throws ScenarioError where no
/// line, or several unlike ones, start a trainer that is known.
LaunchLine read_launch_line(std::string_view text, const std::string& source, const std::vector<std::string>& more);

}  // namespace accosim
