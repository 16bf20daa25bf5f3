// Writes fitted constants that belong to no device: calibration/constants.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/fit/fit_collectives.hpp"
#include "models/spec/constants.hpp"

namespace accosim {

/// The overheads that some measured step says something of.
struct FittedOverheads {
  std::optional<double> pytorch, fused, flash_1, product_slope;
  std::string source;  ///< what they come from, and how far off they are there
};

/// The spread of ratios, and what it comes from.
struct FittedRatios {
  double spread = 0;
  std::string source;
};

/// What intervals of steps lack, and what that comes from.
struct FittedSpread {
  StepSpread spread;
  std::string source;
};

/// The document (schema accosim.constants/1) with what was fitted in place of its own, with four digits (spreads with
/// two) and what it comes from; kinds and overheads without a fit stay as they are, and so do all spreads of steps
/// where none was fitted. What a fit does not reach (LL without small messages) is as in constants(), where fits begin.
/// Throws ScenarioError where the document is none, a fit is not plausible or nothing was fitted.
std::string constants_with_fits(JsonDocument document, const std::vector<LinkFit>& links,
                                const FittedOverheads& overheads, const std::vector<FittedSpread>& spreads = {},
                                const std::optional<FittedRatios>& ratios = {});

}  // namespace accosim
