// Is a matrix product as long as its tiles, waves and bytes say, and does nothing become slower on a better device?
#include "models/price/gemm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/collectives/collective_query.hpp"
#include "models/fit/link_samples.hpp"
#include "models/fit/pooled_kernels.hpp"
#include "models/fit/published.hpp"
#include "models/price/attention_time.hpp"
#include "models/price/kernel.hpp"
#include "models/read/load.hpp"
#include "models/spec/kernel_table.hpp"
#include "models/spec/scenario_error.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/random.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/thrown.hpp"

namespace accosim {
namespace {

/// 100 multiprocessors of 1 TFLOP/s each at a fraction of 0.5, 1 TB/s achieved; every other constant neutral.
Device plain_device() {
  Device d{.name = "plain"};
  d.peak[static_cast<std::size_t>(Dtype::kBf16)] = FlopsPerSecond{200e12};
  d.memory_bandwidth = BytesPerSecond{2e12};
  d.memory_efficiency = 0.5;
  d.sm_count = 100;
  GemmFit fit{.peak_fraction = 0.5};
  fit.square_tile = fit.narrow_tile = 0.5;
  d.gemm[static_cast<std::size_t>(Dtype::kBf16)] = fit;
  return d;
}

GemmFit& fit_of(Device& d) { return *d.gemm[static_cast<std::size_t>(Dtype::kBf16)]; }
double seconds(const Gemm& g, const Device& d) { return gemm_time(g, d, Dtype::kBf16).value; }
/// The 3-norm of overlapped(), written out.
double norm3(double a, double b) { return std::cbrt(a * a * a + b * b * b); }

TEST(Gemm, WholeWaveTakesItsFlopsOverTheRate) {
  // 10 x 10 tiles of 256 x 128 on 100 multiprocessors: one wave. 2 x 2560 x 1280 x 65536 FLOPs at 100 TFLOP/s; the
  // bytes (2560 + 1280) x 65536 x 2 + 2560 x 1280 x 2 at 1 TB/s.
  const double compute = 2.0 * 2560 * 1280 * 65536 / 100e12;
  const double memory = 2.0 * ((2560.0 + 1280) * 65536 + 2560 * 1280) / 1e12;
  EXPECT_NEAR(seconds({1, 2560, 1280, 65536}, plain_device()), norm3(compute, memory), 1e-12);
}

TEST(Gemm, LastWaveCostsAWholeOneAsFarAsQuantisationSays) {
  // One row of tiles more is 110 tiles: 1.1 waves, which cost 2, or 1.1 where nothing is quantised. A 128 x 128 tile
  // at half the efficiency is no way out.
  const double wave = 2.0 * 2560 * 1280 * 65536 / 100e12;
  const double memory = 2.0 * ((2816.0 + 1280) * 65536 + 2816 * 1280) / 1e12;
  Device d = plain_device();
  EXPECT_NEAR(seconds({1, 2816, 1280, 65536}, d), norm3(2 * wave, memory), 1e-12);
  fit_of(d).quantisation = 0;
  EXPECT_NEAR(seconds({1, 2816, 1280, 65536}, d), norm3(1.1 * wave, memory), 1e-12);
}

TEST(Gemm, EdgesOfTilesAreWasted) {
  // 2561 rows need the same tiles as 2816.
  const Device d = plain_device();
  Gemm cut{1, 2561, 1280, 65536}, full{1, 2816, 1280, 65536};
  cut.in = full.in = Bytes{1e-6};  // without bytes
  cut.out = full.out = Bytes{1e-6};
  EXPECT_NEAR(seconds(cut, d), seconds(full, d), 1e-9);
}

TEST(Gemm, FillingThePipelineCostsElementsOfK) {
  Device d = plain_device();
  Gemm g{1, 2560, 1280, 256};  // too shallow to be split
  g.in = g.out = Bytes{1e-6};
  const double before = seconds(g, d);
  fit_of(d).k_fill = 64;
  EXPECT_NEAR(seconds(g, d), before * (256.0 + 64) / 256, 1e-12);
}

TEST(Gemm, NarrowResultUsesNarrowTilesOrWastesWideOnes) {
  // 64 columns: a 256 x 64 tile at efficiency 0.5 takes as long as a 256 x 128 tile half empty.
  Device d = plain_device();
  Gemm g{1, 25600, 64, 4096};
  g.in = g.out = Bytes{1e-6};
  EXPECT_NEAR(seconds(g, d), 2.0 * 256 * 128 * 4096 / 1e12, 1e-9);
  fit_of(d).narrow_tile = 0.8;
  EXPECT_NEAR(seconds(g, d), 2.0 * 256 * 64 * 4096 / 0.8e12, 1e-9);
}

TEST(Gemm, DeepProductOfFewTilesIsSplitAlongK) {
  // 25 tiles, so 75 multiprocessors would idle: 4 parts of k fill the wave, with 15 % overhead and 4 partial results of
  // 4 B written and read.
  Device d = plain_device();
  Gemm g{1, 1280, 640, 1e6};
  g.in = Bytes{1e-9};
  const double work = 2.0 * 256 * 128 * 1e6 / 4 / 1e12;
  const double partial = 4 * 1280.0 * 640 * 8 / 1e12;
  EXPECT_NEAR(seconds(g, d), 1.15 * work + partial, 1e-4 * work);
}

TEST(Gemm, SmallArithmeticIsBoundByBytes) {
  // k = 1 writes 8192 x 8192 x 2 B at 1 TB/s, or at half of it where the kernel streams no better.
  Device d = plain_device();
  const Gemm g{1, 8192, 8192, 1};
  const double memory = 2.0 * (8192.0 * 8192 + 2 * 8192) / 1e12;
  EXPECT_NEAR(seconds(g, d), memory, 0.01 * memory);
  fit_of(d).streaming = 0.5;
  EXPECT_NEAR(seconds(g, d), 2 * memory, 0.01 * memory);
}

TEST(Gemm, AccumulatingReadsTheResultToo) {
  const Gemm write{2, 10, 20, 30}, add{2, 10, 20, 30, Bytes{2}, Bytes{4}, true};
  EXPECT_EQ(bytes_of(write).value, 2 * (2.0 * (10 * 30 + 30 * 20) + 2.0 * 200));
  EXPECT_EQ(bytes_of(add).value, 2 * (2.0 * (10 * 30 + 30 * 20) + 2 * 4.0 * 200));
  EXPECT_EQ(flops_of(add).value, 2.0 * 2 * 10 * 20 * 30);
}

TEST(Gemm, WithoutMultiprocessorsThereAreNoWaves) {
  // The fit's share of the peak, and no tiles: time is proportional to the work of a large product.
  Device device = load_device("A100-SXM4-80GB");
  device.sm_count = 0;
  const Seconds one = gemm_time({1, 4096, 4096, 4096}, device, Dtype::kBf16);
  EXPECT_GT(one.value, 2 * 4096.0 * 4096 * 4096 / 312e12);
  EXPECT_NEAR(gemm_time({1, 8192, 4096, 4096}, device, Dtype::kBf16) / one, 2, 1e-12);
}

TEST(Gemm, PowerMovesTheRateByItsCubeRoot) {
  Device d = plain_device();
  fit_of(d).reference_power = 400;
  d.power = 400.0 / 8;
  Gemm g{1, 2560, 1280, 65536};
  g.in = g.out = Bytes{1e-6};
  EXPECT_NEAR(seconds(g, d), 2 * 2.0 * 2560 * 1280 * 65536 / 100e12, 1e-9);
  EXPECT_EQ(power_factor(0, 400), 1);
  EXPECT_EQ(power_factor(300, 0), 1);
  d.power = 400 * 1000;  // never more than the peak
  EXPECT_NEAR(seconds(g, d), 2.0 * 2560 * 1280 * 65536 / 200e12, 1e-9);
}

TEST(Gemm, ATf32ProductAcrossRunsWithoutHoppersOwnInstruction) {
  // 16384 cubed is bound by arithmetic: at 0.629 of the rate it takes 1 / 0.629 of the time, with a fit and without.
  Device d = plain_device();
  d.peak[static_cast<std::size_t>(Dtype::kTf32)] = FlopsPerSecond{200e12};
  d.architecture = "hopper";
  d.gemm_efficiency = 0.5;
  Gemm g{1, 16384, 16384, 16384, Bytes{4}, Bytes{4}};
  const auto ratio = [&](Dtype dtype) {
    Gemm across = g;
    across.across = true;
    return gemm_time(across, d, dtype) / gemm_time(g, d, dtype);
  };
  for (const bool fitted : {false, true}) {
    if (fitted) d.gemm[static_cast<std::size_t>(Dtype::kTf32)] = fit_of(d);
    EXPECT_NEAR(ratio(Dtype::kTf32), 1 / 0.629, 1e-3);
    EXPECT_EQ(ratio(Dtype::kBf16), 1);
  }
  d.architecture = "ampere";
  EXPECT_EQ(ratio(Dtype::kTf32), 1);
}

TEST(Gemm, DeviceWithoutFitIsARoofline) {
  Device d = plain_device();
  d.gemm = {};
  d.gemm_efficiency = 0.25;
  EXPECT_DOUBLE_EQ(seconds({1, 4096, 4096, 4096}, d), 2.0 * std::pow(4096.0, 3) / 50e12);
}

TEST(Gemm, OverlapIsExactAtTheEndsAndSymmetric) {
  EXPECT_EQ(overlapped(Seconds{3}, Seconds{0}).value, 3);
  EXPECT_EQ(overlapped(Seconds{0}, Seconds{0}).value, 0);
  EXPECT_NEAR(overlapped(Seconds{1}, Seconds{1}).value, std::cbrt(2.0), 1e-15);
  EXPECT_EQ(overlapped(Seconds{1}, Seconds{2}).value, overlapped(Seconds{2}, Seconds{1}).value);
}

Gemm random_gemm(Random& random) {
  const auto side = [&] { return std::floor(std::pow(2.0, random.uniform(4, 14))); };
  return {std::floor(random.uniform(1, 20)), side(), side(), side()};
}

Device random_device(Random& random) {
  Device d = plain_device();
  GemmFit& fit = fit_of(d);
  fit.square_tile = random.uniform(0.6, 1);
  fit.narrow_tile = random.uniform(0.4, 1);
  fit.quantisation = random.uniform(0, 1);
  fit.exposed_result = random.uniform(0, 1);
  fit.k_fill = random.uniform(0, 200);
  fit.streaming = random.uniform(0.5, 1);
  fit.fixed = Seconds{random.uniform(0, 1e-5)};
  return d;
}

TEST(Gemm, BetterDeviceIsNeverSlower) {
  Random random(11);
  for (int i = 0; i < 500; ++i) {
    const Gemm g = random_gemm(random);
    const Device d = random_device(random);
    for (int what = 0; what < 4; ++what) {
      Device better = d;
      if (what == 0) better.memory_bandwidth = 1.5 * better.memory_bandwidth;
      if (what == 1) fit_of(better).peak_fraction *= 1.5;
      if (what == 2) fit_of(better).k_fill /= 2;
      if (what == 3) fit_of(better).streaming *= 1.5;
      EXPECT_LE(seconds(g, better), seconds(g, d) * (1 + 1e-12)) << what;
    }
  }
}

TEST(Gemm, DeeperOrMoreIsNeverFasterWithinOneSplit) {
  // Growing m, n or the batch adds tiles; growing k adds work to each. (A deeper k may be split into more parts, and
  // more tiles may end the splitting, so neither is compared across that choice: k stays too shallow to be split.)
  Random random(12);
  for (int i = 0; i < 500; ++i) {
    Gemm g = random_gemm(random);
    g.k = std::floor(random.uniform(16, 255));
    const Device d = random_device(random);
    for (int what = 0; what < 4; ++what) {
      Gemm more = g;
      if (what == 0) more.m += 200;
      if (what == 1) more.n += 200;
      if (what == 2) more.batch += 3;
      if (what == 3) more.k += 200;
      EXPECT_GE(seconds(more, d), seconds(g, d) * (1 - 1e-12)) << what;
    }
  }
}

TEST(Gemm, NeverBeatsThePeakNorTheMemory) {
  Random random(13);
  for (int i = 0; i < 500; ++i) {
    const Gemm g = random_gemm(random);
    const Device d = random_device(random);
    EXPECT_GE(seconds(g, d), flops_of(g).value / 100e12 * (1 - 1e-12));
    EXPECT_GE(seconds(g, d), bytes_of(g).value / 1e12 * (1 - 1e-12));
  }
}

TEST(AttentionTime, IsWorkOverTheRateAndTheTailOfTheLongestBlock) {
  // Causal, 4 sequences of 4096, 32 heads of 128: 4 x 32 x 4096^2 / 2 pairs of 512 FLOPs at 0.5 x 200 TFLOP/s; the
  // longest block, 128 queries over 4096 keys, on one of 100 multiprocessors, half of it exposed.
  Device d = plain_device();
  d.attention = AttentionFit{0.5, 0.25, 0, 0, 0.5, 0, 1, Seconds{7e-6}, {}};
  const AttentionShape a{4, 32, 32, 4096, 128, 128, 4096.0 * 4096 / 2, 4096, Bytes{2}};
  const double work = 4 * 32 * (4096.0 * 4096 / 2) * 512 / 100e12;
  const double longest = 128.0 * 4096 * 512 / 1e12;
  const double memory = bytes_of(a, false).value / 1e12;
  EXPECT_NEAR(attention_time(a, false, d, Dtype::kBf16).value, 7e-6 + norm3(work + 0.5 * longest, memory), 1e-12);
  // Backward: 2.5 times the work at half the rate.
  const double back = bytes_of(a, true).value / 1e12;
  EXPECT_NEAR(attention_time(a, true, d, Dtype::kBf16).value, 7e-6 + norm3(5 * (work + 0.5 * longest), back), 1e-12);
}

TEST(AttentionTime, OneBlockTakesAsLongAsOneMultiprocessorNeeds) {
  Device d = plain_device();
  d.attention = AttentionFit{0.5, 0.5, 0, 0, 0.1, 0, 1, Seconds{0}, {}};
  const AttentionShape a{1, 1, 1, 128, 128, 128, 128.0 * 128, 128, Bytes{2}};
  EXPECT_NEAR(attention_time(a, false, d, Dtype::kBf16).value, 128.0 * 128 * 512 / 1e12, 1e-8);
}

/// 8 sequences of 8192 tokens in 64 heads as wide as that.
double of_heads(double head, const Device& d, bool backward = false) {
  return attention_time({8, 64, 64, 8192, head, head, 8192.0 * 8192, 8192, Bytes{2}}, backward, d, Dtype::kBf16).value;
}

TEST(AttentionTime, WideHeadsRunSlower) {
  Device d = plain_device();
  d.attention = AttentionFit{0.5, 0.5, 0, 1, 0, 0, 1, Seconds{0}, {}};
  EXPECT_NEAR(of_heads(128, d) / of_heads(64, d), 2, 0.02);   // twice the work
  EXPECT_NEAR(of_heads(256, d) / of_heads(128, d), 4, 0.02);  // twice the work at half the rate
}

TEST(AttentionTime, SoftmaxCostsANarrowHeadMore) {
  // Softmax as long as 64 elements of a head: a pair costs d + 64. Half the width: (64 + 64) / (128 + 64) = 2/3 of the
  // time, not 1/2; the rate is that of heads of 128, where nothing changes.
  Device d = plain_device();
  d.attention = AttentionFit{0.5, 0.5, 0, 0, 0, 0, 1, Seconds{0}, {}};
  const double wide = of_heads(128, d);
  d.attention->softmax = 64;
  EXPECT_DOUBLE_EQ(of_heads(128, d), wide);
  EXPECT_NEAR(of_heads(64, d) / of_heads(128, d), 2.0 / 3, 0.001);
  // Backward has none.
  EXPECT_NEAR(of_heads(64, d, true) / of_heads(128, d, true), 0.5, 0.001);
}

TEST(AttentionTime, MemoryIsReadAtItsShareOfTheBandwidth) {
  // One query a sequence, so that bytes alone count: 2 x 1e6 x 16 x 128 x 4 tensors and 4 B a row, at a quarter of 1
  // TB/s.
  Device d = plain_device();
  d.sm_count = 0;
  d.attention = AttentionFit{0.5, 0.5, 0, 0, 0, 0, 0.25, Seconds{0}, {}};
  const AttentionShape a{1e6, 16, 16, 1, 128, 128, 1, 1, Bytes{2}};
  const double bytes = 2.0 * 1e6 * 16 * 128 * 4 + 4.0 * 1e6 * 16;
  const double work = 1e6 * 16 * 512 / 100e12;
  EXPECT_NEAR(attention_time(a, false, d, Dtype::kBf16).value, norm3(work, bytes / 0.25e12), 1e-9);
}

TEST(AttentionTime, FlashAttention3HasAFitOfItsOwn) {
  Device d = plain_device();
  d.attention = AttentionFit{0.25, 0.25, 0, 0, 0, 0, 1, Seconds{0}, {}};
  AttentionShape a{8, 64, 64, 8192, 128, 128, 8192.0 * 8192, 8192, Bytes{2}};
  const auto time = [&] { return attention_time(a, false, d, Dtype::kBf16).value; };
  const double second = time();
  a.flash_3 = true;
  EXPECT_EQ(time(), second);  // without one it is FlashAttention 2's
  d.flash_3 = AttentionFit{0.5, 0.5, 0, 0, 0, 0, 1, Seconds{0}, {}};
  EXPECT_NEAR(time() / second, 0.5, 0.001);  // twice the rate
}

TEST(AttentionTime, BytesAreEachTensorOnce) {
  // 2 sequences of 16, 4 heads on 2 of keys and values, 8 wide: q 2x16x32, k and v 2x16x16, o as q; 2 B; 4 B a row.
  const AttentionShape a{2, 4, 2, 16, 8, 8, 128, 16, Bytes{2}};
  EXPECT_EQ(bytes_of(a, false).value, 2.0 * (1024 + 2 * 512 + 1024) + 4.0 * 2 * 16 * 4);
  EXPECT_EQ(bytes_of(a, true).value, 2 * 2.0 * (1024 + 2 * 512 + 1024) + 4.0 * 2 * 16 * 4);
  EXPECT_EQ(flops_of(a, false).value, 2.0 * 4 * 128 * 32);
  EXPECT_EQ(flops_of(a, true).value, 2.5 * 2 * 4 * 128 * 32);
}

// Tables of measured kernels: what is asked between, below and beyond what was measured.

TEST(KernelTable, IsAStraightLineInLogarithmsBetweenPoints) {
  // From (100, 2 us) to (10000, 8 us) time goes with the power log 4 / log 100 of the elements: at 1000, half way, 4
  // us.
  const KernelCurve curve = {{100, Seconds{2e-6}}, {10000, Seconds{8e-6}}};
  EXPECT_NEAR(time_at(curve, 1000).value, 4e-6, 1e-15);
  EXPECT_NEAR(time_at(curve, 100).value, 2e-6, 1e-15);
  EXPECT_NEAR(time_at(curve, 10000).value, 8e-6, 1e-15);
  // A kernel is never shorter than the smallest that was measured; beyond the largest, its rate.
  EXPECT_DOUBLE_EQ(time_at(curve, 1).value, 2e-6);
  EXPECT_DOUBLE_EQ(time_at(curve, 30000).value, 24e-6);
}

TEST(KernelTable, NeverFallsWhereTheSamplesDoNot) {
  Random random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<KernelPoint> samples;
    double elements = 100, time = 1e-6;
    for (int i = 0; i < 12; ++i) {
      samples.push_back({elements, Seconds{time}});
      elements *= random.uniform(1.1, 5);
      time *= random.uniform(1, 6);
    }
    const KernelCurve curve = curve_of(samples);
    double last = 0;
    for (double x = 50; x < 2 * elements; x *= 1.07) {
      EXPECT_GE(time_at(curve, x).value, last * (1 - 1e-12));
      last = time_at(curve, x).value;
    }
  }
}

TEST(KernelTable, KeepsTheKneeAndDropsWhatALineExplains) {
  // A rate up to 1e6 elements, half of it beyond: on a log-log plot two lines of slope 1 and what joins them.
  const auto time = [](double n) { return Seconds{n <= 1e6 ? 1e-12 * n : 1e-6 + 2e-12 * (n - 1e6)}; };
  std::vector<KernelPoint> samples;
  for (double n = 1e3; n < 1e9; n *= 1.5) samples.push_back({std::round(n), time(std::round(n))});
  const KernelCurve curve = curve_of(samples);
  EXPECT_LT(curve.size(), 12u);
  EXPECT_LT(curve.size() * 2, samples.size());
  for (const KernelPoint& point : samples) EXPECT_NEAR(time_at(curve, point.elements) / point.time, 1, 0.0101);
}

TEST(KernelTable, SamplesOfOneSizeAreTheirGeometricMean) {
  const KernelCurve curve = curve_of({{1000, Seconds{4e-6}}, {1010, Seconds{1e-6}}, {5000, Seconds{9e-6}}});
  ASSERT_EQ(curve.size(), 2u);
  EXPECT_NEAR(curve[0].elements, 1005, 1);
  EXPECT_NEAR(curve[0].time.value, 2e-6, 1e-12);
}

TEST(KernelTable, LeavesEachInnerSampleOut) {
  // The middle one is 10 % above the line of the others.
  const std::vector<double> errors =
      left_out_errors({{100, Seconds{1e-6}}, {1000, Seconds{1.1e-5}}, {10000, Seconds{1e-4}}});
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NEAR(errors[0], -std::log(1.1), 1e-12);
}

TEST(KernelTable, OfSeveralTheOneOfTheNearestRowsIsAsked) {
  Device device = load_device("H100-SXM");
  KernelTable softmax{.kernel = StepKernel::kSoftmaxForward, .dtype = Dtype::kBf16};
  for (const double rows : {128.0, 1024.0}) {
    softmax.rows = rows;
    softmax.times = {{1000, Seconds{rows * 1e-6}}};
    device.kernels.edit().push_back(softmax);
  }
  Kernel kernel = memory_kernel(Bytes{4000});
  kernel.step = StepKernel::kSoftmaxForward;
  kernel.dtype = Dtype::kBf16;
  kernel.elements = 1000;
  for (const auto& [rows, expected] : {std::pair{100, 128}, {300, 128}, {400, 1024}, {4096, 1024}}) {
    kernel.rows = rows;  // 128 and 1024 are as far from 362 in logarithms
    EXPECT_NEAR(kernel_time(kernel, device, Dtype::kBf16).value, expected * 1e-6, 1e-15) << rows;
  }
  // Another dtype and another kernel go by their bytes.
  kernel.dtype = Dtype::kFp32;
  EXPECT_EQ(table_of(device, kernel), nullptr);
  EXPECT_NEAR(kernel_time(kernel, device, Dtype::kBf16).value,
              kKernelOverhead.value + 4000 / (device.memory_efficiency * device.memory_bandwidth.value), 1e-12);
}

TEST(KernelTable, EveryKernelHasItsNameOnce) {
  for (int i = 0; i < kStepKernelCount; ++i)
    EXPECT_EQ(step_kernel(name_of(static_cast<StepKernel>(i))), static_cast<StepKernel>(i));
  EXPECT_FALSE(step_kernel("norm"));
}

TEST(KernelTable, PeopleAreToldHowTheBytesOfEveryKernelAreCounted) {
  for (int i = 0; i < kStepKernelCount; ++i)
    EXPECT_NE(byte_formulas().find(name_of(static_cast<StepKernel>(i))), std::string::npos) << i;
}

// Do constants of what nobody measured come from all fits together, shrunk as is said?

/// A fit of twenty samples, whose weight is 20 / (20 + 20) = 1/2.
KernelFit fit_of(const std::string& architecture, Dtype dtype, double peak_fraction) {
  KernelFit fit{.architecture = architecture,
                .dtypes = {dtype},
                .gemm = gemm_of({peak_fraction, 0.85 * std::exp(0.07), 0.95, 0.6, 0.7, 0.3, 20, 4e-6}, 400),
                .in = {.samples = 20}};
  fit.gemm.quality = {0.08, 20, 1e9, 1e12, false};
  return fit;
}

Device device_of(const std::string& architecture) {
  Device d{.architecture = architecture, .power = 300};
  d.peak[static_cast<std::size_t>(Dtype::kFp32)] = FlopsPerSecond{20e12};
  d.peak[static_cast<std::size_t>(Dtype::kBf16)] = FlopsPerSecond{300e12};
  return d;
}

TEST(PooledKernels, AnArchitectureThatNobodyMeasuredTakesTheCommonPartAndThatOfItsUnits) {
  // Logs y1 of 0.9 on CUDA cores and y2 of 0.6 on tensor cores, one architecture, weights 1/2, effects shrunk by 1.
  // With e = y - common - architecture - units: units = e / 2, architecture = (e1 + e2) / 2, and the common part, free,
  // makes e1 + e2 = 0. So the architecture's effect is 0, the common part (y1 + y2) / 2, y1 - common = e1 + e1 / 2, and
  // tensor cores' effect -(y1 - y2) / 6: together y1 / 3 + 2 y2 / 3.
  const std::vector<KernelFit> fits = {fit_of("one", Dtype::kFp32, 0.9), fit_of("one", Dtype::kBf16, 0.6)};
  const GemmFit tensor = pooled_gemm(fits, device_of("other"), Dtype::kBf16);
  EXPECT_NEAR(tensor.peak_fraction, std::cbrt(0.9 * 0.6 * 0.6), 1e-12);
  EXPECT_NEAR(pooled_gemm(fits, device_of("other"), Dtype::kFp32).peak_fraction, std::cbrt(0.9 * 0.9 * 0.6), 1e-12);
  // Both fits stream alike, 0.07 over the prior's 0.85 in logs, and here the common part is shrunk too: common = e,
  // architecture = e, units = e / 2 and e make 0.07, so e = 0.02. Another architecture takes common and units: 0.03;
  // the same one 0.05.
  EXPECT_NEAR(tensor.streaming, 0.85 * std::exp(0.03), 1e-12);
  EXPECT_NEAR(pooled_gemm(fits, device_of("one"), Dtype::kFp8).streaming, 0.85 * std::exp(0.05), 1e-12);
  EXPECT_NEAR(tensor.k_fill, 20, 1e-9);
  EXPECT_NEAR(tensor.quality.spread, 0.08, 1e-12);
  EXPECT_TRUE(tensor.quality.inherited);
}

TEST(PooledKernels, AFractionIsOfThePowerOfTheSameUnitsElseOfTheDevicesOwn) {
  const std::vector<KernelFit> fits = {fit_of("one", Dtype::kBf16, 0.7)};
  EXPECT_EQ(pooled_gemm(fits, device_of("one"), Dtype::kTf32).reference_power, 400);
  EXPECT_EQ(pooled_gemm(fits, device_of("one"), Dtype::kFp32).reference_power, 300);
  EXPECT_EQ(pooled_gemm(fits, device_of("other"), Dtype::kBf16).reference_power, 300);
}

TEST(PooledKernels, ConstantsStayInTheirRange) {
  const std::vector<KernelFit> fits = {fit_of("one", Dtype::kFp32, 1), fit_of("two", Dtype::kFp32, 1),
                                       fit_of("one", Dtype::kBf16, 0.3)};
  EXPECT_LE(pooled_gemm(fits, device_of("two"), Dtype::kFp32).peak_fraction, 1);
}

TEST(PooledKernels, FillOnlyWhatIsMissing) {
  Device device = device_of("other");
  const GemmFit own = gemm_of({0.5, 0.8, 0.9, 0.6, 0.7, 0.3, 20, 4e-6}, 0);
  device.gemm[static_cast<std::size_t>(Dtype::kFp32)] = own;
  const KernelFit attention{.architecture = "one", .attention = {.forward_fraction = 0.6}};
  const Device filled = with_pooled(device, {fit_of("one", Dtype::kBf16, 0.7), attention});
  EXPECT_EQ(filled.gemm[static_cast<std::size_t>(Dtype::kFp32)], own);
  EXPECT_TRUE(filled.gemm[static_cast<std::size_t>(Dtype::kBf16)]);
  EXPECT_FALSE(filled.gemm[static_cast<std::size_t>(Dtype::kFp8)]);  // no peak
  EXPECT_EQ(filled.attention->forward_fraction, 0.6);
  EXPECT_TRUE(filled.attention->quality.inherited);
  EXPECT_EQ(with_pooled(device, {}).gemm, device.gemm);
  EXPECT_THROW(pooled_gemm({attention}, device, Dtype::kBf16), std::invalid_argument);
}

TEST(PooledKernels, AUserWhoMeasuredOneDtypeGetsTheOthers) {
  // Of a new architecture bf16 was measured. fp32 has a peak and no fit: it takes the common part and the
  // architecture's.
  KernelFit fit = fit_of("new", Dtype::kBf16, 0.7);
  const Device fitted = with_fits(device_of("new"), {fit});
  EXPECT_EQ(fitted.gemm[static_cast<std::size_t>(Dtype::kBf16)]->peak_fraction, 0.7);
  ASSERT_TRUE(fitted.gemm[static_cast<std::size_t>(Dtype::kFp32)]);
  EXPECT_TRUE(fitted.gemm[static_cast<std::size_t>(Dtype::kFp32)]->quality.inherited);
}

TEST(PooledKernels, WhatProfilesHoldIsPooledWithAUsersFits) {
  // A profile's fits, but those of a relative, stand beside the user's; where both have one, the user's counts.
  Device profile = device_of("one");
  profile.gemm[static_cast<std::size_t>(Dtype::kFp32)] = fit_of("one", Dtype::kFp32, 0.9).gemm;
  profile.gemm[static_cast<std::size_t>(Dtype::kBf16)] = fit_of("one", Dtype::kBf16, 0.6).gemm;
  profile.gemm[static_cast<std::size_t>(Dtype::kFp16)] = profile.gemm[static_cast<std::size_t>(Dtype::kBf16)];
  Device relative = profile;
  relative.gemm[static_cast<std::size_t>(Dtype::kFp32)]->quality.inherited = true;
  const std::vector<KernelFit> held = fits_of({relative, profile, profile});
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0].dtypes, (std::vector<Dtype>{Dtype::kFp16, Dtype::kBf16}));
  EXPECT_EQ(held[1].dtypes, std::vector<Dtype>{Dtype::kFp32});
  EXPECT_EQ(held[1].in.samples, 20);
  EXPECT_EQ(with_others({fit_of("one", Dtype::kFp32, 0.8)}, held).size(), 2u);
  EXPECT_EQ(with_others({fit_of("two", Dtype::kFp32, 0.8)}, held).size(), 3u);
  // CUDA cores do better than tensor cores there, and so they are taken to do on the user's GPU.
  const auto fp32 = [&](const std::vector<KernelFit>& others) {
    return with_fits(device_of("new"), {fit_of("new", Dtype::kBf16, 0.6)}, others)
        .gemm[static_cast<std::size_t>(Dtype::kFp32)]
        ->peak_fraction;
  };
  EXPECT_GT(fp32(held), fp32({}));
}

