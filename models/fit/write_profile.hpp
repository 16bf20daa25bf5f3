// Puts fitted constants into the text of a device profile.
#pragma once

#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/fit/fit_kernels.hpp"
#include "models/spec/device.hpp"

namespace accosim {

/// "NT 768x768x4096x1 +": layout, m x n x k x batch, + where it adds to its result.
std::string key_of(const MeasuredProduct& product);
/// A fit as JSON for a profile, constants and ratios of measured products with four digits.
JsonValue json_of(const GemmFit& fit);

/// Replaces a profile's single "gemm_efficiency" by a fit for each dtype that it has a peak for: that fraction of the
/// peak for every shape, marked as inherited. So dtypes that were not measured keep it beside those that were.
void spread_gemm_efficiency(JsonValue& profile, const Device& device);

/// The profile (a JSON object in `text`) with what with_fits() fits anew for `device` in "gemm" and "attention",
/// constants with four digits, and a citation for each; what was not fitted, and all other keys, stay as they are, and
/// so does a fit of the device's own kernels where there is only a relative's. `others` are pooled with `fits` for
/// dtypes that neither has. Steps take the products in `as_measured` that are of the device as long as these took.
/// `file` is for errors. Throws ScenarioError when the text is no JSON object.
std::string profile_with_fits(const std::string& text, const std::string& file, const Device& device,
                              const std::vector<KernelFit>& fits, const std::vector<KernelFit>& others = {},
                              const std::vector<KernelSample>& as_measured = {});

}  // namespace accosim
