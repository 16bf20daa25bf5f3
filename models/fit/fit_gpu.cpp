#include "models/fit/fit_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "models/base/quantity.hpp"
#include "models/base/statistics.hpp"
#include "models/base/text.hpp"
#include "models/fit/gpu_profile.hpp"
#include "models/price/bill.hpp"
#include "models/read/read_device.hpp"
#include "models/read/references.hpp"
#include "models/spec/accocal_step.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

constexpr double kLargeInCaches = 8;     ///< a buffer so many times the L2 streams from memory
constexpr std::size_t kLeastOfRows = 3;  ///< points that make a curve of one number of rows
constexpr const char* kSource = "accocal";

/// From one kernel of a stream to the next it takes longer than between the nodes of a graph. Nothing where not both
/// were measured.
Seconds stream_gap(const GpuSamples& samples) {
  std::vector<double> stream, graph;
  for (const GpuLaunchSample& sample : samples.launches) {
    if (sample.kind == "back_to_back") stream.push_back(sample.time.mean().value);
    if (sample.kind == "graph_node") graph.push_back(sample.time.mean().value);
  }
  return stream.empty() || graph.empty() ? Seconds{0} : std::max(Seconds{0}, Seconds{median(stream) - median(graph)});
}

/// A step launches in a stream, so what was replayed as a graph takes a gap more for each kernel.
GpuSamples in_a_stream(GpuSamples samples, Seconds gap) {
  const auto lengthen = [&](Timing& time, int launches) {
    if (!(time.median < kReplayedBelow)) return;
    time.median = time.median + launches * gap;
    if (time.again) time.again = *time.again + launches * gap;
  };
  for (GpuProductSample& sample : samples.products) lengthen(sample.time, 1);
  for (GpuKernelSample& sample : samples.kernels) lengthen(sample.time, launches_of(sample.kernel));
  return samples;
}

double root_mean_square(const std::vector<double>& values) {
  const double squares = sum_of<double>(values, [](const double value) { return value * value; });
  return values.empty() ? 0 : std::sqrt(squares / static_cast<double>(values.size()));
}

JsonValue base_tree(const std::string& base) {
  Diagnostics diagnostics;
  References references(diagnostics);
  JsonValue tree = json_text(base, origin_named("--profile"));
  references.expand_device(tree, "");
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  return tree;
}

