// Does the fit find the constants that made the samples, say how far off it is, and read what people write?
#include "models/fit/fit_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "models/fit/collective_samples.hpp"
#include "models/fit/fit_gpu.hpp"
#include "models/fit/kernel_samples.hpp"
#include "models/fit/machine_samples.hpp"
#include "models/fit/pooled_kernels.hpp"
#include "models/fit/write_constants.hpp"
#include "models/fit/write_profile.hpp"
#include "models/read/load.hpp"
#include "models/spec/scenario_error.hpp"
#include "tests/models/refusal.hpp"
#include "tests/support/gpu_document.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

Device device_named(const std::string& name, double power) {
  Device d{.name = name, .architecture = "test", .sm_count = 100, .power = power};
  d.peak[static_cast<std::size_t>(Dtype::kBf16)] = FlopsPerSecond{300e12};
  d.peak[static_cast<std::size_t>(Dtype::kFp8)] = FlopsPerSecond{600e12};
  d.memory_bandwidth = BytesPerSecond{2e12};
  d.memory_efficiency = 0.8;
  return d;
}

GemmFit truth() {
  return GemmFit{.peak_fraction = 0.7,
                 .reference_power = 400,
                 .streaming = 0.8,
                 .square_tile = 0.9,
                 .narrow_tile = 0.6,
                 .quantisation = 0.8,
                 .exposed_result = 0.3,
                 .k_fill = 30,
                 .fixed = Seconds{5e-6}};
}

/// What a device of these constants would measure, with a log-uniform error of at most `noise`.
std::vector<KernelSample> samples_of(const Device& device, int count, double noise, std::uint64_t seed) {
  Device true_device = device;
  true_device.gemm.fill(truth());
  Random random(seed);
  std::vector<KernelSample> samples;
  for (int i = 0; i < count; ++i) {
    const auto side = [&] { return 64 * std::floor(std::pow(2.0, random.uniform(1, 8))); };
    const Kernel kernel = gemm_kernel({std::floor(random.uniform(1, 4)), side(), side(), side()});
    const Seconds time = kernel_time(kernel, true_device, Dtype::kBf16);
    samples.push_back({"made", device.name, Dtype::kBf16, kernel, std::exp(random.uniform(-noise, noise)) * time});
  }
  return samples;
}

TEST(FitKernels, FindsTheConstantsThatMadeTheSamples) {
  const Device device = device_named("a", 400);
  const std::vector<KernelFit> fits = fit_kernels(samples_of(device, 300, 0, 1), {{"a", device}});
  ASSERT_EQ(fits.size(), 1u);
  EXPECT_EQ(fits[0].what, "gemm fp16 and bf16");
  EXPECT_NEAR(fits[0].gemm.peak_fraction, 0.7, 0.01);
  EXPECT_NEAR(fits[0].gemm.narrow_tile, 0.6, 0.05);
  EXPECT_NEAR(fits[0].gemm.streaming, 0.8, 0.05);
  EXPECT_LT(fits[0].in.mean_absolute, 0.01);
  EXPECT_LT(fits[0].out.mean_absolute, 0.015);
}

TEST(FitKernels, ErrorsAreThoseOfTheNoise) {
  // Log-uniform in +-0.1: mean absolute error 5 %, standard deviation 0.1 / sqrt(3).
  const Device device = device_named("a", 400);
  const std::vector<KernelFit> fits = fit_kernels(samples_of(device, 400, 0.1, 2), {{"a", device}});
  EXPECT_NEAR(fits[0].in.mean_absolute, 0.05, 0.01);
  EXPECT_NEAR(fits[0].gemm.quality.spread, 0.1 / std::sqrt(3.0), 0.01);
  EXPECT_GE(fits[0].out.mean_absolute, 0.99 * fits[0].in.mean_absolute);
  EXPECT_EQ(fits[0].gemm.quality.samples, 400);
}

