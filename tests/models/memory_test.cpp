// Are the two figures of memory what they say: the formula that ACCO's Table 1 prints, and a sum of what is resident?
#include "models/price/memory.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#include "models/spec/device.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/training.hpp"
#include "tests/models/sample_models.hpp"

namespace accosim {
namespace {

using enum MemoryUse;

constexpr double kGb = 1e9;

ScheduleSpec spec_of(const std::string& name) { return ScheduleSpec{.name = name}; }

double gigabytes(const char* method) { return memory_formula(method, 7.5e9, 64).value / kGb; }

TEST(MemoryFormula, GivesEveryRowOfTable1) {
  // arXiv 2406.02613, Table 1, 7.5e9 parameters on 64 ranks, K = 12. The table prints 120, 31, 16, 2, 150, 150,
  // 180, 46.
  EXPECT_DOUBLE_EQ(gigabytes("ddp"), 120);          // (2 + 2 + 12) 7.5
  EXPECT_DOUBLE_EQ(gigabytes("zero1"), 31.40625);   // (2 + 2 + 12/64) 7.5
  EXPECT_DOUBLE_EQ(gigabytes("zero2"), 16.640625);  // (2 + 14/64) 7.5
  EXPECT_DOUBLE_EQ(gigabytes("zero3"), 1.875);      // 16/64 7.5
  EXPECT_DOUBLE_EQ(gigabytes("slowmo"), 150);       // (2 + 2 + 2x2 + 12) 7.5
  EXPECT_DOUBLE_EQ(gigabytes("diloco"), 150);
  EXPECT_DOUBLE_EQ(gigabytes("co2"), 180);       // (2 + 2 + 4x2 + 12) 7.5
  EXPECT_DOUBLE_EQ(gigabytes("dpu"), 46.40625);  // (2 + 2 + 2 + 12/64) 7.5
  EXPECT_DOUBLE_EQ(gigabytes("wp"), 46.40625);
  EXPECT_DOUBLE_EQ(gigabytes("acco"), 46.40625);
}

TEST(MemoryFormula, FollowsTheKeysThatShardOrDelayOrMoveStates) {
  const auto bytes = [](const ScheduleSpec& spec) { return memory_formula(spec, 1, 4, 8).value; };
  ScheduleSpec spec{.name = "pipesgd"};
  EXPECT_DOUBLE_EQ(bytes(spec), 2 + 2 + 2 + 12);
  spec.delay = 3;
  EXPECT_DOUBLE_EQ(bytes(spec), 2 + 2 + 3 * 2 + 12);
  EXPECT_DOUBLE_EQ(bytes(spec_of("sapipe")), 2 + 2 + 2 + 2 + 12);  // sums beside own gradients, predictions
  spec = spec_of("acco");
  EXPECT_DOUBLE_EQ(bytes(spec), 2 + 2 + 2 + 12 / 4.0);
  spec.zero_stage = 2;
  EXPECT_DOUBLE_EQ(bytes(spec), 2 + 2 + (2 + 12) / 4.0);
  spec.zero_stage = 3;
  EXPECT_DOUBLE_EQ(bytes(spec), (2 + 2 + 2 + 12) / 4.0);
  for (const auto& [name, expected] : {std::pair("zero1", 4.0), std::pair("zero2", 2 + 2 / 4.0),
                                       std::pair("zero3", 4 / 4.0), std::pair("dpu", 2 + 2 / 4.0)}) {
    spec = spec_of(name);
    spec.offload_optimizer = true;
    EXPECT_DOUBLE_EQ(bytes(spec), expected) << name;
  }
  spec = spec_of("zero2");  // PyTorch's has whole parameters too, gathered ones that stay
  spec.runs_as = "zero3";
  EXPECT_DOUBLE_EQ(bytes(spec), 2 + (2 + 12) / 4.0);
  spec.offload_optimizer = true;
  EXPECT_DOUBLE_EQ(bytes(spec), 2 + 2 / 4.0);
  spec = spec_of("acco");
  spec.overlap = Overlap::kBackward;  // a second buffer of gradients
  EXPECT_DOUBLE_EQ(bytes(spec), 2 + 2 + 2 + 2 + 12 / 4.0);
  spec.estimate = EstimateOf::kLocal;  // and the parameters before
  EXPECT_DOUBLE_EQ(bytes(spec), 2 + 2 + 2 + 2 + 2 + 12 / 4.0);
  for (const char* name : {"slowmo", "co2"}) {
    spec = spec_of(name);
    const double papers = bytes(spec);
    spec.form = MethodForm::kCode;  // two fp32 states among 8 ranks in place of two of 2 B
    EXPECT_DOUBLE_EQ(bytes(spec), papers - 2 * 2 + 2 * 4 / 8.0) << name;
  }
  spec = spec_of("diloco");
  spec.inner = "acco";
  EXPECT_DOUBLE_EQ(bytes(spec), 2 + 2 + 2 + 2 * 2 + 12 / 4.0);
}

TEST(MemoryFormula, ShardingMeansNothingOnOneRank) {
  for (const char* method : {"zero1", "zero2", "zero3"})
    EXPECT_EQ(memory_formula(method, 1e9, 1), memory_formula("ddp", 1e9, 1)) << method;
}

TEST(MemoryFormula, RefusesAMethodThatItDoesNotKnow) {
  EXPECT_THROW(memory_formula("zero4", 1e9, 8), std::invalid_argument);
}

/// Three layers of 1000 parameters in all; kept 10, 20 and 40 bytes, workspace of the head 100.
Layers three_layers() {
  Layers layers(3);
  const double parameters[] = {500, 300, 200};
  const double kept[] = {10, 20, 40};
  for (std::size_t i = 0; i < 3; ++i) {
    Operator op{.parameters = parameters[i], .tensors = {parameters[i] - 100, 100}, .activations = Bytes{kept[i]}};
    layers[i].edit().operators.push_back(op);
  }
  layers[2].edit().operators[0].workspace = Bytes{100};
  return layers;
}

Device device() { return Device{.reserved_memory = Bytes{7}}; }

double part(const MemoryParts& memory, MemoryUse use) { return memory.part(use).value; }
void expect_parts(const MemoryParts& memory, const std::vector<std::pair<MemoryUse, double>>& parts) {
  for (const auto& [use, bytes] : parts) EXPECT_EQ(part(memory, use), bytes) << name_of(use);
}

/// Three layers on 4 ranks; two micro-batches an update, so that gradients stay from one to the next.
MemoryParts resident(const ScheduleSpec& spec, const Layers& layers = three_layers(), int shards = 4, int steps = 2) {
  return resident_memory({spec, layers, device(), shards, steps, false});
}

TEST(ResidentMemory, PlainDdpHoldsWholeStates) {
  const MemoryParts m = resident(spec_of("ddp"));
  expect_parts(m, {{kParameters, 2000}, {kGradients, 2000}, {kOptimizerStates, 12000}});
  EXPECT_EQ(part(m, kActivations), 30);     // of the layers before the head
  EXPECT_EQ(part(m, kLogitsAndLoss), 140);  // kept by the head, and what its backward needs
  expect_parts(m, {{kReserved, 7}, {kCommunicationBuffer, 0}});
  EXPECT_EQ(m.allocated().value, 2000 + 2000 + 12000 + 30 + 140);
  // Gradients are freed after each update, parameters and states never: 13 % of 2000 + 30 + 140.
  EXPECT_EQ(m.lasting().value, 2000 + 12000);
  EXPECT_EQ(m.transient().value, 2000 + 30 + 140);
  EXPECT_DOUBLE_EQ(m.with_slack().value, 16170 + 0.13 * 2170);
  EXPECT_DOUBLE_EQ(m.total().value, 16170 + 0.13 * 2170 + 7);
}

TEST(ResidentMemory, OfShardsInANodeOnlyTheStatesAreThoseOfTheNode) {
  // 1000 parameters over the 2 ranks of a node, of 4 ranks in all: 12 bytes of states for 500, whole parameters and
  // gradients, and a bucket of at most 2 x 10 bytes. Where a node has one rank all states are there, and the bucket is
  // too, as gradients are reduced between nodes; a rank that is alone has none.
  const ScheduleSpec s{.name = "zero1",
                       .overlap = Overlap::kBackward,
                       .buckets = Buckets::kTensors,
                       .bucket_cap = Bytes{10},
                       .island = Island::kNode};
  const auto of = [&](int shards, int ranks) {
    return resident_memory({s, three_layers(), device(), shards, 2, false, false, 1, ranks});
  };
  expect_parts(of(2, 4),
               {{kOptimizerStates, 12 * 500}, {kParameters, 2000}, {kGradients, 2000}, {kGradientBuckets, 20}});
  expect_parts(of(1, 4), {{kOptimizerStates, 12 * 1000}, {kGradientBuckets, 20}});
  EXPECT_EQ(part(of(1, 1), kGradientBuckets), 0);
}

TEST(ResidentMemory, GradientsOfTheFirstMicroBatchAppearAsActivationsGo) {
  // DDP, one micro-batch. In the head: 400 B of gradients and 170 of activations; in the block 1000 and 30; in the
  // embedding 2000 and 10, the most.
  const MemoryParts m = resident(spec_of("ddp"), three_layers(), 4, 1);
  expect_parts(m, {{kGradients, 2000}, {kActivations, 10}});
  // With a loss that outweighs them the peak is in the head.
  Layers layers = three_layers();
  layers[2].edit().operators[0].workspace = Bytes{5000};
  const MemoryParts n = resident(spec_of("ddp"), layers, 4, 1);
  expect_parts(n, {{kGradients, 400}, {kActivations, 30}, {kLogitsAndLoss, 5040}});
}

TEST(ResidentMemory, RecomputedBlocksKeepTheirInputAndTheOthersAll) {
  // Llama of 6 blocks, merged kernels, 96 tokens in 16 bits. A block keeps 96 (2 x 64 x 3 + 2 x 2 x 16 + 4 x 8 +
  // 2 x 64 x 3 + 6 x 100) = 140544 bytes (see Layers), a recomputed one 96 x 64 x 2 = 12288, the embedding 96 ids of 8.
  // The worst moment is in the sixth block, where all are still held. It is recomputed, so it holds what a whole one
  // keeps. None: six whole. All: five inputs and a whole. Every second: blocks 1, 3, 5 and 6 whole, 2 and 4 inputs.
  const double whole = 140544, input = 12288, ids = 768;
  Workload w{3, 32};
  w.implementation = Implementation::kFused;
  const auto activations = [&](Recompute recompute, RecomputedBlocks blocks) {
    w.recompute = recompute;
    w.recomputed_blocks = blocks;
    const Layers layers = layers_of(llama(6, 64, 8, 2, 100, 10), w);
    return part(resident(spec_of("ddp"), layers), kActivations);
  };
  EXPECT_EQ(activations(Recompute::kNone, {}), ids + 6 * whole);
  EXPECT_EQ(activations(Recompute::kFull, {}), ids + 5 * input + whole);
  EXPECT_EQ(activations(Recompute::kFull, {2, 1}), ids + 4 * whole + 2 * input);
  EXPECT_EQ(activations(Recompute::kFullEarlyStop, {2, 1}), ids + 4 * whole + 2 * input);
  // A third, the second of each three: blocks 2 and 5. Whole are 1, 3, 4, 6; where block 6 is computed 2 and 5 are
  // inputs.
  EXPECT_EQ(activations(Recompute::kFull, {1, 0.3333}), ids + 4 * whole + 2 * input);
}

TEST(ResidentMemory, DdpAsReleasedShardsTheMomentsAndCopiesGradientsIntoBuckets) {
  ScheduleSpec s{.name = "ddp"};
  s.parameter_dtype = s.gradient_dtype = Dtype::kFp32;
  s.overlap = Overlap::kBackward;
  s.optimizer_sharding = OptimizerSharding::kZeroRedundancy;
  const MemoryParts m = resident(s);
  expect_parts(m, {{kParameters, 4000}, {kGradients, 4000}, {kGradientBuckets, 4000}});
  // m and v, as the parameters are their own master copy, of whole tensors: 400, 200, 100, 100, 100 and 100 on four
  // ranks are at least 400 on one of them.
  EXPECT_EQ(part(m, kOptimizerStates), 8 * 400);
  EXPECT_EQ(part(resident(s, three_layers(), 1, 1), kGradientBuckets), 0);  // one rank is not wrapped
  s.gradient_as_bucket_view = true;
  EXPECT_EQ(part(resident(s), kGradientBuckets), 0);
}

TEST(ResidentMemory, StatesOf16BitsHaveNoMasterCopy) {
  ScheduleSpec s{.name = "ddp", .optimizer_dtype = Dtype::kBf16};
  EXPECT_EQ(part(resident(s), kOptimizerStates), (2 + 2) * 1000);
}

TEST(ResidentMemory, Zero1ShardsTheStates) {
  ScheduleSpec s{.name = "zero1"};
  EXPECT_EQ(part(resident(s), kOptimizerStates), 12 * 250);
  // 1000 over 3 ranks: shards of 334.
  EXPECT_EQ(part(resident(s, three_layers(), 3), kOptimizerStates), 12 * 334);
  EXPECT_EQ(part(resident(s), kGradientBuckets), 0);
  s.overlap = Overlap::kBackward;
  EXPECT_EQ(part(resident(s), kGradientBuckets), 2000);
  s.gradient_as_bucket_view = true;  // Megatron-LM's
  EXPECT_EQ(part(resident(s), kGradientBuckets), 0);
  // Without overlap one bucket at a time lies beside the gradients (DeepSpeed's).
  s.gradient_as_bucket_view = false;
  s.overlap = Overlap::kNone;
  s.buckets = Buckets::kTensors;
  s.bucket_cap = Bytes{300};
  EXPECT_EQ(part(resident(s), kGradientBuckets), 300);
  // With it two: the one that fills and the one that is sent; of units the embedding's and the block's before it, 500
  // and 300 elements.
  s.overlap = Overlap::kBackward;
  EXPECT_EQ(part(resident(s), kGradientBuckets), 600);
  s.buckets = Buckets::kUnits;
  EXPECT_EQ(part(resident(s), kGradientBuckets), 1600);
}

TEST(ResidentMemory, SumsInAWiderTypeMayHaveTheMicroBatchsGradientsBesideThem) {
  // DeepSpeed in bf16: 1000 parameters of 2 bytes, sums of 4, a micro-batch's gradients of 2.
  const ScheduleSpec s{.name = "zero1", .gradient_dtype = Dtype::kFp32};
  const Layers layers = three_layers();
  MemoryInput input{s, layers, device(), 4, 2, false};
  EXPECT_EQ(part(resident_memory(input), kNarrowGradients), 0);
  input.narrow_gradients = true;
  expect_parts(resident_memory(input), {{kGradients, 4000}, {kNarrowGradients, 2000}});
}

TEST(ResidentMemory, Zero2HoldsALayersGradientsAndAShard) {
  // Everything synchronized: the embedding, 500 of the parameters, is the worst layer: its own 1000 B, two buckets of
  // 100 B, and a quarter of 2000 B.
  ScheduleSpec s{.name = "zero2",
                 .overlap = Overlap::kBackward,
                 .buckets = Buckets::kTensors,
                 .bucket_cap = Bytes{100},
                 .sync = Sync::kEveryMicroBatch};
  const MemoryParts m = resident(s);
  expect_parts(m, {{kParameters, 2000},
                   {kGradients, 1000},
                   {kGradientBuckets, 200},
                   {kGradientShard, 500},
                   {kOptimizerStates, 3000}});
  s.buckets = Buckets::kUnits;  // the embedding's and the block's before it, 500 and 300 elements
  EXPECT_EQ(part(resident(s), kGradientBuckets), 1600);
  s.sync = Sync::kLastMicroBatch;  // whole gradients until then
  EXPECT_EQ(part(resident(s), kGradients), 2000);
}

TEST(ResidentMemory, Zero3HoldsShardsAndTheUnitsAtHand) {
  // Layers of 500, 300 and 200 parameters on 4 ranks. In the embedding: its own 1000 B gathered (nothing is before it),
  // its gradient 1000 B, buffers of it and of the block in fp32, 3200 B, the gradients' shard 250 x 4.
  ScheduleSpec s{.name = "zero3", .sync = Sync::kEveryMicroBatch, .reduce_dtype = Dtype::kFp32};
  const MemoryParts m = resident(s);
  expect_parts(m, {{kParameterShard, 4 * 250},
                   {kGatheredParameters, 1000},
                   {kGradients, 1000},
                   {kReductionBuffers, 3200},
                   {kGradientShard, 1000},
                   {kOptimizerStates, 8 * 250}});
  // In the block with one unit ahead, made the worst by its workspace: 500 + 300 gathered.
  Layers layers = three_layers();
  layers[1].edit().operators[0].workspace = Bytes{1e6};
  expect_parts(resident(s, layers), {{kGatheredParameters, 2 * 800}, {kReductionBuffers, 4 * 500}});
  s.prefetch = 0;
  EXPECT_EQ(part(resident(s, layers), kGatheredParameters), 2 * 300);
  s.reshard_after_forward = false;  // the head is done, the others still there
  EXPECT_EQ(part(resident(s, layers), kGatheredParameters), 2 * 800);
  s.sync = Sync::kLastMicroBatch;  // whole gradients, in the dtype of their sum
  EXPECT_EQ(part(resident(s, layers), kGradients), 4000);
}

TEST(ResidentMemory, UnitsThatStayAfterTheBackwardPassAreAllThereInTheMicroBatchesBeforeTheLast) {
  // Layers of 500, 300 and 200 parameters on 4 ranks, the worst moment made the block, without prefetch. Before the
  // last of two micro-batches the block and the head, which have computed backward, are there, 500 parameters of 2 B;
  // where units stay after the forward pass too, all 1000.
  ScheduleSpec s{.name = "zero3", .sync = Sync::kEveryMicroBatch, .prefetch = 0, .reshard_after_backward = false};
  Layers layers = three_layers();
  layers[1].edit().operators[0].workspace = Bytes{1e6};
  expect_parts(resident(s, layers), {{kGatheredParameters, 2 * 500}, {kReductionBuffers, 2 * 500}});
  // Of one micro-batch the last backward pass frees: the block alone.
  EXPECT_EQ(part(resident(s, layers, 4, 1), kGatheredParameters), 2 * 300);
  s.reshard_after_forward = false;
  EXPECT_EQ(part(resident(s, layers), kGatheredParameters), 2 * 1000);
  // Reduced in the last micro-batch alone, whose backward pass frees: there two buffers are reduced, 4 B x 500, beside
  // the embedding and the block, 2 B x 800; in the one before it there are none beside all units, 2 B x 1000. The first
  // is more.
  s.sync = Sync::kLastMicroBatch;
  s.reduce_dtype = Dtype::kFp32;
  expect_parts(resident(s, layers), {{kGatheredParameters, 2 * 800}, {kReductionBuffers, 4 * 500}});
}

TEST(ResidentMemory, HybridShardingThatAllReducesOnceKeepsAPartialShard) {
  // 1000 parameters over the 4 ranks of a node: 250 in the type that is reduced, if more than one micro-batch adds up.
  ScheduleSpec s{.name = "zero3", .sync = Sync::kEveryMicroBatch, .island = Island::kNode};
  EXPECT_EQ(part(resident(s), kPartialGradientShard), 0);
  const double every = resident(s).total().value;
  s.all_reduce = Sync::kLastMicroBatch;
  EXPECT_EQ(part(resident(s), kPartialGradientShard), 2 * 250);
  EXPECT_EQ(resident(s).total().value, every + 2 * 250);
  s.reduce_dtype = Dtype::kFp32;
  EXPECT_EQ(part(resident(s), kPartialGradientShard), 4 * 250);
  EXPECT_EQ(part(resident(s, three_layers(), 4, 1), kPartialGradientShard), 0);
}

TEST(ResidentMemory, TiedEmbeddingsStayGathered) {
  // In the head, without prefetch: its own 200 and the embedding's 500.
  const ScheduleSpec s{.name = "zero3", .prefetch = 0};
  Layers layers = three_layers();
  layers[2].edit().operators[0].workspace = Bytes{1e6};
  EXPECT_EQ(part(resident_memory({s, layers, device(), 4, 1, true}), kGatheredParameters), 2 * 700);
  EXPECT_EQ(part(resident_memory({s, layers, device(), 4, 1, false}), kGatheredParameters), 2 * 200);
}

TEST(ResidentMemory, AccoPeaksAtSixPlusTwentyEightOverN) {
  // Released code: parameters, gradients and buffer of 2 bytes each; of the shard: master, m and v (12), its fp32
  // gradient (4), and during an estimate the clones (12).
  ScheduleSpec s{.name = "acco"};
  const MemoryParts m = resident(s);
  EXPECT_EQ(m.allocated().value - 30 - 140, 6 * 1000 + 28 * 250);
  EXPECT_EQ(part(m, kStateClones), 12 * 250);
  s.rollback_estimate = false;
  EXPECT_EQ(part(resident(s), kStateClones), 4 * 250);  // the parameters go back all the same
  // DPU is the same without the estimate, whatever that field says.
  s.rollback_estimate = true;
  s.name = "dpu";
  EXPECT_EQ(resident(s).allocated().value - 30 - 140, 6 * 1000 + 16 * 250);
}

TEST(ResidentMemory, FlatBuffersHaveNoSlack) {
  // ZeRO-1: parameters 2000, gradients 2000, states 12 x 250. DPU adds a communication buffer of 2000 that lasts and an
  // fp32 gradient of the shard, 4 x 250, that does not; ACCO the clones, 12 x 250, which are made for each estimate.
  const double step = 30 + 140;
  const auto expect = [&](const char* name, double lasting, double transient) {
    const MemoryParts m = resident(spec_of(name));
    EXPECT_EQ(m.lasting().value, lasting) << name;
    EXPECT_EQ(m.transient().value, transient) << name;
    EXPECT_DOUBLE_EQ(part(m, kAllocatorSlack), 0.13 * transient) << name;
  };
  expect("zero1", 4000 + 3000, step);
  expect("dpu", 6000 + 3000, step + 1000);
  expect("acco", 6000 + 3000, step + 1000 + 3000);
}

TEST(ResidentMemory, TheShardOfGradientsHasBlocksOfItsOwn) {
  // ZeRO-3, one micro-batch, the worst moment made the head: of the gradients' shard, 250 x 4, there are 200 / 1000.
  // The rest lies idle in the pool of the stream that reduces.
  Layers layers = three_layers();
  layers[2].edit().operators[0].workspace = Bytes{1e6};
  const MemoryParts m = resident(spec_of("zero3"), layers, 4, 1);
  EXPECT_EQ(part(m, kGradientShard), 200);
  EXPECT_DOUBLE_EQ(part(m, kAllocatorSlack), 0.13 * m.transient().value + 800);
  EXPECT_EQ(m.lasting().value, 4 * 250 + 8 * 250 + 200);
}

TEST(ResidentMemory, FlatBufferIsPaddedToEqualShards) {
  EXPECT_EQ(part(resident(spec_of("acco"), three_layers(), 3), kCommunicationBuffer), 2 * 3 * 334);
}

TEST(ResidentMemory, PeakIsTheWorstMomentOfTheBackwardPass) {
  // A block that needs 1000 to recompute outweighs the head (140): held then are its own 20 + 1000 and the 10 before
  // it.
  Layers layers = three_layers();
  layers[1].edit().operators[0].workspace = Bytes{1000};
  const MemoryParts m = resident(spec_of("ddp"), layers);
  expect_parts(m, {{kActivations, 1030}, {kLogitsAndLoss, 0}});
}

TEST(ResidentMemory, AgreesWithTheFormulaOnModelStatesButForWhatItLeavesOut) {
  Layers layers = three_layers();
  for (Shared<Layer>& layer : layers) {
    Operator& op = layer.edit().operators[0];
    op.activations = op.workspace = Bytes{0};
  }
  for (const char* name : {"ddp", "zero1", "dpu", "acco"}) {
    const MemoryParts m = resident(spec_of(name), layers);
    const double left_out = part(m, kFp32GradientShard) + part(m, kStateClones);
    EXPECT_DOUBLE_EQ(m.allocated().value - left_out, memory_formula(name, 1000, 4).value) << name;
  }
}

TEST(ResidentMemory, OfStatesOnTheHostNothingStays) {
  // 1000 parameters on 4 ranks: 250 each. ZeRO-3's shard is then as wide as the parameters, since the master is away.
  for (const char* name : {"zero1", "zero2", "zero3", "dpu"}) {
    ScheduleSpec spec{.name = name};
    if (spec.name == "dpu" || spec.name == "zero2") spec.sync = Sync::kEveryMicroBatch;
    const MemoryParts with = resident(spec);
    spec.offload_optimizer = true;
    const MemoryParts without = resident(spec);
    EXPECT_GT(part(with, kOptimizerStates), 0) << name;
    EXPECT_EQ(part(without, kOptimizerStates), 0) << name;
    EXPECT_LT(without.total(), with.total()) << name;
    if (spec.name == "zero3") {
      EXPECT_EQ(part(without, kParameterShard), 250 * 2);
    }
    if (spec.name == "dpu") {  // as ZeRO-2: no buffer that is swapped
      expect_parts(without, {{kCommunicationBuffer, 0}, {kGradientShard, 250 * 2}});
    }
  }
}

TEST(ResidentMemory, OfWholeOptimizersWithDelayedGradients) {
  // 1000 parameters in 2 bytes, states of 12: a buffer for each update that is under way; SAPipe keeps its own
  // gradients beside their sums and predicts parameters beside those that are stepped.
  const MemoryParts pipe = resident(ScheduleSpec{.name = "pipesgd", .delay = 3});
  expect_parts(pipe, {{kGradients, 2000}, {kCommunicationBuffer, 3 * 2000}, {kOptimizerStates, 12000}});
  const MemoryParts sapipe = resident(spec_of("sapipe"));
  expect_parts(sapipe, {{kCommunicationBuffer, 2000}, {kPredictedParameters, 2000}});
}

TEST(ResidentMemory, OfAccosForms) {
  // 1000 parameters on 4 ranks. In buckets a second buffer; with a local estimate no clones and a further buffer; of
  // stage 2 gradients as they appear (all of a micro-batch's, when its backward pass ends), and their shard. Inside
  // replicas DiLoCo's outer states come on top.
  ScheduleSpec spec{.name = "acco"};
  const MemoryParts plain = resident(spec);
  EXPECT_EQ(part(plain, kStateClones), 250 * 12);
  spec.overlap = Overlap::kBackward;
  EXPECT_EQ(part(resident(spec), kGradientBuckets), 2000);
  spec.overlap = Overlap::kNone;
  spec.estimate = EstimateOf::kLocal;
  EXPECT_EQ(part(resident(spec), kStateClones), 0);
  EXPECT_EQ(part(resident(spec), kEstimate), 2000);  // the parameters of the update before
  spec.estimate = EstimateOf::kGathered;
  spec.zero_stage = 2;
  spec.sync = Sync::kEveryMicroBatch;
  const MemoryParts sharded = resident(spec);
  expect_parts(sharded, {{kGradientShard, 500}, {kCommunicationBuffer, 2000}});
  spec.zero_stage = 3;
  const MemoryParts units = resident(spec);
  EXPECT_EQ(part(units, kParameterShard), 250 * 4);  // the master
  expect_parts(units, {{kEstimate, 250 * 4}, {kStateClones, 250 * 8}, {kCommunicationBuffer, 0}});
  const MemoryParts replica = resident(ScheduleSpec{.name = "diloco", .island = Island::kNode, .inner = "acco"});
  EXPECT_EQ(part(replica, kOptimizerStates), part(plain, kOptimizerStates));
  EXPECT_EQ(part(replica, kOuterStates), 8000);
}

}  // namespace
}  // namespace accosim
