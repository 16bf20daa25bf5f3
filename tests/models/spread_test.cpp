// Is the uncertainty of a micro-batch what the formula makes of its kernels' residuals?
#include "models/price/spread.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/price/fit_verdict.hpp"
#include "models/price/interval.hpp"
#include "models/price/operators.hpp"
#include "models/spec/constants.hpp"
#include "tests/support/gpus.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

RankKind kind_of(std::vector<Kernel> kernels) {
  RankKind kind{.device = sample_device()};
  kind.device.sm_count = 100;
  kind.device.launch_interval = Seconds{0};
  const GemmFit fit{.peak_fraction = 0.5, .quality = {0.1, 50, 1e6, 1e12, false}};
  kind.device.gemm[static_cast<std::size_t>(Dtype::kBf16)] = fit;
  Operator op{.forward = std::move(kernels)};
  add_up(op);
  kind.layers.edit() = {Layer{LayerKind::kBlock, {op}}};
  return kind;
}

RankKind billed(RankKind kind) {
  kind.bill = bill_of(kind.layers, kind.device, kind.workload.compute);
  return kind;
}

const Kernel kProduct = gemm_kernel({1, 4096, 4096, 4096});
double squared(double x) { return x * x; }

TEST(Spread, OneShapeErrsAsItsFitDoesHoweverOftenItRuns) {
  const double one = std::sqrt(squared(kOperators) + squared(0.1));
  EXPECT_NEAR(compute_spread(billed(kind_of({kProduct}))), one, 1e-12);
  EXPECT_NEAR(compute_spread(billed(kind_of({kProduct, kProduct, kProduct}))), one, 1e-12);
  RankKind two = kind_of({kProduct});
  two.layers.edit().push_back(two.layers->front());
  EXPECT_NEAR(compute_spread(billed(two)), one, 1e-12);
}

TEST(Spread, DifferentShapesErrIndependently) {
  // Two shapes of (nearly) the same time: each half, so the variance of the two together is half of one's.
  const Kernel other = gemm_kernel({1, 4096, 4096, 4097});
  EXPECT_NEAR(compute_spread(billed(kind_of({kProduct, other}))), std::sqrt(squared(kOperators) + squared(0.1) / 2),
              1e-4);
}

TEST(Spread, MemoryBoundKernelsErrTogether) {
  EXPECT_NEAR(compute_spread(billed(kind_of({memory_kernel(Bytes{1e9}), memory_kernel(Bytes{2e9})}))),
              std::sqrt(squared(kOperators) + squared(kBandwidthSpread)), 1e-12);
}

TEST(Spread, HostCountsAsFarAsItDecides) {
  // Launches take three times as long as the kernel: two thirds of the time is the host's, one third the memory's.
  RankKind kind = kind_of({memory_kernel(Bytes{1e9})});
  kind.device.launch_interval =
      3 * kernel_time(kind.layers->front()->operators[0].forward[0], kind.device, Dtype::kBf16);
  EXPECT_NEAR(compute_spread(billed(kind)),
              std::sqrt(squared(kOperators) + squared(kBandwidthSpread / 3) + squared(kHost * 2 / 3)), 1e-12);
}

TEST(Spread, InheritedAndExtrapolatedConstantsAreLessSure) {
  RankKind kind = kind_of({kProduct});
  const double wide = std::sqrt(squared(kOperators) + squared(0.1) + squared(kInheritedSpread));
  FitQuality& quality = kind.device.gemm[static_cast<std::size_t>(Dtype::kBf16)]->quality;
  quality.inherited = true;
  EXPECT_NEAR(compute_spread(billed(kind)), wide, 1e-12);
  EXPECT_NEAR(fit_use(billed(kind)).inherited, 1, 1e-12);
  quality.inherited = false;
  EXPECT_EQ(fit_use(billed(kind)).extrapolated, 0);
  quality.most = 6e10;  // the product has 1.4e11
  EXPECT_NEAR(compute_spread(billed(kind)), wide, 1e-12);
  EXPECT_NEAR(fit_use(billed(kind)).extrapolated, 1, 1e-12);
}

TEST(Spread, FitsOfAnotherGenerationErrTogether) {
  // Two shapes of (nearly) the same time: by themselves each errs for half of it, and what the generation adds is one.
  RankKind kind = kind_of({kProduct, gemm_kernel({1, 4096, 4096, 4097})});
  FitQuality& quality = kind.device.gemm[static_cast<std::size_t>(Dtype::kBf16)]->quality;
  quality.inherited = quality.other_generation = true;
  const double alone = (squared(0.1) + squared(kInheritedSpread)) / 2;
  EXPECT_NEAR(compute_spread(billed(kind)), std::sqrt(squared(kOperators) + alone + squared(kGenerationSpread)), 1e-4);
  EXPECT_NEAR(fit_use(billed(kind)).other_generation, 1, 1e-12);
}

