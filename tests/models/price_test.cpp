// Is an operator as slow as its binding ceiling, and does nothing become slower on a better device?
#include "models/price/price.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "models/price/layer_time.hpp"
#include "models/price/layers.hpp"
#include "models/price/operators.hpp"
#include "models/spec/device.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/training.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

/// Round numbers: products at 100 TFLOP/s, fused attention at 50 TFLOP/s, memory at 1 TB/s, 10 us a launch.
Device round_device() {
  Device d;
  d.name = "round";
  d.peak[static_cast<std::size_t>(Dtype::kBf16)] = FlopsPerSecond{200e12};
  d.peak[static_cast<std::size_t>(Dtype::kFp32)] = FlopsPerSecond{20e12};
  d.gemm_efficiency = 0.5;
  d.flash_attention_efficiency = 0.25;
  d.memory_bandwidth = BytesPerSecond{2e12};
  d.memory_efficiency = 0.5;
  d.memory = Bytes{80e9};
  d.launch_interval = Seconds{10e-6};
  return d;
}

/// Two kernels backward for each forward.
Operator op_of(const Kernel& kernel) {
  Operator op;
  op.name = "op";
  op.forward = {kernel};
  op.backward = {kernel, kernel};
  add_up(op);
  return op;
}

/// 2 m n k = 1e12 FLOPs, which take 10 ms; its 4.5e8 bytes take 0.45 ms.
const Kernel kProduct = gemm_kernel({1, 5000, 5000, 20000});

LayerTime time_of(const Layer& layer, const Device& device, Dtype compute = Dtype::kBf16) {
  return layer_times(bill_of({layer}, device, compute)).front();
}

LayerTime time_of(const Kernel& kernel, const Device& device, Dtype compute = Dtype::kBf16) {
  return time_of(Layer{LayerKind::kBlock, {op_of(kernel)}}, device, compute);
}

TEST(Price, ProductBoundByArithmeticTakesFlopsOverTheAchievedRate) {
  // 1e12 / (0.5 x 200e12) = 10 ms forward, twice that backward.
  const LayerTime t = time_of(kProduct, round_device());
  EXPECT_DOUBLE_EQ(t.forward.value, 10e-3);
  EXPECT_DOUBLE_EQ(t.backward.value, 20e-3);
}

TEST(Price, ProductBoundByMemoryTakesBytesOverTheAchievedBandwidth) {
  // (1e4 + 1e4 + 1e8) elements of two bytes; its 2e8 FLOPs take 2 us.
  const LayerTime t = time_of(gemm_kernel({1, 10000, 10000, 1}), round_device());
  EXPECT_DOUBLE_EQ(t.forward.value, 0.20004e-3);
  EXPECT_DOUBLE_EQ(t.backward.value, 0.40008e-3);
}

TEST(Price, WhatIsBesideAMeasuredKernelIsInItsTime) {
  // 1e9 bytes at 0.5 x 2 TB/s, or whatever the device has, by a kernel of its own.
  const Device device = round_device();
  Kernel cast = kProduct;
  cast.beside = Bytes{1e9};
  EXPECT_DOUBLE_EQ(
      kernel_time(cast, device, Dtype::kBf16).value,
      (kernel_time(kProduct, device, Dtype::kBf16) + kernel_time(memory_kernel(Bytes{1e9}), device, Dtype::kBf16))
          .value);
}

