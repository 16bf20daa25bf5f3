// The library comes with the driver and its header often with nothing, so both are looked up while the program runs:
// declarations and constants are those of NVIDIA's published interface.
#include "calibration/cuda/nvml.hpp"

#include <dlfcn.h>

namespace accocal {
namespace {

using Device = void*;
constexpr int kSuccess = 0;
constexpr unsigned kTemperatureOfGpu = 0, kClockOfSm = 1, kClockOfMemory = 2;
constexpr double kMilliwatt = 1e-3, kMegahertz = 1e6;

struct Reason {
  unsigned long long bit;
  const char* text;
};
// Idleness (1) is no throttling, and the settings of clocks by applications (2) and for displays (0x100) are no news.
constexpr Reason kReasons[] = {{0x4, "power cap"},       {0x8, "hardware slowdown"}, {0x10, "sync boost"},
                               {0x20, "heat, software"}, {0x40, "heat, hardware"},   {0x80, "power brake"}};

/// The library, loaded once and kept. Each call is null where the library lacks it.
struct Nvml {
  int (*device_by_bus)(const char*, Device*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*power_limit)(Device, unsigned*) = nullptr;
  int (*clock)(Device, unsigned, unsigned*) = nullptr;
  int (*temperature)(Device, unsigned, unsigned*) = nullptr;
  int (*throttled)(Device, unsigned long long*) = nullptr;

  Nvml() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    int (*begin)() = nullptr;
    find(library, "nvmlInit_v2", begin);
    if (begin == nullptr || begin() != kSuccess) return;
    find(library, "nvmlDeviceGetHandleByPciBusId_v2", device_by_bus);
    find(library, "nvmlDeviceGetPowerUsage", power);
    find(library, "nvmlDeviceGetEnforcedPowerLimit", power_limit);
    find(library, "nvmlDeviceGetClockInfo", clock);
    find(library, "nvmlDeviceGetTemperature", temperature);
    find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", throttled);
  }

  /// Null where there is none.
  Device device(const std::string& bus) const {
    Device found = nullptr;
    return device_by_bus != nullptr && device_by_bus(bus.c_str(), &found) == kSuccess ? found : nullptr;
  }

 private:
  template <typename Call>
  static void find(void* library, const char* name, Call*& call) {
    call = reinterpret_cast<Call*>(dlsym(library, name));
  }
};

const Nvml& nvml() {
  static Nvml library;
  return library;
}

// What a call answers for a device, 0 where it cannot; some calls also take what of the device.
template <typename Call, typename... Which>
double ask(Call* call, Device device, Which... which) {
  unsigned value = 0;
  return call != nullptr && device != nullptr && call(device, which..., &value) == kSuccess ? value : 0;
}

}  // namespace

double nvml_power_limit(const std::string& bus) { return kMilliwatt * ask(nvml().power_limit, nvml().device(bus)); }

DeviceState nvml_state(const std::string& bus) {
  DeviceState state;
  const Device device = nvml().device(bus);
  state.sm_clock = kMegahertz * ask(nvml().clock, device, kClockOfSm);
  state.memory_clock = kMegahertz * ask(nvml().clock, device, kClockOfMemory);
  state.power = kMilliwatt * ask(nvml().power, device);
  state.temperature = ask(nvml().temperature, device, kTemperatureOfGpu);
  unsigned long long reasons = 0;
  if (device != nullptr && nvml().throttled != nullptr && nvml().throttled(device, &reasons) == kSuccess) {
    for (const Reason& reason : kReasons) {
      if ((reasons & reason.bit) != 0)
        state.throttled += (state.throttled.empty() ? "" : ", ") + std::string(reason.text);
    }
  }
  return state;
}

}  // namespace accocal