Device device_of(JsonValue tree) {
  Diagnostics diagnostics;
  const std::optional<Device> device = read_device(tree, "", diagnostics);
  if (!device || !diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  return *device;
}

bool has_peak(const Device& device, Dtype dtype) { return device.peak[static_cast<std::size_t>(dtype)].has_value(); }

bool streams(const GpuKernelSample& sample, Bytes l2) {
  const bool kind = sample.kernel == StepKernel::kCopy || sample.kernel == StepKernel::kAdd ||
                    sample.kernel == StepKernel::kCast || sample.kernel == StepKernel::kGeluForward;
  return kind && sample.bytes >= kLargeInCaches * l2;
}

/// The measured products that the device has a peak for.
std::vector<KernelSample> product_rows(const GpuSamples& samples, const Device& device, GpuFit& fit) {
  std::vector<KernelSample> rows;
  int without_peak = 0;
  for (const GpuProductSample& sample : samples.products) {
    if (!has_peak(device, sample.dtype)) {
      ++without_peak;
      continue;
    }
    rows.push_back({kSource, device.name, sample.dtype, gemm_kernel(sample.gemm), sample.time.mean()});
  }
  if (without_peak > 0)
    fit.notes.push_back(
        fmt::format("{} products in dtypes that {} has no peak for are left out", without_peak, device.name));
  return rows;
}

bool measured_in(const std::vector<KernelSample>& rows, Dtype dtype) {
  return std::ranges::any_of(rows, [&](const KernelSample& row) { return row.dtype == dtype; });
}

/// The published constants are of products alone, and need what a step takes beyond them.
void set_product_overhead(const std::vector<KernelSample>& rows, GpuProfile& profile, GpuFit& fit) {
  std::string unmeasured;
  bool tensor_cores = false;
  for (const Dtype dtype : {Dtype::kTf32, Dtype::kFp16, Dtype::kBf16, Dtype::kFp8}) {
    if (!has_peak(profile.device(), dtype)) continue;
    const bool has = std::ranges::any_of(rows, [&](const KernelSample& row) {
      const bool both_16 = bytes_of(row.dtype) == Bytes{2} && bytes_of(dtype) == Bytes{2};  // one fit
      return row.dtype == dtype || both_16;
    });
    tensor_cores |= has;
    if (!has) unmeasured += (unmeasured.empty() ? "" : ", ") + std::string(name_of(dtype));
  }
  if (!tensor_cores)
    fit.notes.push_back("no product on tensor cores was measured: gemm stays, with what a step takes beyond it");
  else
    profile.set_number("product_overhead", 1, "by definition: products were measured under lasting load, as in a step");
  if (tensor_cores && !unmeasured.empty())
    fit.notes.push_back(
        fmt::format("no product in {} was measured: these keep their constants, but no overhead", unmeasured));
}

/// What each measured product is beside its fit.
void add_measured_products(const GpuSamples& samples, const std::vector<KernelSample>& rows, Dtype dtype,
                           const Device& device, GemmFit& gemm, GpuFit& fit) {
  Device fitted = device;
  fitted.gemm[static_cast<std::size_t>(dtype)] = gemm;
  gemm.products = measured_products(samples, fitted, dtype);
  fitted.gemm[static_cast<std::size_t>(dtype)] = gemm;
  std::vector<double> errors;
  for (const KernelSample& sample : rows)
    if (sample.dtype == dtype) errors.push_back(std::log(kernel_time(sample.kernel, fitted, dtype) / sample.time));
  fit.rows.push_back({name_of(dtype), fmt::format("{} ratios", gemm.products->size()), errors_of(errors), {}, true});
}

/// Fits of products, and what each measured product is beside its fit.
void fit_products(const GpuSamples& samples, CrossValidation cross, GpuProfile& profile, GpuFit& fit) {
  const std::vector<KernelSample> rows = product_rows(samples, profile.device(), fit);
  set_product_overhead(rows, profile, fit);
  if (rows.empty()) return;
  for (const KernelFit& one : fit_kernels(rows, {{profile.device().name, profile.device()}}, cross)) {
    if (std::string warning = too_few(one); !warning.empty()) fit.notes.push_back(std::move(warning));
    fit.rows.push_back({one.what, fmt::format("{:.3f} of the peak", one.gemm.peak_fraction), one.in, one.out});
    for (const Dtype dtype : one.dtypes) {
      if (!has_peak(profile.device(), dtype)) continue;
      GemmFit gemm = one.gemm;
      gemm.quality.inherited = false;
      if (measured_in(rows, dtype)) add_measured_products(samples, rows, dtype, profile.device(), gemm, fit);
      std::string text = fmt::format("{}; {}{} kernels, mean error {:.1f} %", profile.measured(),
                                     measured_in(rows, dtype) ? "" : "with the other 16-bit type, ", one.in.samples,
                                     100 * one.in.mean_absolute);
      if (cross == CrossValidation::kYes)
        text += fmt::format(", of samples left out {:.1f} %", 100 * one.out.mean_absolute);
      profile.set_gemm(dtype, gemm, text);
    }
  }
}

/// accocal's step has no price for the others: what a step does not run, or no schedule asks for.
bool is_priced(StepKernel kernel) {
  return kernel != StepKernel::kAdd && kernel != StepKernel::kCast && kernel != StepKernel::kCopy &&
         kernel != StepKernel::kSgd;
}

using TableKey = std::tuple<StepKernel, Dtype, double>;

/// Of each priced kernel in each dtype as in a step, or cold where it was only measured so; by rows where its time goes
/// by them, but for numbers of rows with so few points that another one says more.
std::map<TableKey, std::vector<KernelPoint>> table_points(const GpuSamples& samples) {
  std::map<TableKey, std::vector<KernelPoint>> warm, cold;
  std::map<std::pair<StepKernel, Dtype>, std::size_t> most;
  for (const GpuKernelSample& sample : samples.kernels) {
    if (!is_priced(sample.kernel)) continue;
    const TableKey key{sample.kernel, sample.dtype, goes_by_rows(sample.kernel) ? sample.rows : 0};
    (sample.cold ? cold : warm)[key].push_back({sample.elements(), sample.time.mean()});
  }
  for (auto& [key, points] : cold) warm.emplace(key, std::move(points));
  for (const auto& [key, points] : warm) {
    std::size_t& of = most[{std::get<0>(key), std::get<1>(key)}];
    of = std::max(of, points.size());
  }
  for (auto table = warm.begin(); table != warm.end();) {
    const bool few = table->second.size() < kLeastOfRows;
    const bool better = most[{std::get<0>(table->first), std::get<1>(table->first)}] >= kLeastOfRows;
    table = few && better ? warm.erase(table) : std::next(table);
  }
  return warm;
}

void fit_tables(const GpuSamples& samples, GpuProfile& profile, GpuFit& fit) {
  std::vector<KernelTable> tables;
  for (const auto& [key, points] : table_points(samples)) {
    KernelTable table;
    std::tie(table.kernel, table.dtype, table.rows) = key;
    table.times = curve_of(points);
    table.samples = static_cast<int>(points.size());
    std::vector<double> in;
    for (const KernelPoint& point : points) in.push_back(std::log(time_at(table.times, point.elements) / point.time));
    const std::vector<double> out = left_out_errors(points);
    const FitErrors inside = errors_of(in), outside = errors_of(out);
    table.spread = proven(root_mean_square(outside.samples > 0 ? out : in), table.samples);
    std::string what = fmt::format("{} {}", name_of(table.kernel), name_of(table.dtype));
    if (table.rows > 0) what += fmt::format(", {:.0f} rows", table.rows);
    fit.rows.push_back({what, fmt::format("{} points", table.times.size()), inside, outside});
    tables.push_back(std::move(table));
  }
  profile.set_kernels(tables);
}

void fit_memory_efficiency(const GpuSamples& samples, GpuProfile& profile, GpuFit& fit) {
  std::vector<double> rates;
  for (const GpuKernelSample& sample : samples.kernels)
    if (streams(sample, samples.l2)) rates.push_back((sample.bytes / sample.time.mean()).value);
  if (rates.empty()) {
    fit.notes.push_back("no large copy, sum, cast or gelu was measured: memory_efficiency stays");
    return;
  }
  const double rate = median(rates), bandwidth = profile.device().memory_bandwidth.value;
  if (rate > 1.05 * bandwidth)
    throw ScenarioError(
        {fmt::format("the samples stream {} and the device has {}: look at its "
                     "memory_bandwidth_bytes_per_s, or name another --profile",
                     print_quantity(rate, Dimension::kBandwidth), print_quantity(bandwidth, Dimension::kBandwidth))});
  const std::vector<double> errors = mapped<double>(rates, [&](const double each) { return std::log(each / rate); });
  const double efficiency = std::min(1.0, rate / bandwidth);
  profile.set_number("memory_efficiency", efficiency,
                     fmt::format("{}: median of {} copies, sums, casts and gelus of at least {:.0f} times the L2",
                                 profile.measured(), rates.size(), kLargeInCaches));
  fit.rows.push_back({"memory_efficiency", fmt::format("{:.4f}", efficiency), errors_of(errors), {}});
}

void fit_launch(const GpuSamples& samples, GpuProfile& profile, GpuFit& fit) {
  std::vector<double> times;
  for (const GpuLaunchSample& sample : samples.launches)
    if (sample.kind == "host_launch") times.push_back(sample.time.mean().value);
  if (times.empty()) {
    fit.notes.push_back("no host_launch was measured: launch_interval stays");
    return;
  }
  profile.set_time("launch_interval", Seconds{median(times)}, profile.measured() + ": host_launch");
  std::vector<double> errors;
  for (const double time : times) errors.push_back(std::log(median(times) / time));
  fit.rows.push_back({"launch_interval", fmt::format("{:.2f} us", 1e6 * median(times)), errors_of(errors), {}});
}

void fit_adamw(const GpuSamples& samples, GpuProfile& profile, GpuFit& fit) {
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp32}) {
    std::vector<double> times, all;
    double largest = 0;
    for (const GpuKernelSample& sample : samples.kernels) {
      if (sample.kernel != StepKernel::kAdamw || sample.dtype != dtype) continue;
      const double each = sample.time.mean().value / sample.elements();
      if (sample.elements() > largest) largest = sample.elements(), all = {each};
      if (sample.bytes >= kLargeInCaches * samples.l2) times.push_back(each);
    }
    if (times.empty()) times = all;
    if (times.empty()) continue;
    const double time = median(times);
    profile.set_time(
        "adamw_time_per_parameter", Seconds{time},
        fmt::format("{}: adamw in {}, median of {} sizes", profile.measured(), name_of(dtype), times.size()));
    const std::vector<double> errors = mapped<double>(times, [&](const double each) { return std::log(time / each); });
    fit.rows.push_back({"adamw_time_per_parameter", fmt::format("{:.3f} ps", 1e12 * time), errors_of(errors), {}});
    return;
  }
  fit.notes.push_back("no adamw was measured: the optimizer is priced by its bytes");
}

