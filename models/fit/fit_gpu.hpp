// A device profile from what accocal measured of a GPU: whatever was measured takes the place of what the profile had.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/fit/fit_kernels.hpp"
#include "models/fit/gpu_samples.hpp"
#include "models/spec/device.hpp"

namespace accosim {

/// One line of what was fitted.
struct GpuFitRow {
  std::string what;      ///< entry of the profile: "gemm bf16", "kernels norm_forward bf16", "memory_efficiency"...
  std::string constant;  ///< the fitted value, where the entry is a single number
  FitErrors in;          ///< predicted over measured time, with all samples in the fit
  FitErrors out;         ///< cross-validation: each sample predicted from the others; no samples: not done
  bool part = false;     ///< details the row before it
};

/// The best rate that was achieved, and the limit of the device.
struct GpuRate {
  std::string what;
  double achieved = 0, limit = 0;  ///< FLOP/s or B/s; limit 0: unknown
  bool bytes = false;
  std::string of;  ///< the sample that achieved it
};

/// A measured slowdown beside the predicted one.
struct GpuInterferenceRow {
  std::string what;
  double measured = 1;
  std::optional<double> predicted;  ///< absent: the model does not predict it
  std::optional<double> other;      ///< slowdown of what ran beside it
};

struct GpuFit {
  std::string base;       ///< the profile that it started from
  std::string part{};     ///< what was measured: the base where that is of the same GPU, else as the driver calls it
  std::string profile{};  ///< JSON, schema accosim.device/1
  Device device{};        ///< the same profile as it is read back
  std::vector<GpuFitRow> rows{};
  std::vector<GpuRate> rates{};
  std::vector<GpuInterferenceRow> interference{};
  std::vector<std::string> notes{};  ///< what was not measured, or looks wrong
};

/// The shipped profile for a GPU, by the name that the driver gives it; `same`: it is of this very GPU, not of its
/// nearest relative.
struct KnownGpu {
  std::string profile;
  bool same = true;
  std::string own{};  ///< where that is a relative's, the shipped profile of this very GPU, for which less was measured
};
std::optional<KnownGpu> known_gpu(const std::string& device);

/// `base`: the profile to start from, a name or a file; empty: known_gpu(). Throws ScenarioError where there is none,
/// or where the samples contradict it. `cross`: whether GpuFitRow::out is found too.
///
/// Kernels that were replayed as a graph count as in a stream: back_to_back less graph_node longer for each launch.
///
/// - gemm, by dtype: fit_kernels() of all GEMMs, both as in a step and with a cold L2; for the dtypes that accocal
///   trains in (bf16, fp32) also the ratio of each measured GEMM to the fit.
/// - kernels: for each kernel that prices a step or its optimizer, a table made by curve_of().
/// - memory_efficiency: median rate of copies, sums, casts and gelus that move at least eight times the L2, over the
///   device's bandwidth.
/// - launch_interval: host_launch. adamw_time_per_parameter: median over bf16 (without any, fp32) samples from the same
///   size on, or the largest sample where none is that large.
/// - collective_sms: most channels of a collective between GPUs. collective_slowdown: median slowdown of collectives
///   beside kernels.
/// - product_overhead: 1 where GEMMs on tensor cores were measured, since they are measured under lasting load.
GpuFit fit_gpu(const GpuSamples& measured, const std::string& base, CrossValidation cross = CrossValidation::kYes);

}  // namespace accosim
