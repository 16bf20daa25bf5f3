// Do the operators add up to what the literature and arithmetic say of a transformer: parameters, FLOPs, bytes,
// activations? Expectations are derived in the comments, from sizes that stay small enough to follow.
#include "models/price/layers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>

#include "models/spec/spec.hpp"

namespace accosim {
namespace {

/// h = a d, f = 4 h.
Model gpt2_like(int layers, int hidden, int heads, int vocab, int positions) {
  Model m;
  m.name = "test";
  m.family = "gpt2";
  m.num_hidden_layers = layers;
  m.hidden_size = hidden;
  m.num_attention_heads = heads;
  m.num_key_value_heads = heads;
  m.head_dim = hidden / heads;
  m.intermediate_size = 4 * hidden;
  m.vocab_size = vocab;
  m.max_position_embeddings = positions;
  m.learned_positions = true;
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true;
  m.tie_word_embeddings = true;
  return m;
}

Model gpt2() { return gpt2_like(12, 768, 12, 50257, 1024); }

Model llama(int layers, int hidden, int heads, int kv_heads, int ffn, int vocab) {
  Model m;
  m.name = "test";
  m.family = "llama";
  m.num_hidden_layers = layers;
  m.hidden_size = hidden;
  m.num_attention_heads = heads;
  m.num_key_value_heads = kv_heads;
  m.head_dim = hidden / heads;
  m.intermediate_size = ffn;
  m.vocab_size = vocab;
  m.max_position_embeddings = 4096;
  m.gated_mlp = m.rms_norm = true;
  return m;
}

double parameters(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Layer& layer : layers)
    for (const Operator& op : layer.operators) sum += op.parameters;
  return sum;
}

double activations(const Layer& layer) {
  double sum = 0;
  for (const Operator& op : layer.operators) sum += op.activations.value;
  return sum;
}

double forward_flops(const Layer& layer) {
  double sum = 0;
  for (const Operator& op : layer.operators) sum += op.forward_flops.value;
  return sum;
}

double backward_flops(const Layer& layer) {
  double sum = 0;
  for (const Operator& op : layer.operators) sum += op.backward_flops.value;
  return sum;
}

const Operator& find(const Layer& layer, const std::string& name) {
  for (const Operator& op : layer.operators)
    if (op.name == name) return op;
  throw std::runtime_error("no operator " + name + " in " + layer.name);
}

bool has(const Layer& layer, const std::string& name) {
  for (const Operator& op : layer.operators)
    if (op.name == name) return true;
  return false;
}

/// A small generator of our own, so that every machine tests the same cases.
struct Random {
  std::uint64_t state;
  int between(int least, int most) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return least + static_cast<int>((state >> 33) % static_cast<std::uint64_t>(most - least + 1));
  }
  bool coin() { return between(0, 1) == 1; }
};

Model random_model(Random& random) {
  const int heads = 1 << random.between(0, 4);
  const int hidden = heads * 8 * random.between(1, 16);
  Model m = random.coin()
                ? gpt2_like(random.between(1, 6), hidden, heads, random.between(10, 5000), 512)
                : llama(random.between(1, 6), hidden, heads, heads, random.between(1, 999), random.between(10, 5000));
  if (m.family == "llama") {
    m.num_key_value_heads = random.coin() ? heads : 1;
    if (random.coin()) m.head_dim *= 2;  // heads x head_dim may differ from the hidden size
  } else if (random.coin()) {
    m.family = "gpt_neo";
    m.qkv_bias = false;
    for (int i = 0; i < m.num_hidden_layers; ++i) m.attention_window.push_back(i % 2 == 1 ? 16 : 0);
  }
  m.qkv_bias = random.coin();
  m.attention_output_bias = random.coin();
  m.mlp_bias = random.coin();
  m.tie_word_embeddings = random.coin();
  return m;
}

