// Fits the constants of kernels to measured ones: by architecture and dtype, on the log of predicted over measured
// time, so that a short kernel counts as much as a long one and a few odd rows do not decide.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/base/minimise.hpp"
#include "models/fit/kernel_samples.hpp"
#include "models/spec/device.hpp"

namespace accosim {

/// Errors are predicted over measured time less 1, as fractions.
struct FitErrors {
  int samples = 0;
  double mean_absolute = 0;
  double bias = 0;
  double worst = 0;   ///< the largest, with its sign
  double spread = 0;  ///< standard deviation of the log of the ratio
};
FitErrors errors_of(const std::vector<double>& log_ratios);

/// Throws ScenarioError where the mean absolute error or the spread is above 1: such constants explain nothing and must
/// not replace others.
void check_plausible(const std::string& what, const FitErrors& errors);

/// Kernels that a fit needs to stand on its own; fewer move the usual constants a little (fit_kernels()).
inline constexpr int kFewestKernels = 10;

/// The spread that so many samples can prove: fewer than kFewestKernels prove none below 0.1.
double proven(double spread, int samples);

/// The constants of GemmFit that are fitted, in its order, with their priors: what the fits with many samples agree on.
const std::vector<Parameter>& gemm_parameters();
/// Classes of dtypes that share a fit: fp16 and bf16 do.
std::vector<std::vector<Dtype>> gemm_dtypes();
/// `p`: the constants; `power`: GemmFit::reference_power, W.
GemmFit gemm_of(const Parameters& p, double power);
Parameters constants_of(const GemmFit& fit);

struct KernelFit {
  std::string architecture;
  std::string what{};           ///< "gemm fp16" or "attention"
  std::vector<Dtype> dtypes{};  ///< that it is used for; empty for attention
  bool flash_3 = false;         ///< of attention: by FlashAttention 3
  GemmFit gemm{};               ///< of a gemm fit
  AttentionFit attention{};     ///< of an attention fit
  /// Of a gemm fit with rows that hold a kernel beside the product (bytes_beside), such as the cast of an inference
  /// framework's fp8: how many times as long its own product takes as the library's. Found where an architecture has
  /// both kinds of rows, and taken from there by the others of the dtype; 1: there is none to compare with.
  double framework = 1;
  FitErrors in{};    ///< all samples in
  FitErrors out{};   ///< each sample by a fit of the others, in kFolds parts; where it was asked for
  FitErrors half{};  ///< the same in two parts: every second sample by a fit of the others
  std::map<std::string, FitErrors> by{};  ///< "source device": errors with all samples in
};
inline constexpr int kFolds = 10;

/// Whether a fit is also tried on samples that it did not see, which takes as long again for each part.
enum class CrossValidation : std::uint8_t { kYes, kNo };

/// What to say of a fit from fewer than kFewestKernels kernels; empty where there are enough.
std::string too_few(const KernelFit& fit);

/// `devices` by name: what the samples name; a sample of another device is an error (std::invalid_argument). Devices of
/// one architecture share constants, but for their power. fp16 and bf16 are one: the same tensor cores. An architecture
/// and dtype without samples has no fit. Levenberg-Marquardt on Huber's loss, each constant held to a prior: few
/// samples stay near the usual values. The best shapes of a search (source "mamf") are left out. Deterministic:
/// the same samples in the same order give the same constants. `framework`: KernelFit::framework by what is fitted,
/// known already, for samples that cannot find it themselves.
std::vector<KernelFit> fit_kernels(const std::vector<KernelSample>& samples,
                                   const std::map<std::string, Device>& devices,
                                   CrossValidation cross = CrossValidation::kYes,
                                   std::map<std::string, double> framework = {});

}  // namespace accosim
