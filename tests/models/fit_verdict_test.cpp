// Is a verdict what the interval and the probability of what is resident say?
#include "models/price/fit_verdict.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/random.hpp"

namespace accosim {
namespace {

/// 100 bytes, of which 8 are slack: the spread is sqrt(0.03^2 + (0.5 x 0.08)^2) = 0.05.
MemoryParts hundred() {
  return {{{MemoryUse::kParameters, Bytes{50}, true},
           {MemoryUse::kActivations, Bytes{42}},
           {MemoryUse::kAllocatorSlack, Bytes{8}}}};
}

TEST(FitVerdict, SpreadIsOfTheTensorsAndOfTheSlack) {
  EXPECT_DOUBLE_EQ(memory_spread(Bytes{100}, Bytes{0}), 0.03);
  EXPECT_DOUBLE_EQ(memory_spread(Bytes{100}, Bytes{8}), 0.05);
}

TEST(FitVerdict, TightIsWhereTheIntervalHoldsTheCapacity) {
  // exp(1.28155 x 0.05) = 1.06617: the interval is 93.79 to 106.62.
  const Interval interval = resident_interval(hundred());
  EXPECT_NEAR(interval.low, 93.793, 0.001);
  EXPECT_NEAR(interval.high, 106.618, 0.001);
  EXPECT_EQ(fit_of(hundred(), Bytes{106.63}).verdict, FitVerdict::kFits);
  EXPECT_EQ(fit_of(hundred(), Bytes{106.61}).verdict, FitVerdict::kTight);
  EXPECT_EQ(fit_of(hundred(), Bytes{93.80}).verdict, FitVerdict::kTight);
  EXPECT_EQ(fit_of(hundred(), Bytes{93.78}).verdict, FitVerdict::kDoesNotFit);
}

TEST(FitVerdict, ProbabilityIsTheNormalIntegral) {
  // Half at the median, and 84.134 % one spread above it, 100 exp(0.05).
  EXPECT_DOUBLE_EQ(fit_of(hundred(), Bytes{100}).probability, 0.5);
  EXPECT_NEAR(fit_of(hundred(), Bytes{100 * std::exp(0.05)}).probability, 0.841345, 1e-6);
  EXPECT_NEAR(fit_of(hundred(), Bytes{100 * std::exp(-0.1)}).probability, 0.022750, 1e-6);
}

TEST(FitVerdict, VerdictAndProbabilitySayTheSame) {
  // Fits at nine tenths and more, does not fit below a tenth, whatever is held and by whom.
  Random random{3};
  for (int i = 0; i < 1000; ++i) {
    const MemoryParts parts{{{MemoryUse::kParameters, Bytes{random.uniform(1, 100)}, true},
                             {MemoryUse::kAllocatorSlack, Bytes{random.uniform(0, 30)}}}};
    const Bytes capacity = random.uniform(0.7, 1.4) * parts.total();
    const Fit fit = fit_of(parts, capacity);
    const Interval interval = resident_interval(parts);
    EXPECT_EQ(fit.verdict == FitVerdict::kFits, fit.probability > 0.9);
    EXPECT_EQ(fit.verdict == FitVerdict::kDoesNotFit, fit.probability < 0.1);
    EXPECT_EQ(fit.verdict == FitVerdict::kTight, interval.low <= capacity.value && capacity.value <= interval.high);
    EXPECT_GE(fit_of(parts, 1.01 * capacity).probability, fit.probability);
  }
}

TEST(FitVerdict, NoProbabilityIsWrittenAsCertain) {
  EXPECT_EQ(in_percent(0.5), "50 %");
  EXPECT_EQ(in_percent(0.031), "3.1 %");
  EXPECT_EQ(in_percent(0.994), "99.4 %");
  EXPECT_EQ(in_percent(0), "below 0.1 %");
  EXPECT_EQ(in_percent(1), "above 99.9 %");
}

}  // namespace
}  // namespace accosim