Workload random_workload(Random& random) {
  Workload w;
  w.micro_batch_size = random.between(1, 8);
  w.sequence_length = 8 * random.between(1, 64);
  w.compute = random.coin() ? Dtype::kBf16 : Dtype::kFp16;
  w.parameter_dtype = random.coin() ? Dtype::kFp32 : w.compute;
  w.gradient_dtype = w.parameter_dtype;
  w.attention = random.coin() ? Attention::kFlash : Attention::kNaive;
  w.recompute = random.coin() ? Recompute::kFull : Recompute::kNone;
  return w;
}

TEST(Layers, AreTheEmbeddingTheBlocksAndTheHead) {
  const std::vector<Layer> layers = layers_of(gpt2(), {1, 1024});
  ASSERT_EQ(layers.size(), 14u);
  EXPECT_EQ(layers.front().name, "embedding");
  EXPECT_EQ(layers[1].name, "block 0");
  EXPECT_EQ(layers[12].name, "block 11");
  EXPECT_EQ(layers.back().name, "head");
}

TEST(Layers, ParametersOfPublishedModelsAreExact) {
  // GPT-2: 50257x768 + 1024x768 + 12 (2x1536 + 768x2304+2304 + 768x768+768 + 2x768x3072 + 3072+768) + 1536.
  EXPECT_EQ(parameters(layers_of(gpt2(), {1, 1024})), 124439808.0);
  // Llama-2-7B: 2x32000x4096 + 32 (2x4096 + 4x4096^2 + 3x4096x11008) + 4096.
  EXPECT_EQ(parameters(layers_of(llama(32, 4096, 32, 32, 11008, 32000), {1, 4096})), 6738415616.0);
}

TEST(Layers, ParametersAddUpToTheModelsWhateverItIs) {
  Random random{1};
  for (int i = 0; i < 300; ++i) {
    const Model m = random_model(random);
    EXPECT_EQ(parameters(layers_of(m, random_workload(random))), static_cast<double>(parameter_count(m))) << i;
  }
}

TEST(Layers, TiedEmbeddingsAreCountedOnceButMultipliedAlways) {
  Model tied = gpt2();
  Model untied = tied;
  untied.tie_word_embeddings = false;
  const std::vector<Layer> a = layers_of(tied, {2, 512});
  const std::vector<Layer> b = layers_of(untied, {2, 512});
  EXPECT_EQ(parameters(b) - parameters(a), 50257.0 * 768);
  EXPECT_EQ(forward_flops(a.back()), forward_flops(b.back()));
  EXPECT_EQ(forward_flops(a.back()), 2.0 * 2 * 512 * 768 * 50257);
}

TEST(Layers, ActivationsOfABlockFollowKorthikanti) {
  // arXiv 2205.05198, equation 1: a 16-bit GPT block with dropout keeps s b h (34 + 5 a s / h) bytes: attention
  // 11 s b h + 5 a s^2 b, MLP 19 s b h, norms 4 s b h. Dropout's part of it: two masks of s b h, a mask of a s^2 b and
  // its output of 2 a s^2 b. Without: 32 s b h + 2 a s^2 b.
  const double s = 1024, b = 4, h = 768, a = 12;
  Workload w{4, 1024};
  w.attention = Attention::kNaive;
  EXPECT_EQ(activations(layers_of(gpt2(), w)[1]), 32 * s * b * h + 2 * a * s * s * b);
  // Flash attention keeps q, k, v and its output as before, but of the square only a log-sum-exp in fp32 a row.
  w.attention = Attention::kFlash;
  EXPECT_EQ(activations(layers_of(gpt2(), w)[1]), 32 * s * b * h + 4 * a * s * b);
}

