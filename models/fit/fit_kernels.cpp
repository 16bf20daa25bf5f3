#include "models/fit/fit_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "models/read/read_device.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

/// Constants in the order of kFitConstants, with the power of the samples' devices; the last is "fixed".
template <class Fit>
Fit with_constants(const Parameters& p, double power) {
  Fit fit;
  std::size_t next = 0;
  for (const FitConstant<Fit>& each : kFitConstants<Fit>) fit.*each.member = each.is_power ? power : p[next++];
  fit.fixed = Seconds{p[next]};
  return fit;
}

const std::vector<Parameter>& attention_parameters() {
  static const std::vector<Parameter> kAll = {
      {0.6, 2, 0.05, 1},        // forward_fraction
      {0.8, 0.1, 0.3, 1.2},     // backward_fraction over forward_fraction
      {0.4, 0.5, 0.01, 3},      // wide_head
      {0.5, 0.5, 0.01, 1},      // tail
      {40, 0.7, 1, 1000},       // softmax
      {0.4, 0.4, 0.05, 1.1},    // streaming
      {5e-6, 0.7, 5e-7, 5e-5},  // fixed
  };
  return kAll;
}

AttentionFit attention_of(const Parameters& p, double power) {
  AttentionFit fit = with_constants<AttentionFit>(p, power);
  fit.backward_fraction = std::min(1.0, p[0] * p[1]);  // of the peak, as a profile has it
  return fit;
}

using Chosen = std::vector<const KernelSample*>;

/// One group of samples: of one architecture, one class of dtypes, or of attention.
class GroupFit {
 public:
  /// `framework`: KernelFit::framework, where another architecture found it.
  GroupFit(bool attention, Chosen samples, const std::map<std::string, Device>& devices, double framework = 1)
      : attention_(attention), samples_(std::move(samples)), devices_(devices), framework_(framework) {
    bool some = false, others = false;
    for (const KernelSample* sample : samples_) {
      power_ = std::max(power_, devices_.at(sample->device).power);
      (has_beside(*sample) ? some : others) = true;
    }
    finds_framework_ = !attention && some && others;
  }

  bool finds_framework() const { return finds_framework_; }

  Parameters fit(const Chosen& samples) const {
    const auto residuals = [&](const Parameters& p) { return this->residuals(samples, p); };
    std::vector<Parameter> parameters = attention_ ? attention_parameters() : gemm_parameters();
    if (finds_framework_) parameters.push_back({1, 0.2, 0.5, 2});
    return minimise(residuals, parameters);
  }

  std::vector<double> residuals(const Chosen& samples, const Parameters& p) const {
    std::map<std::string, Device> fitted;
    std::vector<double> out;
    for (const KernelSample* each : samples) {
      const KernelSample& sample = *each;
      auto device = fitted.find(sample.device);
      if (device == fitted.end()) device = fitted.emplace(sample.device, set(devices_.at(sample.device), p)).first;
      Seconds time = kernel_time(sample.kernel, device->second, sample.dtype);
      if (has_beside(sample)) {  // of whose time the framework's factor is only the product's
        Kernel alone = sample.kernel;
        alone.beside = Bytes{0};
        time += (framework_of(p) - 1) * kernel_time(alone, device->second, sample.dtype);
      }
      out.push_back(std::log(time / sample.time));
    }
    return out;
  }

  KernelFit whole(CrossValidation cross) const {
    KernelFit fit;
    const Parameters p = this->fit(samples_);
    const std::vector<double> in = residuals(samples_, p);
    fit.in = errors_of(in);
    if (cross == CrossValidation::kYes) {
      fit.out = left_out(kFolds);
      fit.half = left_out(2);
    }
    std::map<std::string, std::vector<double>> by;
    FitQuality quality{fit.in.spread, fit.in.samples, 0, 0, false};
    quality.spread = proven(quality.spread, fit.in.samples);
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      by[samples_[i]->source + " " + samples_[i]->device].push_back(in[i]);
      const double flops = flops_of(samples_[i]->kernel).value;
      quality.least = i == 0 ? flops : std::min(quality.least, flops);
      quality.most = std::max(quality.most, flops);
    }
    for (const auto& [name, errors] : by) fit.by[name] = errors_of(errors);
    if (attention_)
      fit.attention = attention_of(p, power_), fit.attention.quality = quality;
    else
      fit.gemm = gemm_of(p, power_), fit.gemm.quality = quality;
    fit.framework = framework_of(p);
    return fit;
  }

 private:
  static bool has_beside(const KernelSample& sample) { return sample.kernel.beside > Bytes{0}; }
  double framework_of(const Parameters& p) const { return finds_framework_ ? p.back() : framework_; }

  /// Each sample by a fit of the others, in so many parts.
  FitErrors left_out(std::size_t folds) const {
    std::vector<double> out;
    for (std::size_t fold = 0; fold < folds && samples_.size() > kFolds; ++fold) {
      Chosen rest, left;
      for (std::size_t i = 0; i < samples_.size(); ++i) (i % folds == fold ? left : rest).push_back(samples_[i]);
      const std::vector<double> errors = residuals(left, this->fit(rest));
      out.insert(out.end(), errors.begin(), errors.end());
    }
    return errors_of(out);
  }

  Device set(Device device, const Parameters& p) const {
    if (attention_)
      device.attention = device.flash_3 = attention_of(p, power_);
    else
      device.gemm.fill(gemm_of(p, power_));
    return device;
  }

  bool attention_;
  Chosen samples_;
  const std::map<std::string, Device>& devices_;
  double power_ = 0;
  double framework_ = 1;
  bool finds_framework_ = false;
};

