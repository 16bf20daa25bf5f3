// A device profile from what accocal measured of a GPU: whatever was measured takes the place of what the profile had.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/fit/fit_kernels.hpp"
#include "models/fit/gpu_samples.hpp"
#include "models/spec/spec.hpp"

namespace accosim {

/// One line of what was fitted.
struct GpuFitRow {
  std::string what;      ///< of the profile: "gemm bf16", "kernels norm_forward bf16", "memory_efficiency"...
  std::string constant;  ///< its value, where it is one
  FitErrors in;          ///< predicted over measured time, samples in
  FitErrors out;         ///< each sample by what the others say; no samples: not asked
  bool part = false;     ///< of what the row before it is
};

/// The best that was achieved, beside what the device could.
struct GpuRate {
  std::string what;
  double achieved = 0, limit = 0;  ///< FLOP/s or B/s; limit 0: unknown
  bool bytes = false;
  std::string of;  ///< the sample
};

/// A measured slowdown beside what the simulator's model makes of it.
struct GpuInterferenceRow {
  std::string what;
  double measured = 1;
  std::optional<double> predicted;  ///< absent: the model has no word for it
  std::optional<double> other;      ///< what the other one lost
};

struct GpuFit {
  std::string base;     ///< the profile that it started from
  std::string profile;  ///< JSON, schema accosim.device/1
  Device device;        ///< the same, as it is read
  std::vector<GpuFitRow> rows;
  std::vector<GpuRate> rates;
  std::vector<GpuInterferenceRow> interference;
  std::vector<std::string> notes;  ///< what was not measured, or looks wrong
};

/// The shipped profile of a GPU by its driver's name, and whether it is the very GPU or the nearest relative.
struct KnownGpu {
  std::string profile;
  bool same = true;
};
std::optional<KnownGpu> known_gpu(const std::string& device);

/// `base`: the profile to start from, a name or a file; empty: known_gpu(). Throws ScenarioError where there is none,
/// or where the samples are of another device than a profile can describe.
///
/// - gemm, by dtype: fit_kernels() of all products, as in a step and cold; for the dtypes that accocal trains in
///   (bf16, fp32) also the ratio of each measured product to the fit.
/// - kernels: a table of each that a step or its optimizer is priced by, by curve_of().
/// - memory_efficiency: median rate of copies, sums, casts and gelus of at least eight times the L2, in B/s over the
///   device's bandwidth.
/// - launch_interval: host_launch. adamw_time_per_parameter: median of bf16 (fp32 where there is none) from the same
/// size.
/// - collective_sms: channels of collectives between GPUs; collective_slowdown: what a collective lost beside kernels.
/// - product_overhead: 1 where products on tensor cores were measured, which they are under lasting load.
GpuFit fit_gpu(const GpuSamples& samples, const std::string& base);

}  // namespace accosim
