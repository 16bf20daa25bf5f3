// The device profile that fit_gpu() writes, while it is being written. For fit_gpu(); others use
// models/fit/fit_gpu.hpp.
#pragma once

#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/fit/gpu_samples.hpp"
#include "models/spec/spec.hpp"

namespace accosim {

class GpuProfile {
 public:
  /// `base`: a whole profile, which has been read without an error. What the driver says of the device goes first: its
  /// multiprocessors, memory, bandwidth, power limit; and, where it is not the `same` GPU, its name, and that the fits
  /// are inherited.
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

/// Ratio of each product that was measured in the dtype, as in a step where it was, else cold, to its fit on `device`:
/// of those too that the fit meets, since one without a ratio takes a part of its neighbour's.
std::vector<MeasuredProduct> measured_products(const GpuSamples& samples, const Device& device, Dtype dtype);

}  // namespace accosim
