// Tables of measured kernels: what is asked between, below and beyond what was measured.
#include "models/spec/kernel_table.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/price/kernel.hpp"
#include "models/read/load.hpp"
#include "models/spec/device.hpp"
#include "tests/support/random.hpp"

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

}  // namespace
}  // namespace accosim
