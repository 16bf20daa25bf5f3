// Power, clocks and temperature of a GPU, where the driver's management library is there to say them.
#pragma once

#include <string>

#include "calibration/device/device.hpp"

namespace accocal {

/// `bus` is the device's place in PCI, "0000:65:00.0". Zeros where nobody says. Nothing is ever set.
double nvml_power_limit(const std::string& bus);  ///< W
DeviceState nvml_state(const std::string& bus);

}  // namespace accocal
