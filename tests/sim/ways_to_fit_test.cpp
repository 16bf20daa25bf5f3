// Is each way to make a schedule fit one that was tried, with what it brings?
#include "sim/what_if/ways_to_fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "models/spec/device.hpp"
#include "models/spec/model.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/training.hpp"
#include "sim/result/run.hpp"
#include "tests/support/advised.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

constexpr NetworkKind kReference = NetworkKind::kReference;

/// GPT of 36 blocks of 1280 on one node of 8, 8 sequences of 512 a micro-batch; every GPU has `gib`.
Scenario scenario_with(double gib) {
  Scenario scenario = sample_scenario(1, 8);
  scenario.model = sample_model(36, 1280);
  scenario.cluster.nodes[0].micro_batch_size = scenario.training.micro_batch_size = 8;
  for (Device& device : scenario.cluster.nodes[0].devices) device.memory = Bytes{gib * 0x1p30};
  return scenario;
}

double resident(const Scenario& scenario, const ScheduleSpec& spec) {
  return run_schedule(scenario, spec, kReference).memory_resident.value;
}

const WayToFit* find(const WaysToFit& ways, const std::string& change) {
  const auto way =
      std::find_if(ways.alone.begin(), ways.alone.end(), [&](const WayToFit& each) { return each.change == change; });
  return way == ways.alone.end() ? nullptr : &*way;
}

TEST(WaysToFit, SaveWhatTheyWereTriedToSave) {
  // Each against the resident memory of the scenario in which only that is changed.
  Scenario scenario = scenario_with(8);
  scenario.cluster.nodes[0].attention = Attention::kNaive;
  scenario.model.activation = Activation::kGeluNew;  // eight kernels in eager code, which keep what they made
  const ScheduleSpec ddp = sample_schedule("ddp");
  const WaysToFit ways = ways_to_fit(scenario, ddp);
  const double now = resident(scenario, ddp);
  const auto expect = [&](const std::string& change, const Scenario& changed, const ScheduleSpec& spec) {
    const WayToFit* const way = find(ways, change);
    ASSERT_TRUE(way) << change;
    const RunResult then = run_schedule(changed, spec, kReference);
    EXPECT_NEAR(way->memory.value, then.memory_resident.value, 1) << change;
    EXPECT_NEAR(way->saves.value, now - then.memory_resident.value, 1) << change;
    EXPECT_EQ(way->fit.verdict, then.fit.verdict) << change;
    EXPECT_NEAR(way->fit.probability, then.fit.probability, 1e-9) << change;
  };
  Scenario changed = scenario;
  changed.cluster.nodes[0].attention = Attention::kFlash;
  expect("attention flash", changed, ddp);
  for (const Implementation implementation : {Implementation::kCompiled, Implementation::kFused}) {
    changed = scenario;
    changed.training.implementation = implementation;
    expect(std::string("implementation ") + name_of(implementation), changed, ddp);
  }
  for (const Recompute recompute :
       {Recompute::kSelective, Recompute::kSelectiveOp, Recompute::kFullEarlyStop, Recompute::kFull}) {
    changed = scenario;
    changed.training.activation_recompute = recompute;
    expect(std::string("activation_recompute ") + name_of(recompute), changed, ddp);
  }
  ScheduleSpec zero3 = sample_schedule("zero3");
  zero3.sync = Sync::kEveryMicroBatch;
  expect("schedule zero3", scenario, zero3);
  ScheduleSpec sharded = ddp;
  sharded.optimizer_sharding = OptimizerSharding::kZeroRedundancy;
  expect("optimizer_sharding zero_redundancy", scenario, sharded);
  EXPECT_TRUE(find(ways, "schedule zero1") && find(ways, "schedule zero2"));
}

TEST(WaysToFit, LeaveOutWhatIsSetOrSavesNothing) {
  Scenario scenario = scenario_with(8);  // flash
  const ScheduleSpec zero1 = sample_schedule("zero1");
  WaysToFit ways = ways_to_fit(scenario, zero1);
  EXPECT_FALSE(find(ways, "attention flash"));
  EXPECT_FALSE(find(ways, "activation_recompute selective")) << "there are no scores to recompute";
  EXPECT_FALSE(find(ways, "schedule zero1"));
  EXPECT_TRUE(find(ways, "activation_recompute full"));
  scenario.training.activation_recompute = Recompute::kFull;
  scenario.training.implementation = Implementation::kCompiled;
  ways = ways_to_fit(scenario, zero1);
  EXPECT_FALSE(find(ways, "activation_recompute full"));
  EXPECT_FALSE(find(ways, "implementation compiled"));
}

