// Do layers whose tensors several ranks split hold, compute, keep and send what the literature and arithmetic say? S is
// the tokens of a micro-batch, t the ranks, X the elements of S tokens' activations, S h.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "models/price/layers.hpp"
#include "models/price/operators.hpp"
#include "models/spec/device.hpp"
#include "models/spec/model.hpp"
#include "models/spec/training.hpp"
#include "tests/models/sample_models.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

ModelShare split(int ranks, bool sequence = false) {
  ModelShare share;
  share.tensor = ranks;
  share.sequence = sequence;
  return share;
}

/// Megatron's kernels.
Workload fused(int micro_batch, int sequence) {
  Workload w{micro_batch, sequence};
  w.implementation = Implementation::kFused;
  return w;
}

std::vector<TensorMessage> messages(const Layer& layer) {
  std::vector<TensorMessage> all;
  for (const Operator& op : layer.operators) all.insert(all.end(), op.messages.begin(), op.messages.end());
  return all;
}

/// What a rank sends of them in rings: (t-1)/t of a buffer, of an all-reduce twice that.
double wire_bytes(const Layer& layer, int ranks) {
  double sum = 0;
  for (const TensorMessage& each : messages(layer))
    sum += (each.kind == CollectiveKind::kAllReduce ? 2 : 1) * each.bytes.value * (ranks - 1) / ranks;
  return sum;
}

/// "AR", "RS" or "AG"; backward in brackets; beside the gradient of the input "+x", of the weights "+w".
std::string text(const TensorMessage& message) {
  const std::string kind = message.kind == CollectiveKind::kAllReduce       ? "AR"
                           : message.kind == CollectiveKind::kReduceScatter ? "RS"
                                                                            : "AG";
  const char* const beside = message.beside == Beside::kNothing         ? ""
                             : message.beside == Beside::kInputGradient ? "+x"
                                                                        : "+w";
  return message.backward ? "(" + kind + beside + ")" : kind + beside;
}

std::string sent(const Operator& op) {
  std::string all;
  for (const TensorMessage& message : op.messages) all += (all.empty() ? "" : " ") + text(message);
  return all;
}

/// By operator, of those that send.
std::map<std::string, std::string> sent(const Layer& layer) {
  std::map<std::string, std::string> all;
  for (const Operator& op : layer.operators)
    if (!op.messages.empty()) all[op.name] = sent(op);
  return all;
}

using Sent = std::map<std::string, std::string>;

double alike(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Layer& layer : layers)
    for (const Operator& op : layer.operators) sum += op.alike;
  return sum;
}

TEST(TensorLayers, OfOneRankAreWhole) {
  Random random{3};
  for (int i = 0; i < cases(100); ++i) {
    const Model m = random_model(random);
    const Workload w = random_workload(random);
    const std::vector<Layer> whole = layers_of(m, w), one = layers_of(m, w, split(1, true));
    ASSERT_EQ(whole.size(), one.size());
    for (std::size_t l = 0; l < one.size(); ++l) {
      EXPECT_EQ(one[l].operators, whole[l].operators);
      EXPECT_TRUE(messages(one[l]).empty());
    }
  }
}

TEST(TensorLayers, OfARankHaveItsColumnsHeadsAndInnerSize) {
  // Llama, 8 heads and 2 key-value heads of 16, inner size 384, split by 2: q 64, k and v 16 columns, 128 inputs all;
  // the output projection 64 x 128; gate and up 192 columns each; down 192 x 128.
  const Layer block = layers_of(llama(1, 128, 8, 2, 384, 512), {3, 32}, split(2))[1];
  const Operator qkv = find(block, "qkv projection"), out = find(block, "output projection");
  EXPECT_EQ(qkv.tensors, (std::vector<double>{128 * 64, 128 * 16, 128 * 16}));
  EXPECT_EQ(out.tensors, std::vector<double>{64 * 128});
  EXPECT_EQ(find(block, "mlp up").tensors, (std::vector<double>{128 * 192, 128 * 192}));
  EXPECT_EQ(find(block, "mlp down").tensors, std::vector<double>{192 * 128});
  EXPECT_EQ(out.forward.back().gemm, (Gemm{1, 96, 128, 64, Bytes{2}, Bytes{2}, false}));
  const AttentionShape shape = find(block, "attention").forward.back().attention;
  EXPECT_EQ(shape.heads, 4);
}

