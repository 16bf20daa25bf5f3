// Do the sentences on a mixed cluster say what the figures say?
#include "sim/what_if/fairness.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/read/load.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/result/run.hpp"
#include "sim/study/tuned.hpp"
#include "sim/what_if/ladder.hpp"
#include "tests/support/results.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

std::string words_of(double tuning, double balance, double hidden) {
  const FairGain gain{"acco", 2, tuning, balance, hidden, "7 and 3 micro-batches"};
  return in_words(gain, "ACCO", "zero1", "zero1, overlap grad reduce");
}

TEST(FairWords, SayWhatAGainIsDueTo) {
  EXPECT_EQ(words_of(1.1, 1.5, 1.015),
            "acco is 1.67 times as fast as zero1 at the same batch: 1.10 times by tuning (zero1, overlap grad reduce), "
            "1.50 times "
            "by balance, which ACCO does by itself (7 and 3 micro-batches) and 1.015 times by communication, optimizer "
            "and waiting that ACCO hides.");
  EXPECT_EQ(
      words_of(1, 1.5, 1.002),
      "acco is 1.50 times as fast as zero1 at the same batch: 1.50 times by balance, which ACCO does by itself (7 "
      "and 3 micro-batches). A synchronous schedule with that is as fast.");
  EXPECT_EQ(words_of(1.2, 1.5, 0.9),
            "acco is 1.62 times as fast as zero1 at the same batch: 1.20 times by tuning (zero1, overlap grad reduce) "
            "and 1.50 "
            "times by balance, which ACCO does by itself (7 and 3 micro-batches). A synchronous schedule with both is "
            "faster: acco reaches 0.900 of its speed.");
  EXPECT_EQ(words_of(1, 1, 1.3),
            "acco is 1.30 times as fast as zero1 at the same batch: 1.30 times by communication, optimizer and waiting "
            "that ACCO hides.");
  EXPECT_EQ(words_of(1, 1, 0.97), "acco is 0.970 times as fast as zero1 at the same batch: it gains nothing.");
}

/// Of those schedules of a scenario.
FairComparison fair_of(const Scenario& scenario, const std::vector<int>& chosen) {
  return fair_comparison(scenario, compare(scenario, chosen, NetworkKind::kReference), NetworkKind::kReference);
}

TEST(Fairness, ABatchThatGrowsIsNoBalance) {
  // Communication takes a hundred times as long as the computation, and ACCO spreads it over as many more samples. At
  // the same batch that is the baseline's too: serial ZeRO-1 then takes a half longer, and the work of ranks of which
  // one is a little slower is not what is gained.
  Scenario scenario = sample_scenario(4, 1, 0.05);
  scenario.cluster.nodes[0].devices[0].slowdown = 1;
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  scenario.cluster.nodes[1].devices[0].slowdown = 1.02;
  const FairComparison fair = fair_of(scenario, {3});
  ASSERT_EQ(fair.gains.size(), 1U);
  const FairGain& gain = fair.gains[0];
  EXPECT_GT(gain.speedup, 10);
  EXPECT_NEAR(gain.same_batch(), 1.5, 0.05);
  EXPECT_LT(std::abs(*gain.share_of_balance()), 0.05);
}

std::string part_of(const std::string& part, double rate, double speedup, bool fits = true) {
  FairBaseline balanced, alone;
  balanced.tokens_per_second = 100;
  alone.part = part;
  alone.tokens_per_second = rate;
  alone.speedup = speedup;
  alone.fits = fits;
  return in_words(alone, balanced, "16 V100", "zero1");
}

TEST(FairWords, SayWhatAPartIsWorth) {
  EXPECT_EQ(part_of("16 A100", 78, 0.9), "The 16 A100 alone with zero1 reach 78 % of the balanced mix.");
  EXPECT_EQ(part_of("16 A100", 78, 1.2),
            "The 16 A100 alone with zero1 reach 78 % of the balanced mix, and are 1.20 times as fast as the mix as it "
            "is written.");
  EXPECT_EQ(part_of("16 A100", 110, 1.7),
            "The 16 A100 alone with zero1 are 1.10 times as fast as the balanced mix: adding the 16 V100 makes it "
            "slower.");
  EXPECT_EQ(part_of("16 A100", 100.2, 1),
            "The 16 A100 alone with zero1 are as fast as the balanced mix: adding the 16 V100 gains nothing.");
  EXPECT_EQ(part_of("1 A100, slower", 2, 0.1, false),
            "The A100, slower alone with zero1 reaches 2 % of the balanced mix; it does not fit into their memory.");
}

