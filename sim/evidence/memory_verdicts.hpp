// Verdicts on memory near the capacity, and what each way out would bring: runs that somebody may plan, and published
// ones, which ran.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/fit/published.hpp"
#include "sim/result/resident.hpp"
#include "sim/result/ways_to_fit.hpp"

namespace accosim {

/// A run: of a shipped scenario with settings, or a published one.
struct VerdictCase {
  std::string what;
  std::string scenario;               ///< as a user names it
  std::vector<std::string> settings;  ///< as --set takes them
  std::string schedule;               ///< its label
  std::string published;              ///< id of the published case instead
};
const std::vector<VerdictCase>& verdict_cases();

struct VerdictRow {
  VerdictCase of;
  KindMemory kind;                ///< that is least likely to fit
  WaysToFit ways;                 ///< none where it fits
  std::optional<Bytes> reserved;  ///< what was measured, where somebody did: without the CUDA context
};

/// `published` holds the cases that some rows are of. `folder` holds `scenarios`. Throws ScenarioError.
std::vector<VerdictRow> memory_verdicts(const Published& published, const std::string& folder);

}  // namespace accosim