TEST(Price, MoreFlopsAWattAreHeldBackFurtherInAStep) {
  // A V100's 125 / 300 and e times as many: 1 and 1 + slope. Below a V100 nothing is quicker than alone.
  const double e = std::exp(1.0);
  EXPECT_DOUBLE_EQ(product_overhead(0.25, kHeldBackFrom), 1);
  EXPECT_DOUBLE_EQ(product_overhead(0.25, e * kHeldBackFrom), 1.25);
  EXPECT_DOUBLE_EQ(product_overhead(0.25, kHeldBackFrom / 2), 1);
  // 200 TFLOP/s at 480 / e W are e times 125 TFLOP/s at 300 W.
  Device device = round_device();
  device.power = 480 / e;
  device.product_slope = 0.25;
  EXPECT_NEAR(step_time(kProduct, device, Dtype::kBf16) / kernel_time(kProduct, device, Dtype::kBf16), 1.25, 1e-12);
  // What a limit below the one of the fit costs is in its fraction already: the peak is brought there by the cube root,
  // 200 e^(1/3) TFLOP/s at 480 W are e^(1/3) times 125 at 300 W.
  GemmFit fit;
  fit.peak_fraction = 0.5;
  fit.reference_power = 480;
  device.gemm[static_cast<std::size_t>(Dtype::kBf16)] = fit;
  EXPECT_NEAR(product_overhead(device), 1 + 0.25 / 3, 1e-12);
  // What was measured under lasting load stands before the law.
  device.product_overhead = 1.125;
  EXPECT_EQ(product_overhead(device), 1.125);
}

TEST(Price, FusedAttentionHasItsOwnEfficiency) {
  // 2 x 10 heads x 5e8 pairs x (50 + 50) = 1e12 FLOPs at 50 TFLOP/s.
  AttentionShape shape;
  shape.heads = shape.kv_heads = 10;
  shape.seq = 1000;
  shape.head_dim = shape.value_dim = 50;
  shape.pairs = 5e8;
  EXPECT_DOUBLE_EQ(time_of(attention_kernel(shape, false), round_device()).forward.value, 20e-3);
}

TEST(Price, RateIsThatOfTheDtype) {
  EXPECT_DOUBLE_EQ(time_of(kProduct, round_device(), Dtype::kFp32).forward.value, 100e-3);
}

TEST(Price, MemoryOperatorsNeedNoPeak) {
  Device d = round_device();
  d.peak[static_cast<std::size_t>(Dtype::kBf16)].reset();
  EXPECT_DOUBLE_EQ(time_of(memory_kernel(Bytes{2e9}), d).forward.value, 2e-3 + kKernelOverhead.value);
}

TEST(Price, LayerIsTheSumOfItsOperators) {
  Layer layer{LayerKind::kBlock, {op_of(kProduct), op_of(memory_kernel(Bytes{2e9}))}};
  layer.operators[0].parameters = 7;
  layer.operators[1].parameters = 5;
  const LayerTime t = time_of(layer, round_device());
  EXPECT_DOUBLE_EQ(t.forward.value, 12e-3 + kKernelOverhead.value);
  EXPECT_DOUBLE_EQ(t.backward.value, 24e-3 + 2 * kKernelOverhead.value);
  EXPECT_EQ(t.parameters, 12);
}

TEST(Price, AParameterIsNeededWhenItsOperatorBegins) {
  // Three products of 10, 20 and 10 ms forward; the second has two tensors. They begin after 0, 1/4 and 3/4 of the
  // forward pass, and their gradients are there, last operator first, after 1/4, 3/4 and all of the backward pass. What
  // runs beside all of them shifts nothing.
  Operator first = op_of(kProduct), second = op_of(kProduct), third = op_of(kProduct), beside = op_of(kProduct);
  second.forward.push_back(kProduct);
  second.backward.insert(second.backward.end(), {kProduct, kProduct});
  first.tensors = {1};
  second.tensors = {2, 3};
  third.tensors = {4};
  beside.beside_all = true;
  add_up(second);
  const LayerTime t = time_of(Layer{LayerKind::kBlock, {first, second, beside, third}}, round_device());
  const std::vector<GradientTensor>& gradients = *t.gradients;
  ASSERT_EQ(gradients.size(), 4U);
  const double expected[4][3] = {{4, 0.25, 0.75}, {3, 0.75, 0.25}, {2, 0.75, 0.25}, {1, 1, 0}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(gradients[i].elements, expected[i][0]);
    EXPECT_NEAR(gradients[i].ready, expected[i][1], 1e-12) << i;
    EXPECT_NEAR(gradients[i].needed, expected[i][2], 1e-12) << i;
  }
}

