// Do layers whose tensors several ranks split hold, compute, keep and send what the literature and arithmetic say? S is
// the tokens of a micro-batch, t the ranks, X the elements of S tokens' activations, S h.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "models/price/layers.hpp"
#include "models/price/operators.hpp"
#include "models/price/tensor_waits.hpp"
#include "models/spec/device.hpp"
#include "models/spec/model.hpp"
#include "models/spec/training.hpp"
#include "tests/models/sample_models.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

ModelShare split(int ranks, bool sequence = false) { return ModelShare{.tensor = ranks, .sequence = sequence}; }

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
  return sum_of<double>(messages(layer), [&](const TensorMessage& each) {
    return (each.kind == CollectiveKind::kAllReduce ? 2 : 1) * each.bytes.value * (ranks - 1) / ranks;
  });
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

double alike(const Layers& layers) {
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
    const Layers whole = layers_of(m, w), one = layers_of(m, w, split(1, true));
    ASSERT_EQ(whole.size(), one.size());
    for (std::size_t l = 0; l < one.size(); ++l) {
      EXPECT_EQ(one[l]->operators, whole[l]->operators);
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
    const Layers layers = layers_of(m, w, split(t, random.integer(0, 1) == 1));
    EXPECT_EQ(t * (parameters(layers) - alike(layers)) + alike(layers), static_cast<double>(parameter_count(m))) << i;
  }
}

TEST(TensorLayers, WhatAllRanksHoldAlike) {
  // GPT-2's block: two norms of 2 h, and the biases of the output projection and of the MLP's second product, h each:
  // 6 h. Embedding: 1024 positions. Head: one norm.
  const Layers layers = layers_of(gpt2(), fused(1, 1024), split(4));
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
  const Layers layers = layers_of(llama(1, 128, 8, 2, 384, 1024), w, split(4, true));
  const double n = 2 * 128 * 128;
  const auto bytes = [](const Operator& op) {
    return mapped<double>(op.messages, [](const TensorMessage& each) { return each.bytes.value; });
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
    const Layers whole = layers_of(m, w), share = layers_of(m, w, split(t, true));
    for (std::size_t l = 0; l < whole.size(); ++l) {
      EXPECT_DOUBLE_EQ(t * forward_flops(share[l]), forward_flops(whole[l]));
      EXPECT_DOUBLE_EQ(t * backward_flops(share[l]), backward_flops(whole[l]));
    }
  }
  const Model uneven = llama(2, 128, 8, 2, 384, 1001);
  EXPECT_DOUBLE_EQ(4 * model_flops(uneven, {2, 64}, split(4)).value, model_flops(uneven, {2, 64}).value);
}

// How long does a layer wait for the collectives over its split tensors? One operator each, with round times, and what
// it comes to is worked out in the comments.

/// A bill of one operator: forward a product of 10 ms and a pass of 1 ms; backward the input's gradient, 10 ms, the
/// weights', 20 ms, and a pass. A product takes twice as long where a collective holds 8 multiprocessors or more.
struct OneOperator {
  Bill bill;

  explicit OneOperator(std::vector<TensorMessage> messages) {
    bill.kernels = {product(10e-3), product(20e-3), pass(1e-3)};
    const BilledOperator op{.lines = {{0, false}, {2, false}, {0, true}, {1, true}, {2, true}},
                            .forward = Seconds{11e-3},
                            .backward = Seconds{31e-3},
                            .forward_launches = 2,
                            .backward_launches = 3,
                            .messages = std::move(messages)};
    bill.layers = {{LayerKind::kBlock, {0}, {op}}};
    bill.layer_of = {0};
  }

  static PricedKernel product(double seconds) {
    PricedKernel priced{.kernel = gemm_kernel({1, 1, 1, 1}), .time = Seconds{seconds}};
    for (std::size_t i = 0; i < kHeld.size(); ++i) priced.held[i] = Seconds{kHeld[i] >= 8 ? 2 * seconds : seconds};
    return priced;
  }
  static PricedKernel pass(double seconds) {
    PricedKernel priced{.kernel = memory_kernel(Bytes{1}), .time = Seconds{seconds}};
    priced.held.fill(priced.time);
    return priced;
  }

  BilledOperator& op() { return bill.layers[0].operators[0]; }
  TensorWaits waits(int cut_among = 1) const { return tensor_waits(bill, bill.layers[0], price, cut_among); }

  /// A millisecond for each byte, on 8 multiprocessors; all-reduces twice that.
  static CollectivePrice price(const TensorMessage& message) {
    return {Seconds{(message.kind == CollectiveKind::kAllReduce ? 2e-3 : 1e-3) * message.bytes.value}, 8};
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
  const auto copied = [](const TensorMessage& message) { return CollectivePrice{OneOperator::price(message).time, 0}; };
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
  Device device{.sm_count = 1000};
  device.peak[static_cast<std::size_t>(Dtype::kBf16)] = FlopsPerSecond{1e18};
  device.gemm_efficiency = device.flash_attention_efficiency = 1;
  device.memory_bandwidth = BytesPerSecond{1e18};
  device.memory_efficiency = 1;
  Workload w{1, 64};
  w.implementation = Implementation::kFused;
  const auto each = [](const TensorMessage&) { return CollectivePrice{Seconds{1}, 0}; };
  for (const bool sequence : {false, true}) {
    ModelShare share{.tensor = 4, .sequence = sequence};
    const Bill bill = bill_of(layers_of(gpt2(), w, share), device, Dtype::kBf16);
    const TensorWaits waits = tensor_waits(bill, bill.layers[1], each);
    EXPECT_NEAR(waits.forward.value, sequence ? 4 : 2, 1e-3);
    EXPECT_NEAR(waits.backward.value, sequence ? 6 : 2, 1e-3);
  }
}

}  // namespace
}  // namespace accosim
