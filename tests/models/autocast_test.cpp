// Does every kernel have the dtype that torch.autocast gives it, and is there a cast wherever an activation meets a
// consumer of another type?
#include <gtest/gtest.h>

#include "models/spec/device.hpp"
#include "models/spec/model.hpp"
#include "models/spec/training.hpp"
#include "tests/models/sample_models.hpp"

namespace accosim {
namespace {

// 2 sequences of 128 tokens, 12 heads.
constexpr double kTokens = 256, kHidden = 768, kInner = 3072;
constexpr double kStream = kTokens * kHidden, kWide = kTokens * kInner;  // elements of the stream, inside the MLP
constexpr double kSquare = 2.0 * 12 * 128 * 128;                         // scores

Model gpt_neo() {
  Model m = gpt2();
  m.family = "gpt_neo";
  m.activation = Activation::kGeluNew;
  m.qkv_bias = false;
  return m;
}

Workload under(bool autocast, Dtype parameters) {
  Workload w{2, 128};
  w.attention = Attention::kNaive;
  w.autocast = autocast;
  w.parameter_dtype = w.gradient_dtype = parameters;
  return w;
}

Layer block_of(const Workload& w) { return layers_of(gpt_neo(), w)[1]; }

void expect(const Operator& op, double forward, int forward_kernels, double backward, int backward_kernels) {
  EXPECT_EQ(op.forward_bytes.value, forward) << op.name;
  EXPECT_EQ(op.forward_kernels, forward_kernels) << op.name;
  EXPECT_EQ(op.backward_bytes.value, backward) << op.name;
  EXPECT_EQ(op.backward_kernels, backward_kernels) << op.name;
}

TEST(Autocast, LayerNormRunsInFp32) {
  // bf16 parameters: the input (2 -> 4 B) and both vectors are cast by three kernels; the norm reads and writes fp32.
  // Backward: dx reads two and writes one, the sums read two: 5 x 4 B; then the three casts back.
  const double casts = 6 * kStream + 2 * kHidden * 6;
  const Layer narrow = block_of(under(true, Dtype::kBf16));
  expect(find(narrow, "attention norm"), casts + 8 * kStream, 4, 20 * kStream + casts, 5);
  EXPECT_EQ(find(narrow, "attention norm").activations.value, 4 * kStream);
  // fp32 parameters: the stream is fp32 and needs no cast.
  expect(find(block_of(under(true, Dtype::kFp32)), "attention norm"), 8 * kStream, 1, 20 * kStream, 2);
  // Without autocast it stays in 16 bits.
  expect(find(block_of(under(false, Dtype::kBf16)), "attention norm"), 4 * kStream, 1, 10 * kStream, 2);
}

TEST(Autocast, GptNeoCastsANormsOutputForQueriesKeysAndValuesEach) {
  // Three casts of 6 B an element. Three GEMMs read n and h h elements and write n. Backward: twice three GEMMs; three
  // casts back; two sums of fp32 gradients, 12 B each. All three copies are kept.
  const Operator qkv = find(block_of(under(true, Dtype::kBf16)), "qkv projection");
  const double gemm = 2 * (2 * kStream + kHidden * kHidden);
  expect(qkv, 18 * kStream + 3 * gemm, 6, 6 * gemm + 18 * kStream + 24 * kStream, 11);
  EXPECT_EQ(qkv.activations.value, 6 * kStream);
  // Without autocast: no casts, and sums in 16 bits.
  const Operator plain = find(block_of(under(false, Dtype::kBf16)), "qkv projection");
  expect(plain, 3 * gemm, 3, 6 * gemm + 12 * kStream, 8);
  EXPECT_EQ(plain.activations.value, 2 * kStream);
  // GPT-2 has one matrix, so one cast.
  Workload w = under(true, Dtype::kBf16);
  EXPECT_EQ(find(layers_of(gpt2(), w)[1], "qkv projection").forward_kernels, 2);
}

TEST(Autocast, NewGeluIsAChainInFp32) {
  // Bytes an element, x in 16 bits: x/2 4; cast for pow 6; pow 8; times a constant 8; x + that 2 + 4 + 4; times a
  // constant 8; tanh 8; + 1 8; product 2 + 4 + 4: 70 in 9 kernels. The next GEMM casts its input, 6.
  // Backward: of the product, d(x/2) 12 and its cast 6, d(1 + tanh) 4 + 2 + 4; tanh 12; constant 8; the sum's share of
  // x is cast 6; constant 8; pow: x^2 8, times 3 8, times the gradient 12; its cast 6; x/2 4; two sums in 16 bits 12:
  // 112 in 14 kernels.
  const Layer block = block_of(under(true, Dtype::kBf16));
  expect(find(block, "activation"), 70 * kWide, 9, 112 * kWide, 14);
  EXPECT_EQ(find(block, "activation").activations.value, 14 * kWide);  // pow's input, tanh, 1 + tanh; x/2
  const double gemm = 2 * (kWide + kInner * kHidden + kStream);
  EXPECT_EQ(find(block, "mlp down").forward_bytes.value, 6 * kWide + gemm);
  EXPECT_EQ(find(block, "mlp down").forward_kernels, 2);
  // The same with fp32 parameters, whose products are in 16 bits too.
  expect(find(block_of(under(true, Dtype::kFp32)), "activation"), 70 * kWide, 9, 112 * kWide, 14);
}

TEST(Autocast, SoftmaxRunsInFp32) {
  // bf16 scores: scale and mask 4 B each; cast 6, softmax 8, back to 16 bits 6. Backward: cast 6, softmax 4 + 4 + 4,
  // cast 6; mask and scale 8.
  const Layer block = block_of(under(true, Dtype::kBf16));
  expect(find(block, "softmax"), 28 * kSquare, 5, 32 * kSquare, 5);
  EXPECT_EQ(find(block, "softmax").activations.value, 6 * kSquare);
  // The kernel casts fp16 by itself: it reads 2 B and writes 4, then 6. Backward: 6, then reads 4 + 4, writes 2; 8.
  Workload half = under(true, Dtype::kFp16);
  half.compute = Dtype::kFp16;
  expect(find(block_of(half), "softmax"), 20 * kSquare, 4, 24 * kSquare, 4);
  // GPT-2's code asks for no dtype, autocast does.
  Workload w = under(true, Dtype::kBf16);
  expect(find(layers_of(gpt2(), w)[1], "softmax"), 28 * kSquare, 5, 32 * kSquare, 5);
  w.autocast = false;
  expect(find(layers_of(gpt2(), w)[1], "softmax"), 12 * kSquare, 3, 14 * kSquare, 3);
}

TEST(Autocast, GptNeoComputesItsScoresInFp32WithoutIt) {
  // With it q and k are cast to fp32 by the model's code and back by autocast: 2 x 2 x 6 B.
  const Operator with = find(block_of(under(true, Dtype::kBf16)), "attention scores");
  EXPECT_EQ(with.forward_bytes.value, 24 * kStream + 2 * (2 * kStream + kSquare));
  EXPECT_EQ(with.forward_kernels, 5);
  EXPECT_FALSE(with.forward[0].dtype.has_value());
  // Without it they stay there: 2 x 6 B, and a GEMM in fp32.
  const Operator without = find(block_of(under(false, Dtype::kBf16)), "attention scores");
  EXPECT_EQ(without.forward_bytes.value, 12 * kStream + 4 * (2 * kStream + kSquare));
  EXPECT_EQ(without.forward_kernels, 3);
  EXPECT_EQ(without.forward[0].dtype, Dtype::kFp32);
  // fp32 scores: scale and mask 8 each, softmax 8, back to the values' 16 bits 6.
  EXPECT_EQ(find(block_of(under(false, Dtype::kBf16)), "softmax").forward_bytes.value, 30 * kSquare);
}

TEST(Autocast, ParametersAreCastOnceAMicroBatchAndKept) {
  const Layer wide = block_of(under(true, Dtype::kFp32));
  // A block's matrices and their biases: read as fp32, written as bf16; six matrices and three biases are nine kernels.
  const double weights = 4 * kHidden * kHidden + 2 * kHidden * kInner + kHidden + kInner + kHidden;
  expect(find(wide, "autocast"), 6 * weights, 9, 6 * weights, 9);
  EXPECT_EQ(find(wide, "autocast").activations.value, 2 * weights);
  EXPECT_FALSE(has(block_of(under(true, Dtype::kBf16)), "autocast"));
  // fp32 matmuls on fp32 parameters cast nothing.
  Workload tf32 = under(false, Dtype::kFp32);
  tf32.compute = Dtype::kTf32;
  EXPECT_FALSE(has(block_of(tf32), "autocast"));
}

TEST(Autocast, TheResidualStreamIsInTheParametersDtype) {
  // fp32 stream, 16-bit branch: 4 + 2 read and 4 written; backward two gradients of 4 read, one written, and the
  // branch's cast, 6.
  expect(find(block_of(under(true, Dtype::kFp32)), "mlp residual"), 10 * kStream, 1, 18 * kStream, 2);
  expect(find(block_of(under(true, Dtype::kBf16)), "mlp residual"), 6 * kStream, 1, 6 * kStream, 1);
}

TEST(Autocast, CompiledCodeCastsWhereItComputes) {
  // The norm reads the fp32 stream and writes what the products read; the products cast nothing.
  Workload w = under(true, Dtype::kFp32);
  w.implementation = Implementation::kCompiled;
  const Layer block = block_of(w);
  expect(find(block, "attention norm"), 6 * kStream, 1, (3 * 4 + 2 * 2) * kStream, 2);
  EXPECT_EQ(find(block, "qkv projection").forward_kernels, 3);
  EXPECT_EQ(find(block, "mlp down").forward_kernels, 1);
  EXPECT_TRUE(has(block, "autocast"));
}

}  // namespace
}  // namespace accosim