TEST(Price, SmallLayerIsBoundByTheHostsLaunches) {
  // Four launches of 10 us against 7 + 3 us of work; backward eight against 20 us.
  const Layer layer{LayerKind::kBlock, {op_of(memory_kernel(Bytes{1e6}, 3)), op_of(memory_kernel(Bytes{1e6}))}};
  const LayerTime t = time_of(layer, round_device());
  EXPECT_DOUBLE_EQ(t.forward.value, 40e-6);
  EXPECT_DOUBLE_EQ(t.backward.value, 80e-6);
}

TEST(Price, SlowdownIsOfARankAndOfNoPriceOfItsBill) {
  Device d = round_device();
  d.slowdown = 4;
  EXPECT_DOUBLE_EQ(time_of(kProduct, d).forward.value, 10e-3);
  EXPECT_DOUBLE_EQ(time_of(gemm_kernel({1, 1, 1, 1}), d).backward.value, 20e-6);
  EXPECT_DOUBLE_EQ(memory_time(Bytes{1e9}, Bytes{0}, d).value, 1e-3);
}

TEST(Price, AnOperatorWithoutKernelsCostsNothing) {
  // The time of a measured model is known.
  Operator op;
  op.forward_kernels = op.backward_kernels = 0;
  op.parameters = 9;
  const LayerTime t = time_of(Layer{LayerKind::kBlock, {op}}, round_device());
  EXPECT_EQ(t.forward.value, 0);
  EXPECT_EQ(t.backward.value, 0);
  EXPECT_EQ(t.parameters, 9);
}

TEST(Price, CopiesMoveBytesButCostALaunchAtLeast) {
  const Device d = round_device();
  EXPECT_DOUBLE_EQ(memory_time(Bytes{1e9}, Bytes{1e9}, d).value, 2e-3);
  EXPECT_DOUBLE_EQ(memory_time(Bytes{1}, Bytes{1}, d).value, 10e-6);
  EXPECT_EQ(memory_time(Bytes{0}, Bytes{0}, d).value, 0);
}

TEST(Price, AdamwMovesMasterAndMomentsGradientAndParameter) {
  const Device d = round_device();
  // 24 B of states; bf16: gradient 2, parameter 2. fp32: gradient 4, and the parameter is the master itself.
  EXPECT_DOUBLE_EQ(adamw_time(1e9, Dtype::kBf16, Dtype::kBf16, d).value, 28e-3);
  EXPECT_DOUBLE_EQ(adamw_time(1e9, Dtype::kFp32, Dtype::kFp32, d).value, 28e-3);
  EXPECT_DOUBLE_EQ(adamw_time(1e9, Dtype::kBf16, Dtype::kFp32, d).value, 30e-3);
  EXPECT_DOUBLE_EQ(adamw_time(1e9, Dtype::kFp32, Dtype::kBf16, d).value, 26e-3);
}

TEST(Price, ForeachAdamwMakesAPassForEachStep) {
  // Read: master, m, v, v, root, root, root (28 B), update 12 B and the gradient twice; written: eight times 4 B and
  // the parameter.
  const Device d = round_device();
  const OptimizerImplementation foreach = OptimizerImplementation::kForeach;
  EXPECT_DOUBLE_EQ(adamw_time(1e9, Dtype::kFp32, Dtype::kFp32, d, foreach).value, 80e-3);
  EXPECT_DOUBLE_EQ(adamw_time(1e9, Dtype::kBf16, Dtype::kBf16, d, foreach).value, 78e-3);
}

TEST(Price, ClippingReadsForTheNormAndScales) {
  EXPECT_DOUBLE_EQ(clipping_time(1e9, Dtype::kFp32, round_device()).value, 12e-3);
}

TEST(Price, OperatorOfKernelsIsTheirSum) {
  // 2e9 B at 1 TB/s and one start.
  Operator op;
  op.forward = {memory_kernel(Bytes{2e9}), gemm_kernel({1, 1000, 1000, 1000})};
  add_up(op);
  const Device d = round_device();
  const double gemm = gemm_time({1, 1000, 1000, 1000}, d, Dtype::kBf16).value;
  const LayerTime time = time_of(Layer{LayerKind::kBlock, {op}}, d);
  EXPECT_DOUBLE_EQ(time.forward.value, 2e-3 + kKernelOverhead.value + gemm);
  EXPECT_EQ(time.backward.value, 0);
}

