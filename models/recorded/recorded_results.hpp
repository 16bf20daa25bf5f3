// What `run` or `compare` wrote with --json, read back for what two such documents are compared in.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/base/json.hpp"
#include "models/base/units.hpp"

namespace accosim {

struct RecordedResult {
  std::string label;
  Seconds update_time;
  double samples_per_update = 0;
  double idle_fraction = 0;  ///< of the GPUs, mean of the ranks
  Seconds exposed_communication;
  Bytes memory;
  std::vector<std::pair<std::string, Bytes>> memory_parts{};  ///< as they are named there
};

/// Throws ScenarioError with all that is wrong, each with its place. There is at least one.
std::vector<RecordedResult> read_recorded_results(const JsonDocument& document);

}  // namespace accosim
