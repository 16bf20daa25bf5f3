// Does the fit find the constants that made the samples, say how far off it is, and read what people write?
#include "models/fit/fit_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "models/fit/pooled_kernels.hpp"
#include "models/fit/write_profile.hpp"
#include "models/read/load.hpp"
#include "models/spec/device.hpp"
#include "models/spec/scenario_error.hpp"
#include "tests/support/random.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

Device device_named(const std::string& name, double power) {
  Device d;
  d.name = name;
  d.architecture = "test";
  d.sm_count = 100;
  d.power = power;
  d.peak[static_cast<std::size_t>(Dtype::kBf16)] = FlopsPerSecond{300e12};
  d.peak[static_cast<std::size_t>(Dtype::kFp8)] = FlopsPerSecond{600e12};
  d.memory_bandwidth = BytesPerSecond{2e12};
  d.memory_efficiency = 0.8;
  return d;
}

GemmFit truth() {
  GemmFit fit;
  fit.peak_fraction = 0.7;
  fit.reference_power = 400;
  fit.streaming = 0.8;
  fit.square_tile = 0.9;
  fit.narrow_tile = 0.6;
  fit.quantisation = 0.8;
  fit.exposed_result = 0.3;
  fit.k_fill = 30;
  fit.fixed = Seconds{5e-6};
  return fit;
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
  EXPECT_NE(said(1).find("on 1 kernel,"), std::string::npos) << said(1);
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
  try {
    read_kernel_samples(
        "source,device,kind,dtype,batch,m,n,k,out_dtype,accumulate,time_us\n"
        "me,X,gemm,bf16,1,10,20,30,bf16,0\n"
        "me,X,gem,bf17,1,10,20,30,bf16,0,1\n"
        "me,X,gemm,bf16,1,0,x,30,bf16,0,-1\n",
        "t.csv");
    FAIL();
  } catch (const ScenarioError& error) {
    ASSERT_EQ(error.errors.size(), 6u);
    EXPECT_EQ(error.errors[0], "t.csv:2:1: has 10 cells; write 11, as the heading has");
    EXPECT_NE(error.errors[1].find("t.csv:3:10: dtype: is \"bf17\""), std::string::npos);
    EXPECT_NE(error.errors[2].find("t.csv:3:6: kind: is \"gem\""), std::string::npos);
    EXPECT_NE(error.errors[3].find("t.csv:4:18: m: \"0\" is no number above 0"), std::string::npos);
  }
  EXPECT_THROW(read_kernel_samples("# nothing\n", "t.csv"), ScenarioError);
}

TEST(WriteProfile, ReplacesTheConstantAndKeepsTheRest) {
  const Device device = device_named("a", 400);
  const std::vector<KernelFit> fits = fit_kernels(samples_of(device, 30, 0, 10), {{"a", device}});
  const std::string written = profile_with_fits(
      R"({"name": "a", "gemm_efficiency": 0.7, "memory": "1 GiB", "sources": {"/gemm_efficiency": "x", "/memory": "y"}})",
      "p.json", device, fits);
  EXPECT_EQ(written.find("gemm_efficiency"), std::string::npos);
  EXPECT_NE(written.find("\"memory\": \"1 GiB\""), std::string::npos);
  EXPECT_NE(written.find("\"/memory\": \"y\""), std::string::npos);
  EXPECT_NE(written.find("\"/gemm/bf16\": \"accosim fit"), std::string::npos);
  EXPECT_NE(written.find("\"reference_power\": \"400 W\""), std::string::npos);
  EXPECT_THROW(profile_with_fits("[1]", "p.json", device, fits), ScenarioError);
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
  KernelFit attention;
  attention.architecture = "test";
  attention.what = "attention";
  attention.attention = *device.attention;
  attention.attention.forward_fraction = 0.55;
  attention.by = {{"me a", {}}};
  const auto written = [&](const std::vector<KernelFit>& fits) {
    return load_device(scratch.write("out.json", profile_with_fits(text, "a.json", device, fits)));
  };
  const std::string with_attention = profile_with_fits(text, "a.json", device, {attention});
  EXPECT_NE(with_attention.find("\"/gemm/bf16\": \"my samples\""), std::string::npos);
  EXPECT_EQ(with_attention.find("a relative's"), std::string::npos);
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

}  // namespace
}  // namespace accosim