TEST(Price, EqualLayersCostTheSameAsOnTheirOwn) {
  std::vector<Layer> layers;
  for (const double bytes : {1e9, 2e9, 1e9, 2e9, 1e9})
    layers.push_back({LayerKind::kBlock, {op_of(memory_kernel(Bytes{bytes}))}});
  const Device d = round_device();
  const std::vector<LayerTime> times = layer_times(bill_of(layers, d, Dtype::kBf16));
  ASSERT_EQ(times.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(times[i].forward.value, time_of(layers[i], d).forward.value);
}

TEST(Price, BetterDeviceIsNeverSlower) {
  std::uint64_t state = 7;
  const auto random = [&state](double least, double most) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return least + (most - least) * static_cast<double>(state >> 11) / 9007199254740992.0;
  };
  for (int i = 0; i < cases(500); ++i) {
    const auto size = [&] { return std::floor(std::pow(10, random(1, 4))); };
    AttentionShape shape;
    shape.heads = shape.kv_heads = size();
    shape.seq = size();
    shape.head_dim = shape.value_dim = 64;
    shape.pairs = attended_pairs(static_cast<int>(shape.seq), 0);
    const Layer layer{
        LayerKind::kBlock,
        {op_of(gemm_kernel({1, size(), size(), size()})), op_of(attention_kernel(shape, false)),
         op_of(memory_kernel(Bytes{std::pow(10, random(3, 10))}, 3)), op_of(attention_kernel(shape, true))}};
    const LayerTime before = time_of(layer, round_device());
    for (int what = 0; what < 5; ++what) {
      Device better = round_device();
      const double factor = random(1, 4);
      switch (what) {
        case 0: better.memory_bandwidth = factor * better.memory_bandwidth; break;
        case 1: better.gemm_efficiency = std::min(1.0, factor * better.gemm_efficiency); break;
        case 2: better.flash_attention_efficiency = std::min(1.0, factor * better.flash_attention_efficiency); break;
        case 3: better.launch_interval = better.launch_interval / factor; break;
        default: better.peak[static_cast<std::size_t>(Dtype::kBf16)] = FlopsPerSecond{factor * 200e12};
      }
      const LayerTime after = time_of(layer, better);
      EXPECT_LE(after.forward.value, before.forward.value) << what;
      EXPECT_LE(after.backward.value, before.backward.value) << what;
    }
  }
}

TEST(Price, EveryLayerIsPriced) {
  const std::vector<Layer> layers{{LayerKind::kBlock, {op_of(kProduct)}},
                                  {LayerKind::kBlock, {op_of(gemm_kernel({2, 5000, 5000, 20000}))}}};
  const std::vector<LayerTime> times = layer_times(bill_of(layers, round_device(), Dtype::kBf16));
  ASSERT_EQ(times.size(), 2u);
  EXPECT_DOUBLE_EQ(times[1].forward.value, 2 * times[0].forward.value);
}

TEST(Price, MemoryEfficientAttentionIsPricedAsFlashAttention1) {
  // Fused attention times what steps with FlashAttention 1 gave; the rest of the micro-batch stays.
  Scenario scenario = sample_scenario(1, 2);
  const auto backward = [&](Attention attention, double factor) {
    scenario.cluster.nodes[0].attention = attention;
    scenario.training.overheads.flash_1 = factor;
    return price(scenario, scenario.schedules[0]).kinds[0].backward.value;
  };
  EXPECT_EQ(backward(Attention::kMemoryEfficient, 1.6), backward(Attention::kFlash1, 1.6));
  EXPECT_EQ(backward(Attention::kMemoryEfficient, 1), backward(Attention::kFlash, 1));
  EXPECT_GT(backward(Attention::kMemoryEfficient, 1.6), backward(Attention::kFlash, 1.6));
}

}  // namespace
}  // namespace accosim