struct Group {
  const char* what;
  std::vector<Dtype> dtypes;
};
const std::vector<Group>& gemm_groups() {
  static const std::vector<Group> kAll = {{"gemm fp32", {Dtype::kFp32}},
                                          {"gemm tf32", {Dtype::kTf32}},
                                          {"gemm fp16 and bf16", {Dtype::kFp16, Dtype::kBf16}},
                                          {"gemm fp8", {Dtype::kFp8}}};
  return kAll;
}

/// A source that is no sample of usual shapes: the best ones of a search.
constexpr const char* kBestShapes = "mamf";

bool contains(const std::vector<Dtype>& all, Dtype dtype) { return std::ranges::find(all, dtype) != all.end(); }

}  // namespace

const std::vector<Parameter>& gemm_parameters() {
  static const std::vector<Parameter> kAll = {
      {0.8, 0, 0.05, 1},        // peak_fraction
      {0.85, 0.2, 0.2, 1.1},    // streaming
      {0.95, 0.1, 0.3, 1.05},   // square_tile
      {0.6, 0.3, 0.2, 1},       // narrow_tile
      {0.7, 0.4, 0.01, 1},      // quantisation
      {0.3, 0.7, 0.001, 1},     // exposed_result
      {20, 1, 0.1, 500},        // k_fill
      {4e-6, 0.5, 5e-7, 2e-5},  // fixed
  };
  return kAll;
}

GemmFit gemm_of(const Parameters& p, double power) { return with_constants<GemmFit>(p, power); }

std::vector<std::vector<Dtype>> gemm_dtypes() { return mapped<std::vector<Dtype>>(gemm_groups(), &Group::dtypes); }

Parameters constants_of(const GemmFit& fit) {
  Parameters constants;
  for (const FitConstant<GemmFit>& each : kFitConstants<GemmFit>)
    if (!each.is_power) constants.push_back(fit.*each.member);
  constants.push_back(fit.fixed.value);
  return constants;
}

void check_plausible(const std::string& what, const FitErrors& errors) {
  constexpr double kTooFar = 1;
  if (errors.samples > 0 && !(errors.mean_absolute <= kTooFar && errors.spread <= kTooFar))
    throw ScenarioError(
        {fmt::format("{}: the fit is off by {:.0f} % in the mean, nothing is written; look at the times "
                     "(us or s?), sizes and the device or cluster that the samples name",
                     what, 100 * errors.mean_absolute)});
}

double proven(double spread, int samples) {
  constexpr double kUnproven = 0.1;
  return samples < kFewestKernels ? std::max(spread, kUnproven) : spread;
}

std::string too_few(const KernelFit& fit) {
  if (fit.in.samples >= kFewestKernels) return {};
  return fmt::format(
      "warning: {} rests on {} kernel{}, and a fit needs {} to stand on its own: these are the usual "
      "constants, moved a little; measure more shapes",
      fit.what, fit.in.samples, fit.in.samples == 1 ? "" : "s", kFewestKernels);
}

FitErrors errors_of(const std::vector<double>& log_ratios) {
  FitErrors errors{.samples = static_cast<int>(log_ratios.size())};
  if (log_ratios.empty()) return errors;
  double mean = 0, squares = 0;
  for (const double r : log_ratios) {
    const double error = std::exp(r) - 1;
    errors.mean_absolute += std::abs(error) / errors.samples;
    errors.bias += error / errors.samples;
    if (std::abs(error) > std::abs(errors.worst)) errors.worst = error;
    mean += r / errors.samples;
  }
  for (const double r : log_ratios) squares += (r - mean) * (r - mean);
  errors.spread = std::sqrt(squares / errors.samples);
  return errors;
}

std::vector<KernelFit> fit_kernels(const std::vector<KernelSample>& samples,
                                   const std::map<std::string, Device>& devices, CrossValidation cross,
                                   std::map<std::string, double> framework) {
  std::set<std::string> architectures;
  for (const KernelSample& sample : samples) {
    const auto device = devices.find(sample.device);
    if (device == devices.end()) throw std::invalid_argument("no device " + sample.device + " for a sample");
    architectures.insert(device->second.architecture);
  }
  std::vector<KernelFit> fits;
  const auto add_all = [&](const std::string& architecture, bool finding) {
    const auto add = [&](const char* what, const std::vector<Dtype>& dtypes, bool attention, bool flash_3 = false) {
      Chosen chosen;
      for (const KernelSample& sample : samples) {
        const bool of_attention = sample.kernel.kind != KernelKind::kGemm;
        const bool of_flash_3 = of_attention && sample.kernel.attention.flash_3;
        if (of_attention == attention && of_flash_3 == flash_3 && sample.source != kBestShapes &&
            devices.at(sample.device).architecture == architecture && (attention || contains(dtypes, sample.dtype)))
          chosen.push_back(&sample);
      }
      if (chosen.empty()) return;
      const auto known = framework.find(what);
      const GroupFit group(attention, chosen, devices, known == framework.end() ? 1 : known->second);
      if (group.finds_framework() != finding) return;
      KernelFit fit = group.whole(cross);
      if (finding) framework.emplace(what, fit.framework);  // the first architecture that has both kinds of rows
      fit.architecture = architecture;
      fit.what = what;
      fit.dtypes = dtypes;
      fit.flash_3 = flash_3;
      fits.push_back(std::move(fit));
    };
    for (const Group& group : gemm_groups()) add(group.what, group.dtypes, false);
    add("attention", {}, true);
    add("attention, FlashAttention 3", {}, true, true);
  };
  for (const bool finding : {true, false})
    for (const std::string& architecture : architectures) add_all(architecture, finding);
  std::ranges::stable_sort(fits,
                           [](const KernelFit& a, const KernelFit& b) { return a.architecture < b.architecture; });
  return fits;
}

}  // namespace accosim
