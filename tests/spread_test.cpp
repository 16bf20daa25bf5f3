// Is the uncertainty of a micro-batch what the formula makes of its kernels' residuals?
#include "models/spread.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/operators.hpp"
#include "tests/sample.hpp"

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
  kind.layers = {{"layer", {op}}};
  return kind;
}

const Kernel kProduct = gemm_kernel({1, 4096, 4096, 4096});
double squared(double x) { return x * x; }

TEST(Spread, OneShapeErrsAsItsFitDoesHoweverOftenItRuns) {
  const double one = std::sqrt(squared(kOperators) + squared(0.1));
  EXPECT_NEAR(compute_spread(kind_of({kProduct})), one, 1e-12);
  EXPECT_NEAR(compute_spread(kind_of({kProduct, kProduct, kProduct})), one, 1e-12);
  RankKind two = kind_of({kProduct});
  two.layers.push_back(two.layers[0]);
  EXPECT_NEAR(compute_spread(two), one, 1e-12);
}

TEST(Spread, DifferentShapesErrIndependently) {
  // Two shapes of (nearly) the same time: each half, so the variance of the two together is half of one's.
  const Kernel other = gemm_kernel({1, 4096, 4096, 4097});
  EXPECT_NEAR(compute_spread(kind_of({kProduct, other})), std::sqrt(squared(kOperators) + squared(0.1) / 2), 1e-4);
}

TEST(Spread, MemoryBoundKernelsErrTogether) {
  EXPECT_NEAR(compute_spread(kind_of({memory_kernel(Bytes{1e9}), memory_kernel(Bytes{2e9})})),
              std::sqrt(squared(kOperators) + squared(kMemory)), 1e-12);
}

TEST(Spread, HostCountsAsFarAsItDecides) {
  // Launches take three times as long as the kernel: two thirds of the time is the host's, one third the memory's.
  RankKind kind = kind_of({memory_kernel(Bytes{1e9})});
  kind.device.launch_interval = 3 * kernel_time(kind.layers[0].operators[0].forward[0], kind.device, Dtype::kBf16);
  EXPECT_NEAR(compute_spread(kind), std::sqrt(squared(kOperators) + squared(kMemory / 3) + squared(kHost * 2 / 3)),
              1e-12);
}

TEST(Spread, InheritedAndExtrapolatedConstantsAreLessSure) {
  RankKind kind = kind_of({kProduct});
  const double wide = std::sqrt(squared(kOperators) + squared(0.1) + squared(kInherited));
  FitQuality& quality = kind.device.gemm[static_cast<std::size_t>(Dtype::kBf16)]->quality;
  quality.inherited = true;
  EXPECT_NEAR(compute_spread(kind), wide, 1e-12);
  EXPECT_NEAR(fit_use(kind).inherited, 1, 1e-12);
  quality.inherited = false;
  EXPECT_EQ(fit_use(kind).extrapolated, 0);
  quality.most = 6e10;  // the product has 1.4e11
  EXPECT_NEAR(compute_spread(kind), wide, 1e-12);
  EXPECT_NEAR(fit_use(kind).extrapolated, 1, 1e-12);
}

TEST(Spread, ConstantsOfTheUsersAreJudgedAsSuch) {
  RankKind kind = kind_of({kProduct});
  kind.device.gemm = {};
  EXPECT_NEAR(compute_spread(kind), std::sqrt(squared(kOperators) + squared(kConstant)), 1e-12);
  EXPECT_EQ(compute_spread(RankKind{}), 0);
}

}  // namespace
}  // namespace accosim
