// CUDA's own handles and errors, for the files that call CUDA or one of its libraries.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "calibration/device/device.hpp"

namespace accocal {

struct Stream::Handle {
  cudaStream_t stream = nullptr;
  ~Handle();
};

/// What PCI calls the device, by which NVML finds it too.
std::string bus_of(int device);

/// Throws DeviceError with the call's name and CUDA's words.
void check_cuda(cudaError_t status, const std::string& call);

}  // namespace accocal