TEST(WaysToFit, WhatAScheduleKeepsMayBeGivenUp) {
  // Each key as it costs memory, beside the same schedule with it as it saves some.
  Scenario scenario = scenario_with(2);
  scenario.cluster.nodes[0].count = 2;  // so that a node is not the world
  ScheduleSpec zero3 = sample_schedule("zero3");
  zero3.sync = Sync::kEveryMicroBatch;
  const auto expect = [&](const std::string& change, const ScheduleSpec& spec) {
    const WaysToFit ways = ways_to_fit(scenario, spec);
    const WayToFit* const way = find(ways, change);
    ASSERT_TRUE(way) << change;
    EXPECT_NEAR(way->memory.value, resident(scenario, zero3), 1) << change;
    EXPECT_FALSE(find(ways_to_fit(scenario, zero3), change)) << change;
  };
  ScheduleSpec spec = zero3;
  spec.shard_group = ShardGroup::kNode;
  expect("shard_group world", spec);
  spec = zero3;
  spec.reshard_after_forward = false;
  expect("reshard_after_forward true", spec);
  spec = zero3;
  spec.sync = Sync::kLastMicroBatch;
  expect("sync every_micro_batch", spec);
  // Units that stay after the backward pass are most where the activations are gone, so of few activations.
  scenario.cluster.nodes[0].micro_batch_size = scenario.training.micro_batch_size = 1;
  spec = zero3;
  spec.reshard_after_backward = false;
  expect("reshard_after_backward true", spec);
}

TEST(WaysToFit, APartialShardMayBeGivenUpButNotTheHybridShardingThatItBelongsTo) {
  // Of 2 GPUs a node half of the parameters is a shard, kept in 2 bytes. shard_group world beside a written all_reduce
  // would be refused.
  Scenario scenario = scenario_with(2);
  scenario.cluster.nodes[0].count = 2;
  ScheduleSpec hybrid = sample_schedule("zero3");
  hybrid.sync = Sync::kEveryMicroBatch;
  hybrid.shard_group = ShardGroup::kNode;
  ScheduleSpec late = hybrid;
  late.all_reduce = Sync::kLastMicroBatch;
  const WaysToFit ways = ways_to_fit(scenario, late);
  const WayToFit* const way = find(ways, "all_reduce every_micro_batch");
  ASSERT_TRUE(way);
  const double P = static_cast<double>(parameter_count(scenario.model));
  const double gpus = scenario.cluster.nodes[0].gpus;
  EXPECT_NEAR(way->saves.value, 2 * std::ceil(P / gpus), 1);
  EXPECT_FALSE(find(ways, "shard_group world"));
  EXPECT_TRUE(find(ways_to_fit(scenario, hybrid), "shard_group world"));
  EXPECT_FALSE(find(ways_to_fit(scenario, hybrid), "all_reduce every_micro_batch"));
}

TEST(WaysToFit, SavingsAreThoseOfTheGpuThatHadLeastRoom) {
  // Most of what a GPU with micro-batches of 1 holds are states, of one with 8 activations. DDP's states are a sixth
  // too much for the former; once they are sharded the latter has least room.
  Scenario scenario = scenario_with(80);
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  scenario.cluster.nodes[1].micro_batch_size = 1;
  for (Device& device : scenario.cluster.nodes[1].devices) device.name = "small";
  const ScheduleSpec ddp = sample_schedule("ddp");
  const std::vector<KindMemory> kinds = run_schedule(scenario, ddp, kReference).memory_by_kind;
  const Bytes large = 1.05 * kinds[0].parts.total(), small = kinds[1].parts.total() / 1.2;
  for (Device& device : scenario.cluster.nodes[0].devices) device.memory = large;
  for (Device& device : scenario.cluster.nodes[1].devices) device.memory = small;
  const WaysToFit ways = ways_to_fit(scenario, ddp);
  const WayToFit* const way = find(ways, "schedule zero3");
  ASSERT_TRUE(way);
  ScheduleSpec zero3 = sample_schedule("zero3");
  zero3.sync = Sync::kEveryMicroBatch;
  const RunResult before = run_schedule(scenario, ddp, kReference), then = run_schedule(scenario, zero3, kReference);
  ASSERT_EQ(before.memory_capacity.value, small.value);
  ASSERT_EQ(then.memory_capacity.value, large.value) << "else there is nothing to tell apart";
  EXPECT_NEAR(way->saves.value, (before.memory_resident - then.memory_by_kind[1].parts.total()).value, 1);
  EXPECT_NEAR(way->memory.value, then.memory_resident.value, 1);
}

