// Do the operators add up to what the literature and arithmetic say of a transformer: parameters, FLOPs, bytes,
// activations? Expectations are derived in the comments, from sizes that stay small enough to follow.
#include "models/price/layers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "models/spec/device.hpp"
#include "models/spec/model.hpp"
#include "models/spec/training.hpp"
#include "tests/models/sample_models.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

TEST(Layers, AreTheEmbeddingTheBlocksAndTheHead) {
  const Layers layers = layers_of(gpt2(), {1, 1024});
  ASSERT_EQ(layers.size(), 14u);
  EXPECT_EQ(layers.front()->kind, LayerKind::kEmbedding);
  for (std::size_t i = 1; i <= 12; ++i) EXPECT_EQ(layers[i]->kind, LayerKind::kBlock);
  EXPECT_EQ(layers.back()->kind, LayerKind::kHead);
}

TEST(Layers, ParametersOfPublishedModelsAreExact) {
  // GPT-2: 50257x768 + 1024x768 + 12 (2x1536 + 768x2304+2304 + 768x768+768 + 2x768x3072 + 3072+768) + 1536.
  EXPECT_EQ(parameters(layers_of(gpt2(), {1, 1024})), 124439808.0);
  // Llama-2-7B: 2x32000x4096 + 32 (2x4096 + 4x4096^2 + 3x4096x11008) + 4096.
  EXPECT_EQ(parameters(layers_of(llama(32, 4096, 32, 32, 11008, 32000), {1, 4096})), 6738415616.0);
}

TEST(Layers, ParametersAddUpToTheModelsWhateverItIs) {
  Random random{1};
  for (int i = 0; i < cases(300); ++i) {
    const Model m = random_model(random);
    EXPECT_EQ(parameters(layers_of(m, random_workload(random))), static_cast<double>(parameter_count(m))) << i;
  }
}

TEST(Layers, TiedEmbeddingsAreCountedOnceButMultipliedAlways) {
  Model tied = gpt2();
  Model untied = tied;
  untied.tie_word_embeddings = false;
  const Layers a = layers_of(tied, {2, 512});
  const Layers b = layers_of(untied, {2, 512});
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
  // beside the block's input. A token, 16 bit: 2 (h + h + kv + f + h + h) + 4 a. Recomputed are k, o and up. A compiler
  // does not keep down's output, which no gradient reads, and does not make it again either.
  const Model m = llama(1, 64, 8, 2, 100, 10);
  Workload w{3, 32};
  w.implementation = Implementation::kCompiled;
  const Layer keep = layers_of(m, w)[1];
  w.recompute = Recompute::kSelectiveOp;
  const Layer again = layers_of(m, w)[1];
  const double t = 3 * 32;
  EXPECT_EQ(activations(again), t * (2 * (64 + 64 + 16 + 100 + 64) + 4 * 8.0));
  EXPECT_EQ(backward_flops(again) - backward_flops(keep), 2 * t * (64 * 16 + 64 * 64 + 64 * 100.0));
  w.implementation = Implementation::kEager;
  EXPECT_EQ(activations(layers_of(m, w)[1]), t * (2 * (64 + 64 + 16 + 100 + 64 + 64) + 4 * 8.0));
}

TEST(Layers, TheClampedScoresOfOptAreNotKept) {
  // OPT's eager code takes the maximum of the masked scores, which its gradient reads, and gives that to softmax, which
  // keeps only what it makes: two squares of heads x tokens in fp32 for each sequence, and GPT-2's code one.
  Workload w{2, 32};
  w.compute = w.parameter_dtype = Dtype::kFp32;
  w.attention = Attention::kNaive;
  const double square = 2.0 * 12 * 32 * 32 * 4;
  Model opt = gpt2();
  opt.family = "opt";
  const auto softmax = [&](const Model& model) { return find(layers_of(model, w)[1], "softmax").activations.value; };
  EXPECT_EQ(softmax(gpt2()), square);
  EXPECT_EQ(softmax(opt), 2 * square);
}

TEST(Layers, EncodersAttendToTheWholeSquare) {
  Model m = gpt2();
  const double half = find(layers_of(m, {1, 512})[1], "attention").forward_flops.value;
  m.causal = false;
  EXPECT_EQ(find(layers_of(m, {1, 512})[1], "attention").forward_flops.value, 2 * half);
}

