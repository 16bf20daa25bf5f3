// Scenario, network and files, as every verb takes them.
#include "sim/app/shared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <thread>

#include "models/base/standard_input.hpp"
#include "models/base/standard_streams.hpp"
#include "models/base/text.hpp"
#include "models/spec/scenario_error.hpp"
#include "sim/app/gzip.hpp"
#include "sim/app/launch.hpp"
#include "sim/what_if/winner.hpp"

namespace accosim {
namespace {

constexpr double kPercent = 100;

}  // namespace

std::vector<Option> scenario_options() {
  return joined({{.names = "scenario",
                  .help = "Scenario file, the name of one that accosim list shows, or a launch script or "
                          "configuration; - is standard input",
                  .required = true,
                  .takes = "SCENARIO"},
                 texts_option("--set", "Replace a value: /json/pointer=value, or null to take it away; may be repeated",
                              "/POINTER=VALUE")},
                launch_options());
}

Texts scenario_and(const Texts& others) {
  Texts names = names_of(scenario_options());
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

LoadedScenario load_asked(const Arguments& arguments, const std::vector<std::string>& only) {
  const std::string& name = arguments.text("scenario");
  LoadedScenario loaded;
  if (is_launch_script(name)) {
    ImportedLaunch launch = launch_asked(name, arguments);
    for (const std::string& line : launch.not_modelled) tell("accosim: not modelled: ", line);
    for (const std::string& line : launch.not_known) tell("accosim: not known: ", line);
    loaded = load_scenario_tree(std::move(launch.scenario), name, arguments.texts("--set"), only);
    loaded.files.insert(loaded.files.end(), {name, launch.cluster_file});
  } else {
    refuse_launch_options(name, arguments);
    loaded = load_scenario(name, arguments.texts("--set"), only);
  }
  for (const LeftOutSchedule& each : loaded.left_out)
    std::cerr << fmt::format("accosim: left out {}: {}\n", in_quotes(each.label), each.why);
  return loaded;
}

Option network_option(const std::string& help) {
  return {.names = "--network",
          .help = help,
          .value = std::string("simgrid"),
          .choices = {"simgrid", "reference"},
          .default_shown = true};
}

Option force_option() { return flag_option("--force", "Replace a file that this verb did not write"); }

Option jobs_option() {
  constexpr int kMostJobs = 256;
  return {.names = "-j,--jobs",
          .help = "Number of processes; default: as many as this machine runs at a time",
          .value = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostJobs),
          .least = 1,
          .most = kMostJobs};
}

NetworkKind network_of(const Arguments& arguments) {
  return arguments.text("--network") == "simgrid" ? NetworkKind::kSimgrid : NetworkKind::kReference;
}

std::vector<Option> winner_options() {
  const WinnerRule usual;
  return {number_option("--batch-growth", "The winner's batch may have grown so many times at most", usual.batch_growth,
                        1, 1e9),
          number_option("--fit-probability", "The winner must fit into memory with this probability, in percent",
                        kPercent * usual.fit_probability, 10, kPercent)};  // below 10 % it does not fit
}

WinnerRule winner_rule_of(const Arguments& arguments) {
  return {arguments.number("--batch-growth"), arguments.number("--fit-probability") / kPercent};
}

std::string read_file(const std::string& path, std::size_t most_bytes) {
  std::string text;
  const std::string wrong = read_text_file(path, text, most_bytes);
  if (!wrong.empty()) throw ScenarioError({in_quotes(path, 300) + " " + wrong});
  return text;
}

std::string read_unpacked(const std::string& path, std::size_t most_bytes) {
  const bool piped = path == kStandardInput;
  std::string bytes, text, wrong;
  if (piped)
    wrong = read_standard_input(bytes, most_bytes);
  else
    bytes = read_file(path, most_bytes);
  if (wrong.empty() && is_gzipped(bytes)) wrong = gunzip(bytes, text, most_bytes);
  if (!wrong.empty()) throw ScenarioError({(piped ? kStandardInputName : in_quotes(path, 300)) + " " + wrong});
  return is_gzipped(bytes) ? text : bytes;
}

}  // namespace accosim
