// FLOPs and bytes of the operators: of attention, of products, of casts and of code that merges kernels or does not.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/price/layers.hpp"
#include "models/spec/device.hpp"
#include "models/spec/model.hpp"
#include "models/spec/training.hpp"
#include "tests/models/sample_models.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

TEST(Layers, EagerCodeMovesMoreThanMergedCodeAndLaunchesMore) {
  Random random{6};
  for (int i = 0; i < cases(100); ++i) {
    const Model m = random_model(random);
    Workload w = random_workload(random);
    w.dropout = random.integer(0, 1) == 1 ? 0.1 : 0;
    const auto blocks = [&](Implementation implementation) {
      w.implementation = implementation;
      const Layer layer = layers_of(m, w)[1];
      double bytes = 0, launches = 0;
      for (const Operator& op : layer.operators) {
        bytes += op.forward_bytes.value + op.backward_bytes.value;
        launches += op.forward_kernels + op.backward_kernels;
      }
      return std::pair(bytes, launches);
    };
    const auto eager = blocks(Implementation::kEager), compiled = blocks(Implementation::kCompiled);
    const auto fused = blocks(Implementation::kFused);
    EXPECT_GE(eager.first, compiled.first);
    EXPECT_GE(eager.second, compiled.second);
    EXPECT_GE(eager.second, fused.second);
  }
}

TEST(Layers, NewGeluInEagerCodeIsEightKernels) {
  // 0.5 x (1 + tanh(c (x + 0.044715 x^3))): x^3, c1 x^3, x + that, c2 that, tanh, 1 + that, 0.5 x, the product: 18
  // reads and writes of the 4 h wide tensor, and x, tanh, 1 + tanh, x / 2 are kept.
  Model m = gpt2();
  m.activation = Activation::kGeluNew;
  const Operator op = find(layers_of(m, {2, 128})[1], "activation");
  const double wide = 2.0 * 2 * 128 * 3072;
  EXPECT_EQ(op.forward_bytes.value, 18 * wide);
  EXPECT_EQ(op.forward_kernels, 8);
  EXPECT_EQ(op.activations.value, 4 * wide);
}

TEST(Layers, FlashCountsTheCausalHalfAndNaiveTheSquare) {
  Workload w{2, 256};
  w.attention = Attention::kNaive;
  const Layer naive = layers_of(gpt2(), w)[1];
  w.attention = Attention::kFlash;
  const Layer flash = layers_of(gpt2(), w)[1];
  const double square =
      find(naive, "attention scores").forward_flops.value + find(naive, "attention context").forward_flops.value;
  EXPECT_EQ(square, 4.0 * 2 * 12 * 256 * 256 * 64);  // two products of 2 b a s^2 d
  const Operator& fused = find(flash, "attention");
  EXPECT_EQ(fused.cls, OperatorClass::kAttention);
  EXPECT_EQ(fused.forward_flops.value, square / 2);
  EXPECT_EQ(fused.backward_flops.value, 2.5 * square / 2);
  EXPECT_EQ(find(naive, "attention scores").backward_flops.value, square);
}

TEST(Layers, HeadsThatDoNotBeginAtSixteenBytesAreMultipliedOnCudaCores) {
  // Heads of 56 elements take 112 bytes = 7 x 16, heads of 60 take 120 = 7.5 x 16, and in 32 bits 240 = 15 x 16.
  const auto dtype = [](int head, Dtype stored, const char* of) {
    Model m = gpt2();
    m.head_dim = head;
    m.hidden_size = head * m.num_attention_heads;
    Workload w{2, 256};
    w.attention = Attention::kNaive;
    w.compute = w.parameter_dtype = stored;
    const Layer block = layers_of(m, w)[1];
    const Operator& op = find(block, of);
    EXPECT_EQ(op.forward.front().dtype, op.backward.front().dtype);
    EXPECT_EQ(op.forward.front().dtype, op.backward[1].dtype);
    return op.forward.front().dtype;
  };
  for (const char* const of : {"attention scores", "attention context"}) {
    EXPECT_EQ(dtype(56, Dtype::kFp16, of), std::nullopt);
    EXPECT_EQ(dtype(60, Dtype::kFp16, of), Dtype::kFp32);
    EXPECT_EQ(dtype(60, Dtype::kFp32, of), std::nullopt);
  }
}

TEST(Layers, LocalAttentionCountsItsWindow) {
  // By the area under min(x, w): full causal s^2/2; window w: w s - w^2/2; a window as long as the sequence is full.
  EXPECT_EQ(attended_pairs(1024, 0), 1024.0 * 1024 / 2);
  EXPECT_EQ(attended_pairs(1024, 256), 256.0 * 1024 - 256.0 * 256 / 2);
  EXPECT_EQ(attended_pairs(1024, 1024), attended_pairs(1024, 0));
  EXPECT_EQ(attended_pairs(128, 256), attended_pairs(128, 0));
  // The exact number of pairs, the sum over i of min(i, w), is w/2 more: less than 1 % at these sizes.
  double exact = 0;
  for (int i = 1; i <= 1024; ++i) exact += std::min(i, 256);
  EXPECT_EQ(exact - attended_pairs(1024, 256), 128.0);

  Model m = gpt2();
  m.family = "gpt_neo";
  for (int i = 0; i < 12; ++i) m.attention_window.push_back(i % 2 == 1 ? 256 : 0);
  const std::vector<Layer> layers = layers_of(m, {1, 1024});
  EXPECT_EQ(find(layers[1], "attention").forward_flops.value, 4.0 * 768 * attended_pairs(1024, 0));
  EXPECT_EQ(find(layers[2], "attention").forward_flops.value, 4.0 * 768 * attended_pairs(1024, 256));
}