void fit_collective_constants(const GpuSamples& samples, GpuProfile& profile, GpuFit& fit) {
  int channels = 0;
  bool experiments = false;
  for (const GpuCollectiveSample& sample : samples.collectives) {
    if (!sample.experiment.empty()) experiments = true;
    if (sample.experiment.empty() && sample.ranks > 1) channels = std::max(channels, sample.channels);
  }
  if (experiments) fit.notes.push_back("collectives of processes on one GPU are an experiment, and set no constant");
  if (channels > 0) {
    profile.set_number("collective_sms", channels, profile.measured() + ": most channels of a collective");
    fit.rows.push_back({"collective_sms", fmt::format("{}", channels), {}, {}});
  }
  std::vector<double> slowed;
  for (const GpuInterferenceSample& sample : samples.interference)
    if (sample.beside == "collective" && sample.other_slowdown) slowed.push_back(*sample.other_slowdown);
  if (slowed.empty()) return;
  const double slowdown = std::max(1.0, median(slowed));
  profile.set_number("collective_slowdown", slowdown,
                     fmt::format("{}: median of {} collectives beside kernels", profile.measured(), slowed.size()));
  std::vector<double> errors;
  for (const double each : slowed) errors.push_back(std::log(slowdown / each));
  fit.rows.push_back({"collective_slowdown", fmt::format("{:.3f}", slowdown), errors_of(errors), {}});
}