TEST(Layers, SumsOfAnOperatorAreThoseOfItsKernels) {
  Random random{7};
  for (int i = 0; i < cases(100); ++i) {
    Workload w = random_workload(random);
    w.dropout = random.integer(0, 1) == 1 ? 0.1 : 0;
    w.implementation = static_cast<Implementation>(random.integer(0, 2));
    w.recompute = static_cast<Recompute>(random.integer(0, 3));
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

TEST(Layers, RecomputationRepeatsTheForwardAndKeepsOnlyTheInput) {
  Random random{4};
  for (int i = 0; i < cases(100); ++i) {
    const Model m = random_model(random);
    Workload w = random_workload(random);
    w.recompute = Recompute::kNone;
    const Layers keep = layers_of(m, w);
    w.recompute = Recompute::kFull;
    const Layers again = layers_of(m, w);
    const double width = w.parameter_dtype == Dtype::kFp32 ? 4 : 2;
    for (std::size_t l = 1; l + 1 < keep.size(); ++l) {
      EXPECT_EQ(forward_flops(again[l]), forward_flops(keep[l]));
      EXPECT_NEAR(backward_flops(again[l]), backward_flops(keep[l]) + forward_flops(keep[l]),
                  1e-12 * backward_flops(keep[l]));
      const double input = width * w.micro_batch_size * w.sequence_length * m.hidden_size;
      EXPECT_EQ(activations(again[l]), input);
      EXPECT_NEAR(again[l]->operators.front().workspace.value, activations(keep[l]) - input,
                  1e-12 * activations(keep[l]));
    }
    // The embedding and the head are not part of a checkpointed block.
    EXPECT_EQ(backward_flops(again.back()), backward_flops(keep.back()));
    EXPECT_EQ(activations(again.back()), activations(keep.back()));
  }
}

TEST(Layers, OfSixBlocksEverySecondIsRecomputed) {
  // Llama, 6 blocks, 3 sequences of 32 = 96 tokens. Elements of a block's matrices: q and o 64 x 64 each, k and v 64 x
  // 16 each, gate, up and down 64 x 100 each: 29440. Forward 2 x 96 x 29440 = 5652480 FLOPs and causal attention 4 x 3
  // x 8 x 8 x 32^2 / 2 = 393216; backward twice the one and 2.5 times the other: 12288000. Recomputed blocks: the
  // second, fourth and sixth, which add a forward and keep 96 x 64 elements of 2 bytes.
  const Model m = llama(6, 64, 8, 2, 100, 10);
  Workload w{3, 32};
  w.recompute = Recompute::kFull;
  w.recomputed_blocks.every = 2;
  const Layers layers = layers_of(m, w);
  const Layer& whole = layers[1];
  for (std::size_t block = 1; block <= 6; ++block) {
    const bool again = block % 2 == 0;
    EXPECT_EQ(backward_flops(layers[block]), 12288000 + (again ? 5652480 + 393216 : 0)) << block;
    EXPECT_EQ(activations(layers[block]), again ? 2.0 * 96 * 64 : activations(whole)) << block;
    const auto kernels = [](const Layer& layer, int Operator::*of) {
      return sum_of<int>(layer.operators, [&](const Operator& op) { return op.*of; });
    };
    EXPECT_EQ(kernels(layers[block], &Operator::backward_kernels),
              kernels(whole, &Operator::backward_kernels) + (again ? kernels(whole, &Operator::forward_kernels) : 0));
  }
  EXPECT_GT(activations(whole), 2.0 * 96 * 64);
  EXPECT_EQ(layers.front()->operators, layers_of(m, Workload{3, 32}).front()->operators);
}

TEST(Layers, AShareOfTheBlocksIsSpreadEvenly) {
  // fms-fsdp's examples: 1/2 is the first of each two, 1/3 the second of each three, 2/3 the first and third.
  const auto recomputed = [](RecomputedBlocks blocks) {
    std::string which;
    for (int i = 0; i < 12; ++i) which += is_recomputed(blocks, i, i) ? 'x' : '.';
    return which;
  };
  EXPECT_EQ(recomputed({1, 1}), "xxxxxxxxxxxx");
  EXPECT_EQ(recomputed({1, 0.5}), "x.x.x.x.x.x.");
  EXPECT_EQ(recomputed({1, 0.3333}), ".x..x..x..x.");
  EXPECT_EQ(recomputed({1, 0.6667}), "x.xx.xx.xx.x");
  EXPECT_EQ(recomputed({1, 0.25}), ".x...x...x..");
  EXPECT_EQ(recomputed({4, 1}), "...x...x...x");
  EXPECT_EQ(recomputed({12, 1}), "...........x");
  EXPECT_EQ(recomputed({1, 1, 5}), "xxxxx.......");
}

TEST(Layers, RecomputedBlocksAreCountedOnARankAndTheFirstOnesInAChunk) {
  // 12 blocks on 2 stages of 2 chunks, three blocks each: stage 1 has blocks 3 to 5 and 9 to 11. Every second of its
  // six is 4, 9 and 11, and never all of one stage and none of another; the first two of each chunk are 3, 4, 9 and 10.
  const Model m = llama(12, 64, 8, 2, 100, 10);
  Workload w{3, 32};
  w.recompute = Recompute::kFull;
  ModelShare share{.stage = 1};
  share.stages = share.chunks = 2;
  const auto recomputed = [&](RecomputedBlocks blocks) {
    w.recomputed_blocks = blocks;
    std::string which;
    for (const Layer& layer : own_layers_of(m, w, share))
      if (layer.kind == LayerKind::kBlock) which += activations(layer) == 2.0 * 96 * 64 ? 'x' : '.';
    return which;
  };
  EXPECT_EQ(recomputed({2, 1}), ".x.x.x");
  EXPECT_EQ(recomputed({1, 0.5}), "x.x.x.");
  EXPECT_EQ(recomputed({1, 1, 2}), "xx.xx.");
}

TEST(Layers, ARecomputationThatStopsEarlyLeavesOutTheLastProduct) {
  // The block of above: of its forward neither down, 2 x 96 x 100 x 64 = 1228800 FLOPs, nor the sum behind it (three
  // times 96 x 64 elements of 2 bytes, a kernel). A dropout between them keeps its mask, for which both run.
  const Model m = llama(1, 64, 8, 2, 100, 10);
  Workload w{3, 32};
  w.recompute = Recompute::kFull;
  const Layer to_the_end = layers_of(m, w)[1];
  w.recompute = Recompute::kFullEarlyStop;
  const Layer early = layers_of(m, w)[1];
  EXPECT_EQ(backward_flops(to_the_end) - backward_flops(early), 1228800);
  EXPECT_EQ(find(to_the_end, "mlp residual").backward_bytes.value - find(early, "mlp residual").backward_bytes.value,
            3.0 * 96 * 64 * 2);
  EXPECT_EQ(activations(early), activations(to_the_end));
  w.dropout = 0.1;
  const Layer masked = layers_of(m, w)[1];
  w.recompute = Recompute::kFull;
  EXPECT_EQ(masked.operators, layers_of(m, w)[1]->operators);
}

TEST(Layers, MergedSoftmaxOn32BitsIsTorchsWithAMaskInPlaceOnAView) {
  // 2 x 12 heads x 64^2 scores of 4 bytes: y. Forward: the mask in place, r w, and softmax, r w: 4 y in two kernels.
  // Backward: softmax 3 y; zeros y and a copy 2 y; a copy, a clone, masked_fill's clone, its fill and the copy back, 2
  // y each: 16 y in eight kernels. In 16 bits Megatron's kernel is one each way.
  Workload w{2, 64};
  w.attention = Attention::kNaive;
  w.implementation = Implementation::kFused;
  w.compute = Dtype::kTf32;
  w.parameter_dtype = w.gradient_dtype = Dtype::kFp32;
  const double y = 4.0 * 2 * 12 * 64 * 64;
  const Operator wide = find(layers_of(gpt2(), w)[1], "softmax");
  EXPECT_EQ(wide.forward_bytes.value, 4 * y);
  EXPECT_EQ(wide.backward_bytes.value, 16 * y);
  EXPECT_EQ(wide.forward_kernels, 2);
  EXPECT_EQ(wide.backward_kernels, 8);
  EXPECT_EQ(wide.activations.value, y);
  w.compute = w.parameter_dtype = w.gradient_dtype = Dtype::kBf16;
  EXPECT_EQ(find(layers_of(gpt2(), w)[1], "softmax").backward_kernels, 1);
}

TEST(Layers, EveryQuantityIsFiniteAndNotNegativeAndGrowsWithTheBatch) {
  Random random{5};
  for (int i = 0; i < cases(200); ++i) {
    const Model m = random_model(random);
    Workload w = random_workload(random);
    const Layers small = layers_of(m, w);
    w.micro_batch_size += 1;
    const Layers large = layers_of(m, w);
    ASSERT_EQ(small.size(), large.size());
    for (std::size_t l = 0; l < small.size(); ++l) {
      std::set<std::string> names;
      for (std::size_t k = 0; k < small[l]->operators.size(); ++k) {
        const Operator& a = small[l]->operators[k];
        const Operator& b = large[l]->operators[k];
        EXPECT_TRUE(names.insert(a.name).second) << a.name << " twice in the " << name_of(small[l]->kind);
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

// FLOPs and bytes of the operators: of attention, of products, of casts and of code that merges kernels or does not.

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
  const Layers layers = layers_of(m, {1, 1024});
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
  const Layers layers = layers_of(gpt2(), w);
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