TEST(Layers, ActivationsOfAGatedGroupedQueryBlock) {
  // Llama, merged kernels, 16 bit, a token: norm input 2h, qkv input 2h, q 2h, k and v 2 x 2h/4 (a quarter of the
  // heads), log-sum-exp 4a, output projection's input 2h, norm input 2h, mlp input 2h, gate, up and their product 6f.
  const Model m = llama(1, 64, 8, 2, 100, 10);
  Workload w{3, 32};
  w.implementation = Implementation::kFused;
  EXPECT_EQ(activations(layers_of(m, w)[1]), 3 * 32 * (2 * 64 * 3 + 2 * 2 * 16 + 4 * 8 + 2 * 64 * 3 + 6 * 100.0));
  // Eager: keys and values copied to all heads (2 x 2h), each norm's fp32 input and its normalised tensor (6h for 2h),
  // silu(gate) too.
  w.implementation = Implementation::kEager;
  EXPECT_EQ(activations(layers_of(m, w)[1]),
            3 * 32 * (2 * 6 * 64 + 2 * 64 * 2 + 4 * 64 + 4 * 8 + 2 * 64 * 2 + 8 * 100.0));
}

TEST(Layers, ActivationsWithDropoutAreKorthikantisExactly) {
  // arXiv 2205.05198, equation 1: s b h (34 + 5 a s / h) bytes. Selective recomputation leaves 34 s b h, full 2 s b h.
  const double s = 1024, b = 4, h = 768, a = 12;
  Workload w{4, 1024};
  w.attention = Attention::kNaive;
  w.implementation = Implementation::kFused;
  w.dropout = 0.1;
  EXPECT_EQ(activations(layers_of(gpt2(), w)[1]), s * b * h * 34 + 5 * a * s * s * b);
  w.recompute = Recompute::kSelective;
  EXPECT_EQ(activations(layers_of(gpt2(), w)[1]), s * b * h * 34);
  w.recompute = Recompute::kFull;
  EXPECT_EQ(activations(layers_of(gpt2(), w)[1]), s * b * h * 2);
}

TEST(Layers, ActivationsByOperatorAreThoseThatSailorMeasured) {
  // The byte column of eth-easl/sailor's op table for GPT-Neo-2.7B, fp16, 4 sequences of 2048, 32 heads, in MiB, is
  // what each operator puts out: layer norm 40, qkv 120, softmax 1024, attention dropout 1536 (with its mask), context
  // 40, dropout and residual 60 (mask 20), layer norm 40, first product 160, gelu 160, dropout and residual 60. Each is
  // kept by the operator that reads it.
  Model m = gpt2_like(1, 2560, 32, 50257, 2048);
  Workload w{4, 2048};
  w.compute = w.parameter_dtype = w.gradient_dtype = Dtype::kFp16;
  w.attention = Attention::kNaive;
  w.implementation = Implementation::kFused;
  w.dropout = 0.1;
  const Layer block = layers_of(m, w)[1];
  const auto mebibytes = [&](const char* name) { return find(block, name).activations.value / 0x1p20; };
  EXPECT_EQ(mebibytes("qkv projection"), 40);
  EXPECT_EQ(mebibytes("attention scores") + mebibytes("attention context"), 120);
  EXPECT_EQ(mebibytes("softmax"), 1024);
  EXPECT_EQ(mebibytes("attention dropout"), 1536);
  EXPECT_EQ(mebibytes("output projection"), 40);
  EXPECT_EQ(mebibytes("attention residual"), 20);
  EXPECT_EQ(mebibytes("mlp norm"), 40);
  EXPECT_EQ(mebibytes("mlp up"), 40);
  EXPECT_EQ(mebibytes("activation"), 160);
  EXPECT_EQ(mebibytes("mlp down"), 160);
  EXPECT_EQ(mebibytes("mlp residual"), 20);
}

TEST(Layers, SelectiveRecomputationRepeatsTheAttentionAlone) {
  Workload w{2, 256};
  w.attention = Attention::kNaive;
  const Layer keep = layers_of(gpt2(), w)[1];
  w.recompute = Recompute::kSelective;
  const Layer again = layers_of(gpt2(), w)[1];
  for (std::size_t i = 0; i < keep.operators.size(); ++i) {
    const Operator& a = keep.operators[i];
    const Operator& b = again.operators[i];
    const bool attention = a.name == "attention scores" || a.name == "softmax" || a.name == "attention context";
    // softmax is between the two products
    const double repeated = attention && a.name != "softmax" ? a.forward_flops.value : 0;
    EXPECT_EQ(b.backward_flops.value, a.backward_flops.value + repeated) << a.name;
  }
}

