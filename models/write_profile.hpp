// Puts fitted constants into the text of a device profile.
#pragma once

#include <string>
#include <vector>

#include "models/fit_kernels.hpp"
#include "models/json.hpp"

namespace accosim {

/// A fit as a profile has it, constants with four digits; without its measured products.
JsonValue json_of(const GemmFit& fit);

/// The profile (a JSON object in `text`) with "gemm" and "attention" replaced by what with_fits() gives for `device`,
/// constants with four digits, and a citation for each; all other keys stay as they are. `file` is for errors. Throws
/// ScenarioError when the text is no JSON object.
std::string profile_with_fits(const std::string& text, const std::string& file, const Device& device,
                              const std::vector<KernelFit>& fits);

}  // namespace accosim
