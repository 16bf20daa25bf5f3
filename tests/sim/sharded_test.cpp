// Do the schedules that shard gradients and parameters take the time of their closed forms, send the bytes that their
// papers count, and share adapters where groups of ranks cross nodes side by side?
#include <gtest/gtest.h>

#include "models/base/json.hpp"
#include "models/price/layer_time.hpp"
#include "models/price/price.hpp"
#include "models/read/check_schedules.hpp"
#include "models/read/read_schedule.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/sim/sharded_scenarios.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

/// As DeepSpeed runs it.
ScheduleSpec random_zero2(Random& random) {
  ScheduleSpec spec = sample_schedule("zero2");
  spec.overlap = random.integer(0, 1) == 1 ? Overlap::kBackward : Overlap::kNone;
  spec.sync = random.integer(0, 1) == 1 ? Sync::kEveryMicroBatch : Sync::kLastMicroBatch;
  spec.buckets = static_cast<Buckets>(random.integer(0, 2));
  spec.reduction = random.integer(0, 1) == 1 ? Reduction::kAllReduce : Reduction::kReduceScatter;
  spec.parameter_sync = random.integer(0, 1) == 1 ? ParameterSync::kBroadcast : ParameterSync::kAllGather;
  return spec;
}

ScheduleSpec random_zero3(Random& random) {
  ScheduleSpec spec = sample_schedule("zero3");
  spec.sync = random.integer(0, 1) == 1 ? Sync::kEveryMicroBatch : Sync::kLastMicroBatch;
  spec.island = random.integer(0, 1) == 1 ? Island::kNode : Island::kWorld;
  spec.reduce_dtype = random.integer(0, 1) == 1 ? Dtype::kFp32 : Dtype::kBf16;
  spec.prefetch = random.integer(0, 3);
  spec.reshard_after_forward = random.integer(0, 2) > 0;
  spec.reshard_after_backward = random.integer(0, 2) > 0;
  const bool hybrid = spec.island == Island::kNode;
  if (hybrid && random.integer(0, 1) == 1) spec.all_reduce = Sync::kLastMicroBatch;
  return spec;
}

TEST(Sharded, Zero2TakesItsClosedFormOnBothNetworks) {
  for (int seed = 0; seed < cases(40, 10); ++seed) {
    Random random(seed);
    const Scenario scenario = random_homogeneous(random);
    const ScheduleSpec spec = random_zero2(random);
    const double expected = expected_time(scenario, spec);
    for (const NetworkKind network : {NetworkKind::kReference, NetworkKind::kSimgrid})
      EXPECT_NEAR(update_time(scenario, spec, network) / expected, 1, 1e-6) << "seed " << seed;
  }
}

TEST(Sharded, Zero3TakesItsClosedFormWithEveryOption) {
  int hybrid_on_simgrid = 0;
  for (int seed = 0; seed < 120; ++seed) {
    Random random(seed);
    const Scenario scenario = random_sharded_scenario(random);
    const NodeGroup& nodes = scenario.cluster.nodes[0];
    const ScheduleSpec spec = random_zero3(random);
    const bool shared = spec.island == Island::kNode && nodes.count > 1 && nodes.gpus > 1;
    expect_closed_form(scenario, spec, shared, seed);
    hybrid_on_simgrid += shared ? 1 : 0;
  }
  EXPECT_GT(hybrid_on_simgrid, 20);
}

TEST(Sharded, ReductionsOfTheirOwnCommunicatorDoNotQueueWithGathers) {
  // Without contention (the reference network) the closed form with two queues holds, and is never later than with one.
  int faster = 0;
  for (int seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Scenario scenario = random_homogeneous(random);
    ScheduleSpec spec = random_zero3(random);
    spec.island = Island::kWorld;
    const double one = update_time(scenario, spec, NetworkKind::kReference);
    spec.communicators = 2;
    const double two = update_time(scenario, spec, NetworkKind::kReference);
    EXPECT_NEAR(two / expected_time(scenario, spec), 1, 1e-6) << "seed " << seed;
    EXPECT_LE(two, one * (1 + 1e-9)) << "seed " << seed;
    faster += two < 0.999 * one ? 1 : 0;
  }
  EXPECT_GT(faster, 5);
}