TEST(WaysToFit, NoMoreBlocksAreRecomputedThanItTakes) {
  // Between what all of 36 blocks keep and what none keeps: so much room that every fourth recomputed is enough.
  Scenario scenario = scenario_with(80);
  const ScheduleSpec zero1 = sample_schedule("zero1");
  Scenario some = scenario;
  some.training.activation_recompute = Recompute::kFullEarlyStop;
  some.training.recomputed_blocks.every = 4;
  const Bytes most = run_schedule(some, zero1, kReference).memory_resident_high;
  for (Device& device : scenario.cluster.nodes[0].devices) device.memory = 1.001 * most;
  const WaysToFit ways = ways_to_fit(scenario, zero1);
  const WayToFit* const way = find(ways, "activation_recompute full_early_stop with recompute_every 4");
  ASSERT_TRUE(way);
  EXPECT_TRUE(way->fits());
  EXPECT_LT(way->time_ratio, find(ways, "activation_recompute full_early_stop")->time_ratio);
  EXPECT_EQ(way->set, (std::vector<std::string>{"/training/activation_recompute=full_early_stop",
                                                "/training/recompute_every=4"}));
  EXPECT_FALSE(find(ways, "activation_recompute full_early_stop with recompute_every 8"));
}

TEST(WaysToFit, TheLargestMicroBatchIsFoundByHalving) {
  // Of 12 sequences, room for 7: not a divisor of 12, so the way that keeps the batch takes 6.
  Scenario scenario = scenario_with(80);
  const ScheduleSpec zero1 = sample_schedule("zero1");
  scenario.cluster.nodes[0].micro_batch_size = 7;
  const Bytes most = run_schedule(scenario, zero1, kReference).memory_resident_high;
  scenario.cluster.nodes[0].micro_batch_size = 12;
  for (Device& device : scenario.cluster.nodes[0].devices) device.memory = 1.001 * most;
  WaysToFit ways = ways_to_fit(scenario, zero1);
  EXPECT_EQ(ways.largest_micro_batch, 7);
  EXPECT_TRUE(find(ways, "micro_batch_size 6 with gradient_accumulation_steps 8"));
  EXPECT_EQ(in_words(ways).find("the largest micro_batch_size that fits is 7; any of these makes it fit: "), 0U)
      << in_words(ways);
  for (Device& device : scenario.cluster.nodes[0].devices) device.memory = Bytes{1e9};  // less than the parameters
  EXPECT_EQ(ways_to_fit(scenario, zero1).largest_micro_batch, 0);
}

TEST(WaysToFit, FullRecomputationRepeatsTheForward) {
  // No communication to speak of: an update of A micro-batches is A (f + b), f forward and b backward, and with full
  // recomputation A (2 f + b), f being about a third of f + b: 4/3. Head, embedding and optimizer, a tenth here, are
  // not repeated.
  const WaysToFit ways = ways_to_fit(scenario_with(8), sample_schedule("zero1"));
  const WayToFit* const full = find(ways, "activation_recompute full");
  ASSERT_TRUE(full);
  EXPECT_GT(full->time_ratio, 1.2);
  EXPECT_LT(full->time_ratio, 1.36);
}

TEST(WaysToFit, AMicroBatchIsDividedUntilItFitsAndTheBatchStays) {
  Scenario scenario = scenario_with(80);
  const ScheduleSpec zero1 = sample_schedule("zero1");
  Scenario two = scenario;
  two.cluster.nodes[0].micro_batch_size = 2;
  two.training.gradient_accumulation_steps = 16;
  const Bytes needed = run_schedule(two, zero1, kReference).memory_resident_high;
  for (Device& device : scenario.cluster.nodes[0].devices) device.memory = 1.001 * needed;
  const WaysToFit ways = ways_to_fit(scenario, zero1);
  const WayToFit* const way = find(ways, "micro_batch_size 2 with gradient_accumulation_steps 16");  // 8 x 4 samples
  ASSERT_TRUE(way);
  EXPECT_TRUE(way->fits());
  EXPECT_TRUE(ways.alone.front().fits());
  EXPECT_TRUE(ways.together.empty()) << "one is enough";
}