TEST(Fairness, IsAskedOnlyOfUnlikeRanks) {
  const Scenario alike = sample_scenario(2, 2);
  EXPECT_TRUE(fair_of(alike, {0, 3}).baselines.empty());
}

/// Two GPUs, the second twice as slow.
Scenario unlike_pair() {
  Scenario scenario = sample_scenario(1, 1);
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  scenario.cluster.nodes[1].devices[0].slowdown = 2;
  return scenario;
}

TEST(Fairness, CountsTheTokensOfSequencesAsEveryResultDoes) {
  // Sequences of 128 tokens in a context of 512: the baseline balanced is at most 1.5 times as fast as it is written (3
  // parts in the time of 2), and somewhat faster with larger micro-batches, however the tokens are counted: 4 times as
  // many would be 6.
  Scenario scenario = unlike_pair();
  scenario.training.unsteady.lengths.histogram = {{128, 1}};
  const FairComparison fair = fair_of(scenario, {0, 3});
  ASSERT_FALSE(fair.baselines.empty());
  for (const FairBaseline& each : fair.baselines) EXPECT_LT(each.speedup, 2) << each.label;
}

TEST(Fairness, APartHasThePausesOfItsOwnRanksOnly) {
  // The slow GPU pauses for a long time: alone the fast one never does.
  Scenario scenario = unlike_pair();
  const auto alone = [&](std::vector<int> ranks) {
    const Pause pause{.ranks = std::move(ranks), .every_updates = 10, .duration = Seconds{100}};
    scenario.training.unsteady.pauses = {pause};
    const FairComparison fair = fair_of(scenario, {0});
    std::vector<double> times;
    for (const FairBaseline& each : fair.baselines)
      if (!each.part.empty()) times.push_back(each.update_time.value);
    return times;
  };
  const std::vector<double> slow = alone({1}), fast = alone({0});
  ASSERT_EQ(slow.size(), 2U);
  EXPECT_LT(slow[0], 10);
  EXPECT_GT(slow[1], 10);
  EXPECT_GT(fast[0], 10);
  EXPECT_LT(fast[1], 10);
}

TEST(Fairness, OfASlowGpuInANodeBalancesItsGpuAlone) {
  // One of four is twice as slow, and nothing to communicate to speak of. 4 micro-batches of 4 on each are 64 samples;
  // balanced 4.57 and 2.29. ACCO's do 8 where the slow one does 4, and so does the balanced baseline at that batch.
  Scenario scenario = sample_scenario(1, 4);
  for (Device& device : scenario.cluster.nodes[0].devices) device.launch_interval = Seconds{0};
  scenario.cluster.nodes[0].devices[3].slowdown = 2;
  const FairComparison fair = fair_of(scenario, {3});  // without the baseline
  ASSERT_EQ(fair.gains.size(), 1U);
  EXPECT_NEAR(fair.gains[0].speedup, 2 * 3.5 / 4, 0.05);
  EXPECT_NEAR(fair.gains[0].hidden, 1, 0.03);
  EXPECT_EQ(fair.gains[0].work, "8 and 4 micro-batches");
  const FairBaseline& fast = fair.baselines[fair.baselines.size() - 2];
  EXPECT_EQ(fast.label, "zero1 on 3 sample GPU alone");
  EXPECT_EQ(fast.shares.front().accumulation_steps, 5);  // 60 samples: the nearest to 64
  EXPECT_EQ(fast.samples_per_update, 60);
  EXPECT_EQ(fair.baselines.back().part, "1 sample GPU (2 times slower)");
  // Fully sharded ranks meet in every micro-batch, so that they cannot do different numbers of them: that is said.
  scenario.schedules.push_back(sample_schedule("zero3"));
  Scenario sharded = scenario;
  sharded.baseline = "zero3";
  const FairComparison equal = fair_of(sharded, {4});
  EXPECT_EQ(equal.words[1],
            "zero3 communicates in every micro-batch and a node group has one micro-batch size, so the work of unlike "
            "GPUs inside \"nodes\" stays equal.");
  // Nobody but the baseline: the sentence is about balance alone.
  const FairComparison alone = fair_of(scenario, {0});
  EXPECT_TRUE(alone.gains.empty());
  EXPECT_NE(alone.words.front().find("times as fast as zero1 as written."), std::string::npos) << alone.words.front();
}

