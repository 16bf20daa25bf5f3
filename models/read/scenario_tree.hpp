// A scenario as its files and settings say it, before any default is filled in: the same again with more settings comes
// from here, and reads no file that these do not name.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/base/reader.hpp"
#include "models/spec/scenario.hpp"

namespace accosim {

class References;

struct ScenarioTree {
  JsonValue root;
  std::string path;                            ///< names a scenario that has no name
  std::string main_file;                       ///< the scenario's own, as it is shown
  std::map<std::string, std::string> origins;  ///< of a scenario that was resolved before, by pointer
};

/// Where the value at a pointer, or a default that was filled in there, came from.
std::string origin_of(const ScenarioTree& tree, const std::string& pointer, const JsonValue& value);
/// Whether a file or a setting has a value there that is no default.
bool writes(const ScenarioTree& tree, const std::string& pointer);

/// Applies settings as --set has them, in order, and fills in the files that they name.
void apply_sets(JsonValue& tree, const std::vector<std::string>& sets, References& references,
                Diagnostics& diagnostics);

/// Reads the scenario, and gives the tree with all defaults filled in.
Scenario read_tree(const ScenarioTree& tree, JsonValue& whole, Diagnostics& diagnostics);

// A schedule of a scenario by itself, with more settings: on which ground it is run, and then what it is. Two steps, as
// many schedules share a ground. What loading the files with those settings gives, but for the other schedules, which
// need not go with them. Both throw ScenarioError.

/// Name, model, cluster and training with more settings of those.
Scenario ground_with(const ScenarioTree& tree, const std::vector<std::string>& sets);
/// `ground` with one schedule alone: the one at `index` of those of the tree and, behind them, of the `added` entries.
/// `sets` are of places under /schedules.
Scenario alone_on(const Scenario& ground, const ScenarioTree& tree, const std::vector<JsonValue>& added,
                  std::size_t index, const std::vector<std::string>& sets);

}  // namespace accosim