TEST(FitKernels, PartsOfOneArchitectureShareConstantsButForTheirPower) {
  const Device a = device_named("a", 400), b = device_named("b", 50);  // cube root: half as fast
  std::vector<KernelSample> samples = samples_of(a, 100, 0, 3);
  const std::vector<KernelSample> more = samples_of(b, 100, 0, 4);
  samples.insert(samples.end(), more.begin(), more.end());
  const std::vector<KernelFit> fits = fit_kernels(samples, {{"a", a}, {"b", b}});
  ASSERT_EQ(fits.size(), 1u);
  EXPECT_EQ(fits[0].gemm.reference_power, 400);
  EXPECT_NEAR(fits[0].gemm.peak_fraction, 0.7, 0.01);
  EXPECT_EQ(fits[0].by.size(), 2u);
}

TEST(FitKernels, FewOddSamplesDoNotDecide) {
  const Device device = device_named("a", 400);
  std::vector<KernelSample> samples = samples_of(device, 200, 0.02, 5);
  for (std::size_t i = 0; i < 10; ++i) samples[20 * i].time = 5 * samples[20 * i].time;
  const std::vector<KernelFit> fits = fit_kernels(samples, {{"a", device}});
  EXPECT_NEAR(fits[0].gemm.peak_fraction, 0.7, 0.02);
}

TEST(FitKernels, FewSamplesStayNearTheUsualAndProveNoSmallSpread) {
  const Device device = device_named("a", 400);
  const std::vector<KernelFit> fits = fit_kernels(samples_of(device, 2, 0, 6), {{"a", device}});
  EXPECT_GE(fits[0].gemm.quality.spread, 0.1);
  EXPECT_EQ(fits[0].out.samples, 0);
  EXPECT_GT(fits[0].gemm.narrow_tile, 0.4);
  EXPECT_LT(fits[0].gemm.narrow_tile, 0.9);
}

TEST(FitKernels, TooFewSamplesAreSaid) {
  const Device device = device_named("A", 400);
  const auto said = [&](int count) {
    return too_few(fit_kernels(samples_of(device, count, 0.02, 3), {{"A", device}}).front());
  };
  EXPECT_EQ(said(3).rfind("warning: gemm fp16 and bf16 rests on 3 kernels, and a fit needs 10", 0), 0u) << said(3);
  EXPECT_TRUE(holds(said(1), "on 1 kernel,"));
  EXPECT_NE(said(9), "");
  EXPECT_EQ(said(10), "");
}

TEST(FitKernels, IsTheSameTwiceAndLeavesBoundsOut) {
  const Device device = device_named("a", 400);
  std::vector<KernelSample> samples = samples_of(device, 50, 0.1, 7);
  const GemmFit once = fit_kernels(samples, {{"a", device}})[0].gemm;
  EXPECT_EQ(fit_kernels(samples, {{"a", device}})[0].gemm, once);
  KernelSample best = samples[0];
  best.source = "mamf";
  best.time = 0.01 * best.time;
  samples.push_back(best);
  EXPECT_EQ(fit_kernels(samples, {{"a", device}})[0].gemm, once);
}

TEST(FitKernels, SampleOfAnUnknownDeviceIsRefused) {
  EXPECT_THROW(fit_kernels(samples_of(device_named("a", 400), 3, 0, 8), {}), std::invalid_argument);
}

TEST(WithFits, TakesTheNearestDtypeAndSaysWhatIsInherited) {
  const Device a = device_named("a", 400), b = device_named("b", 300);
  const std::vector<KernelFit> fits = fit_kernels(samples_of(a, 30, 0, 9), {{"a", a}});
  const auto gemm = [](const Device& d, Dtype dtype) { return d.gemm[static_cast<std::size_t>(dtype)]; };
  EXPECT_FALSE(gemm(with_fits(a, fits), Dtype::kBf16)->quality.inherited);
  EXPECT_TRUE(gemm(with_fits(b, fits), Dtype::kBf16)->quality.inherited);
  EXPECT_TRUE(gemm(with_fits(a, fits), Dtype::kFp8)->quality.inherited);  // from 16 bits
  EXPECT_FALSE(gemm(with_fits(a, fits), Dtype::kFp32));                   // no peak
  Device other = a;
  other.architecture = "another";
  EXPECT_FALSE(gemm(with_fits(other, fits), Dtype::kBf16));
}