TEST(Fairness, SaysWhatTheSlowerKindAdds) {
  // A GPU of another kind, three times as slow, and nothing to communicate to speak of. Even micro-batches make the
  // fast one wait: 2 in the time of 3. Of 8 the fast one does 6 in the time of 2 of the slow one, where alone it
  // does 8.
  Scenario scenario = sample_scenario(1, 2);
  for (Device& device : scenario.cluster.nodes[0].devices) device.launch_interval = Seconds{0};
  Device& slow = scenario.cluster.nodes[0].devices[1];
  slow.slowdown = 3;
  const auto adding = [&] { return fair_of(scenario, {0, 3}).adding; };
  EXPECT_FALSE(adding()) << "slowed, and of the same kind";
  slow.name = "other GPU";
  slow.memory.value *= 2;
  const std::optional<Adding> added = adding();
  ASSERT_TRUE(added);
  EXPECT_EQ(added->part, "1 sample GPU");
  EXPECT_EQ(added->others, std::vector<std::string>{"1 other GPU"});
  EXPECT_EQ(added->balanced.work, "6 and 2 micro-batches");
  EXPECT_NEAR(added->balanced.times, 8.0 / 6, 0.04);
  EXPECT_NEAR(added->written.times, 2.0 / 3, 0.02);
  EXPECT_TRUE(added->written.even);
  EXPECT_TRUE(!added->as_written && !added->balanced.open() && !added->written.open());
  // By itself, of one of the scenario's schedules, the same.
  const std::optional<Adding> alone = adding_of(scenario, scenario.schedules[0], NetworkKind::kReference);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->balanced.times, added->balanced.times);
  EXPECT_EQ(alone->written.times, added->written.times);
  // The slow one is the faster part where there are more of it than it is slower.
  std::vector<Device>& devices = scenario.cluster.nodes[0].devices;
  for (int more = 0; more < 3; ++more) devices.push_back(devices[1]);
  scenario.cluster.nodes[0].gpus = 5;
  EXPECT_EQ(adding()->part, "4 other GPU");
}

/// Of unlike GPUs; slow networks among them.
Scenario random_mix(Random& random, int i) {
  Scenario scenario = random_homogeneous(random);
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  NodeGroup& other = scenario.cluster.nodes[1];
  for (Device& device : other.devices) device.slowdown = random.uniform(1, 3);
  if (i % 4 == 0 && other.devices.size() > 1) other.devices[0].slowdown = 1;  // equal GPUs in both groups
  return scenario;
}

TEST(Fairness, NoFairBaselineIsSlowerThanTheWorkAsWritten) {
  Random random(26);
  for (int i = 0; i < cases(200, 20); ++i) {
    Scenario scenario = random_mix(random, i);
    if (i % 50 == 1) scenario.training.unsteady.jitter.micro_batch = 0.2;  // drawn ones take seconds
    const Evaluations evaluations(NetworkKind::kReference);
    const std::vector<RunResult> results = compare(scenario, chosen_schedules(scenario, {}), evaluations);
    const FairComparison fair = fair_comparison(scenario, results, evaluations);
    ASSERT_FALSE(fair.baselines.empty()) << i;
    // Drawn updates are known to kNarrowBand, and those of another batch are other draws.
    const double band = scenario.training.unsteady.varies() ? 2 * kNarrowBand : 1e-9;
    for (const FairBaseline& each : fair.baselines)
      EXPECT_TRUE(!each.part.empty() || each.speedup >= 1 - band) << i << " " << each.label << " " << each.speedup;
    for (const FairGain& each : fair.gains) EXPECT_GE(each.balance, 1 - band) << i << " " << each.label;
  }
}

