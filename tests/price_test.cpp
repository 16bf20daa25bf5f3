// Is an operator as slow as its binding ceiling, and does nothing become slower on a better device?
#include "models/price.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "models/layers.hpp"
#include "models/operators.hpp"

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

Operator op_of(OperatorClass cls, double forward_flops, double forward_bytes) {
  Operator op;
  op.name = "op";
  op.cls = cls;
  op.forward_flops = Flops{forward_flops};
  op.backward_flops = Flops{2 * forward_flops};
  op.forward_bytes = Bytes{forward_bytes};
  op.backward_bytes = Bytes{3 * forward_bytes};
  return op;
}

TEST(Price, ProductBoundByArithmeticTakesFlopsOverTheAchievedRate) {
  // 1e12 / (0.5 x 200e12) = 10 ms forward, twice that backward; its bytes take 1 ms and 3 ms.
  const OperatorTime t = operator_time(op_of(OperatorClass::kGemm, 1e12, 1e9), round_device(), Dtype::kBf16);
  EXPECT_DOUBLE_EQ(t.forward.value, 10e-3);
  EXPECT_DOUBLE_EQ(t.backward.value, 20e-3);
}

TEST(Price, ProductBoundByMemoryTakesBytesOverTheAchievedBandwidth) {
  const OperatorTime t = operator_time(op_of(OperatorClass::kGemm, 1e9, 1e9), round_device(), Dtype::kBf16);
  EXPECT_DOUBLE_EQ(t.forward.value, 1e-3);
  EXPECT_DOUBLE_EQ(t.backward.value, 3e-3);
}

TEST(Price, FusedAttentionHasItsOwnEfficiency) {
  const OperatorTime t = operator_time(op_of(OperatorClass::kAttention, 1e12, 1e9), round_device(), Dtype::kBf16);
  EXPECT_DOUBLE_EQ(t.forward.value, 20e-3);
}

TEST(Price, RateIsThatOfTheDtype) {
  const OperatorTime t = operator_time(op_of(OperatorClass::kGemm, 1e12, 1e9), round_device(), Dtype::kFp32);
  EXPECT_DOUBLE_EQ(t.forward.value, 100e-3);
}

TEST(Price, MemoryOperatorsNeedNoPeak) {
  Device d = round_device();
  d.peak[static_cast<std::size_t>(Dtype::kBf16)].reset();
  const OperatorTime t = operator_time(op_of(OperatorClass::kMemory, 0, 2e9), d, Dtype::kBf16);
  EXPECT_DOUBLE_EQ(t.forward.value, 2e-3);
}

TEST(Price, LayerIsTheSumOfItsOperators) {
  Layer layer{"layer", {op_of(OperatorClass::kGemm, 1e12, 1e9), op_of(OperatorClass::kMemory, 0, 2e9)}};
  layer.operators[0].parameters = 7;
  layer.operators[1].parameters = 5;
  const LayerTime t = layer_time(layer, round_device(), Dtype::kBf16);
  EXPECT_DOUBLE_EQ(t.forward.value, 12e-3);
  EXPECT_DOUBLE_EQ(t.backward.value, 26e-3);
  EXPECT_EQ(t.parameters, 12);
}

TEST(Price, SmallLayerIsBoundByTheHostsLaunches) {
  // Four launches of 10 us against 1 + 1 us of work.
  Layer layer{"layer", {op_of(OperatorClass::kMemory, 0, 1e6), op_of(OperatorClass::kMemory, 0, 1e6)}};
  layer.operators[0].forward_kernels = 3;
  const LayerTime t = layer_time(layer, round_device(), Dtype::kBf16);
  EXPECT_DOUBLE_EQ(t.forward.value, 40e-6);
  EXPECT_DOUBLE_EQ(t.backward.value, 20e-6);
}

TEST(Price, SlowdownMultipliesForwardAndBackwardWhateverBinds) {
  Device d = round_device();
  d.slowdown = 4;
  const Layer large{"layer", {op_of(OperatorClass::kGemm, 1e12, 1e9)}};
  const Layer tiny{"layer", {op_of(OperatorClass::kGemm, 1, 1)}};
  EXPECT_DOUBLE_EQ(layer_time(large, d, Dtype::kBf16).forward.value, 40e-3);
  EXPECT_DOUBLE_EQ(layer_time(tiny, d, Dtype::kBf16).backward.value, 40e-6);
  EXPECT_DOUBLE_EQ(memory_time(Bytes{1e9}, Bytes{0}, d).value, 1e-3);
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
  // 2e9 B at 1 TB/s and one start, and of the two only the first is memory-bound.
  Operator op;
  op.forward = {memory_kernel(Bytes{2e9}), gemm_kernel({1, 1000, 1000, 1000})};
  add_up(op);
  const Device d = round_device();
  const double gemm = gemm_time({1, 1000, 1000, 1000}, d, Dtype::kBf16).value;
  const OperatorTime time = operator_time(op, d, Dtype::kBf16);
  EXPECT_DOUBLE_EQ(time.forward.value, 2e-3 + kKernelOverhead.value + gemm);
  EXPECT_DOUBLE_EQ(time.memory_forward.value, 2e-3 + kKernelOverhead.value);
  EXPECT_EQ(time.backward.value, 0);
}

TEST(Price, EqualLayersCostTheSameAsOnTheirOwn) {
  std::vector<Layer> layers;
  for (const double bytes : {1e9, 2e9, 1e9, 2e9, 1e9}) {
    Operator op;
    op.forward = {memory_kernel(Bytes{bytes})};
    add_up(op);
    layers.push_back({"layer", {op}});
  }
  const Device d = round_device();
  const std::vector<LayerTime> times = layer_times(layers, d, Dtype::kBf16);
  ASSERT_EQ(times.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ(times[i].forward.value, layer_time(layers[i], d, Dtype::kBf16).forward.value);
}

TEST(Price, BetterDeviceIsNeverSlower) {
  std::uint64_t state = 7;
  const auto random = [&state](double least, double most) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return least + (most - least) * static_cast<double>(state >> 11) / 9007199254740992.0;
  };
  for (int i = 0; i < 500; ++i) {
    Layer layer{"layer", {}};
    for (int k = 0; k < 4; ++k) {
      Operator op = op_of(static_cast<OperatorClass>(k % 3), k % 3 == 2 ? 0 : std::pow(10, random(6, 13)),
                          std::pow(10, random(3, 10)));
      op.forward_kernels = 1 + k;
      layer.operators.push_back(op);
    }
    const LayerTime before = layer_time(layer, round_device(), Dtype::kBf16);
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
      const LayerTime after = layer_time(layer, better, Dtype::kBf16);
      EXPECT_LE(after.forward.value, before.forward.value) << what;
      EXPECT_LE(after.backward.value, before.backward.value) << what;
    }
  }
}

TEST(Price, EveryLayerIsPriced) {
  const std::vector<Layer> layers{{"a", {op_of(OperatorClass::kGemm, 1e12, 1)}},
                                  {"b", {op_of(OperatorClass::kGemm, 2e12, 1)}}};
  const std::vector<LayerTime> times = layer_times(layers, round_device(), Dtype::kBf16);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_DOUBLE_EQ(times[1].forward.value, 2 * times[0].forward.value);
}

}  // namespace
}  // namespace accosim
