// Is work divided by speed as well as whole micro-batches allow, and do ranks that do different numbers of them take
// the time that follows?
#include "sim/evaluation/balance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "models/price/layer_time.hpp"
#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/what_if/fairness.hpp"
#include "tests/support/advised.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

constexpr NetworkKind kNetworks[] = {NetworkKind::kReference, NetworkKind::kSimgrid};

/// Two ranks over sockets of 10 MB/s, steps of 1 ms; a micro-batch takes 100 ms on the one and 200 ms on the other;
/// 1e6 parameters in fp32, 10 ns each in the optimizer. Six micro-batches an update.
Scenario one_twice_as_fast(const std::string& bandwidth) {
  const auto node = [&](const std::string& name, const std::string& slowdown) {
    return R"({"name": ")" + name + R"(", "gpus": 1,
      "device": {"schema": "accosim.device/1", "name": ")" +
           name + R"(", "peak": {"fp32": "1 TFLOP/s"}, "gemm_efficiency": 0.5,
        "flash_attention_efficiency": 0.5, "memory_bandwidth": "10 GB/s", "memory_efficiency": 1, "memory": "8 GiB",
        "launch_interval": "0 s", "adamw_time_per_parameter": "10 ns", "slowdown": )" +
           slowdown + R"(},
      "nics": {"kind": "sockets", "bandwidth": ")" +
           bandwidth + R"(", "efficiency": 1, "latency": "1 ms"}})";
  };
  const Scratch scratch;
  return load_scenario(scratch.write("s.json", R"({"schema": "accosim.scenario/1",
    "model": {"model_type": "measured", "parameters": 1000000, "micro_batch_time": "100 ms"},
    "cluster": {"schema": "accosim.cluster/1", "nodes": [)" +
                                                   node("fast", "1") + ", " + node("slow", "2") + R"(]},
    "training": {"sequence_length": 1, "micro_batch_size": 1, "gradient_accumulation_steps": 6, "train_tokens": 1e6,
      "precision": "fp32", "interference": false}, "schedules": [{"name": "zero1"}, {"name": "acco"}]})"),
                       {})
      .scenario;
}

BalanceTask task_of(const Scenario& scenario) { return {samples_asked(scenario), 1, false, true}; }

TEST(Balance, TwiceAsFastDoesTwiceAsMuch) {
  // 12 samples an update: 8 of 100 ms on the one and 4 of 200 ms on the other, instead of 6 and 6.
  const Scenario scenario = one_twice_as_fast("10 MB/s");
  const ScheduleSpec& zero1 = scenario.schedules[0];
  const Balanced choice = balanced(scenario, zero1, task_of(scenario), NetworkKind::kReference);
  EXPECT_EQ(choice.scenario.cluster.nodes[0].accumulation_steps, std::vector<int>{8});
  EXPECT_EQ(choice.scenario.cluster.nodes[1].accumulation_steps, std::vector<int>{4});
  EXPECT_EQ(choice.samples, 12);
  EXPECT_NEAR(choice.time.value, 0.8, 1e-12);
  EXPECT_NEAR(choice.ideal.value, 0.8, 1e-12);
  // Reduce-scatter: 1 ms and 2 MB; 5 ms of optimizer; the all-gather as the reduce-scatter.
  const double rest = 0.201 + 0.005 + 0.201;
  for (const NetworkKind network : kNetworks) {
    const RunResult written = run_schedule(scenario, zero1, network);
    const RunResult divided = run_schedule(choice.scenario, zero1, network);
    EXPECT_NEAR(written.update_time.value, 6 * 0.2 + rest, 1e-9);
    EXPECT_NEAR(divided.update_time.value, 0.8 + rest, 1e-9);
    EXPECT_EQ(divided.samples_per_update, 12);
    EXPECT_EQ(divided.batch_inflation, 1);
    EXPECT_EQ(divided.ranks[0].micro_batches_per_update, 8);
    EXPECT_EQ(divided.ranks[1].micro_batches_per_update, 4);
  }
}

