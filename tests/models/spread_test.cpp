// Is the uncertainty of a micro-batch what the formula makes of its kernels' residuals?
#include "models/price/spread.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/price/operators.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/constants.hpp"
#include "models/spec/device.hpp"
#include "models/spec/training.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

RankKind kind_of(std::vector<Kernel> kernels) {
  RankKind kind;
  kind.device = sample_device();
  kind.device.sm_count = 100;
  kind.device.launch_interval = Seconds{0};
  GemmFit fit;
  fit.peak_fraction = 0.5;
  fit.quality = {0.1, 50, 1e6, 1e12, false};
  kind.device.gemm[static_cast<std::size_t>(Dtype::kBf16)] = fit;
  Operator op;
  op.forward = std::move(kernels);
  add_up(op);
  kind.layers.edit() = {{LayerKind::kBlock, {op}}};
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
      3 * kernel_time(kind.layers->front().operators[0].forward[0], kind.device, Dtype::kBf16);
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
  Kernel& kernel = kind.layers.edit()[0].operators[0].forward[0];
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
  Costs costs;
  costs.kinds = {kind_of({})};
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
  Cluster cluster;
  cluster.nodes = {sample_nodes(1, 2), sample_nodes(1, 2)};
  EXPECT_EQ(step_spread(cluster, {}), 0);
  Parallel split;
  split.tensor = 2;
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

}  // namespace
}  // namespace accosim
