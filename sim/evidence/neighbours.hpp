// What a GPU's kernels take by the fits of another generation: how far off predictions are for a GPU that nobody has
// measured and that is described by "inherits".
#pragma once

#include "models/spec/device.hpp"

namespace accosim {

/// Whether another generation stands for the device's.
bool has_neighbour(const Device& device);

/// The device with all that it would inherit from the profile of a GPU of the next generation (of the newest, the one
/// before it): fits of kernels, how much longer they take in a step, efficiencies and the host's launches. Its peaks,
/// memory, multiprocessors and power stay, and the fits are taken at that power. A dtype that the other has no fit for
/// takes that of its 16 bits. The device itself where it has no neighbour.
Device of_neighbour(Device device);

}  // namespace accosim
