// Both sides of a comparison, tuned: is each the fastest that whoever enumerates finds, never slower than what is
// listed, and what its entry says?
#include "sim/study/tuned.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "build_info/project.hpp"
#include "models/read/load.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/resident.hpp"
#include "sim/result/run.hpp"
#include "sim/what_if/changes.hpp"
#include "sim/what_if/ladder.hpp"
#include "tests/support/results.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/thrown.hpp"

namespace accosim {
namespace {

std::vector<int> all_of(const Scenario& scenario) { return chosen_schedules(scenario, {}); }

/// Of the scenario with its best synchronous schedule, all that stand in it.
struct Compared : std::vector<RunResult> {
  Tuned tuned;
};
Compared compared(Scenario& scenario, NetworkKind network = NetworkKind::kReference, const WinnerRule& rule = {}) {
  std::vector<int> chosen = all_of(scenario);
  const Evaluations evaluations(network);
  const Tuned tuned = add_tuned(scenario, chosen, evaluations, false, rule);
  return {compare(scenario, chosen, evaluations, tuned), tuned};
}

/// The entry of "schedules" that a form is, by itself.
std::string entry_of(const ScheduleTraits& traits, const TunedForm& form) {
  JsonValue entry = json_object({{"label", "x"}, {"name", traits.name}});
  for (const JsonMember& key : form.keys) entry.members.push_back(key);
  return dump_json(entry);
}

TEST(Tuned, IsOfAtMostTenFormsOfAFramework) {
  std::set<std::string> names;
  std::map<std::string, int> forms;
  for (const auto* const rows : {&schedules(), &schedules_of_frameworks()})
    for (const ScheduleTraits& traits : *rows)
      for (const TunedForm& form : traits.tuned) {
        ++forms[name_of(form.framework)];
        names.insert(std::string(name_of(form.framework)) + ": " + traits.name + ", " + form.form);
        EXPECT_FALSE(traits.delayed || traits.local) << traits.name;
        // Each is what a scenario of its framework may hold.
        const std::string entry = entry_of(traits, form);
        const std::string framework = name_of(form.framework);
        EXPECT_NO_THROW(load_scenario("pretrain_4x8_a100", {"/training/framework=" + framework, "/published={}",
                                                            "/schedules=[" + entry + "]", "/baseline=x"}))
            << entry;
      }
  std::size_t all = 0;
  for (const auto& [framework, of_it] : forms) {
    EXPECT_LE(of_it, 10) << framework;
    all += of_it;
  }
  EXPECT_EQ(names.size(), all);
}

TEST(Tuned, InterleavedChunksKeepTheirGroupsOfMicroBatches) {
  // Neither an estimate of fewer micro-batches nor samples cut in another way may ask for 2 of them on 4 stages.
  Scenario scenario = sample_scenario(4, 1);
  scenario.model = sample_model(16);
  Training& training = scenario.training;
  training.gradient_accumulation_steps = 12;
  training.parallel.pipeline = 4;
  training.parallel.chunks = 2;
  training.parallel.blocks = equal_blocks(16, 8);
  training.parallel.schedule = PipelineSchedule::kInterleaved;
  scenario.schedules = {sample_schedule("ddp"), sample_schedule("dpu")};
  scenario.baseline = "ddp";
  const std::vector<RunResult> results = compared(scenario);
  ASSERT_GE(results.size(), 3U);
  EXPECT_GE(results.back().tokens_per_second, results.front().tokens_per_second);
}

TEST(Tuned, InterleavesStagesAsIsBest) {
  // With 8 micro-batches on 4 stages 1F1B is idle for 3 of 11 pairs of passes; 4 chunks leave 3/4 of 8.75. PyTorch
  // takes chunks that the blocks do not divide, too. What is listed is tuned like what is not, be it delayed or
  // synchronous.
  for (const Framework framework : {Framework::kMegatron, Framework::kPytorch}) {
    Scenario scenario = sample_scenario(1, 4);
    scenario.model = sample_model(16, 2048);
    scenario.training.framework = framework;
    scenario.training.gradient_accumulation_steps = 8;
    scenario.training.parallel.pipeline = 4;
    scenario.training.parallel.blocks = equal_blocks(16, 4);
    scenario.schedules = {sample_schedule("zero1"), sample_schedule("dpu")};
    ScheduleSpec& listed = scenario.schedules.front();
    listed.overlap = Overlap::kBackward;
    listed.overlap_param_gather = framework == Framework::kMegatron;
    const Compared results = compared(scenario);
    ASSERT_EQ(results.size(), 4U);
    const Evaluations evaluations(NetworkKind::kReference);
    const auto interleaved = [&](std::size_t schedule, int chunks) {
      ScheduleSpec spec = scenario.schedules[schedule];
      spec.chunks = chunks;
      return evaluations.play(scenario, spec)->measured.update_time.value;
    };
    EXPECT_LT(interleaved(0, 4), 0.9 * interleaved(0, 1));
    for (const int chunks : framework == Framework::kPytorch ? std::vector{1, 2, 3, 4} : std::vector{1, 2, 4}) {
      EXPECT_LE(results[3].update_time.value, interleaved(0, chunks) * (1 + 1e-9)) << chunks;
      EXPECT_LE(results[2].update_time.value, interleaved(1, chunks) * (1 + 1e-9)) << chunks;
    }
    EXPECT_GT(results.tuned.synchronous->virtual_stages, 1) << results[3].label;
    EXPECT_GT(results.tuned.delayed->virtual_stages, 1) << results[2].label;
  }
}

TEST(Tuned, UnderDeepspeedParametersAreShardedInNodesToo) {
  // As MiCS has it: between nodes go the gradients alone, once a step.
  const auto with = [](const std::string& schedule) {
    return load_scenario("slow_network_4x8_a100", {"/training/framework=deepspeed", "/baseline=zero1", "/published={}",
                                                   "/schedules=[{\"name\": \"zero1\"}, " + schedule + "]"})
        .scenario;
  };
  Scenario scenario = with(R"({"name": "acco"})");
  const Scenario by_hand = with(R"({"name": "zero3", "shard_group": "node", "all_reduce": "last_micro_batch"})");
  const double sharded = run_schedule(by_hand, by_hand.schedules[1], NetworkKind::kReference).update_time.value;
  const std::vector<RunResult> results = compared(scenario);
  EXPECT_LT(sharded, 0.8 * results.front().update_time.value);
  EXPECT_LE(results.back().update_time.value, sharded * (1 + 1e-9));
}

TEST(Tuned, StandsBesideAll) {
  const Evaluations evaluations(NetworkKind::kReference);
  Scenario scenario = sample_scenario(2, 4);
  scenario.schedules = {sample_schedule("ddp"), sample_schedule("zero1"), sample_schedule("local_sgd")};
  scenario.baseline = "ddp";
  std::vector<int> synchronous{0, 1};
  Scenario alone = scenario;
  Tuned tuned = add_tuned(alone, synchronous, evaluations);
  EXPECT_EQ(synchronous, (std::vector<int>{0, 1, 3}));
  EXPECT_TRUE(tuned.synchronous);
  EXPECT_FALSE(tuned.delayed);
  std::vector<int> local{2};
  tuned = add_tuned(scenario, local, evaluations);
  ASSERT_TRUE(tuned.synchronous);
  ASSERT_TRUE(tuned.delayed);
  EXPECT_EQ(local.back(), static_cast<int>(tuned.synchronous->index));
  EXPECT_EQ(tuned.synchronous->label, scenario.schedules.back().label);
}

TEST(Tuned, IsNeverSlowerThanASynchronousScheduleThatIsListed) {
  Random random(26);
  for (int i = 0; i < cases(90, 18); ++i) {
    Scenario scenario = random_homogeneous(random);
    for (const char* const name : {"zero2", "zero3"})
      if (random.integer(0, 1) == 1) scenario.schedules.push_back(sample_schedule(name));
    if (i % 3 == 1) {  // unlike GPUs, under those that do not wait for each other in every micro-batch
      std::erase_if(scenario.schedules, [](const ScheduleSpec& spec) { return meets_every_micro_batch(spec); });
      scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
      for (Device& device : scenario.cluster.nodes[1].devices) device.slowdown = random.uniform(1, 3);
    }
    const Compared results = compared(scenario);
    ASSERT_TRUE(results.tuned.synchronous) << i;
    const RunResult& best = results.back();
    EXPECT_EQ(best.over_best_synchronous, best.fits() ? std::optional(1.0) : std::nullopt) << i;
    for (const RunResult& each : results) {
      const ScheduleSpec& spec = *schedule_labelled(scenario, each.label);
      if (!is_synchronous(spec) || each.fit.probability < 0.9) continue;
      EXPECT_GE(best.fit.probability, 0.9) << i << " " << each.label;
      EXPECT_GE(best.tokens_per_second, each.tokens_per_second) << i << " " << each.label;
    }
  }
}

// 46.7e9 parameters x 16 bytes over 8 GPUs are 87 GiB, and twice that where a node of four has all shards: neither fits
// in 80 GB, and the first is the nearer.
TEST(Tuned, WhereNothingFitsItIsTheOneThatNeedsLeast) {
  Scenario scenario = load_scenario("finetune_2x4_a100", {"/model=mixtral-8x7b-v0.1"}).scenario;
  std::vector<int> chosen{0};
  const Evaluations evaluations(NetworkKind::kReference);
  ASSERT_TRUE(add_tuned(scenario, chosen, evaluations).synchronous);
  const ScheduleSpec& best = scenario.schedules.back();
  const int steps = scenario.training.gradient_accumulation_steps;
  EXPECT_LT(memory_by_kind(price(scenario, best), best, steps)[0].parts.total().value, 140 * 1073741824.0);
}

TEST(Tuned, IsWhatItsEntrySays) {
  for (const char* const name : {"finetune_2x4_a100", "pretrain_4x8_a100", "straggler_4x8_a100"}) {
    Scenario scenario = load_scenario(name, {}).scenario;
    const Compared results = compared(scenario, NetworkKind::kSimgrid);
    const AddedSchedule& added = *results.tuned.synchronous;
    ASSERT_FALSE(added.own()) << name;
    const RunResult& best = results.back();
    const RunResult& acco = result_labelled(results, "acco");
    // Written into the scenario as its baseline, it plays the same, and what ACCO is over it is its speedup.
    const std::string entries = "/schedules=[" + dump_json(added.entry) + R"(,{"name":"acco"}])";
    const Scenario written =
        load_scenario(name, joined(added.set, {"/published={}", entries, "/baseline=" + added.name()})).scenario;
    const std::vector<RunResult> two = compare(written, {0, 1}, NetworkKind::kSimgrid);
    EXPECT_EQ(two[0].update_time.value, best.update_time.value) << name;
    EXPECT_EQ(two[1].speedup_same_batch, acco.over_best_synchronous) << name;
    EXPECT_LT(*acco.over_best_synchronous, *acco.speedup_same_batch) << name;
  }
}

TEST(Tuned, OfAnotherFrameworkKeepsTheHostsPace) {
  // PyTorch's merged code, bound by a host that launches once in 1 ms: Megatron-LM's schedules would be 6.25 times as
  // slow if they brought its own.
  const std::vector<std::string> own{"/training/implementation=fused", "/cluster/nodes/*/device/launch_interval=1 ms",
                                     "/cluster/nodes/*/nics/bandwidth=10 Gbit/s"};
  Scenario scenario = load_scenario("pretrain_4x8_a100", own).scenario;
  const Compared results = compared(scenario);
  ASSERT_TRUE(results.tuned.elsewhere);
  EXPECT_EQ(results.tuned.elsewhere->framework, "Megatron-LM");
  const AddedSchedule& added = results.tuned.elsewhere->added;
  const std::vector<std::string> entry{"/published={}", "/schedules=[" + dump_json(added.entry) + "]",
                                       "/baseline=" + added.name()};
  const Scenario written = load_scenario("pretrain_4x8_a100", joined(joined(own, added.set), entry)).scenario;
  EXPECT_EQ(written.training.framework, Framework::kMegatron);
  EXPECT_NEAR(results.back().update_time / compare(written, {0}, NetworkKind::kReference)[0].update_time,
              results.tuned.elsewhere->times, 1e-9);
}

TEST(Tuned, IsARungOfTheLadder) {
  for (const char* const name : {"finetune_2x4_a100", "pretrain_4x8_a100"}) {
    Scenario scenario = load_scenario(name, {}).scenario;
    const Compared results = compared(scenario);
    const ScheduleSpec& acco = *schedule_labelled(scenario, "acco");
    const Ladder walked = ladder(scenario, baseline_of(scenario), acco, NetworkKind::kReference, results.tuned);
    const std::size_t rungs = walked.rungs.size();
    ASSERT_GE(rungs, 3U);
    EXPECT_EQ(walked.rungs[rungs - 2].change, results.back().label);
    EXPECT_NEAR(*walked.rungs.back().times_same_batch / *result_labelled(results, "acco").over_best_synchronous, 1,
                1e-9)
        << name;
  }
}

TEST(Tuned, ChangesNoFigureOfTheOthers) {
  Scenario scenario = load_scenario("mixed_a100_v100", {}).scenario;
  const std::vector<RunResult> without = compare(scenario, all_of(scenario), NetworkKind::kReference);
  const std::vector<RunResult> with = compared(scenario);
  ASSERT_EQ(with.size(), without.size() + 1);  // unlike GPUs keep their micro-batches
  for (std::size_t i = 0; i < without.size(); ++i) {
    EXPECT_EQ(with[i].update_time.value, without[i].update_time.value) << without[i].label;
    EXPECT_EQ(with[i].speedup_same_batch, without[i].speedup_same_batch) << without[i].label;
    EXPECT_FALSE(without[i].over_best_synchronous);
  }
}

/// What somebody finds who writes every form and every micro-batch into the file: the least seconds a sample of those
/// that fit; 0 where none does. `entries`: of "schedules".
double enumerated(const std::string& name, const std::vector<std::string>& sets,
                  const std::vector<std::string>& entries) {
  const Training training = load_scenario(name, sets).scenario.training;
  const int all = training.micro_batch_size * training.gradient_accumulation_steps;
  double least = 0;
  for (int size = 1; size <= all; ++size)
    for (const std::string& entry : entries) {
      if (all % size != 0) continue;
      const std::vector<std::string> own =
          joined(sets, {"/published={}", "/schedules=[" + entry + "]", "/baseline=x",
                        "/training/micro_batch_size=" + std::to_string(size),
                        "/training/gradient_accumulation_steps=" + std::to_string(all / size)});
      Scenario written;
      try {
        written = load_scenario(name, own).scenario;
      } catch (const ScenarioError&) {
        continue;  // ACCO does an even number of micro-batches
      }
      const RunResult result = compare(written, {0}, NetworkKind::kSimgrid)[0];
      if (!result.fits() || result.batch_inflation > 1.2) continue;
      const double time = result.update_time.value / result.samples_per_update;
      if (least == 0 || time < least) least = time;
    }
  return least;
}

TEST(Tuned, IsWhatAnEnumerationFinds) {
  std::vector<std::string> forms;
  for (const auto* const rows : {&schedules(), &schedules_of_frameworks()})
    for (const ScheduleTraits& traits : *rows)
      for (const TunedForm& form : traits.tuned)
        if (form.framework == Framework::kPytorch) forms.push_back(entry_of(traits, form));
  struct Case {
    const char* name;
    std::vector<std::string> sets;
  };
  const std::vector<Case> all = {
      {"overlap_2x4_a100", {}},
      {"finetune_2x4_a100", {"/cluster/nodes/*/nics/bandwidth=100 Gbit/s"}},
      {"finetune_2x4_a100", {"/training/micro_batch_size=1", "/training/gradient_accumulation_steps=6"}},
      {"pretrain_1x8_h100", {"/training/micro_batch_size=6", "/training/gradient_accumulation_steps=4"}},
      {"overlap_2x4_a100", {"/cluster/nodes/*/nics/bandwidth=5 Gbit/s", "/cluster/nodes/*/count=4"}},
      // Hybrids are ahead without contention, many of them, and behind with it.
      {"finetune_2x4_a100", {"/cluster/nodes/*/nics/bandwidth=100 Gbit/s", "/cluster/nodes/*/count=4"}},
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && !thorough(i)) continue;
    const Case& each = all[i];
    Scenario scenario = load_scenario(each.name, each.sets).scenario;
    std::erase_if(scenario.schedules, [](const ScheduleSpec& spec) { return spec.name != "acco"; });
    scenario.baseline = scenario.schedules.front().label;
    const Compared results = compared(scenario, NetworkKind::kSimgrid);
    const auto time = [&](const std::optional<AddedSchedule>& added) {
      const RunResult& row = result_labelled(results, scenario.schedules[added->index].label);
      return row.update_time.value / row.samples_per_update;
    };
    EXPECT_NEAR(time(results.tuned.synchronous) / enumerated(each.name, each.sets, forms), 1, 0.005) << i;
    // Accumulating or waiting, whichever gains more over the synchronous one at its own batch.
    const bool fixed = results.tuned.delayed->fixed_batch;
    const std::vector<std::string> acco{fixed ? R"({"label": "x", "name": "acco", "late_communication": "wait"})"
                                              : R"({"label": "x", "name": "acco"})"};
    const double least = enumerated(each.name, each.sets, acco);
    EXPECT_NEAR(time(results.tuned.delayed) / least, 1, 0.005) << i;
  }
}

/// 16 A100 and 16 V100, on which a model of 8B fits only where its parameters are sharded.
const std::vector<std::string> kUnlike = {
    "/cluster=a100-v100-mix",
    "/model=llama-3-8b",
    "/training={\"sequence_length\": 4096, \"micro_batch_size\": 1, "
    "\"global_batch_size\": 128, \"train_tokens\": 1e9, \"activation_recompute\": \"selective_op\"}",
    R"(/schedules=[{"name": "zero3"}, {"name": "acco"}])",
    "/baseline=zero3",
    "/published={}"};

TEST(Tuned, SharesOutUnlikeGpusAtEveryNumberOfMicroBatches) {
  // Parameters are gathered for every micro-batch, so fewer of them count for more than whole shares of the work do:
  // of 8 samples of a pair of GPUs 2 x 3 and 2 x 1 take 8.0 s where 4 x 1 and 4 x 1 take 13.8 s.
  Scenario scenario = load_scenario("pretrain_4x8_a100", kUnlike).scenario;
  const Compared results = compared(scenario, NetworkKind::kSimgrid);
  ASSERT_TRUE(results.tuned.synchronous);
  EXPECT_TRUE(results.tuned.synchronous->balanced);
  ScheduleSpec spec = scenario.schedules[results.tuned.synchronous->index];
  spec.balance = Balance::kNone;
  double least = std::numeric_limits<double>::infinity();
  for (const int steps : {1, 2, 4})
    for (int fast = 1; fast < 8 / steps; ++fast) {
      Scenario divided = scenario;
      for (std::size_t g = 0; g < 2; ++g) {
        divided.cluster.nodes[g].micro_batch_size = g == 0 ? fast : 8 / steps - fast;
        divided.cluster.nodes[g].accumulation_steps.assign(8, steps);
      }
      const RunResult result = run_schedule(divided, spec, NetworkKind::kSimgrid);
      if (result.fits()) least = std::min(least, result.update_time.value);
    }
  EXPECT_LE(results.back().update_time.value, 1.005 * least);
}

TEST(Tuned, BesideABatchThatHasGrownStandsWhatIsBestThere) {
  // What a grown batch gains is held against the synchronous schedule that is tuned for that batch, as it is where that
  // batch is asked for: here another micro-batch.
  const std::vector<std::string> slow = {"/schedules/3/micro_batches_per_round=9"};
  Scenario scenario = load_scenario("slow_network_4x8_a100", slow).scenario;
  const Compared results = compared(scenario, NetworkKind::kSimgrid);
  ASSERT_GT(results.tuned.by_batch.size(), 1U);
  EXPECT_EQ(results.tuned.by_batch.front().samples, samples_asked(scenario));
  for (const TunedBatch& batch : results.tuned.by_batch) {
    if (!thorough() && batch.samples != results.tuned.by_batch.back().samples) continue;
    Scenario asked = load_scenario("slow_network_4x8_a100",
                                   {slow.front(), fmt::format("/training/global_batch_size={}", batch.samples)})
                         .scenario;
    const RunResult best = compared(asked, NetworkKind::kSimgrid).back();
    EXPECT_NEAR(batch.time / (best.update_time.value / best.samples_per_update), 1, 0.005) << batch.samples;
  }
  // Nobody is charged less than what was played at a batch that is no larger.
  const RunResult& synchronous = results.back();
  for (const RunResult& result : results) {
    if (!result.over_best_synchronous || result.samples_per_update < synchronous.samples_per_update) continue;
    const TunedBatch* const there = results.tuned.at(result.samples_per_update);
    ASSERT_NE(there, nullptr);
    EXPECT_LE(*result.over_best_synchronous,
              there->time * result.samples_per_update / result.update_time.value * (1 + 1e-9))
        << result.label;
  }
}

TEST(Tuned, WhoseBatchGrowsIsTriedAtTheBatchThatWasAskedForToo) {
  // On a slow network ACCO's batch is larger than 1.2 times what was asked for, so it cannot win. Where it waits for
  // late communication instead it is still faster than the best synchronous schedule.
  const std::vector<std::string> slow = {"/cluster/nodes/*/nics/bandwidth=10 Gbit/s"};
  Scenario scenario = load_scenario("mixed_a100_v100", slow).scenario;
  const Compared results = compared(scenario, NetworkKind::kSimgrid);
  ASSERT_TRUE(results.tuned.delayed);
  const AddedSchedule& added = *results.tuned.delayed;
  EXPECT_TRUE(added.fixed_batch) << added.name();
  const RunResult& fixed = results[results.size() - 2];
  EXPECT_NEAR(fixed.batch_inflation, 1, 1e-9);
  EXPECT_GT(*fixed.over_best_synchronous, 1);
  const Scenario written = load_scenario("mixed_a100_v100", joined(slow, added.set)).scenario;
  const RunResult same = run_schedule(written, *schedule_labelled(written, "acco"), NetworkKind::kSimgrid);
  EXPECT_EQ(same.update_time.value, fixed.update_time.value);
  // Whom a larger batch suits has the one that grows.
  Scenario grown = load_scenario("mixed_a100_v100", slow).scenario;
  WinnerRule rule{.batch_growth = 10};
  EXPECT_FALSE(compared(grown, NetworkKind::kSimgrid, rule).tuned.delayed->fixed_batch);
}

TEST(Tuned, WhatIsListedIsWrittenDownByItsSettings) {
  // Other virtual stages of a schedule with a micro-batch of its own, which stays.
  const std::string file = std::string(kSourceFolder) + "/scenarios/three_d/llama_3_8b_64.json";
  const std::vector<std::string> own = {R"(/schedules=[{"name": "zero1"}, {"name": "acco", "micro_batch_size": 2}])",
                                        "/baseline=zero1", "/published={}"};
  Scenario scenario = load_scenario(file, own).scenario;
  const Compared results = compared(scenario, NetworkKind::kSimgrid);
  const AddedSchedule& added = *results.tuned.delayed;
  ASSERT_GT(added.virtual_stages, 1) << added.name();
  const Scenario written = load_scenario(file, joined(own, added.set)).scenario;
  EXPECT_EQ(run_schedule(written, written.schedules.back(), NetworkKind::kSimgrid).update_time.value,
            results[results.size() - 2].update_time.value);
}

TEST(Tuned, MicroBatchesThatAreCutAnewGoThroughThePipelineInGroupsOfTheirOwn) {
  // 6 micro-batches of 4 in groups of 2 became 3 of 8, which PyTorch takes as one group of 3.
  Scenario scenario = load_scenario("pretrain_4x8_a100", {"/training/parallel/pipeline_parallel_size=2",
                                                          "/schedules/0/sync=last_micro_batch", "/published={}"})
                          .scenario;
  EXPECT_NO_THROW(compared(scenario));
}

TEST(Tuned, AMicroBatchOfItsOwnIsThatOfTheTraining) {
  // Written into the schedule it makes the same update as written into the training.
  for (const char* const schedule : {"ddp", "zero1", "zero2", "zero3", "dpu", "acco", "diloco", "sapipe"}) {
    const auto played = [&](const std::string& key, const std::vector<std::string>& training) {
      const std::vector<std::string> sets =
          joined(training, {"/published={}", fmt::format(R"(/schedules=[{{"name": "{}"{}}}])", schedule, key),
                            std::string("/baseline=") + schedule});
      return compare(load_scenario("finetune_2x4_a100", sets).scenario, {0}, NetworkKind::kSimgrid)[0];
    };
    const RunResult own = played(R"(, "micro_batch_size": 2)", {});
    const RunResult all = played("", {"/training/micro_batch_size=2", "/training/gradient_accumulation_steps=8"});
    EXPECT_EQ(own.update_time.value, all.update_time.value) << schedule;
    EXPECT_EQ(own.samples_per_update, all.samples_per_update) << schedule;
    EXPECT_EQ(own.memory_resident.value, all.memory_resident.value) << schedule;
    EXPECT_EQ(own.batch_inflation, all.batch_inflation) << schedule;
  }
}

TEST(Tuned, AMicroBatchDividesTheSamplesOfAGpu) {
  const auto refusal = [](const std::vector<std::string>& sets) -> std::string {
    return thrown_by<ScenarioError>([&] { load_scenario("finetune_2x4_a100", sets); });
  };
  const std::string three = refusal({"/schedules/0/micro_batch_size=3"});  // 4 x 4 samples
  EXPECT_NE(three.find("does not divide the 16 samples"), std::string::npos) << three;
  EXPECT_NE(three.find("write 2"), std::string::npos) << three;
  EXPECT_NE(refusal({"/schedules/0/micro_batch_size=0"}), "");
  const std::string groups =
      refusal({"/schedules/0/micro_batch_size=2", "/cluster/nodes/0/gradient_accumulation_steps=2"});
  EXPECT_NE(groups.find("node groups have"), std::string::npos) << groups;
}

}  // namespace
}  // namespace accosim