TEST(Sharded, FastNetworkLeavesComputeAndCopies) {
  // With links that cost next to nothing an update is its micro-batches, the copies out of the gathered buffers (twice
  // a block, once the head and, as it is tied, the embedding), the copies into the reduced ones, and the optimizer.
  Scenario scenario = sample_scenario(1, 4);
  scenario.cluster.nodes[0].intra.bandwidth = BytesPerSecond{1e20};
  scenario.cluster.nodes[0].intra.latency = Seconds{0};
  const ScheduleSpec spec = sample_schedule({.name = "zero3", .sync = Sync::kEveryMicroBatch});
  const Costs costs = price(scenario, spec);
  const RankKind& kind = costs.kinds[0];
  Seconds copies;
  for (std::size_t i = 0; i < kind.times.size(); ++i) {
    const Bytes unit = kind.times[i].parameters * Bytes{2};
    const bool block = i > 0 && i + 1 < kind.times.size();
    copies += (block ? 3 : 2) * memory_time(unit, unit, kind.device);
  }
  const Seconds step = adamw_time(kind.parameters / 4, Dtype::kFp32, Dtype::kBf16, kind.device);
  const double expected = (4 * (kind.forward + kind.backward + copies) + step).value;
  EXPECT_NEAR(update_time(scenario, spec, NetworkKind::kReference) / expected, 1, 1e-6);
}

TEST(Sharded, SlowNetworkLeavesTheQueueOfCollectives) {
  // With a network that takes far longer than computing, two micro-batches without prefetch: each gathers all units,
  // then all but the head and the tied embedding again, and reduces all. Compute shows only where the queue waits for
  // it; it is below 1 % here.
  Scenario scenario = sample_scenario(2, 1, 0.1);
  scenario.training.gradient_accumulation_steps = 2;
  const ScheduleSpec spec = sample_schedule({.name = "zero3", .sync = Sync::kEveryMicroBatch});
  const Costs costs = price(scenario, spec);
  const std::vector<LayerTime>& layers = costs.kinds[0].times;
  Seconds queue;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Bytes unit = layers[i].parameters * Bytes{2};
    const bool block = i > 0 && i + 1 < layers.size();
    queue += (block ? 2 : 1) * request_time(costs, {CollectiveKind::kAllGather, unit}) +
             request_time(costs, {CollectiveKind::kReduceScatter, unit});
  }
  const double time = update_time(scenario, spec, NetworkKind::kReference);
  EXPECT_GT(time, 2 * queue.value);
  EXPECT_LT(time, 1.01 * 2 * queue.value);
}

TEST(Sharded, SendsWhatThePapersCount) {
  // 8 ranks, 2-byte elements, one micro-batch; an untied head and embedding. DeepSpeed's ZeRO-2: reduce-scatter and
  // all-gather, 2 x 2 P 7/8. ZeRO-3: two gathers and a reduction, 3 x 2 P 7/8, less the gather that the head is spared;
  // without freeing after the forward again 2.
  Scenario scenario = sample_scenario(2, 4);
  scenario.training.gradient_accumulation_steps = 1;
  scenario.model.tie_word_embeddings = false;
  const double P = parameters_of(scenario);
  const double head = 512.0 * 10000 + 2 * 512;  // the matrix and the final norm
  EXPECT_NEAR(sent(scenario, sample_schedule("zero2")), 4 * P * 7 / 8, 1e-3);
  ScheduleSpec zero3 = sample_schedule("zero3");
  EXPECT_NEAR(sent(scenario, zero3), (6 * P - 2 * head) * 7 / 8, 1e-3);
  zero3.reshard_after_forward = false;
  EXPECT_NEAR(sent(scenario, zero3), 4 * P * 7 / 8, 1e-3);
  zero3.reduce_dtype = Dtype::kFp32;
  EXPECT_NEAR(sent(scenario, zero3), 6 * P * 7 / 8, 1e-3);
  // Hybrid: gather (2 P) and reduce-scatter (4 P) of 4 ranks, then 4 P / 4 all-reduced between 2.
  zero3.island = Island::kNode;
  EXPECT_NEAR(sent(scenario, zero3), 6 * P * 3 / 4 + 2 * 1.0 / 2 * P, 1e-3);
}

