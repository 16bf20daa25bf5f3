#include "sim/app/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "models/base/standard_input.hpp"
#include "models/spec/scenario_error.hpp"
#include "reports/answer.hpp"

namespace accosim {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

bool is_named_as_one(const std::string& path) {
  for (const char* const ending : {".sh", ".bash", ".slurm", ".sbatch", ".job", ".yaml", ".yml", ".toml"})
    if (path.ends_with(ending)) return true;
  return false;
}

}  // namespace

std::vector<Option> launch_options() {
  return {text_option("--cluster",
                      "Of a launch script: the cluster that it runs on, a file or a name that accosim list shows",
                      "CLUSTER"),
          number_option(
              "--nodes",
              "Of a launch script: on so many nodes; default: what the script says, or the cluster's where that is one",
              0, 1, 1e6),
          text_option("--device", "Of a launch script: these GPUs in the place of the cluster's", "DEVICE"),
          text_option("--model",
                      "Of a launch script whose model is not known by its name: its config.json, or a shipped model",
                      "FILE"),
          texts_option("--with",
                       "Of a launch script: arguments behind its trainer's own, or NAME=VALUE of one of its variables "
                       "or of a key of its configuration; may be repeated",
                       "TEXT")};
}

Option form_option(const std::string& help) {
  Option option{.names = "--for", .help = help};
  for (const LaunchForm form : values_of<LaunchForm>()) option.choices.emplace_back(name_of(form));
  return option;
}
std::optional<LaunchForm> form_asked(const Arguments& arguments) {
  return arguments.given("--for") ? value_named<LaunchForm>(arguments.text("--for")) : std::nullopt;
}

TypedAnswer typed_answer(LaunchForm form, const Scenario& near, const LoadedScenario* script,
                         const std::string& command) {
  const ScheduleSpec& spec = near.schedules.front();
  TypedAnswer answer{.form = form, .typed = typed(form, near, spec)};
  answer.name = near.name;
  answer.schedule = spec.label;
  answer.cluster = gpus_in_words(near.cluster);
  answer.command = command;
  if (script == nullptr) return answer;
  const JsonValue own = resolved_entry(*script, script->scenario.schedules.front().label);
  const Scenario before = load_again(*script, nearest_to(form, *script, own).set).scenario;
  answer.before = typed(form, before, before.schedules.front());
  return answer;
}

std::vector<Option> without_launch(std::vector<Option> options) {
  const Texts names = names_of(launch_options());
  std::erase_if(options, [&](const Option& option) { return contains(names, name_of(option)); });
  for (Option& option : options)
    if (option.names == "scenario")
      option.help = "Scenario file, or the name of one that accosim list shows; - is standard input";
  return options;
}

bool is_launch_script(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return false;  // a pipe can be read but once
  if (is_named_as_one(path)) return true;
  std::ifstream file(path);
  char first[2] = {};
  return file.read(first, 2) && first[0] == '#' && first[1] == '!';
}

ImportedLaunch launch_asked(const std::string& path, const Arguments& arguments) {
  std::string text;
  const bool piped = path == kStandardInput;
  const std::string shown = piped ? kStandardInputName : path;
  const std::string wrong = piped ? read_standard_input(text, kMostBytes) : read_text_file(path, text, kMostBytes);
  if (!wrong.empty()) throw ScenarioError({in_quotes(shown, 300) + " " + wrong});
  return import_launch(text, shown,
                       {.cluster = arguments.text("--cluster"),
                        .device = arguments.text("--device"),
                        .model = arguments.text("--model"),
                        .nodes = arguments.given("--nodes") ? arguments.whole("--nodes") : 0,
                        .with = arguments.texts("--with")});
}

void refuse_launch_script(const std::string& path, const std::string& verb) {
  if (is_launch_script(path))
    throw ScenarioError(
        {fmt::format("{}: is a launch script, and {} takes scenarios; write one first: accosim import launch {} "
                     "--cluster NAME -o mine.json",
                     printable(path, 300), verb, in_shell(path))});
}

void refuse_launch_options(const std::string& path, const Arguments& arguments) {
  std::error_code none;
  if (is_named_as_one(path) && !std::filesystem::exists(path, none))
    throw ScenarioError({in_quotes(path, 300) + " is not there"});
  if (const std::string other = other_kind_in_words(FileKind::kScenario, path);
      !other.empty() && shipped_as(FileKind::kScenario, path).empty() && !std::filesystem::exists(path, none))
    throw ScenarioError({in_quotes(path, 300) + " " + other});
  constexpr std::pair<const char*, const char*> kInstead[] = {{"--cluster", "--set /cluster=NAME"},
                                                              {"--nodes", "--set /cluster/nodes/0/count=N"},
                                                              {"--device", "--set /cluster/nodes/0/device=NAME"},
                                                              {"--model", "--set /model=NAME"},
                                                              {"--with", "--set"}};
  for (const auto& [option, instead] : kInstead)
    if (arguments.given(option))
      throw ScenarioError({fmt::format("{} belongs to a launch script; of a scenario write {}", option, instead)});
}

}  // namespace accosim