TEST(ErrorsOf, AreTheStatisticsOfTheRatio) {
  // Ratios 1.1, 0.9 and 1: errors +0.1, -0.1, 0.
  const FitErrors errors = errors_of({std::log(1.1), std::log(0.9), 0});
  EXPECT_EQ(errors.samples, 3);
  EXPECT_NEAR(errors.mean_absolute, 0.2 / 3, 1e-12);
  EXPECT_NEAR(errors.bias, 0, 1e-12);
  EXPECT_NEAR(std::abs(errors.worst), 0.1, 1e-12);
  EXPECT_EQ(errors_of({}).samples, 0);
}

TEST(KernelSamples, AreReadByTheirColumns) {
  const std::vector<KernelSample> samples = read_kernel_samples(
      "# a comment\nkind,source,device,dtype,time_us,batch,m,n,k,out_dtype,accumulate\n"
      "gemm,me,X,bf16,2.5,3,10,20,30,fp32,1\n",
      "t.csv");
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].kernel.gemm, (Gemm{3, 10, 20, 30, Bytes{2}, Bytes{4}, true}));
  EXPECT_DOUBLE_EQ(samples[0].time.value, 2.5e-6);
  const std::vector<KernelSample> attention = read_kernel_samples(
      "source,device,kind,dtype,batch,heads,kv_heads,seq,head_dim,value_dim,causal,time_s\r\n"
      "me,X,attention_both,fp16,1,8,2,64,16,16,0,0.5\r\n",
      "t.csv");
  EXPECT_EQ(attention[0].kernel.kind, KernelKind::kAttentionBoth);
  EXPECT_EQ(attention[0].kernel.attention.pairs, 64.0 * 64);
  EXPECT_EQ(attention[0].time.value, 0.5);
  EXPECT_FALSE(attention[0].kernel.attention.flash_3);
  EXPECT_EQ(attention[0].kernel.beside, Bytes{0});
  const std::vector<KernelSample> inference = read_kernel_samples(
      "source,device,kind,dtype,batch,heads,kv_heads,seq,head_dim,value_dim,flash_3,bytes_beside,time_s\n"
      "me,X,attention_forward,bf16,1,8,2,64,16,16,1,4096,0.5\n",
      "t.csv");
  EXPECT_TRUE(inference[0].kernel.attention.flash_3);
  EXPECT_EQ(inference[0].kernel.beside, Bytes{4096});
}

TEST(KernelSamples, TellAllMistakesWithTheirLines) {
  const std::vector<std::string> errors = refusals_of([] {
    read_kernel_samples(
        "source,device,kind,dtype,batch,m,n,k,out_dtype,accumulate,time_us\n"
        "me,X,gemm,bf16,1,10,20,30,bf16,0\n"
        "me,X,gem,bf17,1,10,20,30,bf16,0,1\n"
        "me,X,gemm,bf16,1,0,x,30,bf16,0,-1\n",
        "t.csv");
  });
  ASSERT_EQ(errors.size(), 6u);
  EXPECT_EQ(errors[0], "t.csv:2:1: has 10 cells; write 11, as the heading has");
  EXPECT_TRUE(holds(errors[1], "t.csv:3:10: dtype: is \"bf17\""));
  EXPECT_TRUE(holds(errors[2], "t.csv:3:6: kind: is \"gem\""));
  EXPECT_TRUE(holds(errors[3], "t.csv:4:18: m: \"0\" is no number above 0"));
  EXPECT_THROW(read_kernel_samples("# nothing\n", "t.csv"), ScenarioError);
}

