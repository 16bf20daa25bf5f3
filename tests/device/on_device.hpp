// Vectors to the device and back, for tests of what runs there.
#pragma once

#include <vector>

#include "calibration/device/device.hpp"

namespace accocal {

/// A vector's copy on the device; at least one byte, so that it has an address.
template <typename T>
DeviceMemory on_device(const std::vector<T>& values, Stream& stream) {
  DeviceMemory memory(values.size() * sizeof(T) + 1);
  stream.copy_to_device(memory.data(), values.data(), values.size() * sizeof(T));
  stream.synchronise();
  return memory;
}

/// What lies there when the stream has come so far.
template <typename T>
std::vector<T> on_host(const void* device, std::size_t count, Stream& stream) {
  std::vector<T> values(count);
  stream.copy_to_host(values.data(), device, count * sizeof(T));
  stream.synchronise();
  return values;
}

}  // namespace accocal
