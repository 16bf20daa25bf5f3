// An invented GPU: a document of samples made from known constants, so that a fit can be held to them.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "models/price/accocal_layers.hpp"
#include "models/price/gemm.hpp"
#include "models/read/load.hpp"
#include "tests/support/random.hpp"

namespace accosim {

/// Times of an invented GPU, without noise.
struct InventedGpu {
  Device device;              ///< of its products: what the fit starts from, with other constants
  double l2 = 50e6;           ///< B
  double l2_rate = 6e12;      ///< B/s of memory-bound kernels whose operands fit it
  double memory_rate = 3e12;  ///< of others
  double kernel_fixed = 2e-6;
  double launch = 3e-6;
  double noise = 0.02;

  /// fixed + bytes over a rate that goes from the cache's to the memory's as the bytes leave the cache.
  double kernel(StepKernel kernel, double elements, Dtype dtype, bool cold) const {
    const double bytes = bytes_of(kernel, elements, bytes_of(dtype)).value;
    const double inside = cold ? 0 : std::min(1.0, l2 / bytes);
    return kernel_fixed + bytes * (inside / l2_rate + (1 - inside) / memory_rate);
  }
  double product(const Gemm& gemm, Dtype dtype) const { return gemm_time(gemm, device, dtype).value; }
};

inline InventedGpu invented_gpu() {
  InventedGpu gpu{.device = load_device("H100-SXM")};
  gpu.device.memory_efficiency = gpu.memory_rate / gpu.device.memory_bandwidth.value;
  gpu.device.gemm.fill(GemmFit{.peak_fraction = 0.66,
                               .reference_power = gpu.device.power,
                               .streaming = 0.8,
                               .square_tile = 0.9,
                               .narrow_tile = 0.7,
                               .quantisation = 0.6,
                               .exposed_result = 0.2,
                               .k_fill = 30,
                               .fixed = Seconds{3e-6}});
  return gpu;
}

/// GPT-2 of `layers` and `width`, heads of 64.
inline AccocalSizes gpt_sizes(int layers, double width, double sequences, double context = 1024) {
  return {sequences, context, width, width / 64, 50304, layers};
}

/// Writes one document, sample by sample.
class GpuDocument {
 public:
  GpuDocument(const InventedGpu& gpu, std::uint64_t seed) : gpu_(gpu), random_(seed) {}

  void add(const std::string& keys, double seconds) {
    const double first = noisy(seconds), again = noisy(seconds);
    samples_.push_back(
        fmt::format(R"({{{}, "median_s": {:.9e}, "p10_s": {:.9e}, "p90_s": {:.9e}, "runs": 20, "again_s": {:.9e}}})",
                    keys, first, 0.99 * first, 1.02 * first, again));
  }
  void add_product(const StepLaunch& one, Dtype dtype, const std::string& model, bool cold = false, double factor = 1) {
    const StepProduct& p = *one.product;
    const Gemm g = kernel_of(one, dtype).gemm;
    Gemm timed = g;
    timed.in = bytes_of(dtype);
    timed.out = std::max(bytes_of(dtype), Bytes{2});
    add(fmt::format(R"("what": "gemm", "dtype": "{}", "layout": "{}", "m": {:.0f}, "n": {:.0f}, "k": {:.0f}, )"
                    R"("batch": {:.0f}, "transpose_a": {}, "transpose_b": {}, "bias": {}, "accumulate": {}, )"
                    R"("algorithm": "1", "waves": 1.5, "model": "{}", "cold": {})",
                    name_of(dtype), p.name, p.m, p.n, p.k, p.batch, p.transpose_a, p.transpose_b, p.bias, g.accumulate,
                    model, cold),
        factor * gpu_.product(timed, dtype));
  }
  void add_kernel(StepKernel kernel, double rows, double columns, Dtype dtype, bool cold) {
    const double bytes = bytes_of(kernel, rows * columns, bytes_of(dtype)).value;
    add(fmt::format(R"("what": "kernel", "kernel": "{}", "dtype": "{}", "rows": {:.0f}, "columns": {:.0f}, )"
                    R"("bytes": {:.0f}, "cold": {})",
                    name_of(kernel), name_of(dtype), rows, columns, bytes, cold),
        gpu_.kernel(kernel, rows * columns, dtype, cold));
  }
  /// All kernels of a micro-batch, one layer's once.
  void add_step_kernels(const AccocalSizes& sizes, const std::string& model) {
    for (const StepPart& part : {accocal_embedding(sizes), accocal_block(sizes), accocal_head(sizes)})
      for (const auto& pass : {part.forward, part.backward})
        for (const StepLaunch& one : pass) {
          if (one.product)
            add_product(one, Dtype::kBf16, model);
          else
            add_kernel(one.kernel, one.rows, one.columns, Dtype::kBf16, false);
        }
  }
  /// The sum of the invented kernels' times, as the step would take.
  double micro_batch(const AccocalSizes& sizes) const {
    return sum_of<double>(accocal_micro_batch(sizes), [&](const StepLaunch& one) {
      return one.product ? gpu_.product(kernel_of(one, Dtype::kBf16).gemm, Dtype::kBf16)
                         : gpu_.kernel(one.kernel, one.rows * one.columns, Dtype::kBf16, false);
    });
  }
  void add_step(const AccocalSizes& s, const std::string& model, const std::string& part, double parameters,
                double seconds, double memory) {
    add(fmt::format(R"("what": "step", "model": "{}", "layers": {}, "width": {:.0f}, "heads": {:.0f}, )"
                    R"("context": {:.0f}, "vocabulary": {:.0f}, "parameters": {:.0f}, "sequences": {:.0f}, )"
                    R"("storage": "bf16", "part": "{}", "memory_bytes": {:.0f}, "activation_bytes": 1)",
                    model, s.layers, s.width, s.heads, s.context, s.vocabulary, parameters, s.sequences, part, memory),
        seconds);
  }
  void add_launch(const std::string& kind, double seconds) {
    add(fmt::format(R"("what": "launch", "kind": "{}")", kind), seconds);
  }
  void add_text(const std::string& sample) { samples_.push_back(sample); }

  std::string text(const std::string& device = "NVIDIA H100 80GB HBM3") const {
    std::string all;
    for (const std::string& sample : samples_) all += (all.empty() ? "\n" : ",\n") + sample;
    return fmt::format(
        R"({{"schema": "accosim.gpu_samples/1",
"device": {{"name": "{}", "compute_capability": "9.0", "sm_count": {}, "memory_bytes": 85e9, "l2_bytes": {:.0f},
 "memory_bandwidth_bytes_per_s": {:.0f}, "sm_clock_hz": 1.98e9, "memory_clock_hz": 2.6e9, "power_limit_w": 700}},
"state_before": {{"sm_clock_hz": 1.98e9, "memory_clock_hz": 2.6e9, "power_w": 80, "temperature_c": 30, "throttled": ""}},
"versions": {{"driver": "13.0", "runtime": "13.0", "cublaslt": "13.0", "nccl": "", "compiler": "g++"}},
"machine": {{"cpu": "any", "cores": 16, "kernel": "6.1"}}, "commit": "abc", "date": "2026-11-21", "took_s": 400,
"command": "accocal measure", "samples": [{}]}})",
        device, gpu_.device.sm_count, gpu_.l2, gpu_.device.memory_bandwidth.value, all);
  }

 private:
  double noisy(double seconds) { return seconds * (1 + gpu_.noise * random_.uniform(-1, 1)); }

  InventedGpu gpu_;
  Random random_;
  std::vector<std::string> samples_;
};

}  // namespace accosim