TEST(WriteProfile, ReplacesTheConstantAndKeepsTheRest) {
  const Device device = device_named("a", 400);
  const std::vector<KernelFit> fits = fit_kernels(samples_of(device, 30, 0, 10), {{"a", device}});
  const std::string written = profile_with_fits(
      R"({"name": "a", "gemm_efficiency": 0.7, "memory": "1 GiB", "sources": {"/gemm_efficiency": "x", "/memory": "y"}})",
      "p.json", device, fits);
  EXPECT_FALSE(holds(written, "gemm_efficiency"));
  EXPECT_TRUE(holds(written, "\"memory\": \"1 GiB\""));
  EXPECT_TRUE(holds(written, "\"/memory\": \"y\""));
  EXPECT_TRUE(holds(written, "\"/gemm/bf16\": \"accosim fit"));
  EXPECT_TRUE(holds(written, "\"reference_power\": \"400 W\""));
  EXPECT_THROW(profile_with_fits("[1]", "p.json", device, fits), ScenarioError);
}

// Three products took 1.3 times as long as the constants of all say, and still do.
TEST(WriteProfile, KeepsWhatWasMeasuredWhereAsked) {
  const Device device = device_named("a", 400);
  std::vector<KernelSample> samples = samples_of(device, 30, 0, 10);
  for (std::size_t i = 0; i < 3; ++i) samples[i].time = 1.3 * samples[i].time;
  const std::vector<KernelFit> fits = fit_kernels(samples, {{"a", device}});
  const Scratch scratch;
  const std::string text = R"({"schema": "accosim.device/1", "name": "a", "architecture": "test", "sm_count": 100,
    "power": "400 W", "memory": "80 GB", "memory_bandwidth": "2000 GB/s",
    "memory_efficiency": 0.9, "launch_interval": "5 us", "peak": {"bf16": "300 TFLOP/s"}, "gemm_efficiency": 0.7,
    "flash_attention_efficiency": 0.5})";
  const Device named = load_device(scratch.write("a.json", text));
  const Device measured =
      load_device(scratch.write("out.json", profile_with_fits(text, "a.json", named, fits, {}, samples)));
  for (const KernelSample& sample : samples)
    EXPECT_NEAR(kernel_time(sample.kernel, measured, sample.dtype) / sample.time, 1, 1e-3);
  EXPECT_FALSE(holds(profile_with_fits(text, "a.json", named, fits), "products"));
}

TEST(WriteProfile, TouchesOnlyWhatWasFitted) {
  // A profile from samples: a fit in bf16 with a ratio of a measured product, and attention of a relative.
  const Scratch scratch;
  const std::string text = R"({"schema": "accosim.device/1", "name": "a", "architecture": "test", "sm_count": 100,
    "power": "400 W", "memory": "80 GB", "memory_bandwidth": "2000 GB/s", "memory_efficiency": 0.9,
    "launch_interval": "5 us", "peak": {"bf16": "300 TFLOP/s", "fp32": "20 TFLOP/s"},
    "gemm": {"bf16": {"peak_fraction": 0.7, "spread": 0.05, "samples": 40, "products": {"NT 64x64x64x1 +": 1.25}},
             "fp32": {"peak_fraction": 0.8, "spread": 0.05, "samples": 40}},
    "attention": {"forward_fraction": 0.5, "backward_fraction": 0.4, "inherited": true},
    "sources": {"/gemm/bf16": "my samples", "/gemm/fp32": "mine too", "/attention": "a relative's"}})";
  const Device device = load_device(scratch.write("a.json", text));
  KernelFit attention{.architecture = "test", .what = "attention", .attention = *device.attention};
  attention.attention.forward_fraction = 0.55;
  attention.by = {{"me a", {}}};
  const auto written = [&](const std::vector<KernelFit>& fits) {
    return load_device(scratch.write("out.json", profile_with_fits(text, "a.json", device, fits)));
  };
  const std::string with_attention = profile_with_fits(text, "a.json", device, {attention});
  EXPECT_TRUE(holds(with_attention, "\"/gemm/bf16\": \"my samples\""));
  EXPECT_FALSE(holds(with_attention, "a relative's"));
  EXPECT_EQ(written({attention}).gemm, device.gemm);
  EXPECT_EQ(written({attention}).attention->forward_fraction, 0.55);
  EXPECT_FALSE(written({attention}).attention->quality.inherited);

  KernelFit gemm;  // of another device of the architecture
  gemm.architecture = "test";
  gemm.what = "gemm bf16";
  gemm.dtypes = {Dtype::kBf16};
  gemm.gemm.peak_fraction = 0.6;
  gemm.by = {{"me b", {}}};
  EXPECT_EQ(written({gemm}).gemm, device.gemm);
  gemm.by = {{"me a", {}}};
  EXPECT_EQ(written({gemm}).gemm[static_cast<std::size_t>(Dtype::kBf16)]->peak_fraction, 0.6);
  EXPECT_TRUE(written({gemm}).gemm[static_cast<std::size_t>(Dtype::kBf16)]->products->empty());
  EXPECT_EQ(written({gemm}).gemm[static_cast<std::size_t>(Dtype::kFp32)],
            device.gemm[static_cast<std::size_t>(Dtype::kFp32)]);
}

