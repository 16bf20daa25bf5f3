// What was published ran, so it fitted: the verdicts on memory of all published training runs, and those that are
// wrong.
#pragma once

#include <string>
#include <vector>

#include "models/fit/published.hpp"
#include "sim/evaluation/resident.hpp"

namespace accosim {

struct RunFit {
  std::string id, configuration;
  std::string explanation;  ///< why the verdict is wrong, where it is
  KindMemory kind;          ///< that is least likely to fit

  bool wrong() const { return kind.fit.verdict == FitVerdict::kDoesNotFit; }
};

/// The kind of ranks that is least likely to fit.
KindMemory fullest_kind(const Scenario& scenario, int schedule);

/// Of each training run among the cases, once, however many of its figures were published. Layers that were timed alone
/// are no runs, and neither is what a simulator printed.
std::vector<RunFit> fits_of_runs(const std::vector<const PublishedCase*>& cases);

/// More wrong verdicts than `most`, and each one without a written reason: a sentence each.
std::vector<std::string> broken_fits(const std::vector<RunFit>& runs, int most);

/// Its key in bounds.json.
inline constexpr const char* kFalseVerdicts = "does_not_fit of what ran";

}  // namespace accosim
