// Do unlike GPUs that share models take what follows from each part's own step, and is their work divided among the
// model replicas as their speed has it?
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "models/price/price.hpp"
#include "models/spec/constants.hpp"
#include "sim/evaluation/balance.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/result/run.hpp"
#include "sim/study/tuned.hpp"
#include "sim/what_if/fairness.hpp"
#include "sim/what_if/parts.hpp"
#include "sim/what_if/warnings.hpp"
#include "tests/support/results.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

/// A node of four GPUs, and one of four that are so many times slower; four GPUs share a model. Links are quick: what
/// split tensors wait for is no slower on slow GPUs.
Scenario unlike_pair(double slowdown, int stages = 1) {
  Scenario scenario = sample_scenario(1, 4, 10'000);
  scenario.model = sample_model(4, 2048);
  Parallel& parallel = scenario.training.parallel;
  parallel.tensor = 4 / stages;
  parallel.pipeline = stages;
  parallel.order = order_of("tp-cp-ep-pp-dp");
  NodeGroup& fast = scenario.cluster.nodes[0];
  fast.intra.bandwidth = BytesPerSecond{3e12};
  fast.intra.latency = Seconds{1e-7};
  for (Device& device : fast.devices) device.launch_interval = Seconds{0};
  NodeGroup slow = fast;
  fast.name = "fast";
  slow.name = "slow";
  for (Device& device : slow.devices) device.slowdown = slowdown;
  scenario.cluster.nodes.push_back(slow);
  return scenario;
}

/// Everything after the backward pass, one after the other.
ScheduleSpec serial_ddp() { return sample_schedule({.name = "ddp", .overlap = Overlap::kNone}); }

Scenario with_steps(Scenario scenario, const std::vector<int>& steps) {
  for (std::size_t g = 0; g < steps.size(); ++g) scenario.cluster.nodes[g].accumulation_steps.assign(4, steps[g]);
  return scenario;
}

/// The replicas of one group, the other of its kind or the one that it is.
Scenario of_one_kind(Scenario scenario, std::size_t group) {
  scenario.cluster.nodes = {scenario.cluster.nodes[group], scenario.cluster.nodes[group]};
  return scenario;
}
Scenario alone(Scenario scenario, std::size_t group) {
  scenario.cluster.nodes = {scenario.cluster.nodes[group]};
  return scenario;
}

RunResult run(const Scenario& scenario, const ScheduleSpec& spec) {
  return run_schedule(scenario, spec, NetworkKind::kReference);
}

TEST(SplitMix, AnUpdateIsTheSlowerPartsOwnStepAndTheCommunicationOfAnyPair) {
  // Serial DDP of two replicas: each computes A_k t_k, both all-reduce in T, each steps in O_k, and goes on. So from
  // one all-reduce to the next the slower of O_k + A_k t_k passes, which is that part's own step where it trains alone,
  // and T, which is the same for two replicas of one kind: links do not slow down.
  const Scenario pair = unlike_pair(3);
  const ScheduleSpec ddp = serial_ddp();
  const auto own = [&](std::size_t group, int steps) {
    return run(alone(with_steps(pair, {steps, steps}), group), ddp).update_time.value;
  };
  const double communication = run(of_one_kind(with_steps(pair, {4, 4}), 0), ddp).update_time.value - own(0, 4);
  ASSERT_GT(communication, 0);
  for (const auto& [fast, slow] : {std::pair(4, 4), std::pair(6, 2), std::pair(7, 1), std::pair(12, 1)}) {
    const RunResult mix = run(with_steps(pair, {fast, slow}), ddp);
    const double parts[] = {own(0, fast), own(1, slow)};
    EXPECT_NEAR(mix.update_time.value, std::max(parts[0], parts[1]) + communication, 1e-9) << fast << " " << slow;
    EXPECT_EQ(mix.samples_per_update, 4 * (fast + slow));
    // What is not a part's own step is waiting: for the other, and for the network.
    ASSERT_EQ(mix.ranks.size(), 2U);
    for (const std::size_t part : {0U, 1U}) {
      EXPECT_EQ(mix.ranks[part].micro_batches_per_update, part == 0 ? fast : slow);
      EXPECT_NEAR(mix.ranks[part].idle_fraction, 1 - parts[part] / mix.update_time.value, 1e-9) << fast << " " << slow;
    }
  }
}

TEST(SplitMix, APartHoldsWhatItHoldsBesideReplicasOfItsOwnKind) {
  for (const int stages : {1, 2}) {
    Scenario pair = with_steps(unlike_pair(3, stages), {8, 4});
    for (Device& device : pair.cluster.nodes[1].devices)
      device.name = "slow";  // kinds of one name that hold as much are one
    for (const ScheduleSpec& spec : pair.schedules) {
      const RunResult mix = run(pair, spec);
      for (const std::size_t group : {0U, 1U}) {
        const Scenario same = of_one_kind(pair, group);
        const RunResult one_kind = run(same, spec);
        ASSERT_EQ(mix.memory_by_kind.size(), 2 * one_kind.memory_by_kind.size()) << spec.label;
        for (std::size_t k = 0; k < one_kind.memory_by_kind.size(); ++k)
          EXPECT_EQ(mix.memory_by_kind[group * one_kind.memory_by_kind.size() + k].parts.total().value,
                    one_kind.memory_by_kind[k].parts.total().value)
              << spec.label << " " << group << " " << k;
      }
    }
  }
}

/// Of a micro-batch in the slowest stage of each group.
std::vector<double> times_of(const Scenario& scenario, const ScheduleSpec& spec) {
  const Costs costs = price(scenario, spec);
  std::vector<double> times(scenario.cluster.nodes.size());
  for (std::size_t rank = 0; rank < costs.places.size(); ++rank) {
    const RankKind& kind = costs.kinds[static_cast<std::size_t>(costs.kind_of[rank])];
    double& slowest = times[static_cast<std::size_t>(costs.places[rank].group)];
    slowest = std::max(slowest, (kind.forward + kind.backward).value);
  }
  return times;
}

/// Of all divisions of so many micro-batches between two replicas: how many the fast one does where the slower of both
/// takes least, A_k micro-batches taking (A_k + filling) t_k; and that time.
std::pair<int, double> best_division(const std::vector<double>& t, int micro_batches, int filling) {
  std::pair<int, double> best{0, 1e9};
  for (int fast = 1; fast < micro_batches; ++fast) {
    const double time = std::max((fast + filling) * t[0], (micro_batches - fast + filling) * t[1]);
    if (time < best.second) best = {fast, time};
  }
  return best;
}

TEST(SplitMix, WorkIsDividedAmongReplicasByTheirSpeed) {
  // Of 24 micro-batches between two replicas: one more fills a pipeline of two stages, none where tensors alone are
  // split.
  for (const int stages : {1, 2})
    for (const double slowdown : {1.4, 2., 3.7}) {
      Scenario pair = unlike_pair(slowdown, stages);
      pair.training.gradient_accumulation_steps = 12;
      const ScheduleSpec ddp = serial_ddp();
      const auto [best, time] = best_division(times_of(pair, ddp), 24, stages - 1);
      EXPECT_GT(best, 12);
      const BalanceTask task{samples_asked(pair), 1, false, true};
      EXPECT_EQ(task.samples, 24 * 4);
      const Balanced choice = balanced(pair, ddp, task, NetworkKind::kReference);
      EXPECT_EQ(choice.samples, task.samples);
      EXPECT_EQ(choice.scenario.cluster.nodes[0].accumulation_steps, std::vector<int>(4, best)) << stages << slowdown;
      EXPECT_EQ(choice.scenario.cluster.nodes[1].accumulation_steps, std::vector<int>(4, 24 - best));
      EXPECT_NEAR(choice.time.value, time, 1e-12);
      // And a schedule that asks for it is played so, or with one micro-batch more or less of the 24.
      ScheduleSpec divided = ddp;
      divided.balance = Balance::kCounts;
      const RunResult played = run(pair, divided), chosen = run(choice.scenario, ddp), written = run(pair, ddp);
      EXPECT_LT(chosen.update_time, written.update_time);
      EXPECT_NEAR(played.tokens_per_second / chosen.tokens_per_second, 1, 1. / 24);
      EXPECT_LE(std::abs(played.samples_per_update - task.samples), 4);
    }
}

TEST(SplitMix, ReplicasInSeveralNodeGroupsWorkTogether) {
  // Stages of one fast and one slow GPU: no replica is faster than another. With an order that keeps them apart, two
  // are. A third group's GPUs are a replica of their own either way.
  Scenario pair = unlike_pair(3, 2);
  pair.training.parallel.tensor = 1;
  EXPECT_TRUE(can_be_divided(pair.cluster, pair.training));
  pair.training.parallel.order = order_of("tp-cp-ep-dp-pp");
  EXPECT_FALSE(can_be_divided(pair.cluster, pair.training));
  EXPECT_EQ(teams_of(pair.cluster, pair.training.parallel, Island::kWorld),
            (std::vector<std::vector<int>>{{0, 0, 0, 0}, {0, 0, 0, 0}}));
  EXPECT_TRUE(can_be_divided(pair.cluster, pair.training, Island::kGroup)) << "each has replicas of its own";
  // Of four nodes the first and the third, and the second and the fourth, are stages of one pipeline.
  pair.cluster.nodes = {pair.cluster.nodes[0], pair.cluster.nodes[0], pair.cluster.nodes[0], pair.cluster.nodes[1]};
  EXPECT_EQ(teams_of(pair.cluster, pair.training.parallel, Island::kWorld),
            (std::vector<std::vector<int>>{{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 0, 0, 0}, {1, 1, 1, 1}}));
  pair.training.gradient_accumulation_steps = 12;
  const BalanceTask task{samples_asked(pair), 1, false, true};
  const ScheduleSpec ddp = serial_ddp();
  const Scenario divided = balanced(pair, ddp, task, NetworkKind::kReference).scenario;
  const auto steps = [&](std::size_t group) { return divided.cluster.nodes[group].accumulation_steps; };
  EXPECT_EQ(steps(0), steps(2));
  EXPECT_EQ(steps(1), steps(3));
  EXPECT_GT(steps(0)[0], steps(1)[0]);
}

TEST(SplitMix, TheBestSynchronousScheduleAndTheFairRowsAreBalanced) {
  // As written the fast replica waits for 4 of the slow one's micro-batches; of 8 about 6 and 2 take less.
  Scenario pair = unlike_pair(3);
  const std::vector<double> t = times_of(pair, pair.schedules[0]);
  const auto [fast, time] = best_division(t, 8, 0);
  const double gain = 4 * t[1] / time;  // of the computation
  ASSERT_GT(gain, 1.5);
  std::vector<int> chosen{0, 3};
  const Evaluations evaluations(NetworkKind::kReference);
  const Tuned tuned = add_tuned(pair, chosen, evaluations);
  ASSERT_TRUE(tuned.synchronous);
  EXPECT_TRUE(tuned.synchronous->balanced) << tuned.synchronous->name();
  const std::vector<RunResult> results = compare(pair, chosen, evaluations, tuned);
  const auto at = [&](std::size_t index) { return result_labelled(results, pair.schedules[index].label); };
  EXPECT_GT(*at(tuned.synchronous->index).speedup, 0.9 * gain);
  EXPECT_LT(*at(3).over_best_synchronous, 1.25) << "what ACCO gains is balance";
  const FairComparison fair = fair_comparison(pair, results, evaluations, tuned);
  ASSERT_FALSE(fair.baselines.empty());
  EXPECT_GE(fair.baselines[0].speedup, 0.99 * 4 * t[1] / time) << "chosen sizes are no worse than " << fast << " of 8";
  EXPECT_GT(fair.baselines[0].speedup, 0.9 * gain);
  ASSERT_EQ(fair.gains.size(), 1U);
  EXPECT_GT(*fair.gains[0].share_of_balance(), 0.5);
  // The fast node alone does all 8.
  const auto part = std::ranges::find_if(fair.baselines, [](const FairBaseline& each) { return !each.part.empty(); });
  ASSERT_NE(part, fair.baselines.end());
  EXPECT_EQ(part->shares.at(0).accumulation_steps * part->shares.at(0).micro_batch_size, 8 * 4);
  EXPECT_NEAR(part->tokens_per_second / fair.baselines[0].tokens_per_second, time / (8 * t[0]), 0.1);
}

TEST(SplitMix, WherePipelinesHaveBothKindsItIsSaidThatStagesBalance) {
  Scenario pair = unlike_pair(3, 2);
  pair.training.parallel.order = order_of("tp-cp-ep-dp-pp");
  const std::vector<RunResult> results = compare(pair, {0, 3}, NetworkKind::kReference);
  const FairComparison fair = fair_comparison(pair, results, NetworkKind::kReference);
  EXPECT_TRUE(fair.baselines.empty());
  ASSERT_EQ(fair.words.size(), 1U);
  EXPECT_EQ(fair.words[0],
            "Unlike GPUs are stages of one pipeline, so that no work can be divided among model replicas: --set "
            "/training/parallel/stage_layers=speed shares the blocks by the stages' speed.");
  pair.training.parallel.blocks_by_speed = true;
  EXPECT_EQ(fair_comparison(pair, results, NetworkKind::kReference).words.at(0),
            "Unlike GPUs are stages of one pipeline, so that no work can be divided among model replicas: the stages "
            "share the blocks by their speed instead.");
}

TEST(SplitMix, APartAloneHoldsWholeReplicas) {
  // Two fast nodes and a slow one, pipelines of three nodes: no kind of GPU is one by itself. Of two stages in one node
  // each is.
  Scenario pair = unlike_pair(3);
  pair.cluster.nodes[0].count = 2;
  pair.training.parallel.pipeline = 3;
  const auto lacks = [&](std::size_t group) {
    return lacking_alone(part_of(pair, kept_of(pair.cluster, pair.cluster.nodes[group].devices[0])), serial_ddp());
  };
  EXPECT_EQ(lacks(0), "they hold no whole replicas of a model that is split as here");
  EXPECT_EQ(lacks(1), "they hold no whole replicas of a model that is split as here");
  pair.training.parallel.tensor = 2;
  pair.training.parallel.pipeline = 2;
  EXPECT_EQ(lacks(0), "");
  EXPECT_EQ(lacks(1), "");
}

TEST(Mix, IsSaidToHaveBeenSeldomMeasuredAndHasAWiderInterval) {
  Scenario scenario = unlike_pair(3);
  const ScheduleSpec ddp = serial_ddp();
  EXPECT_FALSE(seldom_measured(scenario.cluster)) << "a slow GPU is no other kind";
  const double before = run(scenario, ddp).spread.compute;
  for (Device& device : scenario.cluster.nodes[1].devices) device.architecture = "volta";
  const std::optional<Warning> said = seldom_measured(scenario.cluster);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->message,
            "of GPUs of several kinds in one job accosim knows only 4 published training steps, by whose errors the "
            "interval is widened");
  const RunResult mix = run(scenario, ddp);
  EXPECT_NEAR(mix.spread.compute, std::hypot(before, constants().mixed.spread), 1e-9);
  // It is said of everything that is predicted of the mix, with a play or without.
  const std::vector<Warning> cautions = cautions_of(scenario, *mix.costs);
  EXPECT_EQ(std::ranges::count(cautions, *said), 1);
}

}  // namespace
}  // namespace accosim