/// The fastest product of each dtype, copies on the device, and copies over the bus.
void add_rates(const GpuSamples& samples, GpuFit& fit) {
  for (int i = 0; i < kDtypeCount; ++i) {
    const Dtype dtype = static_cast<Dtype>(i);
    const auto& peak = fit.device.peak[static_cast<std::size_t>(i)];
    GpuRate best{fmt::format("products in {}", name_of(dtype)), 0, peak ? peak->value : 0, false, ""};
    for (const GpuProductSample& sample : samples.products) {
      const double rate = (flops_of(sample.gemm) / sample.time.mean()).value;
      if (sample.dtype != dtype || rate <= best.achieved) continue;
      best.achieved = rate;
      best.of = fmt::format("{:.0f} x {:.0f} x {:.0f}", sample.gemm.m, sample.gemm.n, sample.gemm.k);
    }
    constexpr double kMost = 1.1;  // clocks may be above those that a peak is told for
    if (best.limit > 0 && best.achieved > kMost * best.limit)
      throw ScenarioError(
          {fmt::format("a product of {} in {} reaches {:.0f} TFLOP/s, and {} has a peak of {:.0f}; name the profile of "
                       "the GPU that was "
                       "measured with --profile, or measure again",
                       best.of, name_of(dtype), 1e-12 * best.achieved, fit.device.name, 1e-12 * best.limit)});
    if (best.achieved > 0) fit.rates.push_back(best);
  }
  const double bandwidth = fit.device.memory_bandwidth.value;
  for (const StepKernel kernel : {StepKernel::kCopy, StepKernel::kAdd, StepKernel::kMemset, StepKernel::kAdamw}) {
    GpuRate best{fmt::format("{} in memory", name_of(kernel)), 0, bandwidth, true, ""};
    for (const GpuKernelSample& sample : samples.kernels) {
      if (sample.kernel != kernel || sample.bytes < kLargeInCaches * samples.l2) continue;
      const double rate = (sample.bytes / sample.time.mean()).value;
      if (rate <= best.achieved) continue;
      best.achieved = rate;
      best.of = print_quantity(sample.bytes.value, Dimension::kData);
    }
    if (best.achieved > 0) fit.rates.push_back(best);
  }
  std::map<std::string, GpuRate> copies;
  for (const GpuCopySample& sample : samples.copies) {
    GpuRate& best = copies[fmt::format("copy {}, {}", sample.direction, sample.memory)];
    const double rate = (sample.bytes / sample.time.mean()).value;
    if (rate > best.achieved) best = {"", rate, 0, true, print_quantity(sample.bytes.value, Dimension::kData)};
  }
  for (auto& [what, rate] : copies) {
    rate.what = what;
    fit.rates.push_back(rate);
  }
}

void add_interference(const GpuSamples& samples, GpuFit& fit) {
  for (const GpuInterferenceSample& sample : samples.interference) {
    GpuInterferenceRow row;
    row.what = fmt::format("{} beside {}{}", sample.shape.empty() ? sample.kernel : sample.shape, sample.beside,
                           sample.blocks > 0 ? fmt::format(" of {}", sample.blocks) : "");
    row.measured = sample.slowdown;
    row.other = sample.other_slowdown;
    if (sample.of && sample.beside == "hold_multiprocessors")
      row.predicted = kernel_time(*sample.of, without(fit.device, sample.blocks), sample.dtype) /
                      kernel_time(*sample.of, fit.device, sample.dtype);
    fit.interference.push_back(std::move(row));
  }
}

