// What a result says of the settings that it was predicted with: written by `compare` and `run` into their documents,
// and read back to say in what two of them differ.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "models/base/json.hpp"

namespace accosim {

/// A resolved scenario (LoadedScenario::resolved) without what decides about no prediction: descriptions, citations,
/// what others measured, and where each value came from.
JsonValue recorded_settings(const std::string& resolved);

struct RecordedSettings {
  std::string version, network, scenario;
  std::vector<std::string> sets;
  std::optional<JsonValue> scenario_with_defaults;  ///< none in documents older than "settings"
};

/// Of a document of results. Throws ScenarioError where what is there is not what it should be.
RecordedSettings read_recorded_settings(const JsonDocument& document);

struct SettingDifference {
  std::string setting;                             ///< a pointer into the scenario, or another member of the document
  std::array<std::optional<JsonValue>, 2> values;  ///< none where that side does not have it
};

struct SettingDifferences {
  bool whole = true;  ///< both documents hold all settings; else the scenario's name and --set are all that is compared
  std::vector<SettingDifference> differ;
};

/// In the order of the first one's. A model or device of another name is one difference, whatever is in it; schedules
/// are compared by their labels.
SettingDifferences differing_settings(const RecordedSettings& a, const RecordedSettings& b);

}  // namespace accosim
