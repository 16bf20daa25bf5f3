// How long does a layer wait for the collectives over its split tensors? One operator each, with round times, and what
// it comes to is worked out in the comments.
#include "models/price/tensor_waits.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "models/price/layers.hpp"
#include "models/price/operators.hpp"
#include "models/spec/device.hpp"
#include "models/spec/training.hpp"
#include "tests/models/sample_models.hpp"

namespace accosim {
namespace {

/// A bill of one operator: forward a product of 10 ms and a pass of 1 ms; backward the input's gradient, 10 ms, the
/// weights', 20 ms, and a pass. A product takes twice as long where a collective holds 8 multiprocessors or more.
struct OneOperator {
  Bill bill;

  explicit OneOperator(std::vector<TensorMessage> messages) {
    bill.kernels = {product(10e-3), product(20e-3), pass(1e-3)};
    BilledOperator op;
    op.lines = {{0, false}, {2, false}, {0, true}, {1, true}, {2, true}};
    op.forward = Seconds{11e-3};
    op.backward = Seconds{31e-3};
    op.forward_launches = 2;
    op.backward_launches = 3;
    op.messages = std::move(messages);
    bill.layers = {{LayerKind::kBlock, {0}, {op}}};
    bill.layer_of = {0};
  }

  static PricedKernel product(double seconds) {
    PricedKernel priced;
    priced.kernel = gemm_kernel({1, 1, 1, 1});
    priced.time = Seconds{seconds};
    for (std::size_t i = 0; i < kHeld.size(); ++i) priced.held[i] = Seconds{kHeld[i] >= 8 ? 2 * seconds : seconds};
    return priced;
  }
  static PricedKernel pass(double seconds) {
    PricedKernel priced;
    priced.kernel = memory_kernel(Bytes{1});
    priced.time = Seconds{seconds};
    priced.held.fill(priced.time);
    return priced;
  }

  BilledOperator& op() { return bill.layers[0].operators[0]; }
  TensorWaits waits(int cut_among = 1) const { return tensor_waits(bill, bill.layers[0], price, cut_among); }

