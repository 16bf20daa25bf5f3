// Tables of measured kernels: what is asked between, below and beyond what was measured.
#include "models/spec/kernel_table.hpp"

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
#include "models/price/kernel.hpp"
#include "models/read/load.hpp"
#include "models/spec/device.hpp"
#include "models/spec/scenario_error.hpp"
#include "tests/support/random.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

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
  KernelTable softmax;
  softmax.kernel = StepKernel::kSoftmaxForward;
  softmax.dtype = Dtype::kBf16;
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
  KernelFit fit;
  fit.architecture = architecture;
  fit.dtypes = {dtype};
  fit.in.samples = 20;
  fit.gemm = gemm_of({peak_fraction, 0.85 * std::exp(0.07), 0.95, 0.6, 0.7, 0.3, 20, 4e-6}, 400);
  fit.gemm.quality = {0.08, 20, 1e9, 1e12, false};
  return fit;
}

Device device_of(const std::string& architecture) {
  Device d;
  d.architecture = architecture;
  d.power = 300;
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
  KernelFit attention;
  attention.architecture = "one";
  attention.attention.forward_fraction = 0.6;
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
  try {
    published(R"(, "releases": ["3.1"])");
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_NE(std::string(error.what()).find("\"3.1\" is no release of NCCL; write some like \"2.18\""),
              std::string::npos);
  }
}

}  // namespace
}  // namespace accosim