/// A second pass that came out otherwise says that the clocks were not the same.
void look_at_repeats(const GpuSamples& samples, GpuFit& fit) {
  constexpr double kSame = 0.05;
  int repeated = 0, other = 0;
  const auto look = [&](const Timing& time) {
    if (!time.again || !(time.median > Seconds{0})) return;  // a difference may be nothing
    ++repeated;
    other += std::abs(*time.again / time.median - 1) > kSame ? 1 : 0;
  };
  for (const GpuProductSample& sample : samples.products) look(sample.time);
  for (const GpuKernelSample& sample : samples.kernels) look(sample.time);
  for (const GpuLaunchSample& sample : samples.launches) look(sample.time);
  for (const GpuCopySample& sample : samples.copies) look(sample.time);
  for (const GpuStepSample& sample : samples.steps) look(sample.time);
  if (other > 0)
    fit.notes.push_back(
        fmt::format("{} of {} samples took more than 5 % longer or shorter the second time", other, repeated));
  if (!samples.left_out.empty())
    fit.notes.push_back(fmt::format("{} kinds of samples were left out when it was measured, such as {}",
                                    samples.left_out.size(), samples.left_out.front()));
  if (!samples.throttled.empty())
    fit.notes.push_back(fmt::format("the device said that its clocks were held down: {}", samples.throttled));
}

}  // namespace

std::optional<KnownGpu> known_gpu(const std::string& device) {
  static const std::map<std::string, KnownGpu> kAll = {
      {"NVIDIA H100 80GB HBM3", {"H100-SXM", true}},       {"NVIDIA H200", {"H100-SXM", false, "H200-SXM"}},
      {"NVIDIA H100 PCIe", {"H100-PCIe", true}},           {"NVIDIA H100 NVL", {"H100-PCIe", false, "H100-NVL"}},
      {"NVIDIA GH200 480GB", {"GH200-96GB", true}},        {"NVIDIA GH200 120GB", {"GH200-96GB", true}},
      {"NVIDIA A100-SXM4-40GB", {"A100-SXM4-40GB", true}}, {"NVIDIA A100-SXM4-80GB", {"A100-SXM4-80GB", true}},
      {"NVIDIA A100-PCIE-40GB", {"A100-PCIE-40GB", true}}, {"NVIDIA A100 80GB PCIe", {"A100-PCIE-80GB", true}},
      {"Tesla V100-SXM2-16GB", {"V100-SXM2-16GB", true}},  {"Tesla V100-SXM2-32GB", {"V100-SXM2-32GB", true}},
      {"Tesla V100-PCIE-32GB", {"V100-PCIE-32GB", true}},
  };
  const auto found = kAll.find(device);
  return found == kAll.end() ? std::nullopt : std::optional(found->second);
}

GpuFit fit_gpu(const GpuSamples& measured, const std::string& base, CrossValidation cross) {
  const Seconds gap = stream_gap(measured);
  const GpuSamples samples = in_a_stream(measured, gap);
  const std::optional<KnownGpu> known = known_gpu(samples.device);
  if (base.empty() && !known)
    throw ScenarioError(
        {fmt::format("no shipped profile is of {}: write --profile with the name of the nearest part "
                     "(accosim list device), or with a file of its peaks and memory",
                     in_quotes(samples.device))});
  GpuFit fit{.base = base.empty() ? known->profile : base};
  const bool same = known && known->same && (base.empty() || base == known->profile);
  fit.part = same ? fit.base : samples.device;
  JsonValue tree = base_tree(fit.base);
  device_of(tree);  // what is wrong with the profile is told before anything is changed
  GpuProfile profile(std::move(tree), samples, fit.base, same);
  if (gap > Seconds{0}) fit.rows.push_back({"stream over graph", fmt::format("{:.2f} us", 1e6 * gap.value), {}, {}});
  fit_memory_efficiency(samples, profile, fit);
  fit_launch(samples, profile, fit);
  fit_adamw(samples, profile, fit);
  fit_collective_constants(samples, profile, fit);
  fit_products(samples, cross, profile, fit);
  fit_tables(samples, profile, fit);
  fit.profile = profile.text();
  fit.device = profile.device();
  add_rates(samples, fit);
  add_interference(samples, fit);
  look_at_repeats(samples, fit);
  return fit;
}

}  // namespace accosim