// What is written can be read again: random samples, sane and mad, are fitted, and what the fit writes loads, or the
// samples were refused.

/// How many of `rounds` were written; each that was must load. A refusal tells what is wrong.
template <class Write, class Load>
int written(int rounds, const Write& write, const Load& load) {
  const Scratch scratch;
  int count = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string text;
    try {
      text = write(static_cast<std::uint64_t>(round));
    } catch (const ScenarioError& refused) {
      EXPECT_FALSE(refused.errors.empty());
      continue;
    }
    ++count;
    try {
      load(scratch.write("written.json", text));
    } catch (const ScenarioError& error) {
      ADD_FAILURE() << "round " << round << ": " << error.what() << "\n" << text.substr(0, 4000);
    }
  }
  return count;
}

/// From 10^low to 10^high.
double magnitude(Random& random, double low, double high) { return std::pow(10, random.uniform(low, high)); }

std::string timed(const std::string& head, double seconds) {
  return fmt::format(R"({{{}, "median_s": {:.17g}, "p10_s": {:.17g}, "p90_s": {:.17g}, "runs": 5}})", head, seconds,
                     0.9 * seconds, 1.1 * seconds);
}

/// `wild`: decades by which sizes, rates and times go beyond what machines have.
std::string machine_document(Random& random, double wild) {
  const int ranks = random.integer(1, 6);
  std::string rates, bursts, samples;
  const bool limited = random.integer(0, 1) == 1, buckets = limited && random.integer(0, 1) == 1;
  for (int rank = 0; rank < ranks; ++rank) {
    rates += fmt::format("{}{:.6g}", rank > 0 ? "," : "", magnitude(random, 6 - wild / 2, 9 + wild));
    bursts += fmt::format("{}{:.0f}", rank > 0 ? "," : "", magnitude(random, 3, 6 + wild));
  }
  for (const char* what : {"reduce_scatter", "all_gather", "all_reduce"})
    for (const double size : {1024.0, 65536.0, 4194304.0}) {
      const double bytes = std::round(size * magnitude(random, 0, wild));
      const double seconds = 1e-5 + bytes / magnitude(random, 6 - wild, 9 + wild);
      samples += timed(fmt::format(R"("what": "{}", "bytes": {:.0f}, "after_idle": {})", what,
                                   size == 1024 ? 1024 : bytes, random.integer(0, 3) == 0),
                       seconds) +
                 ",\n";
    }
  for (const char* what : {"adamw", "copy"})
    samples += timed(fmt::format(R"("what": "{}", "elements": {:.0f})", what, magnitude(random, 4, 7 + wild)),
                     magnitude(random, -5 - wild, -1 + wild / 4)) +
               ",\n";
  if (random.integer(0, 3) > 0)
    samples += timed(fmt::format(R"("what": "micro_batch", "parameters": {:.0f}, "tokens": {})",
                                 magnitude(random, 3, 9), random.integer(1, 4096)),
                     magnitude(random, -4 - wild, 0)) +
               ",\n";
  samples += timed(R"("what": "hand_off_start")", magnitude(random, -6 - wild, -4));
  return fmt::format(R"({{"schema": "accosim.samples/1", "machine": {{"cpu": "a \"CPU\", \\ {{}}", "cores": 4}},
    "ranks": {}, "network": {{"kind": "{}", "rates_bytes_per_s": [{}], "burst_bytes": [{}]}}, "samples": [{}]}})",
                     ranks,
                     buckets   ? "netns"
                     : limited ? "paced"
                               : "loopback",
                     limited ? rates : "", buckets ? bursts : "", samples);
}