  /// A millisecond for each byte, on 8 multiprocessors; all-reduces twice that.
  static CollectivePrice price(CollectiveKind kind, Bytes bytes) {
    return {Seconds{(kind == CollectiveKind::kAllReduce ? 2e-3 : 1e-3) * bytes.value}, 8};
  }
};

constexpr auto kReduce = CollectiveKind::kAllReduce;
constexpr auto kScatter = CollectiveKind::kReduceScatter;
constexpr auto kGather = CollectiveKind::kAllGather;

void expect(const TensorWaits& waits, double forward, double backward) {
  EXPECT_NEAR(waits.forward.value, forward, 1e-12);
  EXPECT_NEAR(waits.backward.value, backward, 1e-12);
}

TEST(TensorWaits, ACollectiveBesideNothingIsWaitedFor) {
  // All-reduces of 3 and 2 bytes, 6 and 4 ms.
  const OneOperator one({{kReduce, Bytes{3}, false, Beside::kNothing}, {kReduce, Bytes{2}, true, Beside::kNothing}});
  expect(one.waits(), 6e-3, 4e-3);
  expect(OneOperator({}).waits(), 0, 0);
}

TEST(TensorWaits, AShortOneBesideAProductTakesItsMultiprocessors) {
  // 8 ms beside 20 ms of product, 40 beside the collective: it does 8/40 meanwhile, the other 4/5 takes 16 ms, together
  // 24: 4 ms more.
  expect(OneOperator({{kScatter, Bytes{8}, true, Beside::kWeightGradient}}).waits(), 0, 4e-3);
  // Beside the input's gradient, 10 ms: 8/20 of it, 6 ms left: 14, again 4 more.
  expect(OneOperator({{kGather, Bytes{8}, true, Beside::kInputGradient}}).waits(), 0, 4e-3);
}

TEST(TensorWaits, ALongOneHidesTheProduct) {
  // 25 ms beside 10, which take 20: 25 - 10. At 20 ms both forms give 10.
  expect(OneOperator({{kGather, Bytes{25}, true, Beside::kInputGradient}}).waits(), 0, 15e-3);
  expect(OneOperator({{kGather, Bytes{20}, true, Beside::kInputGradient}}).waits(), 0, 10e-3);
}

TEST(TensorWaits, ThoseBesideOneProductFollowEachOther) {
  // Two of 8 ms beside 10, which take 20: as one of 16 ms: it does 16/20, 2 ms are left: 18 - 10. A third is past the
  // product after 4 ms of its 8: 24 - 10.
  const TensorMessage message{kGather, Bytes{8}, true, Beside::kInputGradient};
  expect(OneOperator({message, message}).waits(), 0, 8e-3);
  expect(OneOperator({message, message, message}).waits(), 0, 14e-3);
  // Beside different products each has its own: 4 + 4.
  expect(OneOperator({message, {kScatter, Bytes{8}, true, Beside::kWeightGradient}}).waits(), 0, 8e-3);
}

TEST(TensorWaits, OneThatHoldsNothingIsHidden) {
  // Copy engines: 8 ms beside 10 cost nothing, 25 ms what sticks out.
  OneOperator one({{kGather, Bytes{8}, true, Beside::kInputGradient}});
  const auto copied = [](CollectiveKind kind, Bytes bytes) {
    return CollectivePrice{OneOperator::price(kind, bytes).time, 0};
  };
  expect(tensor_waits(one.bill, one.bill.layers[0], copied), 0, 0);
  one.op().messages[0].bytes = Bytes{25};
  expect(tensor_waits(one.bill, one.bill.layers[0], copied), 0, 15e-3);
}

TEST(TensorWaits, WhatIsRecomputedIsNoGradient) {
  // The product runs again at the end of the backward pass; the gradients are those of before.
  OneOperator one({{kScatter, Bytes{8}, true, Beside::kWeightGradient}});
  one.op().lines.push_back({0, true});
  one.op().lines.push_back({0, true});
  expect(one.waits(), 0, 4e-3);
  // Of two products behind one input both gradients are hidden behind: forward 10 + 10; input 10 + 10, weights 20 + 20.
  // 8 ms beside 20, which take 40: 4 more; beside 40: 4 more.
  one.op().lines = {{0, false}, {0, false}, {0, true}, {1, true}, {0, true}, {1, true}, {0, true}, {0, true}};
  one.op().messages.push_back({kGather, Bytes{25}, true, Beside::kInputGradient});
  // 25 ms beside 20, which take 40: 25/40 of it, 7.5 ms left: 12.5 more.
  expect(one.waits(), 0, 4e-3 + 12.5e-3);
}

TEST(TensorWaits, GapsOfALayerThatTheHostBoundsAreFilledFirst) {
  // Kernels of 11 ms, launched in 2 x 8 = 16; a collective of 4 ms makes 15 of the GPU's and 24 of the host's: 8 more.
  // Of 20 ms: 31 for 24, 15 more.
  OneOperator one({{kGather, Bytes{4}, false, Beside::kNothing}});
  one.bill.launch_interval = Seconds{8e-3};
  expect(one.waits(), 8e-3, 0);
  one.op().messages[0].bytes = Bytes{20};
  expect(one.waits(), 15e-3, 0);
}

TEST(TensorWaits, AGatherInPiecesGoesRoundBesideItsProduct) {
  // Four ranks; three steps of a third of the gather each, beside each a quarter of the product's 10 ms, 2.5 ms. 6 ms:
  // steps of 2 ms, hidden. 12 ms: 3 x (4 - 2.5).
  OneOperator one({{kGather, Bytes{6}, false, Beside::kNothing}});
  expect(one.waits(), 6e-3, 0);
  expect(one.waits(4), 0, 0);
  one.op().messages[0].bytes = Bytes{12};
  expect(one.waits(4), 4.5e-3, 0);
  // Backward, where there is none forward, it is the output's gradient, beside the input's, again 10 ms.
  expect(OneOperator({{kGather, Bytes{12}, true, Beside::kNothing}}).waits(4), 0, 4.5e-3);
}

TEST(TensorWaits, AReduceScatterInPiecesLeavesTheLast) {
  // Four pieces, each of 2.5 ms of product. 8 ms: 2 ms a piece, the last is left. 12 ms: 3 + 3 x (3 - 2.5).
  OneOperator one({{kScatter, Bytes{8}, false, Beside::kNothing}});
  expect(one.waits(8), 2e-3, 0);
  one.op().messages[0].bytes = Bytes{12};
  expect(one.waits(8), 4.5e-3, 0);
}

TEST(TensorWaits, PiecesAreOfBlocksAndNotOfAllReduces) {
  OneOperator one({{kReduce, Bytes{4}, false, Beside::kNothing}});
  expect(one.waits(4), 8e-3, 0);
  one = OneOperator({{kGather, Bytes{6}, false, Beside::kNothing}});
  one.bill.layers[0].kind = LayerKind::kHead;
  expect(one.waits(4), 6e-3, 0);
}

TEST(TensorWaits, OfALayerAreThoseOfItsOperatorsMessages) {
  // A second each, beside kernels that take next to nothing: GPT-2's block by 4 sends two all-reduces forward
  // and, beside products, two backward; with the sequence four and six.
  Device device;
  device.sm_count = 1000;
  device.peak[static_cast<std::size_t>(Dtype::kBf16)] = FlopsPerSecond{1e18};
  device.gemm_efficiency = device.flash_attention_efficiency = 1;
  device.memory_bandwidth = BytesPerSecond{1e18};
  device.memory_efficiency = 1;
  Workload w{1, 64};
  w.implementation = Implementation::kFused;
  const auto each = [](CollectiveKind, Bytes) { return CollectivePrice{Seconds{1}, 0}; };
  for (const bool sequence : {false, true}) {
    ModelShare share;
    share.tensor = 4;
    share.sequence = sequence;
    const Bill bill = bill_of(layers_of(gpt2(), w, share), device, Dtype::kBf16);
    const TensorWaits waits = tensor_waits(bill, bill.layers[1], each);
    EXPECT_NEAR(waits.forward.value, sequence ? 4 : 2, 1e-3);
    EXPECT_NEAR(waits.backward.value, sequence ? 6 : 2, 1e-3);
  }
}

}  // namespace
}  // namespace accosim
