// Is an operator as slow as its binding ceiling, and does nothing become slower on a better device?
#include "models/price/price.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "models/price/bill.hpp"
#include "models/price/layer_time.hpp"
#include "models/price/layers.hpp"
#include "models/price/operators.hpp"
#include "models/price/spread.hpp"
#include "models/read/load.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

/// Round numbers: products at 100 TFLOP/s, fused attention at 50 TFLOP/s, memory at 1 TB/s, 10 us a launch.
Device round_device() {
  Device d{.name = "round"};
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
  Operator op{.name = "op", .forward = {kernel}, .backward = {kernel, kernel}};
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
  const GemmFit fit{.peak_fraction = 0.5, .reference_power = 480};
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
  Operator op{.forward = {memory_kernel(Bytes{2e9}), gemm_kernel({1, 1000, 1000, 1000})}};
  add_up(op);
  const Device d = round_device();
  const double gemm = gemm_time({1, 1000, 1000, 1000}, d, Dtype::kBf16).value;
  const LayerTime time = time_of(Layer{LayerKind::kBlock, {op}}, d);
  EXPECT_DOUBLE_EQ(time.forward.value, 2e-3 + kKernelOverhead.value + gemm);
  EXPECT_EQ(time.backward.value, 0);
}

TEST(Price, EqualLayersCostTheSameAsOnTheirOwn) {
  Layers layers;
  for (const double bytes : {1e9, 2e9, 1e9, 2e9, 1e9})
    layers.emplace_back(Layer{LayerKind::kBlock, {op_of(memory_kernel(Bytes{bytes}))}});
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
  const Layers layers{Layer{LayerKind::kBlock, {op_of(kProduct)}},
                      Layer{LayerKind::kBlock, {op_of(gemm_kernel({2, 5000, 5000, 20000}))}}};
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

// Does the bill hold every kernel of a micro-batch, priced once, and is each sum of it what the kernels' prices add up
// to without it?

/// Products at 100 TFLOP/s, memory at 1 TB/s, 10 us a launch; in a step products take 1.1 times as long, what is bound
/// by memory twice.
Device plain_device() {
  Device d{.name = "plain"};
  d.peak[static_cast<std::size_t>(Dtype::kBf16)] = FlopsPerSecond{200e12};
  d.gemm_efficiency = 0.5;
  d.memory_bandwidth = BytesPerSecond{2e12};
  d.memory_efficiency = 0.5;
  d.launch_interval = Seconds{10e-6};
  d.product_overhead = 1.1;
  d.memory_overhead = 2;
  return d;
}

Operator op_of(const char* name, OperatorClass cls, std::vector<Kernel> forward, std::vector<Kernel> backward) {
  Operator op{.name = name, .cls = cls, .forward = std::move(forward), .backward = std::move(backward)};
  add_up(op);
  return op;
}

/// 1e12 FLOPs: 10 ms. Its 4.5e8 bytes take 0.45 ms.
const Kernel kPass = memory_kernel(Bytes{1e9});       // 1 ms and 2 us to start
const Kernel kTwoPasses = memory_kernel(Bytes{2e9});  // 2 ms and 2 us

/// An embedding and three equal blocks.
Layers tiny_layers() {
  const Layer embedding{LayerKind::kEmbedding, {op_of("lookup", OperatorClass::kMemory, {kPass}, {})}};
  Layer block{LayerKind::kBlock,
              {op_of("product", OperatorClass::kGemm, {kProduct}, {kProduct, kProduct}),
               op_of("norm", OperatorClass::kMemory, {kPass}, {kTwoPasses})}};
  block.operators[0].parameters = 7;
  return {embedding, block, block, block};
}

TEST(Bill, HoldsEachLayerAndEachKernelOnce) {
  const Bill bill = bill_of(tiny_layers(), plain_device(), Dtype::kBf16);
  ASSERT_EQ(bill.layers.size(), 2u);
  EXPECT_EQ(bill.layers[0].indices, std::vector<std::size_t>{0});
  EXPECT_EQ(bill.layers[1].indices, (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_EQ(bill.layers[1].kind, LayerKind::kBlock);
  EXPECT_EQ(bill.layer_of, (std::vector<std::size_t>{0, 1, 1, 1}));
  // The embedding's pass is the norm's.
  ASSERT_EQ(bill.kernels.size(), 3u);
  EXPECT_EQ(bill.kernels[0].kernel, kPass);
  EXPECT_EQ(bill.kernels[1].kernel, kProduct);
  EXPECT_EQ(bill.kernels[2].kernel, kTwoPasses);
  EXPECT_EQ(bill.prices, 3);  // no collective takes multiprocessors from this device
  std::vector<std::pair<std::size_t, bool>> lines;
  for (const BilledOperator& op : bill.layers[1].operators)
    for (const BillLine& line : op.lines) lines.emplace_back(line.kernel, line.backward);
  EXPECT_EQ(lines,
            (std::vector<std::pair<std::size_t, bool>>{{1, false}, {1, true}, {1, true}, {0, false}, {2, true}}));
}

TEST(Bill, SumsWhatKernelsTakeInAStep) {
  const Bill bill = bill_of(tiny_layers(), plain_device(), Dtype::kBf16);
  EXPECT_DOUBLE_EQ(bill.kernels[0].time.value, 2 * 1.002e-3);
  EXPECT_DOUBLE_EQ(bill.kernels[1].time.value, 11e-3);
  EXPECT_DOUBLE_EQ(bill.kernels[1].bytes.value, 4.5e8);
  const BilledOperator& product = bill.layers[1].operators[0];
  EXPECT_DOUBLE_EQ(product.forward.value, 11e-3);
  EXPECT_DOUBLE_EQ(product.backward.value, 22e-3);
  EXPECT_DOUBLE_EQ(product.flops.value, 3e12);
  EXPECT_DOUBLE_EQ(product.bytes.value, 3 * 4.5e8);
  EXPECT_EQ(product.parameters, 7);
  EXPECT_EQ(product.forward_launches, 1);
  EXPECT_EQ(product.backward_launches, 2);
  const BilledOperator& norm = bill.layers[1].operators[1];
  EXPECT_DOUBLE_EQ(norm.forward.value, 2 * 1.002e-3);
  EXPECT_DOUBLE_EQ(norm.backward.value, 2 * 2.002e-3);
  const std::vector<LayerTime> times = layer_times(bill);
  ASSERT_EQ(times.size(), 4u);
  EXPECT_DOUBLE_EQ(times[0].backward.value, 0);
  for (const std::size_t block : {1, 2, 3}) {
    EXPECT_DOUBLE_EQ(times[block].forward.value, 11e-3 + 2.004e-3);
    EXPECT_DOUBLE_EQ(times[block].backward.value, 22e-3 + 4.004e-3);
  }
}

TEST(Bill, SaysWhatDecides) {
  const Kernel flat = gemm_kernel({1, 10000, 10000, 1});  // 0.2 ms for its bytes, 2 us for its FLOPs
  const Kernel small = memory_kernel(Bytes{1e6});         // 2 x (1 + 2) us, and 10 us to launch
  const Kernel tiny = gemm_kernel({1, 10, 10, 10});
  const Layer layer{
      LayerKind::kBlock,
      {op_of("product", OperatorClass::kGemm, {kProduct}, {}), op_of("flat", OperatorClass::kGemm, {flat}, {}),
       op_of("pass", OperatorClass::kMemory, {kPass}, {}), op_of("small", OperatorClass::kMemory, {small}, {}),
       op_of("tiny", OperatorClass::kGemm, {tiny}, {}),
       // An operator is judged as a whole.
       op_of("all", OperatorClass::kGemm, {kProduct, small, tiny}, {})}};
  const Bill bill = bill_of({layer}, plain_device(), Dtype::kBf16);
  std::string kernels, operators;
  for (const PricedKernel& each : bill.kernels) kernels += name_of(each.bound) + std::string(" ");
  for (const BilledOperator& each : bill.layers[0].operators) operators += name_of(each.bound) + std::string(" ");
  EXPECT_EQ(kernels, "compute memory memory launch launch ");
  EXPECT_EQ(operators, "compute memory memory launch launch compute ");
}

TEST(Bill, HoldsWhatArithmeticTakesBesideCollectives) {
  // 96 multiprocessors, of which three collectives may hold 72: 96 / (96 - 24) and 96 / (96 - 72).
  Device device = plain_device();
  device.sm_count = 96;
  device.collective_sms = 24;
  const Layer layer{LayerKind::kBlock, {op_of("both", OperatorClass::kGemm, {kProduct, kPass, kProduct}, {})}};
  const Bill bill = bill_of({layer}, device, Dtype::kBf16);
  const auto at = [](int sms) { return std::ranges::find(kHeld, sms) - kHeld.begin(); };
  EXPECT_DOUBLE_EQ(bill.kernels[0].held[0].value, 11e-3);
  EXPECT_DOUBLE_EQ(bill.kernels[0].held[at(24)].value, 11e-3 * 4 / 3);
  EXPECT_DOUBLE_EQ(bill.kernels[0].held[at(72)].value, 11e-3 * 4);
  EXPECT_EQ(bill.kernels[1].held[at(72)], bill.kernels[1].time);
  EXPECT_EQ(bill.prices, 14 + 1);
  // Where one holds four at most, three hold 12, and a kernel that streams 1 TB/s with 600 ns has 600 kB in flight,
  // which 19 multiprocessors of 32 KiB hold: as far as 32, the first from 31 on.
  device.collective_sms = 4;
  EXPECT_EQ(bill_of({layer}, device, Dtype::kBf16).prices, 10 + 1);
}

TEST(Bill, SaysHowFarToTrustAPrice) {
  Device device = plain_device();
  const Layer layer{LayerKind::kBlock, {op_of("both", OperatorClass::kGemm, {kProduct, kPass}, {})}};
  const Bill without_fits = bill_of({layer}, device, Dtype::kBf16);
  EXPECT_EQ(without_fits.kernels[0].trust.basis, Basis::kConstants);
  EXPECT_EQ(without_fits.kernels[0].trust.spread, kConstantSpread);
  EXPECT_EQ(without_fits.kernels[1].trust.basis, Basis::kBandwidth);
  EXPECT_EQ(without_fits.kernels[1].trust.spread, kBandwidthSpread);
  GemmFit fit;
  fit.quality = {0.07, 50, 1e6, 4e11, true};  // the product has 1e12 FLOPs
  device.gemm[static_cast<std::size_t>(Dtype::kBf16)] = fit;
  const Trust fitted = bill_of({layer}, device, Dtype::kBf16).kernels[0].trust;
  EXPECT_EQ(fitted.basis, Basis::kMeasured);
  EXPECT_EQ(fitted.spread, 0.07);
  EXPECT_TRUE(fitted.inherited);
  EXPECT_TRUE(fitted.extrapolated);
}

// Random models on the shipped devices.

struct Case {
  Workload workload{};
  Device device;
  Layers layers{};
};

Case random_case(Random& random) {
  static const char* const kDevices[] = {"A100-SXM4-80GB", "H100-SXM", "V100-SXM2-32GB", "A100-PCIE-40GB"};
  Case one{.device = load_device(kDevices[random.integer(0, 3)])};
  one.device.slowdown = random.uniform(1, 2);
  one.device.memory_overhead = random.uniform(0.7, 1.4);
  one.device.attention_overhead = random.uniform(1, 1.6);
  one.device.collective_sms = random.integer(0, 1) * one.device.collective_sms;
  Model model = sample_model(random.integer(1, 6), 64 * random.integer(2, 32));
  model.learned_positions = random.integer(0, 1) == 1;
  model.rms_norm = random.integer(0, 1) == 1;
  model.gated_mlp = random.integer(0, 1) == 1;
  model.family = random.integer(0, 1) == 1 ? "gpt2" : "llama";
  for (int& window : model.attention_window) window = 256 * random.integer(0, 1);
  one.workload = {random.integer(1, 8), 128 * random.integer(1, 8)};
  one.workload.compute = one.workload.parameter_dtype = Dtype::kFp16;  // which all of them have
  if (random.integer(0, 1) == 1) one.workload.parameter_dtype = Dtype::kFp32;
  one.workload.attention = random.integer(0, 1) == 1 ? Attention::kNaive : Attention::kFlash;
  one.workload.recompute = static_cast<Recompute>(random.integer(0, 3));
  one.workload.implementation = static_cast<Implementation>(random.integer(0, 2));
  one.layers = layers_of(model, one.workload);
  return one;
}

Seconds sum_of(const std::vector<Kernel>& kernels, const Device& device, Dtype compute, bool arithmetic_alone = false) {
  Seconds sum;
  for (const Kernel& kernel : kernels)
    if (!arithmetic_alone || kernel.kind != KernelKind::kMemory) sum += step_time(kernel, device, compute);
  return sum;
}

struct Direct {
  Seconds kernels, launches, arithmetic;
};
Direct direct_sum(const Case& one, const Layer& layer, bool backward, int held = 0) {
  const Device device = held == 0 ? one.device : without(one.device, held);
  Direct sum;
  for (const Operator& op : layer.operators) {
    const std::vector<Kernel>& kernels = backward ? op.backward : op.forward;
    sum.kernels += sum_of(kernels, one.device, one.workload.compute);
    sum.arithmetic += sum_of(kernels, device, one.workload.compute, true);
    for (const Kernel& kernel : kernels) sum.launches += kernel.launches * one.device.launch_interval;
  }
  return sum;
}

void expect_close(double value, double expected, int seed) {
  EXPECT_NEAR(value, expected, 1e-12 * std::abs(expected)) << "seed " << seed;
}

TEST(BillOfRandomModels, GivesTheTimesThatTheKernelsAddUpTo) {
  for (int seed = 0; seed < cases(40); ++seed) {
    Random random(seed);
    const Case one = random_case(random);
    const Bill bill = bill_of(one.layers, one.device, one.workload.compute);
    const std::vector<LayerTime> times = layer_times(bill);
    ASSERT_EQ(times.size(), one.layers.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
      const Direct forward = direct_sum(one, one.layers[i], false), backward = direct_sum(one, one.layers[i], true);
      expect_close(times[i].forward.value, std::max(forward.kernels, forward.launches).value, seed);
      expect_close(times[i].backward.value, std::max(backward.kernels, backward.launches).value, seed);
      const std::vector<BilledOperator>& billed = bill.layers[bill.layer_of[i]].operators;
      ASSERT_EQ(billed.size(), one.layers[i]->operators.size());
      for (std::size_t o = 0; o < billed.size(); ++o) {
        const Operator& op = one.layers[i]->operators[o];
        EXPECT_EQ(billed[o].name, op.name);
        expect_close(billed[o].forward.value, sum_of(op.forward, one.device, one.workload.compute).value, seed);
        expect_close(billed[o].backward.value, sum_of(op.backward, one.device, one.workload.compute).value, seed);
      }
    }
  }
}

TEST(BillOfRandomModels, GivesTheWorkThatTheKernelsAddUpTo) {
  for (int seed = 0; seed < cases(20); ++seed) {
    Random random(100 + seed);
    const Case one = random_case(random);
    const std::vector<LayerWork> works = layer_works(bill_of(one.layers, one.device, one.workload.compute));
    ASSERT_EQ(works.size(), one.layers.size());
    const Layer& block = one.layers[1];
    for (const bool backward : {false, true}) {
      const Work& work = backward ? works[1].backward : works[1].forward;
      const Direct alone = direct_sum(one, block, backward);
      const double all = std::max(alone.kernels, alone.launches).value;
      expect_close(work.arithmetic, alone.arithmetic.value / all, seed);
      expect_close(work.memory, (alone.kernels - alone.arithmetic).value / all, seed);
      for (std::size_t i = 0; i < kHeld.size() && (i == 0 || kHeld[i - 1] < 3 * one.device.collective_sms); ++i) {
        const Direct beside = direct_sum(one, block, backward, kHeld[i]);
        expect_close(work.waves[i], std::max(1.0, beside.arithmetic / alone.arithmetic), seed);
      }
    }
  }
}

/// The variance of models/price/spread.hpp and the shares of fit_use(), kernel by kernel.
struct DirectSpread {
  double total = 0, host = 0, memory = 0, constant = 0, inherited = 0, extrapolated = 0;
  std::vector<std::pair<const Kernel*, double>> measured;

  void add(const Kernel& kernel, const Trust& trust, double time) {
    if (trust.inherited) inherited += time;
    if (trust.extrapolated) extrapolated += time;
    if (trust.basis == Basis::kBandwidth) memory += time;
    if (trust.basis == Basis::kConstants) constant += time;
    if (trust.basis != Basis::kMeasured) return;
    const auto same = std::ranges::find_if(measured, [&](const auto& each) { return *each.first == kernel; });
    if (same == measured.end())
      measured.emplace_back(&kernel, time);
    else
      same->second += time;
  }
};

DirectSpread direct_spread(const Case& one) {
  DirectSpread sum;
  for (const Layer& layer : one.layers)
    for (const bool backward : {false, true}) {
      const Direct direct = direct_sum(one, layer, backward);
      sum.total += std::max(direct.kernels, direct.launches).value;
      sum.host += std::max(0.0, (direct.launches - direct.kernels).value);
      for (const Operator& op : layer.operators)
        for (const Kernel& kernel : backward ? op.backward : op.forward)
          sum.add(kernel, trust_of(kernel, one.device, one.workload.compute),
                  step_time(kernel, one.device, one.workload.compute).value);
    }
  return sum;
}

TEST(BillOfRandomModels, GivesTheSpreadThatTheKernelsAddUpTo) {
  const auto squared = [](double x) { return x * x; };
  for (int seed = 0; seed < cases(20); ++seed) {
    Random random(200 + seed);
    const Case one = random_case(random);
    RankKind kind{
        .device = one.device, .workload = one.workload, .bill = bill_of(one.layers, one.device, one.workload.compute)};
    const DirectSpread direct = direct_spread(one);
    double variance = squared(kOperators) + squared(kBandwidthSpread * direct.memory / direct.total) +
                      squared(kHost * direct.host / direct.total) +
                      squared(kConstantSpread * direct.constant / direct.total);
    if (one.device.steps == StepEvidence::kRelative) variance += squared(kInheritedSpread);
    for (const auto& [kernel, time] : direct.measured) {
      const Trust trust = trust_of(*kernel, one.device, one.workload.compute);
      const double far = trust.inherited || trust.extrapolated ? kInheritedSpread : 0;
      variance += squared(time / direct.total) * (squared(trust.spread) + squared(far));
    }
    expect_close(compute_spread(kind), std::sqrt(variance), seed);
    expect_close(fit_use(kind).inherited, direct.inherited / direct.total, seed);
    expect_close(fit_use(kind).extrapolated, direct.extrapolated / direct.total, seed);
  }
}

TEST(BillOfRandomModels, PricesEachKernelOnceOnEachDevice) {
  for (int seed = 0; seed < cases(40); ++seed) {
    Random random(300 + seed);
    const Case one = random_case(random);
    std::vector<const Kernel*> different;
    std::size_t runs = 0;
    const auto count = [&](const std::vector<Kernel>& kernels) {
      for (const Kernel& kernel : kernels) {
        ++runs;
        if (std::ranges::none_of(different, [&](const Kernel* each) { return *each == kernel; }))
          different.push_back(&kernel);
      }
    };
    for (const Layer& layer : one.layers)
      for (const Operator& op : layer.operators) {
        count(op.forward);
        count(op.backward);
      }
    std::size_t prices = 0;
    for (const Kernel* kernel : different)
      prices += kernel->kind == KernelKind::kMemory ? 1 : held_devices(one.device).size();
    const Bill bill = bill_of(one.layers, one.device, one.workload.compute);
    EXPECT_EQ(bill.kernels.size(), different.size()) << "seed " << seed;
    EXPECT_EQ(static_cast<std::size_t>(bill.prices), prices) << "seed " << seed;
    std::size_t billed = 0;
    for (const BilledLayer& layer : bill.layers)
      for (const BilledOperator& op : layer.operators) billed += layer.indices.size() * op.lines.size();
    EXPECT_EQ(billed, runs) << "seed " << seed;
  }
}

}  // namespace
}  // namespace accosim