TEST(Layers, ModelFlopsAreSixTimesMatricesTimesTokensAndTheAttention) {
  // Llama-2-7B: the matrices are all parameters but the embedding table and the norms.
  const Model m = llama(32, 4096, 32, 32, 11008, 32000);
  const double matrices = 6738415616.0 - 32000.0 * 4096 - 65.0 * 4096;
  const double tokens = 2 * 4096;
  const double attention = 32 * 12.0 * 4096 * (4096.0 * 4096 / 2) * 2;  // 12 h s^2/2 a sequence and block
  EXPECT_NEAR(model_flops(m, {2, 4096}).value / (6 * matrices * tokens + attention), 1, 1e-12);
  // The usual 6 P T is within 15 % of it at this length.
  EXPECT_NEAR(model_flops(m, {2, 4096}).value / (6 * 6738415616.0 * tokens), 1.07, 0.08);
}

TEST(Layers, ModelFlopsDoNotDependOnHowTheModelIsComputed) {
  Random random{2};
  for (int i = 0; i < cases(100); ++i) {
    const Model m = random_model(random);
    Workload w = random_workload(random);
    const double flops = model_flops(m, w).value;
    w.attention = w.attention == Attention::kFlash ? Attention::kNaive : Attention::kFlash;
    w.recompute = w.recompute == Recompute::kFull ? Recompute::kNone : Recompute::kFull;
    w.parameter_dtype = Dtype::kFp32;
    EXPECT_EQ(model_flops(m, w).value, flops);
    w.micro_batch_size *= 2;
    EXPECT_NEAR(model_flops(m, w).value, 2 * flops, 1e-9 * flops);
  }
}

TEST(Layers, BackwardOfProductsIsTwiceTheForward) {
  Random random{3};
  for (int i = 0; i < cases(100); ++i) {
    Workload w = random_workload(random);
    w.recompute = Recompute::kNone;
    for (const Layer& layer : layers_of(random_model(random), w))
      for (const Operator& op : layer.operators) {
        if (op.cls == OperatorClass::kGemm) {
          EXPECT_EQ(op.backward_flops.value, 2 * op.forward_flops.value) << op.name;
        } else if (op.cls == OperatorClass::kMemory) {
          EXPECT_EQ(op.forward_flops.value, 0) << op.name;
        }
      }
  }
}

TEST(Layers, BytesOfAProductAreItsThreeMatrices) {
  // GPT-2's mlp up, 16 bit: X (T x h), W (h x 4h), Y (T x 4h); backward moves each twice, and dY once more for the
  // bias.
  const double t = 2 * 128, h = 768;
  const Operator op = find(layers_of(gpt2(), {2, 128})[1], "mlp up");
  EXPECT_EQ(op.forward_bytes.value, 2 * (t * h + h * 4 * h + t * 4 * h));
  EXPECT_EQ(op.backward_bytes.value, 2 * op.forward_bytes.value + 2 * t * 4 * h);
}

TEST(Layers, GradientsAreAccumulatedInTheirDtype) {
  Workload w{2, 128};
  const double p = 2 * 1536 + 768 * 2304 + 2304 + 768 * 768 + 768 + 2 * 768 * 3072 + 3072 + 768;
  // 16-bit weight gradient read, 16-bit stored gradient read and written.
  EXPECT_EQ(find(layers_of(gpt2(), w)[1], "gradient accumulation").backward_bytes.value, 6 * p);
  w.gradient_dtype = Dtype::kFp32;
  EXPECT_EQ(find(layers_of(gpt2(), w)[1], "gradient accumulation").backward_bytes.value, 10 * p);
  EXPECT_EQ(find(layers_of(gpt2(), w)[1], "gradient accumulation").forward_bytes.value, 0);
}

TEST(Layers, Fp8CastsTheOperandsOfTheBlocksProductsAndLeavesTheRestInBf16) {
  Workload w{2, 128};
  w.compute = Dtype::kFp8;
  const std::vector<Layer> layers = layers_of(gpt2(), w);
  const Operator& up = find(layers[1], "mlp up");
  // 256 tokens x 768 into 3072: operands of a byte, a result of 2; before it the input and the weights, 5 bytes each.
  const double t = 256, in = 768, out = 3072;
  EXPECT_EQ(up.forward_bytes.value, 5 * (t * in + in * out) + (t * in + in * out + 2 * t * out));
  for (const Kernel& kernel : up.forward) EXPECT_FALSE(kernel.dtype.has_value());
  const Operator& head = find(layers.back(), "lm head");
  ASSERT_EQ(head.forward.size(), 1u);
  EXPECT_EQ(head.forward[0].dtype, Dtype::kBf16);
  w.compute = Dtype::kBf16;
  EXPECT_EQ(head.forward_bytes.value, find(layers_of(gpt2(), w).back(), "lm head").forward_bytes.value);
}

}  // namespace
}  // namespace accosim