TEST(Layers, SelectiveOpKeepsEveryOtherProduct) {
  // Llama: products q, k, v, o, gate, up, down; kept are q, v, gate, down and the attention's output and log-sum-exp,
  // beside the block's input. A token, 16 bit: 2 (h + h + kv + f + h + h) + 4 a. Recomputed are k, o and up.
  const Model m = llama(1, 64, 8, 2, 100, 10);
  Workload w{3, 32};
  w.implementation = Implementation::kCompiled;
  const Layer keep = layers_of(m, w)[1];
  w.recompute = Recompute::kSelectiveOp;
  const Layer again = layers_of(m, w)[1];
  const double t = 3 * 32;
  EXPECT_EQ(activations(again), t * (2 * (64 + 64 + 16 + 100 + 64 + 64) + 4 * 8.0));
  EXPECT_EQ(backward_flops(again) - backward_flops(keep), 2 * t * (64 * 16 + 64 * 64 + 64 * 100.0));
}

TEST(Layers, EncodersAttendToTheWholeSquare) {
  Model m = gpt2();
  const double half = find(layers_of(m, {1, 512})[1], "attention").forward_flops.value;
  m.causal = false;
  EXPECT_EQ(find(layers_of(m, {1, 512})[1], "attention").forward_flops.value, 2 * half);
}

