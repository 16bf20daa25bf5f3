// Do the overheads of training steps come out of steps that were made with them, and the shipped ones of the shipped
// cases?
#include "sim/evidence/fit_steps.hpp"

#include <gtest/gtest.h>

#include "build_info/project.hpp"
#include "models/price/kernel.hpp"
#include "models/read/load.hpp"
#include "models/spec/constants.hpp"
#include "models/spec/training.hpp"
#include "tests/support/random.hpp"

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

}  // namespace
}  // namespace accosim