TEST(TensorLayers, FewerKeyValueHeadsThanRanksAreCopied) {
  // 2 key-value heads of 16 for 4 ranks: one each; 8 query heads: two each.
  const Layer block = layers_of(llama(1, 128, 8, 2, 384, 512), fused(3, 32), split(4))[1];
  EXPECT_EQ(find(block, "qkv projection").parameters, 128 * (32 + 2 * 16));
}

TEST(TensorLayers, TheVocabularyIsPaddedByMegatronAndRoundedByOthers) {
  // 1001 rows for 4 ranks: 251 each; Megatron's to the next multiple of 512: 256 each. Alone nobody pads.
  const Model m = llama(1, 128, 8, 2, 384, 1001);
  EXPECT_EQ(find(layers_of(m, {1, 32}, split(4)).front(), "token embedding").parameters, 251 * 128);
  EXPECT_EQ(find(layers_of(m, fused(1, 32), split(4)).front(), "token embedding").parameters, 256 * 128);
  EXPECT_EQ(find(layers_of(m, fused(1, 32), split(4)).back(), "lm head").parameters, 256 * 128);
  EXPECT_EQ(find(layers_of(m, fused(1, 32)).front(), "token embedding").parameters, 1001 * 128);
}

TEST(TensorLayers, ParametersOverAllRanksAddUp) {
  // t (held - alike) + alike, where everything divides: norms, biases behind sums and learned positions are held by
  // all.
  Random random{5};
  for (int i = 0; i < cases(200); ++i) {
    Model m = random_model(random);
    const int t = 1 << random.integer(0, 2);
    m.num_attention_heads *= t;
    m.num_key_value_heads *= t;
    m.intermediate_size *= t;
    m.vocab_size *= 128 * t;
    Workload w = random_workload(random);
    if (random.integer(0, 1) == 1) w.implementation = Implementation::kFused;
    const std::vector<Layer> layers = layers_of(m, w, split(t, random.integer(0, 1) == 1));
    EXPECT_EQ(t * (parameters(layers) - alike(layers)) + alike(layers), static_cast<double>(parameter_count(m))) << i;
  }
}

TEST(TensorLayers, WhatAllRanksHoldAlike) {
  // GPT-2's block: two norms of 2 h, and the biases of the output projection and of the MLP's second product, h each:
  // 6 h. Embedding: 1024 positions. Head: one norm.
  const std::vector<Layer> layers = layers_of(gpt2(), fused(1, 1024), split(4));
  EXPECT_EQ(alike({layers[1]}), 6 * 768);
  EXPECT_EQ(alike({layers.front()}), 1024 * 768);
  EXPECT_EQ(alike({layers.back()}), 2 * 768);
}

