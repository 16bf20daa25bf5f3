// Do the overheads of training steps come out of steps that were made with them, and the shipped ones of the shipped
// cases?
#include "sim/evidence/fit_steps.hpp"

#include <gtest/gtest.h>

#include "build_info/project.hpp"
#include "models/price/kernel.hpp"
#include "models/spec/constants.hpp"
#include "models/spec/training.hpp"
#include "sim/evidence/step_spreads.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

StepSample made(const std::string& architecture, Implementation implementation, bool flash_1, Random& random) {
  StepSample sample;
  sample.flops_per_watt = architecture == "hopper" ? 1.413 : architecture == "ampere" ? 0.78 : kHeldBackFrom;
  sample.implementation = implementation;
  sample.flash_1 = flash_1;
  sample.products = random.uniform(1, 10);
  sample.memory = random.uniform(0.2, 5);
  sample.attention = random.uniform(0.2, 3);
  sample.others = random.uniform(0, 1);
  sample.rest = random.uniform(0, 1);
  const double memory = implementation == Implementation::kFused ? 0.8 : 1.4;
  // 1 + 0.2 ln(x / 0.4167): ln(1.413 / 0.4167) = 1.2212, ln(0.78 / 0.4167) = 0.6269, ln 1 = 0.
  const double product = architecture == "hopper" ? 1.24424 : architecture == "ampere" ? 1.12538 : 1;
  sample.measured = product * sample.products + memory * sample.memory + (flash_1 ? 1.6 : 1) * sample.attention +
                    sample.others + sample.rest;
  return sample;
}

TEST(FitSteps, FindsTheOverheadsThatMadeTheSteps) {
  Random random(5);
  std::vector<StepSample> samples;
  for (int i = 0; i < 120; ++i)
    samples.push_back(made(i % 3 == 0   ? "volta"
                           : i % 3 == 1 ? "ampere"
                                        : "hopper",
                           static_cast<Implementation>(random.integer(0, 2)), random.integer(0, 1) == 1, random));
  const StepFit fit = fit_steps(samples);
  EXPECT_NEAR(fit.overheads.pytorch, 1.4, 0.02);
  EXPECT_NEAR(fit.overheads.fused, 0.8, 0.02);
  EXPECT_NEAR(fit.overheads.flash_1, 1.6, 0.03);
  EXPECT_NEAR(fit.overheads.product_slope, 0.2, 0.01);
  EXPECT_LT(fit.errors.mean_absolute, 0.01);
}

TEST(FitSteps, WithoutStepsNothingIsFitted) {
  const StepFit fit = fit_steps({});
  EXPECT_EQ(fit.overheads, Overheads{});
}

TEST(FitSteps, ASimulatorsOutputIsNoSample) {
  const Published published = load_published(std::string(kSourceFolder).append("/scenarios/validation"));
  int simulated = 0;
  for (const PublishedCase& one : published.cases) {
    if (one.group != kSimulatorGroup) continue;
    EXPECT_FALSE(is_step_sample(one)) << one.id;
    simulated += one.not_expressible.empty() ? 1 : 0;
  }
  EXPECT_EQ(simulated, 240);
}

TEST(FitSteps, ShippedCasesGiveTheShippedOverheads) {
  const Published published = load_published(std::string(kSourceFolder).append("/scenarios/validation"));
  const StepFit fit = fit_steps(step_samples(published, 2, NetworkKind::kReference));
  const Overheads shipped = constants().overheads;
  // Four constants of one another's making: to 1 %. The reference network stands in for the default one.
  EXPECT_NEAR(fit.overheads.pytorch, shipped.pytorch, 0.01 * shipped.pytorch);
  EXPECT_NEAR(fit.overheads.fused, shipped.fused, 0.01 * shipped.fused);
  EXPECT_NEAR(fit.overheads.flash_1, shipped.flash_1, 0.01 * shipped.flash_1);
  EXPECT_NEAR(fit.overheads.product_slope, shipped.product_slope, 0.01 * shipped.product_slope);
}

TEST(StepSpreads, AreWhatErrorsHaveBeyondTheIntervals) {
  // Two steps off by 0.3 either way in logs: of a normal distribution whose mean absolute value is 0.3 the standard
  // deviation is 0.3 sqrt(pi / 2) = 0.376, and they were predicted with 0.1: sqrt(0.376^2 - 0.1^2) = 0.3625 is missing.
  EXPECT_NEAR(missing_spread({{0.3, 0.1}, {-0.3, 0.1}}), 0.3625, 1e-4);
  // One of five that is far off counts as often as it is: mean 0.2, so 0.2507, not the 0.443 of squares.
  EXPECT_NEAR(missing_spread({{0.96, 0}, {0.01, 0}, {0.01, 0}, {0.01, 0}, {0.01, 0}}), 0.2507, 1e-4);
  EXPECT_EQ(missing_spread({{0.1, 0.2}, {0, 0.2}}), 0) << "the interval is wide enough";
  EXPECT_EQ(missing_spread({}), 0);
}

TEST(StepSpreads, ShippedCasesGiveTheShippedOnes) {
  if (!thorough()) GTEST_SKIP() << "takes long under a sanitizer";
  const Published published = load_published(std::string(kSourceFolder).append("/scenarios/validation"));
  const std::vector<FittedSpread> fitted = fit_step_spreads(published, {}, 2, NetworkKind::kSimgrid);
  std::vector<StepSpread> shipped = constants().devices;
  shipped.insert(shipped.begin(), {constants().split, constants().mixed});
  ASSERT_EQ(fitted.size(), shipped.size());
  for (std::size_t i = 0; i < shipped.size(); ++i) {
    EXPECT_EQ(fitted[i].spread.name, shipped[i].name);
    EXPECT_EQ(fitted[i].spread.cases, shipped[i].cases) << shipped[i].name;
    EXPECT_NEAR(fitted[i].spread.spread, shipped[i].spread, 0.02) << shipped[i].name;
  }
  EXPECT_EQ(constants().mixed.cases, 4);
}

}  // namespace
}  // namespace accosim
