// Verdicts on memory near the capacity, and what each way out would bring: runs that somebody may plan, and published
// ones, which ran.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/fit/published.hpp"
#include "sim/evaluation/resident.hpp"
#include "sim/what_if/ways_to_fit.hpp"

namespace accosim {

/// A run: of a shipped scenario with settings, or a published one.
struct VerdictCase {
  std::string what;
  std::string scenario{};               ///< its path in the folder of what is shipped
  std::vector<std::string> settings{};  ///< as --set takes them
  std::string schedule{};               ///< its label
  std::string published;                ///< id of the published case instead
};

/// Reads a file of schema accosim.memory_verdicts/1: scenarios/validation/memory-verdicts.json. Throws ScenarioError.
std::vector<VerdictCase> load_verdict_cases(const std::string& path);

struct VerdictRow {
  VerdictCase of;
  KindMemory kind;                ///< that is least likely to fit
  WaysToFit ways;                 ///< none where it fits
  std::optional<Bytes> reserved;  ///< what was measured, where somebody did: without the CUDA context
};

/// `published` holds the runs that some cases name, `folder` the scenarios that others do. Throws ScenarioError where
/// one is not there.
std::vector<VerdictRow> memory_verdicts(const std::vector<VerdictCase>& cases, const Published& published,
                                        const std::string& folder);

}  // namespace accosim
