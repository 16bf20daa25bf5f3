#include "models/price/held.hpp"

#include <algorithm>
#include <cmath>

#include "models/spec/device.hpp"

namespace accosim {

Device without(const Device& device, int sms) {
  Device left = device;
  if (device.sm_count == 0) return left;
  left.sm_count = std::max(device.sm_count - sms, (device.sm_count + 7) / 8);
  const double share = static_cast<double>(left.sm_count) / device.sm_count;
  for (auto& peak : left.peak)
    if (peak) peak = share * *peak;
  return left;
}

int streaming_sms(const Device& device) {
  const Bytes in_flight = device.memory_efficiency * device.memory_bandwidth * kMemoryLatency;
  return std::min(device.sm_count, static_cast<int>(std::ceil(in_flight / kBytesInFlight)));
}

std::vector<Device> held_devices(const Device& device) {
  std::vector<Device> devices{device};
  const int most = device.collective_sms > 0 ? 3 * device.collective_sms + streaming_sms(device) : 0;
  for (std::size_t i = 1; i < kHeld.size() && kHeld[i - 1] < most; ++i) devices.push_back(without(device, kHeld[i]));
  return devices;
}

}  // namespace accosim