TEST(Fairness, ABalancedBaselineGainsNothingByBalance) {
  for (const char* const balance : {"speed", "counts"}) {
    Scenario scenario = load_scenario("a100_v100", {std::string("/training/balance=") + balance}).scenario;
    const Evaluations evaluations(NetworkKind::kReference);
    std::vector<int> chosen = chosen_schedules(scenario, {});
    const Tuned tuned = add_tuned(scenario, chosen, evaluations);
    const std::vector<RunResult> results = compare(scenario, chosen, evaluations, tuned);
    const FairComparison fair = fair_comparison(scenario, results, evaluations, tuned);
    ASSERT_FALSE(fair.gains.empty()) << balance;
    for (const FairGain& gain : fair.gains) {
      EXPECT_NEAR(gain.balance, 1, 0.02) << balance << " " << gain.label;
      EXPECT_GE(gain.tuning, 0.98) << balance << " " << gain.label;
    }
  }
}

TEST(Fairness, WhereOneHasItsMicroBatchesChosenTheBestSynchronousHasToo) {
  // ACCO with micro-batches of another size beside a rival that keeps the written ones would gain by size alone.
  Scenario scenario =
      load_scenario("straggler_4x8_a100", {"/training/implementation=compiled",
                                           R"(/schedules=[{"name": "zero1"}, {"name": "acco", "balance": "speed"}])"})
          .scenario;
  const Evaluations evaluations(NetworkKind::kReference);
  std::vector<int> chosen = chosen_schedules(scenario, {});
  const Tuned tuned = add_tuned(scenario, chosen, evaluations);
  EXPECT_EQ(scenario.schedules.back().balance, Balance::kSpeed);
  const std::vector<RunResult> results = compare(scenario, chosen, evaluations, tuned);
  for (const FairGain& gain : fair_comparison(scenario, results, evaluations, tuned).gains)
    EXPECT_NEAR(gain.hidden, 1, 0.03) << gain.label;
}

TEST(Fairness, TheLadderAndTheComparisonAttributeAlike) {
  Random random(62);
  for (int i = 0; i < cases(60, 15); ++i) {
    Scenario scenario = random_mix(random, i);
    const Evaluations evaluations(NetworkKind::kReference);
    std::vector<int> chosen = chosen_schedules(scenario, {});
    const Tuned tuned = i % 3 != 0 ? add_tuned(scenario, chosen, evaluations) : Tuned();
    const std::vector<RunResult> results = compare(scenario, chosen, evaluations, tuned);
    for (const FairGain& gain : fair_comparison(scenario, results, evaluations, tuned).gains) {
      const Ladder walked =
          ladder(scenario, baseline_of(scenario), *schedule_labelled(scenario, gain.label), evaluations, tuned);
      const Rung& last = walked.rungs.back();
      if (!last.times_same_batch) continue;
      const RunResult& same = result_labelled(results, gain.label);
      EXPECT_NEAR(*last.speedup_same_batch / gain.same_batch(), 1, 0.01) << i << " " << gain.label;
      EXPECT_NEAR(*last.times_same_batch / gain.hidden, 1, 0.01) << i << " " << gain.label;
      EXPECT_NEAR(same.over_best_synchronous.value_or(gain.hidden) / gain.hidden, 1, 0.01) << i << " " << gain.label;
    }
  }
}

// Does each rung of a ladder change one thing, and do the changes multiply to the whole?

constexpr NetworkKind kReference = NetworkKind::kReference;

/// DDP as ACCO's released code runs it.
ScheduleSpec released() {
  ScheduleSpec spec = sample_schedule("ddp", "DDP as released");
  spec.sync = Sync::kEveryMicroBatch;
  spec.overlap = Overlap::kBackward;
  spec.buckets = Buckets::kTensors;
  spec.parameter_dtype = spec.gradient_dtype = Dtype::kFp32;
  spec.optimizer_sharding = OptimizerSharding::kZeroRedundancy;
  spec.broadcast_buffers = true;
  return spec;
}