TEST(Sharded, UnitsThatStayAfterTheBackwardPassAreGatheredOnceMoreThanThereAreMicroBatches) {
  // 8 ranks, 4 micro-batches, blocks of B parameters together, an untied head and embedding of H and E; each rank sends
  // 7/8 of the 2 bytes of a parameter that is gathered or reduced. Blocks and embedding are gathered before the first
  // forward pass and before each of the 4 backward passes, the head (which stays from forward to backward) once; all
  // are reduced 4 times. Freed after each backward pass they are gathered 8 times, the head 4 times. Never freed but at
  // the end: once.
  Scenario scenario = sample_scenario(2, 4);
  scenario.model.tie_word_embeddings = false;
  const double P = parameters_of(scenario);
  const double head = 512.0 * 10000 + 2 * 512;  // the matrix and the final norm
  const double one = 2 * 7.0 / 8;
  ScheduleSpec zero3 = sample_schedule({.name = "zero3", .sync = Sync::kEveryMicroBatch});
  EXPECT_NEAR(sent(scenario, zero3), one * (8 * (P - head) + 4 * head + 4 * P), 1e-3);
  zero3.reshard_after_backward = false;
  EXPECT_NEAR(sent(scenario, zero3), one * (5 * (P - head) + 1 * head + 4 * P), 1e-3);
  zero3.reshard_after_forward = false;
  EXPECT_NEAR(sent(scenario, zero3), one * (1 * P + 4 * P), 1e-3);
  zero3.sync = Sync::kLastMicroBatch;
  EXPECT_NEAR(sent(scenario, zero3), one * (1 * P + 1 * P), 1e-3);
  // A tied embedding stays as the head does: both are gathered once, and its table is not in the head.
  scenario.model.tie_word_embeddings = true;
  zero3 = sample_schedule("zero3");
  zero3.sync = Sync::kEveryMicroBatch;
  zero3.reshard_after_backward = false;
  const double tied = P - head + 2 * 512, stay = 512.0 * (10000 + 1024) + 2 * 512;  // tables, final norm
  EXPECT_NEAR(sent(scenario, zero3), one * (5 * (tied - stay) + 1 * stay + 4 * tied), 1e-3);
}

TEST(Sharded, OfOneMicroBatchTheLastBackwardPassFreesAllTheSame) {
  Scenario scenario = sample_scenario(2, 4);
  scenario.training.gradient_accumulation_steps = 1;
  const ScheduleSpec kept = sample_schedule({.name = "zero3", .reshard_after_backward = false});
  EXPECT_EQ(update_time(scenario, kept, NetworkKind::kReference),
            update_time(scenario, sample_schedule("zero3"), NetworkKind::kReference));
}

TEST(Sharded, HybridShardsMayBeAllReducedOnceAnUpdate) {
  // 2 nodes of 4, 4 micro-batches, P parameters, 2-byte gradients reduced in fp32: a reduce-scatter sends 3/4 of 4 P,
  // the all-reduce of a shard between 2 nodes 2 (1/2) of 4 P / 4. After every micro-batch 4 of both, after the last 4
  // and 1.
  const Scenario scenario = sample_scenario(2, 4);
  const double P = parameters_of(scenario);
  ScheduleSpec spec = sample_schedule("zero3");
  spec.sync = Sync::kEveryMicroBatch;
  spec.island = Island::kNode;
  spec.reduce_dtype = Dtype::kFp32;
  spec.reshard_after_forward = false;
  const double in_node = 4 * (2 + 4) * P * 3 / 4;
  EXPECT_NEAR(sent(scenario, spec), in_node + 4 * P, 1e-3);
  const double every = update_time(scenario, spec, NetworkKind::kSimgrid);
  spec.all_reduce = Sync::kLastMicroBatch;
  EXPECT_NEAR(sent(scenario, spec), in_node + 1 * P, 1e-3);
  EXPECT_LT(update_time(scenario, spec, NetworkKind::kSimgrid), every);
}

