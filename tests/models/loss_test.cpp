// Does a loss that never has all logits cost what it computes again, and hold what it keeps? And do packed sequences
// that attend to themselves alone need the pairs that they have?
#include <gtest/gtest.h>

#include <cmath>

#include "models/price/layers.hpp"
#include "models/price/pace.hpp"
#include "tests/models/sample_models.hpp"
#include "tests/models/scenario_files.hpp"

namespace accosim {
namespace {

// 2 sequences of 512 tokens, a width of 64 and 6400 entries: T V = 6,553,600 logits.
constexpr double kT = 1024, kH = 64, kV = 6400;

Layer head(Loss loss, int chunks = 0, Implementation code = Implementation::kEager, bool tied = false) {
  Model model = llama(1, 64, 4, 4, 128, 6400);
  model.tie_word_embeddings = tied;
  Workload workload{
      .micro_batch_size = 2, .sequence_length = 512, .implementation = code, .loss = loss, .loss_chunks = chunks};
  return *layers_of(model, workload).back();
}

double workspace(const Layer& layer) {
  return largest<double>(layer.operators, [](const Operator& op) { return op.workspace.value; });
}

TEST(Loss, AChunkedOneComputesItsLogitsTwiceAndHoldsAChunk) {
  const Layer whole = head(Loss::kWhole), chunked = head(Loss::kChunked, 16);
  EXPECT_EQ(forward_flops(whole), 2 * kT * kH * kV);
  EXPECT_EQ(backward_flops(whole), 4 * kT * kH * kV);
  EXPECT_EQ(forward_flops(chunked), 2 * kT * kH * kV);
  EXPECT_EQ(backward_flops(chunked), 6 * kT * kH * kV);
  // Whole: the norm's fp32 input and its output, the product's input, log-probabilities in fp32; two gradients of
  // these.
  const double kept = kT * kH * (4 + 2) + kT * kH * 2;
  EXPECT_EQ(activations(whole), kept + kT * kV * 4);
  EXPECT_EQ(workspace(whole), kT * kV * 8);
  // A sixteenth of all that.
  EXPECT_EQ(activations(chunked), kept);
  EXPECT_EQ(workspace(chunked), kT * kV * 12 / 16);
  EXPECT_EQ(find(chunked, "lm head").parameters, kH * kV);
}

TEST(Loss, AFusedLinearOneHasItsGradientsBeforeTheBackwardPass) {
  const Layer fused = head(Loss::kFusedLinear, 4);
  EXPECT_EQ(forward_flops(fused), 6 * kT * kH * kV);
  EXPECT_EQ(backward_flops(fused), 0);
  // The norm's as above; gradients of the input and of the matrix; a quarter of the logits in 16 bits.
  EXPECT_EQ(activations(fused), kT * kH * (4 + 2) + kT * kH * 2 + kH * kV * 2);
  EXPECT_EQ(workspace(fused), kT * kV * 2 / 4);
  // The backward pass scales both gradients: read and written.
  EXPECT_EQ(find(fused, "lm head").backward_bytes.value, 2 * (kT * kH * 2 + kH * kV * 2));
}

TEST(Loss, LigersPiecesAreOfAPowerOfTwoOfTokens) {
  // ceil(6400 / 64) = 100; 1024 / 100 = 10.24, 11 tokens, so 16: 64 pieces.
  EXPECT_EQ(head(Loss::kFusedLinear), head(Loss::kFusedLinear, 64));
  EXPECT_EQ(head(Loss::kChunked), head(Loss::kChunked, 8));
}

TEST(Loss, AHugeVocabularyMakesNoEndlessListOfKernels) {
  const Model model = llama(1, 4, 4, 4, 8, 100'000'000);
  Workload workload{.sequence_length = 1'000'000, .loss = Loss::kFusedLinear};
  EXPECT_LE(find(*layers_of(model, workload).back(), "lm head").forward.size(), 3U * kMostLossChunks);
}

TEST(Loss, ACutOneKeepsANumberATokenAndNoLogits) {
  const Layer cut = head(Loss::kCut);
  EXPECT_EQ(forward_flops(cut), 2 * kT * kH * kV);
  EXPECT_EQ(backward_flops(cut), 6 * kT * kH * kV);
  EXPECT_EQ(activations(cut), kT * kH * (4 + 2) + kT * kH * 2 + kT * 4);
  EXPECT_EQ(workspace(cut), 0);
  // Nothing as large as the logits moves: the operands of four products, and what the gradients of two write.
  const Operator& op = find(cut, "lm head");
  EXPECT_EQ(op.forward_bytes.value, 2 * (kT * kH + kH * kV));
}

TEST(Loss, APieceOfATiedTableIsStillTheEmbeddings) {
  for (const Loss loss : {Loss::kChunked, Loss::kFusedLinear, Loss::kCut})
    EXPECT_EQ(find(head(loss, 0, Implementation::kCompiled, true), "lm head").parameters, 0);
}

TEST(Loss, ModelFlopsDoNotCountWhatIsComputedTwice) {
  const Model model = llama(1, 64, 4, 4, 128, 6400);
  Workload workload;
  workload.sequence_length = 512;
  const Flops whole = model_flops(model, workload);
  for (const Loss loss : {Loss::kChunked, Loss::kFusedLinear, Loss::kCut}) {
    workload.loss = loss;
    EXPECT_EQ(model_flops(model, workload), whole);
  }
}

TEST(Packing, SeparateSequencesNeedTheirOwnPairs) {
  // Rows of 1024 tokens: of one half of the sequences 256, of the other 768 tokens. A pair of them has
  // 256^2 / 2 + 768^2 / 2 = 327,680 pairs in 1024 tokens, the whole row 524,288.
  const Model model = llama(1, 64, 4, 4, 128, 6400);
  Workload workload;
  workload.sequence_length = 1024;
  EXPECT_EQ(attended_pairs(workload, 0), 524'288);
  workload.documents = {{256, 1}, {768, 1}};
  EXPECT_EQ(attended_pairs(workload, 0), 327'680);
  // In a window of 256: 256^2 / 2 and 256 x 768 - 256^2 / 2.
  EXPECT_EQ(attended_pairs(workload, 256), 256 * 768);
  const Kernel kernel = find(*layers_of(model, workload)[1], "attention").forward.front();
  EXPECT_EQ(kernel.attention.pairs, 327'680);
  EXPECT_EQ(kernel.attention.span, 768);
}

TEST(Packing, DocumentsAreTheLengthsCutToTheRow) {
  SequenceLengths lengths{.histogram = {{100, 3}, {200, 0}, {5000, 1}}, .padding = Padding::kPacked};
  EXPECT_TRUE(documents_of(lengths, 1024).empty());
  lengths.separate = true;
  EXPECT_EQ(documents_of(lengths, 1024), (std::vector<SequenceLengths::Bar>{{100, 3}, {1024, 1}}));
  // Of a lognormal one the mean of the quantiles is the mean, to the width of a quantile.
  lengths.histogram.clear();
  lengths.mean = 200;
  lengths.cv = 0.6;
  double sum = 0;
  for (const SequenceLengths::Bar& each : documents_of(lengths, 100'000)) sum += each.tokens / 200.0;
  EXPECT_NEAR(sum, 200, 2);
}

TEST_F(ScenarioFiles, LossesAndPackingThatCannotBeAreRefused) {
  EXPECT_TRUE(errors({"/training/loss=chunked"}).empty());
  EXPECT_TRUE(errors({"/training/loss=fused_linear", "/training/loss_chunks=4"}).empty());
  EXPECT_TRUE(
      any_has(errors({"/training/loss=liger"}), "write one of: \"whole\", \"chunked\", \"fused_linear\", \"cut\""));
  EXPECT_TRUE(any_has(errors({"/training/loss=cut", "/training/loss_chunks=4"}), "loss_chunks: is of the losses"));
  EXPECT_TRUE(any_has(errors({"/training/use_liger_kernel=true"}), R"(here it is "loss": "fused_linear")"));
  EXPECT_TRUE(any_has(errors({"/training/loss=chunked", "/training/loss_chunks=0"}), "loss_chunks: is 0"));
  EXPECT_TRUE(any_has(errors({"/training/loss=chunked", "/training/loss_chunks=5000"}), "loss_chunks: is 5000"));
  EXPECT_TRUE(any_has(errors({"/training/loss=chunked", "/training/parallel={\"tensor_parallel_size\": 2}"}),
                      "loss: is chunked, and with tensor parallelism"));
  const std::string lengths =
      "/training/sequence_lengths={\"lognormal\": {\"mean\": 50, \"cv\": 1}, \"separate\": true";
  EXPECT_TRUE(errors({lengths + ", \"padding\": \"packed\"}"}).empty());
  EXPECT_TRUE(any_has(errors({lengths + "}"}), "separate: is of packed sequences, and padding is longest"));
  EXPECT_TRUE(any_has(errors({lengths + ", \"padding\": \"packed\"}", "/training/attention=naive"}),
                      "attention: is naive, which computes the whole row"));
}

}  // namespace
}  // namespace accosim