TEST(Spread, ADeviceWithoutAMeasuredStepHasThatOfOtherBoardsOrGenerations) {
  // Its own kernels were measured; all of its time errs as that of a generation left out, or as a relative's.
  RankKind kind = kind_of({kProduct});
  kind.device.steps = StepEvidence::kOtherGeneration;
  const double own = squared(kOperators) + squared(0.1);
  EXPECT_NEAR(compute_spread(billed(kind)), std::sqrt(own + squared(kGenerationSpread)), 1e-12);
  kind.device.steps = StepEvidence::kRelative;
  EXPECT_NEAR(compute_spread(billed(kind)), std::sqrt(own + squared(kInheritedSpread)), 1e-12);
}

TEST(Spread, AKernelOutsideItsTableIsExtrapolated) {
  Kernel softmax = memory_kernel(Bytes{4000});
  softmax.step = StepKernel::kSoftmaxForward;
  softmax.dtype = Dtype::kBf16;
  softmax.elements = 1000;
  softmax.rows = 128;
  RankKind kind = kind_of({softmax});
  kind.workload.implementation = Implementation::kAccocal;
  kind.device.kernels = std::vector<KernelTable>{
      {StepKernel::kSoftmaxForward, Dtype::kBf16, 128, {{1000, Seconds{1e-6}}, {4000, Seconds{4e-6}}}, 0.05, 20}};
  const double inside = std::sqrt(squared(kListed) + squared(0.05));
  const double beyond = std::sqrt(squared(kListed) + squared(0.05) + squared(kInheritedSpread));
  Kernel& kernel = kind.layers.edit()[0].edit().operators[0].forward[0];
  const auto expect = [&](double elements, double rows, bool extrapolated) {
    kernel.elements = elements;
    kernel.rows = rows;
    EXPECT_EQ(fit_use(billed(kind)).extrapolated, extrapolated ? 1 : 0) << elements << " of " << rows;
    EXPECT_NEAR(compute_spread(billed(kind)), extrapolated ? beyond : inside, 1e-12) << elements << " of " << rows;
  };
  expect(1000, 128, false);
  expect(4000, 128, false);
  expect(4050, 128, false);  // one size, as far as a table tells
  expect(4100, 128, true);
  expect(970, 128, true);
  expect(2000, 256, true);
  expect(2000, 64, true);
}

TEST(Spread, TheOptimizerErrsAsItsTableDoes) {
  Costs costs{.kinds = {kind_of({})}};
  costs.kinds[0].parameters = 1e7;
  costs.kinds[0].device.kernels = std::vector<KernelTable>{
      {StepKernel::kAdamw, Dtype::kBf16, 0, {{1e6, Seconds{1e-5}}, {1e8, Seconds{1e-3}}}, 0.01, 20}};
  EXPECT_EQ(optimizer_spread(costs), kBandwidthSpread);  // PyTorch's is not what was measured
  costs.implementation = Implementation::kAccocal;
  EXPECT_NEAR(optimizer_spread(costs), kMeasuredSpread, 1e-12);
  costs.kinds[0].device.kernels.edit()[0].spread = 0.07;
  EXPECT_NEAR(optimizer_spread(costs), 0.07, 1e-12);
  costs.kinds[0].parameters = 1e9;
  EXPECT_NEAR(optimizer_spread(costs), std::sqrt(squared(0.07) + squared(kInheritedSpread)), 1e-12);
  costs.parameter_dtype = Dtype::kFp32;
  EXPECT_EQ(optimizer_spread(costs), kBandwidthSpread);
}

TEST(Spread, ConstantsOfTheUsersAreJudgedAsSuch) {
  RankKind kind = kind_of({kProduct});
  kind.device.gemm = {};
  EXPECT_NEAR(compute_spread(billed(kind)), std::sqrt(squared(kOperators) + squared(kConstantSpread)), 1e-12);
  EXPECT_EQ(compute_spread(RankKind{}), 0);
}

