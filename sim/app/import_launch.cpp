// The verb `import launch`: a launch script, or a trainer's configuration, becomes a scenario.

#include "models/launch/import_launch.hpp"

#include <fmt/format.h>

#include <iostream>

#include "models/base/json.hpp"
#include "models/base/outputs.hpp"
#include "models/base/standard_streams.hpp"
#include "models/base/whole_file.hpp"
#include "models/read/load.hpp"
#include "sim/app/launch.hpp"
#include "sim/app/shared.hpp"
#include "sim/app/verbs.hpp"

namespace accosim {
namespace {

std::vector<Option> options() {
  return joined({{.names = "script",
                  .help = "Launch script, or a configuration that is YAML or TOML; - is standard input, a script",
                  .required = true,
                  .takes = "FILE"},
                 file_option("-o,--output", "Scenario file; default: standard output"),
                 force_option()},
                launch_options());
}

/// "taken:" and a line for each; nothing where there is none.
void tell_list(const std::string& heading, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  tell("accosim: ", heading);
  for (const std::string& line : lines) tell("  ", line);
}

ExitCode import_script(const Arguments& arguments) {
  const std::string &script = arguments.text("script"), &output = arguments.text("--output");
  check_outputs({{"--output", output, document_kind("accosim.scenario/1")}}, {script}, arguments.flag("--force"));
  const ImportedLaunch launch = launch_asked(script, arguments);
  load_scenario_tree(launch.scenario, script, {});  // throws where it is none
  tell_list(fmt::format("taken, {}:", so_many(launch.taken.size(), "argument")), launch.taken);
  tell_list("without effect on the time of a step:", launch.without_effect);
  tell_list("not modelled, and what it would change:", launch.not_modelled);
  tell_list("not known, and not counted:", launch.not_known);
  const std::string scenario = write_json(launch.scenario) + "\n";
  if (output.empty()) {
    std::cout << scenario;
  } else {
    write_whole(output, scenario);
    tell_written(output, "scenario");
  }
  return ExitCode::kDone;
}

}  // namespace

Verb import_launch_verb() {
  return {
      .name = "launch",
      .help = "Convert a launch script or a trainer's configuration (YAML, TOML) into a scenario, without running it",
      .options = options(),
      .modes = {{.reads = names_of(options()), .run = import_script}}};
}

}  // namespace accosim
