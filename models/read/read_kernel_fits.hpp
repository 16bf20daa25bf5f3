// The fitted constants of a device's kernels.
#pragma once

#include "models/base/reader.hpp"
#include "models/spec/device.hpp"

namespace accosim {

/// "architecture", "sm_count", "power" and the fitted constants of kernels, or the constants that stand for them.
void read_kernel_fits(ObjectReader& reader, Device& device);

}  // namespace accosim