// Is a table that does not say which release of NCCL it is of predicted with those that it may be?

constexpr double kMiB = 1024.0 * 1024.0;

std::string file_of(const std::string& table) {
  return R"({"schema": "accosim.validation/1", "title": "t", "url": "u", "kind": "collectives", "clusters": {"c": {
    "schema": "accosim.cluster/1", "name": "c", "nodes": [{"count": 4, "gpus": 8, "device": "A100-SXM4-80GB", "intra":
    {"kind": "nvswitch", "bandwidth": "300 GB/s"}, "nics": {"count": 4, "bandwidth": "100 Gbit/s"}}]}},
    "tables": [{"file": "t.csv")" +
         table + "}]}";
}

class Releases : public ::testing::Test {
 protected:
  Published published(const std::string& table) {
    files_.write("t.csv",
                 "source,fabric,collective,ranks,nodes,bytes,time_us\ns,c,all_reduce,32,4,1048576,300\n"
                 "s,c,all_reduce,32,4,33554432,3000\n");
    files_.write("t.json", file_of(table));
    return load_published(files_.path(""));
  }
  Scratch files_;
};

TEST_F(Releases, TheMiddleOneCountsAndAllAreAsked) {
  const Published with = published(R"(, "releases": ["2.26", "2.12", "2.18"])");
  const CollectiveQuery& query = with.cases.at(0).collective;
  EXPECT_EQ(query.releases, (std::vector<NcclRelease>{{12}, {18}, {26}}));
  EXPECT_EQ(middle_release(query), NcclRelease{18});
  const std::vector<Seconds> times = collective_times(query);
  ASSERT_EQ(times.size(), 3U);
  EXPECT_EQ(collective_time(query), times[1]);
  for (std::size_t i = 0; i < 3; ++i) {
    CollectiveQuery one = query;
    auto cluster = std::make_shared<Cluster>(*query.cluster);
    cluster->nccl = query.releases[i];
    one.cluster = cluster;
    one.releases = {};
    EXPECT_EQ(collective_time(one), times[i]);
  }
  // A fit takes the middle one too.
  EXPECT_EQ(light({"s", query, Seconds{1}}).cluster.nccl, NcclRelease{18});
}