TEST(Layers, EagerCodeMovesMoreThanMergedCodeAndLaunchesMore) {
  Random random{6};
  for (int i = 0; i < 100; ++i) {
    const Model m = random_model(random);
    Workload w = random_workload(random);
    w.dropout = random.coin() ? 0.1 : 0;
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

TEST(Layers, SumsOfAnOperatorAreThoseOfItsKernels) {
  Random random{7};
  for (int i = 0; i < 100; ++i) {
    Workload w = random_workload(random);
    w.dropout = random.coin() ? 0.1 : 0;
    w.implementation = static_cast<Implementation>(random.between(0, 2));
    w.recompute = static_cast<Recompute>(random.between(0, 3));
    for (const Layer& layer : layers_of(random_model(random), w))
      for (const Operator& op : layer.operators) {
        double flops = 0, bytes = 0;
        for (const Kernel& kernel : op.backward) {
          flops += flops_of(kernel).value;
          bytes += bytes_of(kernel).value;
        }
        EXPECT_EQ(op.backward_flops.value, flops) << op.name;
        EXPECT_EQ(op.backward_bytes.value, bytes) << op.name;
      }
  }
}

TEST(Layers, LossKeepsFp32LogProbabilitiesAndNeedsTwoGradients) {
  const Layer head = layers_of(gpt2(), {2, 128}).back();
  const Operator& loss = find(head, "cross entropy");
  EXPECT_EQ(loss.activations.value, 4.0 * 2 * 128 * 50257);
  EXPECT_EQ(loss.workspace.value, 8.0 * 2 * 128 * 50257);
  // bf16 logits read, fp32 written (6), log-softmax reads and writes fp32 (8).
  EXPECT_EQ(loss.forward_bytes.value, 14.0 * 2 * 128 * 50257);
  // The loss's gradient written (4); log-softmax reads it and its output, writes (12); fp32 to bf16 (6).
  EXPECT_EQ(loss.backward_bytes.value, 22.0 * 2 * 128 * 50257);
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
  for (int i = 0; i < 100; ++i) {
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
  for (int i = 0; i < 100; ++i) {
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

TEST(Layers, AutocastCopiesTheWeightsAndKeepsAWideStream) {
  Workload w{2, 128};
  const Layer plain = layers_of(gpt2(), w)[1];
  EXPECT_FALSE(has(plain, "autocast"));
  w.parameter_dtype = w.gradient_dtype = Dtype::kFp32;
  const Layer cast = layers_of(gpt2(), w)[1];
  // A block's matrices and their biases: read as fp32, written as bf16, and so the two norms' outputs.
  const double weights = 768 * 2304 + 2304 + 768 * 768 + 768 + 2 * 768 * 3072 + 3072 + 768;
  const double inputs = 2.0 * 2 * 128 * 768;
  EXPECT_EQ(find(cast, "autocast").forward_bytes.value, 6 * (weights + inputs));
  EXPECT_EQ(find(cast, "autocast").backward_bytes.value, 6 * (weights + inputs));
  EXPECT_EQ(find(cast, "autocast").activations.value, 2 * weights);  // PyTorch keeps the copies for the backward pass
  EXPECT_EQ(find(cast, "attention norm").forward_bytes.value, 2 * find(plain, "attention norm").forward_bytes.value);
  EXPECT_EQ(find(cast, "qkv projection").forward_bytes.value, find(plain, "qkv projection").forward_bytes.value);
  // fp32 matmuls on fp32 parameters cast nothing.
  w.compute = Dtype::kTf32;
  EXPECT_FALSE(has(layers_of(gpt2(), w)[1], "autocast"));
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

TEST(Layers, RecomputationRepeatsTheForwardAndKeepsOnlyTheInput) {
  Random random{4};
  for (int i = 0; i < 100; ++i) {
    const Model m = random_model(random);
    Workload w = random_workload(random);
    w.recompute = Recompute::kNone;
    const std::vector<Layer> keep = layers_of(m, w);
    w.recompute = Recompute::kFull;
    const std::vector<Layer> again = layers_of(m, w);
    const double width = w.parameter_dtype == Dtype::kFp32 ? 4 : 2;
    for (std::size_t l = 1; l + 1 < keep.size(); ++l) {
      EXPECT_EQ(forward_flops(again[l]), forward_flops(keep[l]));
      EXPECT_NEAR(backward_flops(again[l]), backward_flops(keep[l]) + forward_flops(keep[l]),
                  1e-12 * backward_flops(keep[l]));
      const double input = width * w.micro_batch_size * w.sequence_length * m.hidden_size;
      EXPECT_EQ(activations(again[l]), input);
      EXPECT_NEAR(again[l].operators.front().workspace.value, activations(keep[l]) - input,
                  1e-12 * activations(keep[l]));
    }
    // The embedding and the head are not part of a checkpointed block.
    EXPECT_EQ(backward_flops(again.back()), backward_flops(keep.back()));
    EXPECT_EQ(activations(again.back()), activations(keep.back()));
  }
}

TEST(Layers, EveryQuantityIsFiniteAndNotNegativeAndGrowsWithTheBatch) {
  Random random{5};
  for (int i = 0; i < 200; ++i) {
    const Model m = random_model(random);
    Workload w = random_workload(random);
    const std::vector<Layer> small = layers_of(m, w);
    w.micro_batch_size += 1;
    const std::vector<Layer> large = layers_of(m, w);
    ASSERT_EQ(small.size(), large.size());
    for (std::size_t l = 0; l < small.size(); ++l) {
      std::set<std::string> names;
      for (std::size_t k = 0; k < small[l].operators.size(); ++k) {
        const Operator& a = small[l].operators[k];
        const Operator& b = large[l].operators[k];
        EXPECT_TRUE(names.insert(a.name).second) << a.name << " twice in " << small[l].name;
        for (const double value : {a.forward_flops.value, a.backward_flops.value, a.forward_bytes.value,
                                   a.backward_bytes.value, a.parameters, a.activations.value, a.workspace.value,
                                   double(a.forward_kernels), double(a.backward_kernels)}) {
          EXPECT_TRUE(value >= 0 && value < 1e18) << a.name;
        }
        EXPECT_GE(b.forward_flops.value, a.forward_flops.value);
        EXPECT_GE(b.forward_bytes.value, a.forward_bytes.value);
        EXPECT_GE(b.backward_bytes.value, a.backward_bytes.value);
        EXPECT_GE(b.activations.value, a.activations.value);
        EXPECT_EQ(b.forward_kernels, a.forward_kernels);
      }
    }
  }
}

}  // namespace
}  // namespace accosim