std::vector<std::string> changes_of(const std::vector<Rung>& rungs) {
  return mapped<std::string>(rungs, &Rung::change);
}

TEST(Ladder, FromDdpAsReleasedToAccoChangesOneThingAtATime) {
  const Scenario scenario = sample_scenario(2, 4);
  const ScheduleSpec acco = sample_schedule("acco");
  const std::vector<Rung> rungs = rungs_between(scenario, released(), acco);
  EXPECT_EQ(changes_of(rungs),
            (std::vector<std::string>{"DDP as released", "no_sync: one gradient sync per step", "gradients in bf16",
                                      "parameters bf16, states fp32", "no buffers sent and no copies",
                                      "ZeRO-1: optimizer sharded", "ACCO: communication hidden"}));
  EXPECT_EQ(rungs.front().spec, released());
  EXPECT_EQ(rungs[1].spec.sync, Sync::kLastMicroBatch);
  EXPECT_EQ(rungs[1].spec.gradient_dtype, Dtype::kFp32);
  EXPECT_EQ(rungs[2].spec.gradient_dtype, Dtype::kBf16);
  EXPECT_EQ(rungs[4].spec.name, "ddp");
  EXPECT_TRUE(is_serial_sharded(rungs[5].spec));
  EXPECT_EQ(rungs.back().spec, acco);
  EXPECT_EQ(rungs.back().most_same_batch, 1.5);
  EXPECT_EQ(rungs.back().most_over, 5U) << "the law is over serial ZeRO-1";
  for (std::size_t i = 0; i + 1 < rungs.size(); ++i) EXPECT_EQ(rungs[i].most_same_batch, 0);
}

TEST(Ladder, GoesByTheBestSynchronousScheduleBeforeItDelays) {
  Scenario scenario = sample_scenario(2, 4);
  const ScheduleSpec serial = sample_schedule("zero1"), dpu = sample_schedule("dpu");
  const std::string hidden = "DPU: communication hidden";
  std::vector<Rung> rungs = rungs_between(scenario, serial, dpu);
  EXPECT_EQ(changes_of(rungs), (std::vector<std::string>{"zero1", hidden}));
  EXPECT_EQ(rungs.back().most_same_batch, 2);
  EXPECT_EQ(rungs.back().most_over, 0U);
  ScheduleSpec best = serial;
  best.label = "best synchronous: zero1, both";
  best.overlap = Overlap::kBackward;
  best.buckets = Buckets::kUnits;
  best.gradient_as_bucket_view = true;
  best.overlap_param_gather = true;
  const Tuned tuned{AddedSchedule{scenario.schedules.size(), best.label, "zero1, both", "{}", {}}, {}, {}, {}, {}};
  scenario.schedules.push_back(best);
  rungs = rungs_between(scenario, serial, dpu, tuned);
  // What is left on the way to the best one are its views of the buckets.
  const std::vector<std::string> to_best{"zero1", "buckets beside the backward pass",
                                         "parameters beside the forward pass", best.label, hidden};
  EXPECT_EQ(changes_of(rungs), to_best);
  EXPECT_EQ(rungs[3].spec, best);
  EXPECT_EQ(rungs.back().most_over, 0U) << "the law is over the serial one";
  // From the best one, and between synchronous ones, nothing is added.
  EXPECT_EQ(changes_of(rungs_between(scenario, best, dpu, tuned)), (std::vector<std::string>{best.label, hidden}));
  EXPECT_EQ(rungs_between(scenario, serial, sample_schedule("zero3"), tuned).size(), 2U);
  scenario.cluster.nodes[0].devices[0].slowdown = 2;  // unlike ranks: no law
  EXPECT_EQ(rungs_between(scenario, serial, dpu, tuned).back().most_same_batch, 0);
}