TEST_F(Releases, OfTwoTheEarlierCounts) {
  EXPECT_EQ(middle_release(published(R"(, "releases": ["2.18", "2.12"])").cases.at(0).collective), NcclRelease{12});
}

TEST_F(Releases, TheJumpFromLowLatencyToSimpleMoves) {
  // One machine of two releases: NCCL 2.12 counts 28 us for a network step of a tree with Simple, and LL up to a
  // quarter of the bandwidth; 2.23 counts 14 us and a half. So the size at which LL ends differs.
  const auto last_without_simple = [&](const std::string& release) {
    CollectiveQuery query = published(R"(, "releases": [")" + release + "\"]").cases.at(0).collective;
    Cluster cluster = *query.cluster;
    cluster.nccl = middle_release(query);
    const Ring ring = ring_of(query);
    double last = 0;
    for (double bytes = 1024; bytes < 1024 * kMiB; bytes *= 1.1)
      if (collective_cost(query.kind, Bytes{bytes}, cluster, ring).protocol != Protocol::kSimple) last = bytes;
    return last;
  };
  const double before = last_without_simple("2.12"), after = last_without_simple("2.23");
  EXPECT_GT(before, 0);
  EXPECT_GT(std::abs(before / after - 1), 0.1);
}

TEST_F(Releases, WhatIsNoReleaseIsRefused) {
  EXPECT_TRUE(holds(thrown_by<ScenarioError>([&] { published(R"(, "releases": ["3.1"])"); }),
                    "\"3.1\" is no release of NCCL; write some like \"2.18\""));
}

}  // namespace
}  // namespace accosim
