// Writes fitted constants that belong to no device: calibration/constants.json.
#pragma once

#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/fit/fit_collectives.hpp"
#include "models/spec/spec.hpp"

namespace accosim {

/// The document (schema accosim.constants/1) with the constants of each kind that was fitted and the overheads in place
/// of its own, with four digits and what they come from; kinds without a fit stay as they are. `steps` says what the
/// overheads come from. Throws ScenarioError where the document is none or a fit is not plausible.
std::string constants_with_fits(JsonDocument document, const std::vector<LinkFit>& links, const Overheads& overheads,
                                const std::string& steps);

}  // namespace accosim
