// Where a script starts the training: which trainer, on how many nodes and GPUs, with which arguments.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/json.hpp"
#include "models/launch/shell.hpp"
#include "models/launch/trainer.hpp"

namespace accosim {

/// A number and the line that says so.
struct Stated {
  int number = 0;
  int line = 0;
};

struct LaunchLine {
  std::string source{};   ///< how the file is shown: the script, or one beside it that it submits (sbatch)
  std::string program{};  ///< the trainer's file, or its module behind "-m"; empty: a configuration file was given
  int line = 0;
  std::vector<ShellText> launcher{};   ///< what stands before it
  std::vector<ShellText> arguments{};  ///< what follows it
  std::vector<ShellText> more{};       ///< and is added to that
  std::vector<ShellText> keys{};       ///< NAME=VALUE that is added: a key, where the trainer knows one of that name
  std::vector<std::string> unused{};   ///< names of these that are nowhere in the script
  ShellText config{};                  ///< the file that the arguments name
  std::optional<Stated> nodes{}, gpus_per_node{};
  std::optional<Stated> processes{};  ///< on all nodes
  std::string device_hint{};          ///< "a100", of the batch system's header
  ShellScript script{};
};

/// `more` is added behind the trainer's own arguments, or is NAME=VALUE of a variable or of a key. Throws ScenarioError
/// where no line, or several unlike ones, start a trainer that is known.
LaunchLine read_launch_line(std::string_view text, const std::string& source, const std::vector<std::string>& more);
/// The same where a trainer's configuration file stands in the place of a script.
LaunchLine launch_line_of(const std::vector<std::string>& more);

/// A file beside the script or in a folder above it, since a script may be started from there; empty: there is none. Of
/// "$(dirname "$0")/x.yaml", "`pwd`/x.yaml" and "$DIR/x.yaml" it is x.yaml, and of a path that is not there the file of
/// its name beside the script.
std::string found_near(const std::string& script, std::string path);

/// The trainer that starts, by its program, by a sign among its arguments, or by one in its configuration file; nullptr
/// where none does.
const Trainer* trainer_of(const LaunchLine& launch, const JsonValue& config);

}  // namespace accosim
