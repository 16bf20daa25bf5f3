// The device as collectives that run beside computation leave it: with fewer multiprocessors.
#pragma once

#include <array>
#include <vector>

#include "models/spec/spec.hpp"

namespace accosim {

/// Numbers of multiprocessors held by collectives for which kernels are priced; one in between counts as the next, one
/// beyond as the last.
inline constexpr std::array<int, 13> kHeld{0, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 72};

/// The device without `sms` of its multiprocessors (an eighth of them stays), those left being as fast each, the memory
/// as it is.
Device without(const Device& device, int sms);

/// The device itself, then without kHeld[1], kHeld[2]...: as many as three collectives may hold. One whose collectives
/// hold none is by itself.
std::vector<Device> held_devices(const Device& device);

}  // namespace accosim
