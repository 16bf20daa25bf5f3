// The device profile that fit_gpu() writes, while it is being written. For fit_gpu(); others use
// models/fit/fit_gpu.hpp.
#pragma once

#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/fit/gpu_samples.hpp"
#include "models/spec/device.hpp"

namespace accosim {

class GpuProfile {
 public:
  /// `base`: a complete and valid profile. First takes over what the driver says of the device: multiprocessors,
  /// memory, bandwidth, power limit. Its name is "H100-SXM, measured" or, where the base is not of the `same` GPU,
  /// "NVIDIA H200, measured"; then the fits are marked as inherited, and kernel tables are dropped.
  GpuProfile(JsonValue base, const GpuSamples& samples, const std::string& base_name, bool same);

  void set_number(const char* key, double value, const std::string& source);
  void set_time(const char* key, Seconds value, const std::string& source);
  void set_gemm(Dtype dtype, const GemmFit& fit, const std::string& source);
  void set_kernels(const std::vector<KernelTable>& tables);

  /// As the profile stands.
  const Device& device() const { return device_; }
  /// "accocal measure on NVIDIA H200, 2026-11-21, commit abc, driver 13.0, cuBLASLt 13.1".
  const std::string& measured() const { return measured_; }
  std::string text() const;

 private:
  void set(const std::string& key, JsonValue value, const std::string& source);
  void read();

  JsonValue root_;
  std::string measured_;
  Device device_;
};

/// Measured over fitted time (on `device`) of each GEMM measured in the dtype: as in a step, or with a cold L2 where
/// only that was measured. GEMMs that the fit predicts well are included, since one without a ratio takes a part of its
/// neighbour's (measured_ratio()).
std::vector<MeasuredProduct> measured_products(const GpuSamples& samples, const Device& device, Dtype dtype);

}  // namespace accosim