TEST(WrittenFits, AMachineIsAScenarioThatLoads) {
  for (const double wild : {0.0, 2.0, 6.0}) {
    const auto write = [&](std::uint64_t seed) {
      Random random(seed);
      const MachineSamples samples = read_machine_samples(machine_document(random, wild), "samples.json");
      return machine_scenario(samples, fit_machine(samples));
    };
    const int count = written(cases(200), write, [](const std::string& path) { load_scenario(path, {}); });
    EXPECT_GE(count, wild == 0 ? cases(190) : 1) << wild;
  }
}

/// A GPU's document with each time off by up to `wild` decades.
std::string gpu_document(Random& random, double wild) {
  GpuDocument document(invented_gpu(), random.bits());
  const auto off = [&] { return magnitude(random, -wild, wild); };
  for (const double rows : {64.0, 1024.0, 8192.0})
    for (const double k : {256.0, 1024.0, 4096.0}) {
      const double flops = 2 * rows * 4096 * k;
      for (const char* dtype : {"bf16", "fp32"})
        document.add(fmt::format(R"("what": "gemm", "dtype": "{}", "layout": "forward", "m": {:.0f}, "n": 4096, )"
                                 R"("k": {:.0f}, "batch": 1, "transpose_a": false, "transpose_b": true, )"
                                 R"("bias": false, "accumulate": {}, "cold": {})",
                                 dtype, rows, k, random.integer(0, 1) == 1, random.integer(0, 3) == 0),
                     (5e-6 + flops / (dtype[0] == 'b' ? 600e12 : 40e12)) * off());
    }
  for (const StepKernel kernel : {StepKernel::kCopy, StepKernel::kAdamw, StepKernel::kNormForward})
    for (const double n : {1e5, 1e7, 4e8}) {
      const double bytes = bytes_of(kernel, n, Bytes{2}).value;
      document.add(fmt::format(R"("what": "kernel", "kernel": "{}", "dtype": "bf16", "rows": {:.0f}, "columns": 1, )"
                               R"("bytes": {:.0f}, "cold": false)",
                               name_of(kernel), n, bytes),
                   (2e-6 + bytes / 3e12) * off());
    }
  document.add_launch("host_launch", 3e-6 * off());
  document.add_text(timed(fmt::format(R"("what": "interference", "kernel": "gemm", "beside": "collective", )"
                                      R"("alone_s": 1e-5, "slowdown": 1.1, "other_slowdown": {:.4g})",
                                      1.1 * off()),
                          1e-5));
  return document.text(random.integer(0, 1) == 1 ? "NVIDIA H100 80GB HBM3" : "NVIDIA A100-SXM4-40GB");
}

TEST(WrittenFits, AGpusProfileIsADeviceThatLoads) {
  for (const double wild : {0.0, 0.5, 4.0}) {
    const auto write = [&](std::uint64_t seed) {
      Random random(seed);
      return fit_gpu(read_gpu_samples(gpu_document(random, wild), "samples.json"), "").profile;
    };
    const int count = written(cases(6), write, [](const std::string& path) { load_device(path); });
    EXPECT_GE(count, wild == 0 ? 1 : 0);
  }
}

constexpr const char* kDevice = R"({"schema": "accosim.device/1", "name": "X", "architecture": "ampere",
  "sm_count": 108, "power": "400 W", "peak": {"bf16": "312 TFLOP/s", "fp32": "19.5 TFLOP/s"}, "gemm_efficiency": 0.7,
  "flash_attention_efficiency": 0.4, "memory_bandwidth": "2 TB/s", "memory_efficiency": 0.8, "memory": "80 GB",
  "launch_interval": "3 us"})";