TEST(Ladder, ToZero1OverlappedBothWaysGradientsComeFirst) {
  const Scenario scenario = sample_scenario(2, 4);
  const ScheduleSpec serial = sample_schedule("zero1");
  ScheduleSpec both = serial;
  both.overlap = Overlap::kBackward;
  both.buckets = Buckets::kUnits;
  both.overlap_param_gather = both.align_param_gather = true;
  const std::vector<Rung> rungs = rungs_between(scenario, serial, both);
  EXPECT_EQ(changes_of(rungs), (std::vector<std::string>{"zero1", "buckets beside the backward pass",
                                                         "parameters beside the forward pass"}));
  EXPECT_EQ(rungs.back().spec, both);
}

TEST(Ladder, BetweenSchedulesThatDifferInOneThingHasOneStep) {
  const Scenario scenario = sample_scenario(2, 4);
  ScheduleSpec after = sample_schedule("ddp", "after"), beside = sample_schedule("ddp", "beside");
  after.overlap = Overlap::kNone;
  beside.overlap = Overlap::kBackward;
  const std::vector<Rung> rungs = rungs_between(scenario, after, beside);
  ASSERT_EQ(rungs.size(), 2U);
  EXPECT_EQ(rungs[1].change, "buckets beside the backward pass");
  EXPECT_EQ(rungs[1].spec, beside);
  EXPECT_EQ(rungs[1].most_same_batch, 0);
}

TEST(Ladder, BetweenOthersTheLastStepIsAllThatIsLeft) {
  const Scenario scenario = sample_scenario(2, 4);
  for (const char* name : {"zero3", "diloco", "dpu", "zero2"}) {
    const ScheduleSpec to = sample_schedule(name);
    for (const ScheduleSpec& from : {released(), sample_schedule("zero1"), sample_schedule("acco")}) {
      const std::vector<Rung> rungs = rungs_between(scenario, from, to);
      ASSERT_GE(rungs.size(), 2U) << name;
      EXPECT_EQ(rungs.front().spec, from);
      EXPECT_EQ(rungs.back().spec, to);
      for (std::size_t i = 1; i < rungs.size(); ++i) EXPECT_NE(rungs[i].spec, rungs[i - 1].spec) << rungs[i].change;
    }
  }
}

TEST(Ladder, ChangesMultiplyToTheWholeAndAgreeWithAComparison) {
  Scenario scenario = sample_scenario(2, 4, 0.05);
  scenario.schedules = {released(), sample_schedule("zero1"), sample_schedule("acco")};
  for (ScheduleSpec& spec : scenario.schedules) spec.micro_batches_per_round = 2;
  scenario.baseline = "DDP as released";
  const Ladder walked = ladder(scenario, scenario.schedules[0], scenario.schedules[2], kReference);
  double times = 1, times_same_batch = 1;
  for (std::size_t i = 1; i < walked.rungs.size(); ++i) {
    times *= walked.rungs[i].times;
    ASSERT_TRUE(walked.rungs[i].times_same_batch) << walked.rungs[i].change;
    times_same_batch *= *walked.rungs[i].times_same_batch;
  }
  const std::vector<RunResult> compared = compare(scenario, {0, 2}, kReference);
  const RunResult& acco = compared[1];
  EXPECT_NEAR(times / *acco.speedup, 1, 1e-12);
  EXPECT_NEAR(walked.rungs.back().speedup / *acco.speedup, 1, 1e-12);
  // compare() has the baseline reduce once an update; the ladder begins with it as it is written.
  EXPECT_NEAR(times_same_batch / (*acco.speedup_same_batch / *compared[0].speedup_same_batch), 1, 1e-12);
  EXPECT_LT(*compared[0].speedup_same_batch, 1);
  const Rung& last = walked.rungs.back();
  EXPECT_LE(*last.speedup_same_batch / *walked.rungs[last.most_over].speedup_same_batch, 1.5);
  EXPECT_TRUE(is_serial_sharded(walked.rungs[last.most_over].spec));
  EXPECT_EQ(walked.rungs.back().samples_per_update, acco.samples_per_update);
}

}  // namespace
}  // namespace accosim
