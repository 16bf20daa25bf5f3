// Writes fitted constants that belong to no device into calibration/constants.json, and those of links also into a
// cluster's file.
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

/// The cluster (a JSON object in `text`) with the constants of each node group's links replaced where a fit is of their
/// kind, with four digits and a citation, with NCCL's release `nccl` where it has none, and with the `doubt` that
/// speaks against the samples in place of an older one; all other keys stay as they are. `file` is for errors. Throws
/// ScenarioError when the text is no cluster with a list of nodes, and where a fit is not plausible.
std::string cluster_with_links(const std::string& text, const std::string& file, const std::vector<LinkFit>& fits,
                               const std::string& sources, std::optional<NcclRelease> nccl = {},
                               const std::string& doubt = {});

}  // namespace accosim
