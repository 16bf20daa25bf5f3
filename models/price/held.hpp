// What a device has left for computation while collectives run beside it: fewer multiprocessors.
#pragma once

#include <array>
#include <vector>

#include "models/spec/device.hpp"

namespace accosim {

/// Numbers of multiprocessors held by collectives, for which kernels are priced; a number in between counts as the next
/// larger one, one beyond the last as the last.
inline constexpr std::array<int, 14> kHeld{0, 1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 72};

/// The device without `sms` of its multiprocessors, but with at least an eighth of them. Each of the rest is as fast as
/// before, and so is the memory.
Device without(const Device& device, int sms);

/// Multiprocessors that a kernel needs to fill the achieved memory bandwidth, which others then lack. By Little's law:
/// bandwidth x kMemoryLatency bytes are in flight, and one multiprocessor has kBytesInFlight of them: 2048 threads,
/// each with a load of 16 bytes. An A100 needs 27 of its 108. Not measured.
int streaming_sms(const Device& device);
inline constexpr Seconds kMemoryLatency{600e-9};  ///< of device memory under load, V100 to H100
inline constexpr Bytes kBytesInFlight{2048 * 16};

/// The device itself, then without kHeld[1], kHeld[2]... multiprocessors, up to what three collectives and a streaming
/// kernel may hold. Only the device itself where its collectives hold none.
std::vector<Device> held_devices(const Device& device);

}  // namespace accosim