TEST(Spread, StepsOfSplitModelsAndOfMixesAddWhatSuchStepsWereOffBy) {
  Cluster cluster{.nodes = {sample_nodes(1, 2), sample_nodes(1, 2)}};
  EXPECT_EQ(step_spread(cluster, {}), 0);
  Parallel split{.tensor = 2};
  EXPECT_EQ(step_spread(cluster, split), constants().split.spread);
  Device& other = cluster.nodes[1].devices[1];
  other.slowdown = 2;
  other.name = "slower";
  EXPECT_EQ(step_spread(cluster, {}), 0) << "a slow one is of the same kind";
  other.memory_bandwidth = 2. * other.memory_bandwidth;
  EXPECT_EQ(step_spread(cluster, {}), constants().mixed.spread);
  EXPECT_EQ(step_spread(cluster, split), std::hypot(constants().split.spread, constants().mixed.spread));
  ASSERT_FALSE(constants().devices.empty());
  const StepSpread& worst =
      *std::max_element(constants().devices.begin(), constants().devices.end(),
                        [](const StepSpread& a, const StepSpread& b) { return a.spread < b.spread; });
  for (const StepSpread& each : constants().devices) {
    other.name = each.name;
    EXPECT_NEAR(step_spread(cluster, {}), std::hypot(constants().mixed.spread, each.spread), 1e-12);
    cluster.nodes[0].devices[0].name = worst.name;
    EXPECT_NEAR(step_spread(cluster, {}), std::hypot(constants().mixed.spread, worst.spread), 1e-12);
    cluster.nodes[0].devices[0].name = "sample GPU";
  }
}

// Do intervals hold what they say? Against the normal distribution and against hand arithmetic.

TEST(Interval, IsSymmetricInLogs) {
  // exp(1.28155 x 0.1) = 1.13673: low 1 / 1.13673 = 0.87971 times the value, high 1.13673 times.
  const Interval interval = interval_80(2, 0.1);
  EXPECT_NEAR(interval.low, 2 / 1.1367294, 1e-6);
  EXPECT_NEAR(interval.high, 2 * 1.1367294, 1e-5);
  EXPECT_EQ(interval_80(3, 0).low, 3);
  EXPECT_EQ(interval_80(3, 0).high, 3);
}

TEST(Interval, WidensBeyondTheNodesThatWereMeasured) {
  // Measured on 4 nodes with 0.3, and 0.1 for each doubling: on 32 nodes, three doublings, root(0.3^2 + 0.3^2).
  Cluster cluster;
  cluster.nodes.resize(1);
  cluster.nodes[0].nics.quality = {0.3, 0.5, 1, 4, 0.1};
  EXPECT_DOUBLE_EQ(communication_spread(cluster, 4, Bytes{1e9}), 0.3);
  EXPECT_DOUBLE_EQ(communication_spread(cluster, 2, Bytes{8}), 0.5);
  EXPECT_DOUBLE_EQ(communication_spread(cluster, 32, Bytes{1e9}), std::sqrt(0.18));
  cluster.nodes[0].nics.quality.nodes = 0;  // nobody knows
  EXPECT_DOUBLE_EQ(communication_spread(cluster, 32, Bytes{1e9}), 0.3);
}

TEST(Interval, WidensBeyondTheGpusOfANodeThatWereMeasured) {
  // Measured on 8 GPUs with 0.1, and 0.1 for each doubling: on 64, three doublings, root(0.1^2 + 0.3^2).
  Cluster cluster;
  cluster.nodes.resize(1);
  cluster.nodes[0].gpus = 64;
  cluster.nodes[0].intra.quality = {0.1, 0.2, 1, 8, 0.1};
  EXPECT_DOUBLE_EQ(communication_spread(cluster, 1, Bytes{1e9}), std::sqrt(0.1));
  Ring ring{{0}, {0}, {first_gpus(8)}, 8};
  EXPECT_DOUBLE_EQ(communication_spread(cluster, ring, Bytes{1e9}), 0.1) << "8 of its GPUs";
}

TEST(Interval, HoldsFourOfFiveLogNormalDraws) {
  // 20,000 draws: the share has a standard deviation of sqrt(0.8 x 0.2 / 20000) = 0.0028; 4 of them.
  Random random(7);
  const Interval interval = interval_80(1, 0.3);
  int inside = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    // Box and Muller.
    const double u = random.uniform(1e-12, 1), v = random.uniform(0, 1);
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979323846 * v);
    const double draw = std::exp(0.3 * normal);
    inside += interval.low <= draw && draw <= interval.high ? 1 : 0;
  }
  EXPECT_NEAR(1.0 * inside / kDraws, 0.8, 4 * 0.0028);
}

TEST(Interval, ComputationAndCommunicationErrIndependently) { EXPECT_DOUBLE_EQ((Spread{0.03, 0.04}).total(), 0.05); }

TEST(Interval, WhatErrsAlikeCancelsInARatio) {
  // Two schedules that spend their time alike: their ratio is as sure as what each way to run a step has by itself,
  // however unsure the times.
  const double own = constants().ratio_spread;
  EXPECT_EQ(ratio_spread({0.2, 0.1}, {0.2, 0.1}), own);
  // One that computes and one that communicates: nothing cancels. 0.09 + 0.16.
  EXPECT_DOUBLE_EQ(spread_apart({0.3, 0}, {0, 0.4}), 0.5);
  EXPECT_DOUBLE_EQ(ratio_spread({0.3, 0}, {0, 0.4}), std::sqrt(0.25 + own * own));
}

// Is a verdict what the interval and the probability of what is resident say?

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