TEST(Sharded, AsManyCollectivesAreCountedAsAreMade) {
  // 6 units, 4 micro-batches: gathers before forward and backward passes and reductions are 24 each, all-reduces
  // between nodes 24 or, once an update, 6. Units that stay after the backward pass are gathered before 1 forward pass.
  const Model model = sample_model(4);
  ScheduleSpec spec = sample_schedule("zero3");
  spec.sync = Sync::kEveryMicroBatch;
  EXPECT_EQ(collectives_of(spec, 4, model), 24 + 24 + 24);
  ScheduleSpec changed = spec;
  changed.island = Island::kNode;
  EXPECT_EQ(collectives_of(changed, 4, model), 24 + 24 + 24 + 24);
  changed.all_reduce = Sync::kLastMicroBatch;
  EXPECT_EQ(collectives_of(changed, 4, model), 24 + 24 + 24 + 6);
  changed = spec;
  changed.reshard_after_backward = false;
  EXPECT_EQ(collectives_of(changed, 4, model), 6 + 24 + 24);
  changed.reshard_after_forward = false;
  EXPECT_EQ(collectives_of(changed, 4, model), 6 + 24);
  changed.sync = Sync::kLastMicroBatch;
  EXPECT_EQ(collectives_of(changed, 4, model), 6 + 6);
  // ZeRO-1 in units, overlap grad reduce + param gather: a reduction and a gather of each, once an update.
  changed = sample_schedule("zero1");
  changed.buckets = Buckets::kUnits;
  EXPECT_EQ(collectives_of(changed, 4, model), 6);
  changed.overlap = Overlap::kBackward;
  changed.overlap_param_gather = true;
  EXPECT_EQ(collectives_of(changed, 4, model), 6 + 6);
}

TEST(Sharded, PytorchsZero2IsFullyShardThatKeepsItsUnitsForTheBackwardPass) {
  // The same key for key as zero3 with reshard_after_forward false; 4 gathers and 4 reductions an update, each 7/8 of
  // 2 P. DeepSpeed's gathers once, after the step.
  Scenario scenario = sample_scenario(2, 4);
  const auto read = [&](const std::string& text) {
    JsonValue json = parse_json(text, "").root;
    Diagnostics diagnostics;
    ScheduleSpec spec = read_schedule(json, "", scenario.training, scenario.cluster, diagnostics);
    EXPECT_TRUE(diagnostics.errors.empty()) << diagnostics.errors.front();
    return spec;
  };
  const double P = parameters_of(scenario);
  for (const char* const keys :
       {"", R"(, "reshard_after_backward": false)", R"(, "sync": "last_micro_batch", "reduce_dtype": "fp32")",
        R"(, "shard_group": "node", "all_reduce": "last_micro_batch", "prefetch": 2)"}) {
    const ScheduleSpec zero2 = read(R"({"name": "zero2")" + std::string(keys) + "}");
    const ScheduleSpec zero3 = read(R"({"name": "zero3", "reshard_after_forward": false)" + std::string(keys) + "}");
    const RunResult two = run_schedule(scenario, zero2, NetworkKind::kSimgrid);
    const RunResult three = run_schedule(scenario, zero3, NetworkKind::kSimgrid);
    EXPECT_EQ(two.update_time, three.update_time) << keys;
    EXPECT_EQ(two.bytes_sent_per_rank_per_update, three.bytes_sent_per_rank_per_update) << keys;
    EXPECT_EQ(two.memory_parts.total(), three.memory_parts.total()) << keys;
  }
  EXPECT_NEAR(sent(scenario, read(R"({"name": "zero2"})")), (4 + 4) * 2 * P * 7 / 8, 1e-3);
  scenario.training.framework = Framework::kDeepspeed;
  EXPECT_NEAR(sent(scenario, read(R"({"name": "zero2", "reduction": "reduce_scatter"})")), (4 + 1) * 2 * P * 7 / 8,
              1e-3);
}

