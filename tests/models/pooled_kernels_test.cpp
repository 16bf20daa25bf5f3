// Do constants of what nobody measured come from all fits together, shrunk as is said?
#include "models/fit/pooled_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "models/spec/device.hpp"

namespace accosim {
namespace {

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

}  // namespace
}  // namespace accosim