TEST(Balance, WhatAccoGainsOnAQuickNetworkIsBalance) {
  // Nothing to communicate to speak of: ZeRO-1 does 12 samples in 6 x 200 ms; in that time ACCO's ranks do 12 and 6,
  // which is also what ZeRO-1 does that is divided so. Per sample 1.5 times as fast, and 1.
  const Scenario scenario = one_twice_as_fast("1 TB/s");
  const std::vector<RunResult> results = compare(scenario, {0, 1}, NetworkKind::kReference);
  const FairComparison fair = fair_comparison(scenario, results, NetworkKind::kReference);
  ASSERT_EQ(fair.gains.size(), 1U);
  EXPECT_NEAR(fair.gains[0].speedup, 1.5, 0.02);
  EXPECT_NEAR(fair.gains[0].hidden, 1, 0.02);
  EXPECT_NEAR(*fair.gains[0].share_of_balance(), 1, 0.05);
  EXPECT_EQ(fair.gains[0].work, "12 and 6 micro-batches");
  // At 12 samples, at ACCO's 18, and on each alone: of 12 samples the fast one does all in 1.2 s, the slow in 2.4 s.
  ASSERT_EQ(fair.baselines.size(), 4U);
  EXPECT_NEAR(fair.baselines[0].speedup, 1.5, 0.01);
  EXPECT_NEAR(fair.baselines[1].samples_per_update, 18, 1e-9);
  EXPECT_EQ(fair.baselines[2].part, "1 fast");
  EXPECT_NEAR(fair.baselines[2].speedup, 1, 0.01);
  EXPECT_NEAR(fair.baselines[3].speedup, 0.5, 0.01);
}

TEST(Balance, IsTheBestOfAllDivisionsOfTwoKinds) {
  // Every pair of numbers of micro-batches, against the pair that was chosen.
  for (int seed = 0; seed < cases(60); ++seed) {
    Random random(seed);
    Scenario scenario = one_twice_as_fast("10 MB/s");
    scenario.cluster.nodes[1].devices[0].slowdown = random.uniform(1, 6);
    scenario.training.gradient_accumulation_steps = random.integer(1, 40);
    const int b[] = {random.integer(1, 4), random.integer(1, 4)};
    for (int g : {0, 1}) scenario.cluster.nodes[g].micro_batch_size = b[g];
    const ScheduleSpec& zero1 = scenario.schedules[0];
    BalanceTask task = task_of(scenario);
    task.unit = random.integer(1, 2);
    task.near = seed % 2 == 0 ? kNearSamples : kEqualSamples;
    const Balanced choice = balanced(scenario, zero1, task, NetworkKind::kReference);
    const double t[] = {0.1, 0.1 * scenario.cluster.nodes[1].devices[0].slowdown};
    using Badness = std::tuple<double, double>;
    const auto badness = [&](double samples, double time) {
      const double off = std::abs(samples / task.samples - 1);
      return Badness{off <= task.near + 1e-12 ? 0 : off, (1 + std::max(0.0, off - kEqualSamples) / 2) * time / samples};
    };
    Badness best{std::numeric_limits<double>::infinity(), 0};
    const int most = static_cast<int>(1.1 * task.samples) + 2 * task.unit;
    for (int i = task.unit; i <= most; i += task.unit)
      for (int j = task.unit; j <= most; j += task.unit)
        best = std::min(best, badness(i * b[0] + j * b[1], std::max(i * t[0], j * t[1])));
    const Badness chosen = badness(choice.samples, choice.time.value);
    EXPECT_NEAR(std::get<0>(chosen), std::get<0>(best), 1e-9) << seed;
    EXPECT_NEAR(std::get<1>(chosen), std::get<1>(best), 1e-9) << seed;
    EXPECT_GE(choice.time.value, choice.ideal.value * (1 - 1e-12)) << seed;
    for (const NodeGroup& group : choice.scenario.cluster.nodes)
      EXPECT_EQ(group.accumulation_steps[0] % task.unit, 0) << seed;
  }
}

TEST(Balance, NobodyWaitsForAFewMissingSamples) {
  // 511 GPUs and one 1.6 times slower, micro-batches of one sample, 13,074 samples: 25.56 each. 26 and 16 are
  // 13,302, 1.7 % more; 25 each are 12,775, and within 1 % of what is asked only where the slow one did 168 besides.
  Scenario scenario = one_twice_as_fast("10 MB/s");
  scenario.cluster.nodes[0].count = 511;
  scenario.cluster.nodes[1].devices[0].slowdown = 1.6;
  const ScheduleSpec& zero1 = scenario.schedules[0];
  const Balanced choice = balanced(scenario, zero1, {13074, 1, false, true, kNearSamples}, NetworkKind::kReference);
  EXPECT_EQ(choice.scenario.cluster.nodes[0].accumulation_steps, std::vector<int>{26});
  EXPECT_EQ(choice.scenario.cluster.nodes[1].accumulation_steps, std::vector<int>{16});
}