TEST(WrittenFits, AProfileOfKernelsIsADeviceThatLoads) {
  const Scratch scratch;
  const Device device = load_device(scratch.write("x.json", kDevice));
  for (const double wild : {0.0, 0.2, 1.0, 6.0}) {
    const auto write = [&](std::uint64_t seed) {
      Random random(seed);
      std::string gemms = "source,device,kind,dtype,batch,m,n,k,out_dtype,accumulate,time_us\n";
      for (int i = 0; i < 20; ++i) {
        const double m = std::ceil(magnitude(random, 1, 4 + wild)), n = std::ceil(magnitude(random, 1, 4 + wild / 2));
        const double k = std::ceil(magnitude(random, 1, 4));
        gemms += fmt::format("me,X,gemm,bf16,1,{:.0f},{:.0f},{:.0f},bf16,{},{:.6g}\n", m, n, k, random.integer(0, 1),
                             (4 + 2 * m * n * k / 200e6) * magnitude(random, -wild, wild));
      }
      std::string attention = "source,device,kind,dtype,batch,heads,kv_heads,seq,head_dim,value_dim,causal,time_us\n";
      for (int i = 0; i < 20; ++i) {
        const double seq = std::ceil(magnitude(random, 2, 4));
        attention += fmt::format("me,X,{},bf16,1,16,16,{:.0f},128,128,1,{:.6g}\n",
                                 i % 2 == 0 ? "attention_forward" : "attention_backward", seq,
                                 (4 + 16 * 256 * seq * seq / 100e6) * magnitude(random, -wild, wild));
      }
      std::vector<KernelSample> samples = read_kernel_samples(gemms, "gemms.csv");
      for (const KernelSample& each : read_kernel_samples(attention, "attention.csv")) samples.push_back(each);
      return profile_with_fits(kDevice, "x.json", device, fit_kernels(samples, {{"X", device}}));
    };
    const int count = written(cases(6), write, [](const std::string& path) { load_device(path); });
    EXPECT_GE(count, wild < 0.5 ? cases(6) : 0) << wild;
  }
}

constexpr const char* kCluster = R"({"schema": "accosim.cluster/1", "name": "c", "nodes": [{"count": 4, "gpus": 8,
  "device": "A100-SXM4-80GB", "intra": {"kind": "nvswitch", "bandwidth": "300 GB/s"},
  "nics": {"count": 4, "bandwidth": "25 GB/s", "efficiency": 0.5}}],
  "sources": {"/nodes/0/nics/efficiency": "somebody"}})";

TEST(WrittenFits, LinksAreAClusterThatLoads) {
  const Scratch scratch;
  const auto cluster = std::make_shared<const Cluster>(load_cluster(scratch.write("c.json", kCluster)));
  for (const double wild : {0.0, 0.2, 3.0}) {
    const auto write = [&](std::uint64_t seed) {
      Random random(seed);
      std::string table = "source,fabric,collective,ranks,nodes,bytes,time_us\n";
      for (int i = 0; i < 30; ++i) {
        const double bytes = std::round(magnitude(random, 2, 9));
        const int nodes = random.integer(0, 1) == 0 ? 1 : 4;
        const CollectiveKind kind = i % 2 == 0 ? CollectiveKind::kAllReduce : CollectiveKind::kAllGather;
        const CollectiveQuery query{cluster, kind, Bytes{bytes}, 8 * nodes, nodes, Seconds{0}, {}};
        table += fmt::format("me,c,{},{},{},{:.0f},{:.6g}\n", name_of(kind), 8 * nodes, nodes, bytes,
                             1e6 * collective_time(query).value * magnitude(random, -wild, wild));
      }
      const std::vector<LinkFit> fits = fit_collectives(read_collective_samples(table, "t.csv", {cluster}));
      return cluster_with_links(kCluster, "c.json", fits, "me");
    };
    const int count = written(2, write, [](const std::string& path) { load_cluster(path); });
    EXPECT_GE(count, wild < 0.5 ? 2 : 0) << wild;
  }
}

}  // namespace
}  // namespace accosim
