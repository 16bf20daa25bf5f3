// Is a matrix product as long as its tiles, waves and bytes say, and does nothing become slower on a better device?
#include "models/price/gemm.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/price/attention_time.hpp"
#include "models/read/load.hpp"
#include "models/spec/device.hpp"
#include "tests/support/random.hpp"

namespace accosim {
namespace {

/// 100 multiprocessors of 1 TFLOP/s each at a fraction of 0.5, 1 TB/s achieved; every other constant neutral.
Device plain_device() {
  Device d;
  d.name = "plain";
  d.peak[static_cast<std::size_t>(Dtype::kBf16)] = FlopsPerSecond{200e12};
  d.memory_bandwidth = BytesPerSecond{2e12};
  d.memory_efficiency = 0.5;
  d.sm_count = 100;
  GemmFit fit;
  fit.peak_fraction = 0.5;
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

}  // namespace
}  // namespace accosim