TEST(WaysToFit, AnOddMicroBatchIsDividedByWhatDividesIt) {
  Scenario scenario = scenario_with(1);  // fits nothing
  scenario.cluster.nodes[0].micro_batch_size = 9;
  EXPECT_TRUE(find(ways_to_fit(scenario, sample_schedule("zero1")),
                   "micro_batch_size 1 with gradient_accumulation_steps 36"));  // 9 x 4 samples
}

TEST(WaysToFit, SeveralAreTriedTogetherWhereNoneIsEnough) {
  Scenario scenario = scenario_with(80);
  const ScheduleSpec ddp = sample_schedule("ddp");
  // States of 16 B a parameter on every rank do not fit into 8 GiB whatever the activations, eighths of the optimizer's
  // do, but not with the activations of 8 sequences.
  for (Device& device : scenario.cluster.nodes[0].devices) device.memory = Bytes{8 * 0x1p30};
  const WaysToFit ways = ways_to_fit(scenario, ddp);
  ASSERT_FALSE(ways.alone.empty());
  EXPECT_FALSE(ways.alone.front().fits());
  ASSERT_GT(ways.together.size(), 1u);
  EXPECT_EQ(ways.together.back().change, "optimizer_sharding zero_redundancy");
  EXPECT_TRUE(ways.together.back().fits());
  EXPECT_NE(in_words(ways).find("together these do: "), std::string::npos) << in_words(ways);
  // In 4 GiB only zero3's eighths of everything do.
  for (Device& device : scenario.cluster.nodes[0].devices) device.memory = Bytes{4 * 0x1p30};
  const WaysToFit more = ways_to_fit(scenario, ddp);
  EXPECT_EQ(more.together.back().change, "schedule zero3");
  EXPECT_TRUE(more.together.back().fits());
  for (Device& device : scenario.cluster.nodes[0].devices) device.memory = Bytes{1.5 * 0x1p30};
  EXPECT_NE(in_words(ways_to_fit(scenario, ddp)).find("they still lack "), std::string::npos);
}

TEST(RecomputeGain, OfSelectiveUnderFusedAttentionIsNothingAndSaid) {
  const auto warns = [](const Scenario& scenario) {
    const RunResult result = advised(scenario, scenario.schedules[0], kReference);
    return std::any_of(result.warnings.begin(), result.warnings.end(),
                       [](const Warning& warning) { return warning.code == "recompute_saves_nothing"; });
  };
  Scenario scenario = scenario_with(80);
  EXPECT_FALSE(warns(scenario));
  scenario.training.activation_recompute = Recompute::kSelective;
  EXPECT_TRUE(warns(scenario));
  scenario.cluster.nodes[0].attention = Attention::kNaive;
  EXPECT_FALSE(warns(scenario));
  scenario.cluster.nodes[0].attention = Attention::kFlash;
  scenario.training.activation_recompute = Recompute::kFull;
  EXPECT_FALSE(warns(scenario));
}

TEST(Warnings, ParametersInFp32ThatTakeTheProductsWithThemAreTold) {
  Scenario scenario = scenario_with(80);
  ScheduleSpec ddp = sample_schedule("ddp");
  const auto told = [&] {
    const RunResult result = advised(scenario, ddp, kReference);
    return std::any_of(result.warnings.begin(), result.warnings.end(),
                       [](const Warning& warning) { return warning.code == "computes_in_fp32"; });
  };
  EXPECT_FALSE(told());
  ddp.parameter_dtype = ddp.gradient_dtype = Dtype::kFp32;
  EXPECT_TRUE(told());
  scenario.training.autocast = Autocast::kBf16;
  EXPECT_FALSE(told());
  scenario.training.autocast = Autocast::kNone;
  scenario.training.precision = Dtype::kFp32;
  EXPECT_FALSE(told());
}

}  // namespace
}  // namespace accosim