TEST(Sharded, GradientsKeptUntilTheLastMicroBatchAreReducedOnce) {
  // Four micro-batches: DeepSpeed's ZeRO-2 reduces 4 times or once, ZeRO-3 gathers 8 times in either case.
  const Scenario scenario = sample_scenario(1, 8);
  const double P = parameters_of(scenario);
  ScheduleSpec zero2 = sample_schedule({.name = "zero2", .sync = Sync::kLastMicroBatch});
  EXPECT_NEAR(sent(scenario, zero2), (1 + 1) * 2 * P * 7 / 8, 1e-3);
  zero2.sync = Sync::kEveryMicroBatch;
  EXPECT_NEAR(sent(scenario, zero2), (4 + 1) * 2 * P * 7 / 8, 1e-3);
  ScheduleSpec zero3 = sample_schedule({.name = "zero3", .sync = Sync::kLastMicroBatch});
  const double once = sent(scenario, zero3);
  zero3.sync = Sync::kEveryMicroBatch;
  EXPECT_NEAR(sent(scenario, zero3) - once, 3 * 2 * P * 7 / 8, 1e-3);
}

TEST(Sharded, GroupsAreTheNodesAndTheRanksOfOneIndex) {
  const Scenario scenario = sample_scenario(3, 2);
  const ScheduleSpec spec = sample_schedule({.name = "zero3", .island = Island::kNode});
  const EventGraph graph = build(spec, price(scenario, spec), 1, 1);
  // The world, which nobody uses, three nodes, two indices.
  ASSERT_EQ(graph.groups.size(), 6u);
  EXPECT_EQ(graph.groups[1].members, (std::vector<int>{0, 1}));
  EXPECT_EQ(graph.groups[3].members, (std::vector<int>{4, 5}));
  EXPECT_EQ(graph.groups[4].members, (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(graph.groups[5].members, (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(graph.ranks[3].groups, (std::vector<int>{0, 2, 5}));
  for (const Plan& plan : graph.groups[1].plans) EXPECT_TRUE(plan.flows.empty()) << "gathers stay in the node";
}

TEST(Sharded, RingsOfANodesGpusShareItsAdapters) {
  // 4 GPUs a node, 2 nodes, all-reduce of S between two ranks: an edge carries 2 (1/2) S = S. With 4 adapters each ring
  // has one, S / b; with 2 adapters two rings share one, 2 S / b; with 1 all four, 4 S / b.
  for (const int adapters : {4, 2, 1}) {
    Scenario scenario = sample_scenario(2, 4);
    scenario.cluster.nodes[0].nics = {adapters, BytesPerSecond{1e9}, 1, Seconds{0}};
    const ScheduleSpec spec = sample_schedule({.name = "zero3", .island = Island::kNode});
    const PlanRequest request{CollectiveKind::kAllReduce, Bytes{1e6}, 1, {kIslands}};
    EXPECT_NEAR(request_time(price(scenario, spec), request).value, 4.0 / adapters * 1e-3, 1e-12);
  }
}

TEST(Sharded, TheCriticalPathExplainsAllOfAnUpdate) { expect_explained(cases(20), random_zero3); }

TEST(Sharded, FoldedHybridIsOneRankAndOneFlow) {
  // 4 equal nodes of 2: ranks are alike, and the rings of the two indices, which share the links of their nodes.
  const Scenario scenario = sample_scenario(4, 2);
  const ScheduleSpec spec = sample_schedule({.name = "zero3", .island = Island::kNode});
  const Folded folded = fold(build(spec, price(scenario, spec), 1, 1));
  ASSERT_EQ(folded.graph.ranks.size(), 1u);
  EXPECT_EQ(folded.graph.ranks[0].multiplicity, 8);
  for (const Path& path : folded.graph.paths) EXPECT_EQ(path.alike, 8);
  for (const Link& link : folded.graph.links) EXPECT_EQ(link.alike, 4);
  int flows = 0;
  for (const Group& group : folded.graph.groups)
    for (const Plan& plan : group.plans) {
      EXPECT_LE(plan.flows.size(), 1u);
      flows += static_cast<int>(plan.flows.size());
    }
  EXPECT_GT(flows, 0);
}

TEST(Sharded, FoldedHybridTakesTheTimeOfTheWhole) {
  expect_same_time_folded(cases(15), [](Random& random) {
    ScheduleSpec spec = random_zero3(random);
    spec.island = Island::kNode;
    return spec;
  });
}

}  // namespace
}  // namespace accosim