TEST(TensorLayers, ParametersOfLlama70BByFour) {
  // h 8192, 64 heads of 128, 8 key-value heads, f 28672: a block has h (8192 + 2 x 1024) + 8192 h + 3 h f = 855,638,016
  // in matrices and 2 h in norms: 855.7 M. By four: 213,909,504 + 16,384.
  const Model m = llama(1, 8192, 64, 8, 28672, 128256);
  EXPECT_EQ(parameters({layers_of(m, fused(1, 8192))[1]}), 855'654'400);
  EXPECT_EQ(parameters({layers_of(m, fused(1, 8192), split(4, true))[1]}), 213'909'504 + 16'384);
}

TEST(TensorLayers, ABlockSendsAsMegatronDoes) {
  const Model m = gpt2();
  EXPECT_EQ(
      sent(layers_of(m, fused(2, 128), split(4))[1]),
      (Sent{{"qkv projection", "(AR+w)"}, {"output projection", "AR"}, {"mlp up", "(AR+w)"}, {"mlp down", "AR"}}));
  EXPECT_EQ(sent(layers_of(m, fused(2, 128), split(4, true))[1]), (Sent{{"qkv projection", "AG (AG+x) (RS+w)"},
                                                                        {"output projection", "RS (AG)"},
                                                                        {"mlp up", "AG (AG+x) (RS+w)"},
                                                                        {"mlp down", "RS (AG)"}}));
  // X = 2 x 128 tokens x 768 x 2 bytes.
  for (const bool sequence : {false, true})
    for (const TensorMessage& each : messages(layers_of(m, fused(2, 128), split(4, sequence))[1]))
      EXPECT_EQ(each.bytes.value, 2 * 128 * 768 * 2);
}

TEST(TensorLayers, ABlockSendsEightOrTenActivationsOnTheWire) {
  // Plain: four all-reduces of X, 2 X (t-1)/t each. With the sequence split: six gathers and four
  // reduce-scatters, X (t-1)/t each. Eight ranks, 4 x 2048 tokens of 12288 in 16 bits: X = 201.3 MB; 1.41 GB
  // and 1.76 GB.
  const Model m = gpt2_like(1, 12288, 96, 51200, 2048);
  const double x = 4.0 * 2048 * 12288 * 2;
  EXPECT_NEAR(x, 201.3e6, 0.05e6);
  const double plain = wire_bytes(layers_of(m, fused(4, 2048), split(8))[1], 8);
  const double sequence = wire_bytes(layers_of(m, fused(4, 2048), split(8, true))[1], 8);
  EXPECT_EQ(plain, 8 * x * 7 / 8);
  EXPECT_EQ(sequence, 10 * x * 7 / 8);
  EXPECT_NEAR(plain, 1.41e9, 0.005e9);
  EXPECT_NEAR(sequence, 1.76e9, 0.005e9);
}

TEST(TensorLayers, EmbeddingHeadAndLossSendTheirs) {
  Model m = llama(1, 128, 8, 2, 384, 1024);
  EXPECT_EQ(sent(layers_of(m, fused(2, 128), split(4)).front()), (Sent{{"token embedding", "AR"}}));
  EXPECT_EQ(sent(layers_of(m, fused(2, 128), split(4, true)).front()), (Sent{{"token embedding", "RS (AG)"}}));
  EXPECT_EQ(sent(layers_of(m, fused(2, 128), split(4)).back()),
            (Sent{{"lm head", "(AR+w)"}, {"cross entropy", "AR AR AR"}}));
  const Layer head = layers_of(m, fused(2, 128), split(4, true)).back();
  EXPECT_EQ(sent(head), (Sent{{"lm head", "AG (AG+x) (RS+w)"}, {"cross entropy", "AR AR AR"}}));
  // A word a token, 2 x 128 of them.
  EXPECT_EQ(find(head, "cross entropy").messages.front().bytes.value, 2 * 128 * 4);
  // Learned positions are added to whole sequences, and Megatron then sums without scattering.
  m.learned_positions = true;
  EXPECT_EQ(sent(layers_of(m, fused(2, 128), split(4, true)).front()), (Sent{{"token embedding", "AR (AG)"}}));
}

TEST(TensorLayers, WhatIsSentHasTheElementsOfWhatIsThere) {
  // Autocast with parameters in fp32, eager RMSNorm: the stream and what norms write have 4 bytes an element, products
  // take and give 2. Of the gather before a product: 4; of what it kept of its input: 2; of its input's gradient: 4.
  Workload w{2, 128};
  w.parameter_dtype = w.gradient_dtype = Dtype::kFp32;
  w.autocast = true;
  const std::vector<Layer> layers = layers_of(llama(1, 128, 8, 2, 384, 1024), w, split(4, true));
  const double n = 2 * 128 * 128;
  const auto bytes = [](const Operator& op) {
    std::vector<double> all;
    for (const TensorMessage& each : op.messages) all.push_back(each.bytes.value);
    return all;
  };
  EXPECT_EQ(bytes(find(layers.front(), "token embedding")), (std::vector<double>{4 * n, 4 * n}));
  EXPECT_EQ(bytes(find(layers[1], "mlp up")), (std::vector<double>{4 * n, 2 * n, 4 * n}));
  EXPECT_EQ(bytes(find(layers[1], "mlp down")), (std::vector<double>{2 * n, 2 * n}));
}

TEST(TensorLayers, RecomputationSendsTheForwardAgainUnlessNothingReadsIt) {
  Workload w = fused(2, 128);
  w.recompute = Recompute::kFull;
  EXPECT_EQ(sent(layers_of(gpt2(), w, split(4))[1]), (Sent{{"qkv projection", "(AR+w)"},
                                                           {"output projection", "AR (AR)"},
                                                           {"mlp up", "(AR+w)"},
                                                           {"mlp down", "AR (AR)"}}));
  const Sent full = sent(layers_of(gpt2(), w, split(4, true))[1]);
  EXPECT_EQ(full, (Sent{{"qkv projection", "AG (AG+x) (RS+w) (AG)"},
                        {"output projection", "RS (AG) (RS)"},
                        {"mlp up", "AG (AG+x) (RS+w) (AG)"},
                        {"mlp down", "RS (AG) (RS)"}}));
  w.recompute = Recompute::kFullEarlyStop;
  const Sent early = sent(layers_of(gpt2(), w, split(4, true))[1]);
  EXPECT_EQ(early.at("mlp down"), "RS (AG)");
  EXPECT_EQ(early.at("output projection"), full.at("output projection"));
  for (const Recompute each : {Recompute::kSelective, Recompute::kSelectiveOp}) {
    w.recompute = each;
    EXPECT_EQ(sent(layers_of(gpt2(), w, split(4, true))[1]).at("mlp down"), "RS (AG)");
    EXPECT_EQ(sent(layers_of(gpt2(), w, split(4, true))[1]).at("mlp up"), "AG (AG+x) (RS+w)");
  }
}

TEST(TensorLayers, SelectiveOpKeepsWhatReduceScattersPutOut) {
  // GPT-2, 16 bits, compiled: the block's input and the reduce-scatter of the output projection, each 2 h S/t; the
  // first and third of four products' outputs, 2 x 3 h S/t and 2 x 4 h S/t; attention's output and its log-sums, (2 h +
  // 4 a) S/t. Eager code, which does not see that nothing reads it, also what the last product's reduce-scatter put
  // out, 2 h S/t: the product itself is the fourth.
  Workload w{2, 128};
  w.recompute = Recompute::kSelectiveOp;
  w.implementation = Implementation::kCompiled;
  const double share = 2 * 128 / 4.0, h = 768, a = 12;
  EXPECT_EQ(activations(layers_of(gpt2(), w, split(4, true))[1]), share * (2 * h * (1 + 1 + 3 + 4 + 1) + 4 * a));
  w.implementation = Implementation::kEager;
  EXPECT_EQ(activations(layers_of(gpt2(), w, split(4, true))[1]), share * (2 * h * (1 + 2 + 3 + 4 + 1) + 4 * a));
}

TEST(TensorLayers, ActivationsAreKorthikantisTable) {
  // arXiv 2205.05198, table 2, bytes of a 16-bit block with dropout: S h (34 + 5 a s/h); S h (10 + 24/t + 5 a s/(h t));
  // S h/t (34 + 5 a s/h); 34 S h/t; 2 S h, and of a slice 2 S h/t. The 10: what both norms, both first products of a
  // pair (2 each) and two masks of dropout (1 each) keep.
  const double s = 1024, S = 4 * s, h = 768, a = 12, t = 4;
  const Model m = gpt2();
  Workload w = fused(4, 1024);
  w.attention = Attention::kNaive;
  w.dropout = 0.1;
  const auto kept = [&](const ModelShare& share) { return activations(layers_of(m, w, share)[1]); };
  EXPECT_EQ(kept({}), S * h * (34 + 5 * a * s / h));
  EXPECT_EQ(kept(split(4)), S * h * (10 + 24 / t + 5 * a * s / (h * t)));
  EXPECT_EQ(kept(split(4, true)), S * h / t * (34 + 5 * a * s / h));
  w.recompute = Recompute::kSelective;
  EXPECT_EQ(kept(split(4, true)), 34 * S * h / t);
  w.recompute = Recompute::kFull;
  EXPECT_EQ(kept(split(4)), 2 * S * h);
  EXPECT_EQ(kept(split(4, true)), 2 * S * h / t);
}

TEST(TensorLayers, ActivationsOfThe22BillionModel) {
  // Korthikanti et al.: h 6144, 64 heads, 4 x 2048 tokens: 34 S h = 1.711 GB a block whole, an eighth of that, 214 MB,
  // where heads and sequence are split by 8 and attention is recomputed. The scores are 5 a s/h = 106.7 for 34.
  const Model m = gpt2_like(1, 6144, 64, 51200, 2048);
  Workload w = fused(4, 2048);
  w.attention = Attention::kNaive;
  w.dropout = 0.1;
  const double whole = activations(layers_of(m, w)[1]);
  w.recompute = Recompute::kSelective;
  const double rest = activations(layers_of(m, w)[1]);
  EXPECT_NEAR(rest, 1.711e9, 0.0005e9);
  EXPECT_NEAR(whole / rest, 1 + 106.7 / 34, 1e-3);
  EXPECT_NEAR(activations(layers_of(m, w, split(8, true))[1]), 214e6, 0.5e6);
}

TEST(TensorLayers, ActivationsOfLlama70BByFour) {
  // 8192 tokens, flash attention, by 4 with the sequence: (8 h + 4 a d + 4 k d + 6 f) S/t + 4 a S/t =
  // (8 x 8192 + 4 x 8192 + 4 x 1024 + 6 x 28672 + 4 x 64) 2048 = 562.6 MB. Without the sequence the 8 h are whole.
  const Model m = llama(1, 8192, 64, 8, 28672, 128256);
  const double kept = activations(layers_of(m, fused(1, 8192), split(4, true))[1]);
  EXPECT_EQ(kept, (8 * 8192 + 4 * 8192 + 4 * 1024 + 6 * 28672 + 4 * 64) * 2048.0);
  EXPECT_NEAR(kept, 562.6e6, 0.1e6);
  EXPECT_EQ(activations(layers_of(m, fused(1, 8192), split(4))[1]), kept + 3 * 8 * 8192 * 2048.0);
}

TEST(TensorLayers, TheWholeOfAGatheredInputIsThereWhileItIsNeeded) {
  // 2 h S bytes while the gradients of a product are computed that kept a slice of its input.
  const Layer block = layers_of(gpt2(), fused(2, 128), split(4, true))[1];
  EXPECT_EQ(find(block, "mlp up").workspace.value, 2 * 768 * 256);
  EXPECT_EQ(find(block, "mlp down").workspace.value, 0);
  EXPECT_EQ(find(layers_of(gpt2(), fused(2, 128), split(4))[1], "mlp up").workspace.value, 0);
}

TEST(TensorLayers, NormsAndSumsOfASequencesShareMoveTheirPart) {
  // Everything of a block but attention, GEMMs and the parameters' gradients moves bytes in proportion to its tokens or
  // to its heads and columns: by 4 a fourth; without the sequence, norms and residuals stay whole.
  const Layer whole = layers_of(gpt2(), fused(2, 128))[1];
  for (const bool sequence : {false, true}) {
    const Layer block = layers_of(gpt2(), fused(2, 128), split(4, sequence))[1];
    for (const char* name : {"attention norm", "attention residual", "mlp norm", "mlp residual"})
      EXPECT_EQ(find(block, name).forward_bytes.value * (sequence ? 4 : 1), find(whole, name).forward_bytes.value);
    EXPECT_EQ(find(block, "activation").forward_bytes.value * 4, find(whole, "activation").forward_bytes.value);
  }
}

TEST(TensorLayers, FlopsOfTheRanksAreTheWholes) {
  // What ranks compute adds up where everything divides, and what they need of the model in any case: padding of the
  // vocabulary and copies of key-value heads are no part of that.
  Random random{7};
  for (int i = 0; i < cases(100); ++i) {
    const Model m = llama(random.integer(1, 4), 128, 8, 8, 8 * random.integer(1, 99), 1024);
    const Workload w = fused(2, 64);
    const int t = 1 << random.integer(1, 3);
    const std::vector<Layer> whole = layers_of(m, w), share = layers_of(m, w, split(t, true));
    for (std::size_t l = 0; l < whole.size(); ++l) {
      EXPECT_DOUBLE_EQ(t * forward_flops(share[l]), forward_flops(whole[l]));
      EXPECT_DOUBLE_EQ(t * backward_flops(share[l]), backward_flops(whole[l]));
    }
  }
  const Model uneven = llama(2, 128, 8, 2, 384, 1001);
  EXPECT_DOUBLE_EQ(4 * model_flops(uneven, {2, 64}, split(4)).value, model_flops(uneven, {2, 64}).value);
}

}  // namespace
}  // namespace accosim
