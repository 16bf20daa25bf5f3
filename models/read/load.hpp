// The loader: from the name of a file to a scenario that is valid, or to the list of all that is wrong with it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/read/overrides.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/shipped.hpp"

namespace accosim {

struct ScenarioTree;

/// An entry of "schedules" that cannot be had with the rest of the scenario.
struct LeftOutSchedule {
  std::string label;
  std::string why;
  std::string name{};  ///< of the schedule
};

struct LoadedScenario {
  Scenario scenario;
  /// The scenario as JSON with every file and default filled in, and "origins": where each value came from. It loads
  /// again to the same scenario and to the same text. Made when it is asked for: few do, and it is long.
  std::function<std::string()> resolved;
  std::vector<std::string> files{};  ///< all that it was read from
  /// What it was read from, for the same with more settings.
  std::shared_ptr<const ScenarioTree> tree{};
  std::vector<LeftOutSchedule> left_out{};  ///< the others being enough
};

/// "-" as the name is standard input, from which files are named as from the current directory. `sets` are
/// "/json/pointer=value", applied in order to the scenario with its files filled in; the value is JSON when
/// it parses as JSON, else text; a file that it names is looked for from the current directory. Schedules that cannot
/// be had there are left out where others can; with `only`, labels or names, none that is one of them, and all others
/// but the baseline before they are looked at. Throws ScenarioError.
LoadedScenario load_scenario(const std::string& name_or_path, const std::vector<std::string>& sets,
                             const std::vector<std::string>& only = {});
/// The same of a scenario that is in memory, whose values say where they came from; `source` is how the file is shown
/// that it was made of.
LoadedScenario load_scenario_tree(JsonValue tree, const std::string& source, const std::vector<std::string>& sets,
                                  const std::vector<std::string>& only = {});
/// The same scenario with more settings, without reading its files again.
LoadedScenario load_again(const LoadedScenario& loaded, const std::vector<std::string>& sets);
/// The same of a scenario that is known to be well written before the last of `sets`: any schedule with something wrong
/// in its entry is then one that cannot be had there.
LoadedScenario load_varied(const std::string& name_or_path, const std::vector<std::string>& sets);
/// The same as load_scenario() with values that are trees, not text of the user's, so that nothing in them is parsed.
LoadedScenario load_scenario_with(const std::string& name_or_path, const std::vector<Setting>& settings);

/// Single parts. Throw ScenarioError.
Device load_device(const std::string& name_or_path);
Model load_model(const std::string& name_or_path);
Cluster load_cluster(const std::string& name_or_path);

/// The file that a path from the current directory, or the name of a shipped file, stands for. Throws ScenarioError.
std::string file_of(FileKind kind, const std::string& name_or_path);

}  // namespace accosim