TEST(Balance, EqualGpusDoEqualWork) {
  // 31 equal GPUs in two node groups, and 508 samples in micro-batches of 4: 4 each are 496, 2.4 % fewer; 24 that do 5
  // and 7 that do 1 would be 508, in the time of 5. The nearest number of equal work counts, per sample.
  Scenario scenario = sample_scenario(3, 8);
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  NodeGroup& rest = scenario.cluster.nodes[1];
  rest.count = 1;
  rest.gpus = 7;
  rest.devices.pop_back();
  const ScheduleSpec& zero1 = scenario.schedules[0];
  const Balanced choice = balanced(scenario, zero1, {508, 1, false, true}, NetworkKind::kReference);
  for (const NodeGroup& group : choice.scenario.cluster.nodes)
    EXPECT_EQ(group.accumulation_steps, std::vector<int>(static_cast<std::size_t>(group.gpus), 4));
  EXPECT_EQ(choice.samples, 496);
}

TEST(Balance, ChoosesSizesThatFitAndAsManySamples) {
  // Half of the GPUs three times slower, and with room for micro-batches of 4 only.
  Scenario scenario = sample_scenario(1, 4, 10'000);
  for (Device& device : scenario.cluster.nodes[0].devices) device.launch_interval = Seconds{0};
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  const ScheduleSpec& zero1 = scenario.schedules[0];
  const Costs costs = price(scenario, zero1);
  const Bytes held = memory_of(costs.kinds[0], zero1, 4).total();
  for (Device& device : scenario.cluster.nodes[1].devices) {
    device.slowdown = 3;
    device.memory = 1.1 * held;  // likely enough for micro-batches of 4
  }
  const BalanceTask task{samples_asked(scenario), 2, true, true};
  const Balanced choice = balanced(scenario, zero1, task, NetworkKind::kReference);
  EXPECT_LE(choice.scenario.cluster.nodes[1].micro_batch_size, 4);
  EXPECT_NEAR(choice.samples / task.samples, 1, kEqualSamples);
  EXPECT_NEAR(choice.samples, samples_asked(choice.scenario), 1e-9);
  const RunResult before = run_schedule(scenario, zero1, NetworkKind::kReference);
  const RunResult after = run_schedule(choice.scenario, zero1, NetworkKind::kReference);
  EXPECT_TRUE(after.fits());
  // Of 8 GPUs 4 at a third of the speed: 4 + 4 / 3 instead of 8 / 3 of a GPU's work a second.
  EXPECT_NEAR(after.tokens_per_second / before.tokens_per_second, 2, 0.15);
  // Those that meet in every micro-batch all do as many.
  BalanceTask equal = task;
  equal.steps = false;
  const Balanced alike = balanced(scenario, zero1, equal, NetworkKind::kReference);
  EXPECT_EQ(alike.scenario.cluster.nodes[0].accumulation_steps, alike.scenario.cluster.nodes[1].accumulation_steps);
  EXPECT_GT(alike.scenario.cluster.nodes[0].micro_batch_size, alike.scenario.cluster.nodes[1].micro_batch_size);
}

TEST(Balance, OwnStepsOfIdenticalRanksTakeTheClosedForm) {
  for (int seed = 0; seed < cases(20); ++seed) {
    Random random(seed);
    const Scenario scenario = random_homogeneous(random);
    const int steps = scenario.training.gradient_accumulation_steps;
    Scenario own = scenario;
    own.training.gradient_accumulation_steps = 1;
    NodeGroup& group = own.cluster.nodes[0];
    group.accumulation_steps.assign(static_cast<std::size_t>(group.gpus), steps);
    for (const ScheduleSpec& spec : scenario.schedules) {
      const Costs costs = price(scenario, spec);
      const double form = closed_form({spec, costs, costs.kinds[0], steps, 1}).value;
      for (const NetworkKind network : kNetworks) {
        const SteadyPlay play = play_steady(own, spec, 1, network);
        EXPECT_NEAR(play.measured.update_time.value / form, 1, 1e-6) << spec.label << " " << seed;
        EXPECT_EQ(play.measured.update_time.value,
                  play_steady(scenario, spec, steps, network).measured.update_time.value);
      }
    }
  }
}

TEST(Balance, SerialSchedulesTakeTheTimeOfTheSlowestOnBothNetworks) {
  // Of ranks with different numbers, those whose computation takes longest are waited for; the rest is the same.
  for (int seed = 0; seed < cases(20); ++seed) {
    Random random(seed);
    Scenario scenario = random_homogeneous(random);
    scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
    for (Device& device : scenario.cluster.nodes[1].devices) device.slowdown = random.uniform(1, 4);
    for (NodeGroup& group : scenario.cluster.nodes)
      group.accumulation_steps.assign(static_cast<std::size_t>(group.gpus), 2 * random.integer(1, 6));
    for (const ScheduleSpec& spec : {scenario.schedules[0], scenario.schedules[1]}) {
      const Costs costs = price(scenario, spec);
      double slowest = 0;
      for (const RankKind& kind : costs.kinds)
        slowest = std::max(slowest, closed_form({spec, costs, kind, kind.steps(1), 1}).value);
      double times[2];
      for (int i : {0, 1}) times[i] = play_steady(scenario, spec, 1, kNetworks[i]).measured.update_time.value;
      EXPECT_NEAR(times[0] / slowest, 1, 1e-6) << spec.label << " " << seed;
      EXPECT_NEAR(times[1] / times[0], 1, 1e-9) << spec.label << " " << seed;
    }
  }
}

TEST(Balance, DdpsBroadcastOfBuffersWaitsForNoMicroBatch) {
  // It comes when all have just reduced and stepped, so the slowest GPU's micro-batches count as without it. What is
  // not computation is that of identical ranks: the closed form less A t.
  for (const bool broadcast : {false, true}) {
    Scenario scenario = sample_scenario(1, 4);
    scenario.training.gradient_accumulation_steps = 8;
    scenario.cluster.nodes[0].devices[3].slowdown = 3;
    ScheduleSpec ddp = scenario.schedules[1];
    ddp.broadcast_buffers = broadcast;
    EXPECT_GT(price(scenario, ddp).buffers, Bytes{0});
    const Balanced choice = balanced(scenario, ddp, task_of(scenario), NetworkKind::kReference);
    const Costs costs = price(scenario, ddp);
    const RankKind &fast = costs.kinds[0], &slow = costs.kinds[1];
    const double t = (fast.forward + fast.backward).value, t_slow = (slow.forward + slow.backward).value;
    const double rest = closed_form({ddp, costs, fast, 8, 1}).value - 8 * t;
    const std::vector<int>& steps = choice.scenario.cluster.nodes[0].accumulation_steps;
    EXPECT_GT(steps[0], steps[3]);
    const double time = std::max(steps[0] * t, steps[3] * t_slow);
    EXPECT_NEAR(choice.time.value / time, 1, 1e-12);
    for (const NetworkKind network : kNetworks)
      EXPECT_NEAR(play_steady(choice.scenario, ddp, 8, network).measured.update_time.value / (time + rest), 1, 1e-6);
  }
}

TEST(Balance, AccoDoesHalfOfAGroupsNumberInARound) {
  // A quick network, so that nobody accumulates more than the least: 4 and 2 a round.
  const Scenario scenario = one_twice_as_fast("1 TB/s");
  const ScheduleSpec& zero1 = scenario.schedules[0];
  Balanced choice = balanced(scenario, zero1, task_of(scenario), NetworkKind::kReference);
  const RunResult acco = run_schedule(choice.scenario, scenario.schedules[1], NetworkKind::kReference);
  EXPECT_EQ(acco.ranks[0].micro_batches_per_round_min, 4);
  EXPECT_EQ(acco.ranks[1].micro_batches_per_round_min, 2);
  EXPECT_NEAR(acco.samples_per_update, 12, 1e-9);
}

/// Two groups of one node with two GPUs each, the second in fp16.
Scenario in_two_types() {
  Scenario scenario = sample_scenario(1, 2);
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  scenario.cluster.nodes[1].name = "other";
  scenario.cluster.nodes[1].precision = Dtype::kFp16;
  return scenario;
}

bool has_label(const Scenario& scenario, const ScheduleSpec& spec, const std::string& name) {
  const EventGraph graph = build(spec, price(scenario, spec), 4, 4);
  return std::ranges::any_of(graph.labels, [&](const Label& label) { return label.name == name; });
}

TEST(Casts, ARankOfAnother16BitTypeCastsBeforeItReducesAndAfterItGathers) {
  // Equal GPUs but for the type: ZeRO-1 waits for the casts of the second group, each a kernel that reads and writes 2
  // bytes a parameter.
  const Scenario mixed = in_two_types();
  Scenario alike = mixed;
  alike.cluster.nodes[1].precision = Dtype::kBf16;
  for (const ScheduleSpec& spec : mixed.schedules) {
    const Costs costs = price(mixed, spec);
    ASSERT_EQ(costs.kinds.size(), 2U);
    EXPECT_FALSE(costs.kinds[0].casts_gradients || costs.kinds[0].casts_parameters);
    EXPECT_TRUE(costs.kinds[1].casts_gradients && costs.kinds[1].casts_parameters);
    const double cast =
        memory_time(costs.gradient_bytes(costs.kinds[1]), costs.gradient_bytes(costs.kinds[1]), costs.kinds[1].device)
            .value;
    const double more = play_steady(mixed, spec, 4, NetworkKind::kReference).measured.update_time.value -
                        play_steady(alike, spec, 4, NetworkKind::kReference).measured.update_time.value;
    // ACCO and DPU copy from buffer to buffer anyway, and cast as they copy.
    const bool swaps = traits_of(spec).delayed;
    EXPECT_NEAR(more, swaps ? 0 : 2 * cast, 1e-9) << spec.label;
    EXPECT_EQ(has_label(mixed, spec, swaps ? "swap, cast and clear buffers" : "cast gradients to bf16"), true);
    EXPECT_FALSE(has_label(alike, spec, "cast gradients to bf16"));
  }
  EXPECT_TRUE(has_label(mixed, mixed.schedules[0], "cast parameters to fp16"));
  EXPECT_TRUE(has_label(mixed, mixed.schedules[1], "cast gradients to fp16"));  // ddp takes whole gradients back
}

TEST(Casts, AreNoneWhereAllStoreOneType) {
  Scenario scenario = in_two_types();
  const auto casts = [&](const ScheduleSpec& spec) {
    bool any = false;
    for (const RankKind& kind : price(scenario, spec).kinds) any = any || kind.casts_gradients || kind.casts_parameters;
    return any;
  };
  ScheduleSpec wide = scenario.schedules[0];
  wide.gradient_dtype = Dtype::kFp32;
  EXPECT_TRUE(casts(wide));  // the parameters
  wide.parameter_dtype = Dtype::kFp32;
  EXPECT_FALSE(casts(wide));
  scenario.training.autocast = Autocast::kBf16;
  EXPECT_FALSE(casts(scenario.schedules[0]));
  scenario.training.autocast = Autocast::kNone;
  scenario.cluster.nodes[0].precision = Dtype::kFp16;  // all in fp16, whatever the schedule stores
  EXPECT_FALSE(casts(scenario.schedules[0]));
}

TEST(Casts, AndAPrecisionThatStaysAreWarnedOf) {
  const auto codes = [](const Scenario& scenario) {
    std::vector<std::string> found;
    for (const Warning& warning : advised(scenario, scenario.schedules[0], NetworkKind::kReference).warnings)
      if (warning.code == "own_precision" || warning.code == "casts_on_the_wire") found.push_back(warning.code);
    return found;
  };
  Scenario scenario = in_two_types();
  EXPECT_EQ(codes(scenario), (std::vector<std::string>{"own_precision", "casts_on_the_wire"}));
  scenario.cluster.nodes[1].precision = Dtype::kBf16;
  EXPECT_TRUE(codes(scenario).empty());
  scenario.training.precision = Dtype::kFp16;  // both groups keep bf16
  EXPECT_EQ(codes(scenario), std::vector<std::string>{"own_precision"});
}

}  // namespace
}  // namespace accosim
