// Is each way to make a schedule fit one that was tried, with what it brings?
#include "sim/what_if/ways_to_fit.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/spec/frameworks.hpp"
#include "models/spec/scenario_error.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/result/run.hpp"
#include "sim/study/tuned.hpp"
#include "sim/what_if/changes.hpp"
#include "sim/what_if/what_if.hpp"
#include "tests/support/advised.hpp"
#include "tests/support/results.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sample_file.hpp"

namespace accosim {
namespace {

constexpr NetworkKind kReference = NetworkKind::kReference;

using Texts = std::vector<std::string>;

std::string memory_of(Bytes bytes, const char* group = "0") {
  return fmt::format("/cluster/nodes/{}/device/memory={:.0f} B", group, bytes.value);
}

/// GPT of 36 blocks of 1280 on one node of 8, 8 sequences of 512 a micro-batch; every GPU has `gib`.
LoadedScenario scenario_with(double gib, const Texts& sets = {}, int groups = 1) {
  const Texts all{"/model/n_layer=36", "/model/n_embd=1280", "/model/n_head=20", "/training/micro_batch_size=8",
                  memory_of(Bytes{gib * 0x1p30}, "*")};
  return load_sample(joined(all, sets), groups);
}
/// With one schedule, by its name and other keys.
LoadedScenario scenario_of(const std::string& schedule, double gib, const Texts& sets = {}) {
  return scenario_with(gib, joined({R"(/schedules=[{"name": )" + schedule + "}]"}, sets));
}

/// Of the schedule of that name.
WaysToFit ways_of(const LoadedScenario& loaded, const std::string& schedule) {
  const ScheduleSpec* const spec = schedule_labelled(loaded.scenario, schedule);
  return ways_to_fit(WhatIf(loaded, kReference), static_cast<std::size_t>(spec - loaded.scenario.schedules.data()));
}

double resident(const Scenario& scenario, const ScheduleSpec& spec) {
  return run_schedule(scenario, spec, kReference).memory_resident.value;
}

const WayToFit* find(const WaysToFit& ways, const std::string& change) {
  const auto way = std::ranges::find_if(ways.alone, [&](const WayToFit& each) { return each.change == change; });
  return way == ways.alone.end() ? nullptr : &*way;
}

TEST(WhatIf, IsWhatLoadsWithTheSettings) {
  for (const char* const name : {"mixed_a100_v100", "two_sites_2x16_a100", "llama-2-7b_fsdp_hsdp"}) {
    const LoadedScenario loaded = load_scenario(name, {"/published={}"});
    const WhatIf what_if(loaded, kReference);
    for (const Texts& sets :
         {Texts{},
          {"/cluster/nodes/0/micro_batch_size=3", "/schedules/0/parameter_dtype=fp32"},
          {"/training/gradient_accumulation_steps=12", "/schedules/*/label=null"},
          {"/cluster/nodes/*/device=V100-SXM2-32GB", "/training/precision=fp16", "/training/attention=naive"},
          {"/model=gpt2", "/training/activation_recompute=full", "/training/recompute_every=2"},
          {"/schedules/1={\"name\": \"zero2\", \"label\": \"another\"}"}}) {
      std::optional<Scenario> whole;
      try {
        whole = load_scenario(name, joined({"/published={}"}, sets)).scenario;
      } catch (const ScenarioError&) {
      }
      for (std::size_t i = 0; i < loaded.scenario.schedules.size(); ++i) {
        const std::optional<Trial> trial = what_if.with(i, sets);
        if (!whole) continue;  // another schedule may refuse what this one takes
        ASSERT_TRUE(trial) << name << " " << fmt::format("{}", fmt::join(sets, " "));
        EXPECT_EQ(trial->scenario.model, whole->model);
        EXPECT_EQ(trial->scenario.cluster, whole->cluster);
        EXPECT_EQ(trial->scenario.training, whole->training);
        EXPECT_EQ(trial->spec(), whole->schedules[i]);
      }
    }
    EXPECT_FALSE(what_if.with(0, {"/training/micro_batch_size=0"}));
    EXPECT_FALSE(what_if.with(0, {"/schedules/0/colour=red"}));
    EXPECT_FALSE(what_if.with(0, {"/model=nowhere.json"}));
  }
}

TEST(WhatIf, TheBestSynchronousScheduleIsWhatWritesItDown) {
  // Of another framework's form, and one of the scenario's own with its work divided.
  int others = 0, own = 0;
  for (const auto& [name, sets] :
       {std::pair<std::string, Texts>{"pretrain_4x8_a100", {}},
        {"two_sites_2x16_a100", {}},
        {"mixed_a100_v100", {}},
        {"mixed_16_a100_16_v100", {}},
        {"pretrain_4x8_a100",
         {"/training/framework=deepspeed", "/published={}", "/schedules=[{\"name\": \"acco\"}]", "/baseline=acco"}}}) {
    LoadedScenario loaded = load_scenario(name, sets);
    std::vector<int> chosen;
    for (std::size_t i = 0; i < loaded.scenario.schedules.size(); ++i) chosen.push_back(static_cast<int>(i));
    const Tuned tuned = add_tuned(loaded.scenario, chosen, kReference);
    ASSERT_TRUE(tuned.synchronous) << name;
    const AddedSchedule& added = *tuned.synchronous;
    (added.own() ? own : others) += 1;
    const WhatIf what_if(loaded, kReference, tuned);
    const std::optional<Trial> trial = what_if.with(added.index, {});
    ASSERT_TRUE(trial) << name;
    EXPECT_EQ(trial->spec(), loaded.scenario.schedules[added.index]) << name << " " << added.name();
    EXPECT_TRUE(what_if.with(added.index, {fmt::format("/schedules/{}/parameter_dtype=fp32", added.index)})) << name;
  }
  EXPECT_GE(others, 1);
  EXPECT_GE(own, 1);
}

TEST(WaysToFit, SaveWhatTheyWereTriedToSave) {
  // Each against the resident memory of the scenario in which only that is changed.
  const LoadedScenario loaded = scenario_with(
      8, {"/training/attention=naive",
          "/model/activation_function=gelu_new"});  // eight kernels in eager code, which keep what they made
  const Scenario& scenario = loaded.scenario;
  const ScheduleSpec& ddp = *schedule_labelled(scenario, "ddp");
  const WaysToFit ways = ways_of(loaded, "ddp");
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
  changed = scenario;
  changed.training.implementation = Implementation::kCompiled;
  expect("implementation compiled", changed, ddp);
  EXPECT_EQ(find(ways, "implementation fused"), nullptr) << "which is Megatron-LM's code";
  for (const Recompute recompute :
       {Recompute::kSelective, Recompute::kSelectiveOp, Recompute::kFullEarlyStop, Recompute::kFull}) {
    changed = scenario;
    changed.training.activation_recompute = recompute;
    expect(std::string("activation_recompute ") + name_of(recompute), changed, ddp);
  }
  const ScheduleSpec zero3 = sample_schedule({.name = "zero3", .sync = Sync::kEveryMicroBatch});
  expect("schedule zero3", scenario, zero3);
  ScheduleSpec sharded = ddp;
  sharded.optimizer_sharding = OptimizerSharding::kZeroRedundancy;
  expect("optimizer_sharding zero_redundancy", scenario, sharded);
  EXPECT_TRUE(find(ways, "schedule zero1") && find(ways, "schedule zero2"));
}

TEST(WaysToFit, LeaveOutWhatIsSetOrSavesNothing) {
  WaysToFit ways = ways_of(scenario_with(8), "zero1");
  EXPECT_FALSE(find(ways, "attention flash"));
  EXPECT_FALSE(find(ways, "activation_recompute selective")) << "there are no scores to recompute";
  EXPECT_FALSE(find(ways, "schedule zero1"));
  EXPECT_TRUE(find(ways, "activation_recompute full"));
  ways =
      ways_of(scenario_with(8, {"/training/activation_recompute=full", "/training/implementation=compiled"}), "zero1");
  EXPECT_FALSE(find(ways, "activation_recompute full"));
  EXPECT_FALSE(find(ways, "implementation compiled"));
}

TEST(WaysToFit, LeaveOutWhatTheScenarioCannotHave) {
  // Of four blocks there is no eighth: the reader refuses recompute_every 8, so nobody is told to set it.
  const LoadedScenario loaded = scenario_with(1, {"/model/n_layer=4"});
  for (const WayToFit& way : ways_of(loaded, "ddp").alone)
    EXPECT_EQ(way.change.find("recompute_every 8"), std::string::npos) << way.change;
  EXPECT_FALSE(
      WhatIf(loaded, kReference).with(0, {"/training/activation_recompute=full", "/training/recompute_every=8"}));
}

TEST(WaysToFit, WhatAScheduleKeepsMayBeGivenUp) {
  // Each key as it costs memory, beside the same schedule with it as it saves some. Two nodes, so that a node is not
  // the world.
  Texts sets{"/cluster/nodes/0/count=2"};
  const auto expect = [&](const std::string& change, const std::string& key) {
    const LoadedScenario saving = scenario_of(R"("zero3", "sync": "every_micro_batch")", 2, sets);
    const Texts costly = joined(sets, {"/schedules/0/" + key});
    const WaysToFit ways = ways_of(scenario_of(R"("zero3", "sync": "every_micro_batch")", 2, costly), "zero3");
    const WayToFit* const way = find(ways, change);
    ASSERT_TRUE(way) << change;
    EXPECT_NEAR(way->memory.value, resident(saving.scenario, saving.scenario.schedules[0]), 1) << change;
    EXPECT_FALSE(find(ways_of(saving, "zero3"), change)) << change;
  };
  expect("shard_group world", "shard_group=node");
  expect("reshard_after_forward true", "reshard_after_forward=false");
  expect("sync every_micro_batch", "sync=last_micro_batch");
  // Units that stay after the backward pass are most where the activations are gone, so of few activations.
  sets.emplace_back("/training/micro_batch_size=1");
  expect("reshard_after_backward true", "reshard_after_backward=false");
}

TEST(WaysToFit, ShardsOfTheOptimizerInNodesMayBeSpreadOverAllRanks) {
  const auto keys = [](const char* more) {
    return scenario_of(R"("zero1")" + std::string(more), 2, {"/cluster/nodes/0/count=2"});
  };
  const LoadedScenario all = keys("");
  const WaysToFit ways = ways_of(keys(R"(, "shard_group": "node")"), "zero1");
  const WayToFit* const way = find(ways, "shard_group world");
  ASSERT_TRUE(way);
  EXPECT_NEAR(way->memory.value, resident(all.scenario, all.scenario.schedules[0]), 1);
  EXPECT_FALSE(find(ways_of(all, "zero1"), "shard_group world"));
}

TEST(WaysToFit, APartialShardMayBeGivenUpButNotTheHybridShardingThatItBelongsTo) {
  // Of 2 GPUs a node half of the parameters is a shard, kept in 2 bytes. shard_group world beside a written all_reduce
  // would be refused.
  const std::string hybrid = R"("zero3", "sync": "every_micro_batch", "shard_group": "node")";
  const Texts two{"/cluster/nodes/0/count=2"};
  const LoadedScenario late = scenario_of(hybrid + R"(, "all_reduce": "last_micro_batch")", 2, two);
  const WaysToFit ways = ways_of(late, "zero3");
  const WayToFit* const way = find(ways, "all_reduce every_micro_batch");
  ASSERT_TRUE(way);
  const double P = static_cast<double>(parameter_count(late.scenario.model));
  const double gpus = late.scenario.cluster.nodes[0].gpus;
  EXPECT_NEAR(way->saves.value, 2 * std::ceil(P / gpus), 1);
  EXPECT_FALSE(find(ways, "shard_group world"));
  const WaysToFit early = ways_of(scenario_of(hybrid, 2, two), "zero3");
  EXPECT_TRUE(find(early, "shard_group world"));
  EXPECT_FALSE(find(early, "all_reduce every_micro_batch"));
}

TEST(WaysToFit, SavingsAreThoseOfTheGpuThatHadLeastRoom) {
  // Most of what a GPU with micro-batches of 1 holds are states, of one with 8 activations. DDP's states are a sixth
  // too much for the former; once they are sharded the latter has least room.
  const auto two_groups = [](Bytes large, Bytes small) {
    return scenario_with(80,
                         {"/cluster/nodes/1/micro_batch_size=1", "/cluster/nodes/1/device/name=small",
                          memory_of(large, "0"), memory_of(small, "1")},
                         2);
  };
  const auto kinds_of = [](const Scenario& scenario) {
    return run_schedule(scenario, *schedule_labelled(scenario, "ddp"), kReference).memory_by_kind;
  };
  const std::vector<KindMemory> kinds = kinds_of(two_groups(Bytes{80e9}, Bytes{80e9}).scenario);
  const Bytes large{std::floor(1.05 * kinds[0].parts.total().value)},
      small{std::floor(kinds[1].parts.total().value / 1.2)};
  const LoadedScenario loaded = two_groups(large, small);
  const Scenario& scenario = loaded.scenario;
  const ScheduleSpec& ddp = *schedule_labelled(scenario, "ddp");
  const WaysToFit ways = ways_of(loaded, "ddp");
  const WayToFit* const way = find(ways, "schedule zero3");
  ASSERT_TRUE(way);
  const ScheduleSpec zero3 = sample_schedule({.name = "zero3", .sync = Sync::kEveryMicroBatch});
  const RunResult before = run_schedule(scenario, ddp, kReference), then = run_schedule(scenario, zero3, kReference);
  ASSERT_EQ(before.memory_capacity.value, small.value);
  ASSERT_EQ(then.memory_capacity.value, large.value) << "else there is nothing to tell apart";
  EXPECT_NEAR(way->saves.value, (before.memory_resident - then.memory_by_kind[1].parts.total()).value, 1);
  EXPECT_NEAR(way->memory.value, then.memory_resident.value, 1);
}

TEST(WaysToFit, NoMoreBlocksAreRecomputedThanItTakes) {
  // Between what all of 36 blocks keep and what none keeps: so much room that every fourth recomputed is enough.
  const LoadedScenario some =
      scenario_with(80, {"/training/activation_recompute=full_early_stop", "/training/recompute_every=4"});
  const Bytes most = run_schedule(some.scenario, some.scenario.schedules[0], kReference).memory_resident_high;
  const WaysToFit ways = ways_of(scenario_with(80, {memory_of(1.001 * most)}), "zero1");
  const WayToFit* const way = find(ways, "activation_recompute full_early_stop with recompute_every 4");
  ASSERT_TRUE(way);
  EXPECT_TRUE(way->fits());
  EXPECT_LT(way->time_ratio, find(ways, "activation_recompute full_early_stop")->time_ratio);
  EXPECT_EQ(way->set, (std::vector<std::string>{"/training/activation_recompute=full_early_stop",
                                                "/training/recompute_every=4"}));
  EXPECT_FALSE(find(ways, "activation_recompute full_early_stop with recompute_every 8"));
}

TEST(WaysToFit, OfASplitModelWhatIsNamedFirstIsPlayed) {
  // 36 blocks on two stages, with a tenth less memory than they take. By its passes alone a way takes some time; the
  // ratio that is named is that of two plays.
  const Texts split{"/training/parallel={\"pipeline_parallel_size\": 2}", "/training/gradient_accumulation_steps=4"};
  const LoadedScenario roomy = scenario_of("\"zero1\"", 80, split);
  const Bytes most = run_schedule(roomy.scenario, roomy.scenario.schedules[0], kReference).memory_resident_high;
  const LoadedScenario loaded = scenario_of("\"zero1\"", 80, joined(split, {memory_of(0.9 * most, "*")}));
  const WaysToFit ways = ways_of(loaded, "zero1");
  ASSERT_FALSE(ways.alone.empty());
  const WayToFit& first = ways.alone.front();
  ASSERT_TRUE(first.fits());
  EXPECT_FALSE(first.estimated);
  const Scenario with = WhatIf(loaded, kReference).with(0, first.set)->scenario;
  const auto seconds_a_sample = [](const Scenario& scenario) {
    const RunResult result = run_schedule(scenario, scenario.schedules[0], kReference);
    return result.update_time.value / result.samples_per_update;
  };
  EXPECT_NEAR(first.time_ratio, seconds_a_sample(with) / seconds_a_sample(loaded.scenario), 1e-9) << first.change;
  EXPECT_TRUE(std::any_of(ways.alone.begin() + 1, ways.alone.end(), [](const WayToFit& way) { return way.estimated; }));
}

TEST(WaysToFit, ByTheFirstBlocksOfAChunkUnderMegatron) {
  // It has no count of every so many-th block: of 36 blocks on 2 stages an eighth are the first 3 of each.
  const RecomputedBlocks eighth = some_blocks(
      scenario_with(80, {"/training/framework=megatron", "/training/parallel={\"pipeline_parallel_size\": 2}"})
          .scenario.training,
      36, 8);
  EXPECT_EQ(eighth, (RecomputedBlocks{1, 1, 3}));
  Training whole{.framework = Framework::kMegatron};
  EXPECT_EQ(some_blocks(whole, 4, 8), (RecomputedBlocks{1, 1, 1}));
  EXPECT_EQ(some_blocks(whole, 1, 2), RecomputedBlocks{});
  whole.framework = Framework::kPytorch;
  EXPECT_EQ(some_blocks(whole, 36, 8), (RecomputedBlocks{8, 1}));
}

TEST(WaysToFit, TheLargestMicroBatchIsFoundByHalving) {
  // Of 12 sequences, room for 7: not a divisor of 12, so the way that keeps the batch takes 6.
  const LoadedScenario seven = scenario_with(80, {"/training/micro_batch_size=7"});
  const Bytes most = run_schedule(seven.scenario, seven.scenario.schedules[0], kReference).memory_resident_high;
  const Texts twelve{"/training/micro_batch_size=12", memory_of(1.001 * most)};
  const WaysToFit ways = ways_of(scenario_with(80, twelve), "zero1");
  EXPECT_EQ(ways.largest_micro_batch, 7);
  EXPECT_TRUE(find(ways, "micro_batch_size 6 with gradient_accumulation_steps 8"));
  EXPECT_EQ(in_words(ways).find("the largest micro_batch_size that fits is 7; any of these makes it fit: "), 0U)
      << in_words(ways);
  const Bytes less{1.1e9};  // than the parameters
  EXPECT_EQ(ways_of(scenario_with(80, {twelve[0], memory_of(less)}), "zero1").largest_micro_batch, 0);
}

TEST(WaysToFit, FullRecomputationRepeatsTheForward) {
  // No communication to speak of: an update of A micro-batches is A (f + b), f forward and b backward, and with full
  // recomputation A (2 f + b), f being about a third of f + b: 4/3. Head, embedding and optimizer, a tenth here, are
  // not repeated.
  const WaysToFit ways = ways_of(scenario_with(8), "zero1");
  const WayToFit* const full = find(ways, "activation_recompute full");
  ASSERT_TRUE(full);
  EXPECT_GT(full->time_ratio, 1.2);
  EXPECT_LT(full->time_ratio, 1.36);
}

TEST(WaysToFit, AMicroBatchIsDividedUntilItFitsAndTheBatchStays) {
  const LoadedScenario two =
      scenario_with(80, {"/training/micro_batch_size=2", "/training/gradient_accumulation_steps=16"});
  const Bytes needed = run_schedule(two.scenario, two.scenario.schedules[0], kReference).memory_resident_high;
  const WaysToFit ways = ways_of(scenario_with(80, {memory_of(1.001 * needed)}), "zero1");
  const WayToFit* const way = find(ways, "micro_batch_size 2 with gradient_accumulation_steps 16");  // 8 x 4 samples
  ASSERT_TRUE(way);
  EXPECT_TRUE(way->fits());
  EXPECT_TRUE(ways.alone.front().fits());
  EXPECT_TRUE(ways.together.empty()) << "one is enough";
}

TEST(WaysToFit, AnOddMicroBatchIsDividedByWhatDividesIt) {
  const LoadedScenario loaded = scenario_with(1, {"/training/micro_batch_size=9"});  // fits nothing
  EXPECT_TRUE(find(ways_of(loaded, "zero1"),
                   "micro_batch_size 1 with gradient_accumulation_steps 36"));  // 9 x 4 samples
}

TEST(WaysToFit, SeveralAreTriedTogetherWhereNoneIsEnough) {
  // States of 16 B a parameter on every rank do not fit into 8 GiB whatever the activations, eighths of the optimizer's
  // do, but not with the activations of 8 sequences.
  const WaysToFit ways = ways_of(scenario_with(8), "ddp");
  ASSERT_FALSE(ways.alone.empty());
  EXPECT_FALSE(ways.alone.front().fits());
  ASSERT_GT(ways.together.size(), 1u);
  EXPECT_EQ(ways.together.back().change, "optimizer_sharding zero_redundancy");
  EXPECT_TRUE(ways.together.back().fits());
  EXPECT_NE(in_words(ways).find("together these do: "), std::string::npos) << in_words(ways);
  // In 4 GiB only zero3's eighths of everything do.
  const WaysToFit more = ways_of(scenario_with(4), "ddp");
  EXPECT_EQ(more.together.back().change, "schedule zero3");
  EXPECT_TRUE(more.together.back().fits());
  EXPECT_NE(in_words(ways_of(scenario_with(1.5), "ddp")).find("they still lack "), std::string::npos);
}

TEST(RecomputeGain, OfSelectiveUnderFusedAttentionIsNothingAndSaid) {
  const auto told = [](const Texts& sets) {
    return warns(advised(scenario_with(80, sets), 0, kReference), "recompute_saves_nothing");
  };
  EXPECT_FALSE(told({}));
  EXPECT_TRUE(told({"/training/activation_recompute=selective"}));
  EXPECT_FALSE(told({"/training/activation_recompute=selective", "/training/attention=naive"}));
  EXPECT_FALSE(told({"/training/activation_recompute=full"}));
  EXPECT_FALSE(told({"/training/activation_recompute=full", "/training/recompute_every=2"}));
}

TEST(Warnings, ParametersInFp32ThatTakeTheProductsWithThemAreTold) {
  const auto told = [](const Texts& sets) {
    return warns(advised(scenario_of(R"("ddp")", 80, sets), 0, kReference), "computes_in_fp32");
  };
  const std::string stored = "/schedules/0/parameter_dtype=fp32";
  EXPECT_FALSE(told({}));
  EXPECT_TRUE(told({stored}));
  EXPECT_FALSE(told({stored, "/training/autocast=bf16"}));
  EXPECT_FALSE(told({stored, "/training/precision=fp32"}));
}

}  // namespace
}  // namespace accosim
