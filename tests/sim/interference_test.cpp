// Do collectives and computation on one GPU slow each other by as much as is said, exactly, whatever starts and ends
// when? Each expectation is worked out by hand from conserved work: an op of work w that takes f times as long during
// [a, b] ends at w + (b - a) (1 - 1 / f).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "models/price/work.hpp"
#include "models/read/load.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/critical_path.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/graph/builder.hpp"
#include "sim/player/fold.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

constexpr int kChannels = 24;  // of every collective here

/// Takes twice as long beside a collective, three times beside two.
Work products(double arithmetic = 1, double memory = 0) {
  Work work{arithmetic, memory, {}};
  for (std::size_t i = 0; i < kHeld.size(); ++i) work.waves[i] = kHeld[i] == 0 ? 1 : kHeld[i] <= kChannels ? 2 : 3;
  return work;
}

Seconds s(double value) { return Seconds{value}; }

/// One world of ranks that run `program`; plan i holds multiprocessors, takes as long as its request has bytes, and
/// moves `traffic` of the memory's bandwidth of 1 B/s.
EventGraph graph_of(Tables& tables, std::vector<Program> programs, double traffic = 0, double slowed = 1) {
  EventGraph graph;
  Group world;
  for (Program& program : programs) {
    program.memory_bandwidth = BytesPerSecond{1};
    const int rank = static_cast<int>(graph.ranks.size());
    world.members.push_back(rank);
    graph.ranks.push_back({rank, {0}, 1});
  }
  for (const PlanRequest& request : tables.plans) {
    world.plans.push_back({.fixed = Seconds{request.bytes.value},
                           .sms = kChannels,
                           .memory_traffic = BytesPerSecond{traffic},
                           .slowed = slowed});
  }
  graph.programs = std::move(programs);
  graph.groups.push_back(world);
  graph.labels = tables.labels;
  return graph;
}

PlanRequest takes(double seconds) { return {CollectiveKind::kAllReduce, Bytes{seconds}}; }

std::vector<Span> named(const EventGraph& graph, int rank, const std::string& name) {
  std::vector<Span> found;
  play(graph, NetworkKind::kReference, [&](const Span& span) {
    if (span.rank == rank && graph.labels[span.label].name == name) found.push_back(span);
  });
  return found;
}

double end_of(const EventGraph& graph, int rank, const std::string& name) {
  return named(graph, rank, name).back().end.value;
}

TEST(Slowdown, IsByWavesForProductsAndByTheShareLeftForMemory) {
  EXPECT_DOUBLE_EQ(slowdown(products(), 0, 0), 1);
  EXPECT_DOUBLE_EQ(slowdown(products(), kChannels, 0.5), 2);  // products do not feel the memory's traffic
  EXPECT_DOUBLE_EQ(slowdown(products(), 25, 0), 3);           // as the next number that is known
  EXPECT_DOUBLE_EQ(slowdown(products(), 999, 0), 3);          // or the last
  EXPECT_DOUBLE_EQ(slowdown(memory_work(), 1, 0), 1);         // nor copies the multiprocessors
  EXPECT_DOUBLE_EQ(slowdown(memory_work(), 1, 0.5), 2);
  // A quarter products, half memory, a quarter of the time waiting for the host: 0.25 x 2 + 0.5 / (1 - 0.2) = 1.125.
  EXPECT_DOUBLE_EQ(slowdown(products(0.25, 0.5), kChannels, 0.2), 1.125);
  // 0.25 x 2 + 0.25 = 0.75: the host hides it.
  EXPECT_DOUBLE_EQ(slowdown(products(0.25, 0.25), kChannels, 0), 1);
}

LayerWork work_of(const Operator& op, const Device& device) {
  const Bill bill = bill_of({Layer{LayerKind::kBlock, {op}}}, device, Dtype::kBf16);
  return layer_work(bill, bill.layers.front());
}

TEST(Slowdown, OfAFullWaveIsAWholeWaveMore) {
  // 132 tiles of 256 x 128 on 132 multiprocessors are one wave; with 24 of them held two. A user's report on an H100
  // (NVIDIA developer forum, thread 337991): a 132-CTA product beside a 24-CTA all-gather took nearly twice as long.
  Device device = sample_device();
  device.sm_count = 132;
  device.collective_sms = 24;
  GemmFit fit{.peak_fraction = 1};
  fit.square_tile = fit.narrow_tile = 0.1;  // so that the wide tile is the best
  device.gemm[static_cast<std::size_t>(Dtype::kBf16)] = fit;
  device.memory_bandwidth = BytesPerSecond{1e15};
  const LayerWork work = work_of(Operator{.forward = {gemm_kernel({1, 256.0 * 12, 128.0 * 11, 65536})}}, device);
  EXPECT_DOUBLE_EQ(work.forward.arithmetic, 1);
  EXPECT_NEAR(slowdown(work.forward, 24, 0), 2, 1e-6);
  EXPECT_NEAR(slowdown(work.forward, 2, 0), 2, 1e-6);
  EXPECT_NEAR(slowdown(work.forward, 48, 0), 2, 1e-6);  // 132 on 84
  EXPECT_NEAR(slowdown(work.forward, 72, 0), 3, 1e-6);  // 132 on 60
}

TEST(Slowdown, OfALayerIsThatOfItsKernels) {
  // Without fits a product takes its FLOPs over the achieved rate, so with 24 of 96 multiprocessors held 4/3 as
  // long: here 2 s of products (6e14 FLOP at 3e14) and 1 s of memory (1e12 B at 1e12 B/s, but for 2 us of overhead).
  Device device = sample_device();
  device.gemm_efficiency = 1;
  device.memory_bandwidth = BytesPerSecond{1e12};
  device.memory_efficiency = 1;
  device.sm_count = 96;
  device.collective_sms = 24;
  Operator op{.forward = {gemm_kernel({1, 1e5, 1e5, 3e4}), memory_kernel(Bytes{1e12})}};
  const LayerWork work = work_of(op, device);
  EXPECT_NEAR(work.forward.arithmetic, 2.0 / 3, 1e-5);
  EXPECT_NEAR(work.forward.memory, 1.0 / 3, 1e-5);
  EXPECT_NEAR(slowdown(work.forward, 24, 0), 2.0 / 3 * 4 / 3 + 1.0 / 3, 1e-5);
  EXPECT_NEAR(slowdown(work.forward, 24, 0.5), 2.0 / 3 * 4 / 3 + 2.0 / 3, 1e-5);
  EXPECT_DOUBLE_EQ(work.backward.arithmetic, 0);
}

TEST(Interference, WorkIsConservedWhereACollectiveComesAndGoes) {
  // 10 s of products; a collective from 2 to 6 (its lane copies nothing first: a host op of 2 s). f = 2 during 4 s:
  // 10 + 4 (1 - 1/2) = 12.
  Tables tables;
  ProgramBuilder program(tables, {"compute", "communication"});
  program.compute(0, "products", OpClass::kForward, s(10), {}, 0, products());
  program.compute(1, "before", OpClass::kForward, s(2));
  program.collective(1, "sum", takes(4));
  EXPECT_DOUBLE_EQ(end_of(graph_of(tables, {program.take(1)}), 0, "products"), 12);
}

TEST(Interference, ACollectiveThatOutlastsTheOpSlowsTheNextToo) {
  // Collective 0..9. First op: 3 s take 6. Second: 4 s from 6; 3 s of the clock give 1.5 s of work, then 2.5: 11.5.
  Tables tables;
  ProgramBuilder program(tables, {"compute", "communication"});
  program.collective(1, "sum", takes(9));
  program.compute(0, "first", OpClass::kForward, s(3), {}, 0, products());
  program.compute(0, "second", OpClass::kForward, s(4), {}, 0, products());
  const EventGraph graph = graph_of(tables, {program.take(1)});
  EXPECT_DOUBLE_EQ(end_of(graph, 0, "first"), 6);
  EXPECT_DOUBLE_EQ(end_of(graph, 0, "second"), 11.5);
}

TEST(Interference, TwoCollectivesAtOnceSlowByTheirNumber) {
  // 0..2 one (f 2), 2..5 two (f 3), 5..8 one again: 1 + 1 + 1.5 s of work by 8, of 6; the rest by 10.5.
  Tables tables;
  ProgramBuilder program(tables, {"compute", "one", "two"});
  program.compute(0, "products", OpClass::kForward, s(6), {}, 0, products());
  program.collective(1, "long", takes(8));
  program.compute(2, "before", OpClass::kForward, s(2));
  program.collective(2, "short", takes(3));
  EXPECT_DOUBLE_EQ(end_of(graph_of(tables, {program.take(1)}), 0, "products"), 10.5);
}

TEST(Interference, AKernelThatWaitsForOtherRanksHoldsItsMultiprocessors) {
  // Rank 0 is there at 0, rank 1 at 4; 2 s of collective. Rank 0's products are slowed from 0 to 6, rank 1's from 4.
  // Rank 0's copy (memory-bound, 1/2 of the bandwidth gone) only from 4 to 6.
  Tables tables;
  std::vector<Program> programs;
  for (const double first : {0.0, 4.0}) {
    ProgramBuilder program(tables, {"compute", "communication", "copy"});
    if (first > 0) program.compute(1, "before", OpClass::kForward, s(first));
    program.collective(1, "sum", takes(2));
    program.compute(0, "products", OpClass::kForward, s(10), {}, 0, products());
    program.compute(2, "copy", OpClass::kCopy, s(10));
    programs.push_back(program.take(1));
  }
  const EventGraph graph = graph_of(tables, programs, 0.5);
  EXPECT_DOUBLE_EQ(end_of(graph, 0, "products"), 10 + 6 * 0.5);
  EXPECT_DOUBLE_EQ(end_of(graph, 1, "products"), 10 + 2 * 0.5);
  EXPECT_DOUBLE_EQ(end_of(graph, 0, "copy"), 10 + 2 * 0.5);
}

/// Two lanes without a collective: a forward pass of 10 s, and a copy of 4 s that begins with it.
EventGraph two_lanes(const Work& work, int streaming_sms) {
  Tables tables;
  ProgramBuilder program(tables, {"compute", "copy"});
  program.compute(0, "work", OpClass::kForward, s(10), {}, 0, work);
  program.compute(1, "copy", OpClass::kCopy, s(4));
  Program made = program.take(1);
  made.streaming_sms = streaming_sms;
  return graph_of(tables, {made});
}

TEST(Interference, TwoLanesThatStreamShareTheBandwidth) {
  // Both memory-bound: each at half its pace. The copy ends at 8, when 4 of the 10 s are done: 14. With half of the
  // work in memory each is slowed by 1.5: the copy ends at 6, when 4 s are done: 12.
  EXPECT_DOUBLE_EQ(end_of(two_lanes(memory_work(), 1), 0, "work"), 14);
  EXPECT_DOUBLE_EQ(end_of(two_lanes(memory_work(), 1), 0, "copy"), 8);
  EXPECT_DOUBLE_EQ(end_of(two_lanes(products(0, 0.5), 1), 0, "copy"), 6);
  Work half = products(0.5, 0.5);
  half.waves = Work::ones();
  EXPECT_DOUBLE_EQ(end_of(two_lanes(half, 1), 0, "work"), 12);
  // Without interference neither feels the other.
  EXPECT_DOUBLE_EQ(end_of(two_lanes(memory_work(), 0), 0, "work"), 10);
}

TEST(Interference, AStreamingLaneHoldsMultiprocessors) {
  // Products take twice as long while the copy holds 24: 10 + 4 (1 - 1/2). The copy itself feels nothing of them.
  EXPECT_DOUBLE_EQ(end_of(two_lanes(products(), kChannels), 0, "work"), 12);
  EXPECT_DOUBLE_EQ(end_of(two_lanes(products(), kChannels), 0, "copy"), 4);
}

TEST(Interference, ALoopBesideACopyIntegratesThePace) {
  // Three micro-batches of 2 s of products and 2 s that feel nothing, beside a copy of 3 s that holds 24: the first
  // takes 4 s of the clock for the products but for the copy's end at 3, when 1.5 s of them are done: 3.5 + 2, then 4
  // each.
  Tables tables;
  ProgramBuilder program(tables, {"compute", "copy"});
  program.begin_loop(0, 3);
  program.compute(0, "slow", OpClass::kForward, s(2), {}, 0, products());
  program.compute(0, "same", OpClass::kBackward, s(2), {}, 1);
  program.end_loop(0);
  program.compute(0, "after", OpClass::kForward, s(1));
  program.compute(1, "copy", OpClass::kCopy, s(3));
  Program made = program.take(1);
  made.streaming_sms = kChannels;
  EXPECT_DOUBLE_EQ(end_of(graph_of(tables, {made}), 0, "after"), 3.5 + 2 + 4 + 4 + 1);
}

TEST(Interference, WhatNothingSlowsKeepsItsTime) {
  Tables tables;
  ProgramBuilder program(tables, {"compute", "communication"});
  program.compute(0, "plain", OpClass::kForward, s(10));
  program.collective(1, "sum", takes(4));
  EXPECT_DOUBLE_EQ(end_of(graph_of(tables, {program.take(1)}, 0.5), 0, "plain"), 10);
}

TEST(Interference, ComputationSlowsACollectiveWhileItRuns) {
  // 6 s of collective, 1.5 times as long while a rank computes: rank 0 from 1 to 4, rank 1 from 3 to 5 (host lanes
  // before). Slowed during [1, 5]: 6 + 4 (1 - 1 / 1.5) = 7 1/3.
  Tables tables;
  std::vector<Program> programs;
  for (const auto& [from, length] : {std::pair(1.0, 3.0), std::pair(3.0, 2.0)}) {
    ProgramBuilder program(tables, {"compute", "communication"});
    program.collective(1, "sum", takes(6));
    const OpRef slept = program.compute(0, "sleep", OpClass::kForward, s(from));
    program.compute(0, "work", OpClass::kForward, s(length), {slept});
    programs.push_back(program.take(1));
    programs.back().lanes[0][0].kind = OpKind::kHost;
  }
  EventGraph graph = graph_of(tables, programs, 0, 1.5);
  graph.groups[0].plans[0].sms = 0;
  EXPECT_NEAR(end_of(graph, 0, "sum"), 6 + 4 * (1 - 1 / 1.5), 1e-12);
}

/// Micro-batches of 2 + 4 s (the second op feels nothing) until a collective that starts at `begin` has ended; a copy
/// of the loop on two lanes is played body by body.
EventGraph accumulate(double begin, double length, int min, int stride, bool body_by_body) {
  Tables tables;
  ProgramBuilder program(tables, {"compute", "communication", "helper"});
  if (begin > 0) program.compute(1, "before", OpClass::kForward, s(begin));
  const OpRef sum = program.collective(1, "sum", takes(length));
  program.begin_loop(0, min, sum, stride);
  program.compute(0, "slow", OpClass::kForward, s(2), {}, 0, products());
  const OpRef last = program.compute(0, "same", OpClass::kBackward, s(4), {}, 1);
  program.end_loop(0);
  program.compute(0, "after", OpClass::kCopy, s(1));
  Program made = program.take(1);
  if (body_by_body) {  // somebody waits for an op of the body, inside of it, so it is not plain
    const Op waits{.waits = static_cast<std::uint32_t>(made.waits.size()), .wait_count = 1};
    made.waits.push_back(last);
    Op begins = made.lanes[0][0], ends = made.lanes[0][3];
    made.lanes[2] = {begins, waits, ends};
    made.loops[0].parts.push_back({2, 0, 2});
  }
  return graph_of(tables, {made});
}

TEST(Interference, RepeatedBodiesIntegrateThePace) {
  // A collective from 7 to 21. First body 0..6; second: its slow op has 1 s of 2 done at 7, the other takes 2: 9, then
  // 13. Third: 13..17..21. It ends with the collective: 3 bodies.
  const EventGraph graph = accumulate(7, 14, 1, 1, false);
  EXPECT_DOUBLE_EQ(named(graph, 0, "after").at(0).begin.value, 21);
  EXPECT_EQ(sum_of<std::int64_t>(named(graph, 0, "slow"), &Span::repeat), 3);
}

TEST(Interference, PlainLoopsAreWhatBodyByBodyPlayIs) {
  for (int seed = 0; seed < cases(300); ++seed) {
    Random random(seed);
    const double begin = random.integer(0, 1) == 1 ? random.uniform(0, 40) : 0, length = random.uniform(0.1, 90);
    const int min = random.integer(1, 9), stride = random.integer(1, 3);
    const EventGraph plain = accumulate(begin, length, min, stride, false);
    const EventGraph each = accumulate(begin, length, min, stride, true);
    for (const char* name : {"after", "slow", "same"}) {
      std::int64_t count[2] = {0, 0};
      double last[2] = {0, 0};
      for (const bool body_by_body : {false, true})
        for (const Span& span : named(body_by_body ? each : plain, 0, name)) {
          count[body_by_body] += span.repeat;
          last[body_by_body] = span.end.value + static_cast<double>(span.repeat - 1) * span.period.value;
        }
      EXPECT_EQ(count[0], count[1]) << name << " seed " << seed;
      EXPECT_NEAR(last[0], last[1], 1e-9) << name << " seed " << seed;
    }
  }
}

TEST(Interference, AMillionBodiesAreNotAMillionEvents) {
  // Bodies of 6 s alone, 8 beside: a collective of 8e6 s from the begin holds exactly 1e6.
  const EventGraph graph = accumulate(0, 8e6, 1, 1, false);
  const std::vector<Span> slow = named(graph, 0, "slow");
  EXPECT_LE(slow.size(), 3u);
  EXPECT_DOUBLE_EQ(named(graph, 0, "after").at(0).begin.value, 8e6);
}

/// A cluster on which collectives take a fifth of the multiprocessors and some memory bandwidth.
Scenario interfering(Random& random) {
  Scenario scenario = random_homogeneous(random);
  scenario.training.interference = true;
  for (Device& device : scenario.cluster.nodes[0].devices) {
    device.sm_count = 100;
    device.collective_sms = 20;
    device.collective_slowdown = random.integer(0, 1) == 1 ? 1.3 : 1;
  }
  for (const char* name : {"zero2", "zero3"}) scenario.schedules.push_back(sample_schedule(name));
  ScheduleSpec both = sample_schedule("zero1", "both ways");
  both.overlap = Overlap::kBackward;
  both.buckets = Buckets::kUnits;
  both.overlap_param_gather = true;
  scenario.schedules.push_back(both);
  ScheduleSpec of_owners = sample_schedule("zero1", "broadcasts");
  of_owners.overlap = Overlap::kBackward;
  of_owners.buckets = Buckets::kUnits;
  of_owners.parameter_sync = ParameterSync::kBroadcast;
  scenario.schedules.push_back(of_owners);
  return scenario;
}

TEST(Interference, NeverMakesAScheduleFasterAndLeavesSerialOnesAlone) {
  int slower = 0;
  for (int seed = 0; seed < 40; ++seed) {
    Random random(seed);
    Scenario scenario = interfering(random);
    for (const ScheduleSpec& spec : scenario.schedules) {
      scenario.training.interference = true;
      const double with = run_schedule(scenario, spec, NetworkKind::kReference).tokens_per_second;
      scenario.training.interference = false;
      const double without = run_schedule(scenario, spec, NetworkKind::kReference).tokens_per_second;
      if (is_serial_sharded(spec) || (spec.name == "ddp" && spec.overlap == Overlap::kNone)) {
        EXPECT_NEAR(with / without, 1, 1e-9) << spec.name << " seed " << seed;
      } else {
        EXPECT_LE(with, without * (1 + 1e-9)) << spec.name << " seed " << seed;
      }
      slower += with < 0.99 * without ? 1 : 0;
    }
  }
  EXPECT_GT(slower, 20);
}

TEST(Interference, NetworksAgreeWhereNoLinkIsShared) {
  for (int seed = 0; seed < cases(30); ++seed) {
    Random random(seed);
    const Scenario scenario = interfering(random);
    for (const ScheduleSpec& spec : scenario.schedules) {
      const double reference = run_schedule(scenario, spec, NetworkKind::kReference).update_time.value;
      const double simgrid = run_schedule(scenario, spec, NetworkKind::kSimgrid).update_time.value;
      EXPECT_NEAR(simgrid / reference, 1, 1e-6) << spec.name << " seed " << seed;
    }
  }
}

TEST(Interference, ARingBetweenNodesHasTwiceTheChannelsThatTheSearchFinds) {
  // One of 12 GB/s for each adapter of 100 Gbit/s, as long as the GPUs' slots of 24 GB/s carry them: two a GPU.
  Scenario scenario = sample_scenario(2, 4);
  scenario.training.interference = true;
  for (Device& device : scenario.cluster.nodes[0].devices) device.collective_sms = 24;
  const ScheduleSpec spec = sample_schedule({.name = "zero3", .island = Island::kNode});
  for (const auto& [adapters, world, replicas] : {std::array{1, 2, 2}, std::array{8, 16, 4}, std::array{16, 16, 4}}) {
    scenario.cluster.nodes[0].nics.count = adapters;
    const auto most = [](const Group& group) { return largest<int>(group.plans, &Plan::sms); };
    const EventGraph hybrid = build(spec, price(scenario, spec), 1, 1);
    EXPECT_EQ(most(hybrid.groups[1]), 24) << "inside a node the links decide";
    EXPECT_EQ(most(hybrid.groups[3]), replicas);
    const ScheduleSpec zero1 = sample_schedule("zero1");
    EXPECT_EQ(most(build(zero1, price(scenario, zero1), 1, 1).groups[0]), world);
  }
}

TEST(Interference, ACountThatWaitsHoldsOneMultiprocessorAndAllBehindIt) {
  // One of 8 GPUs is 3 times slower. The others' counts of 4 bytes spin on one channel until it comes; their
  // reduce-scatters, which would take 16 (8 adapters), are behind them on the same lane.
  Scenario scenario = sample_scenario(2, 4);
  scenario.training.interference = true;
  scenario.cluster.nodes[0].nics.count = 8;
  scenario.cluster.nodes[0].count = 1;
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  for (NodeGroup& group : scenario.cluster.nodes)
    for (Device& device : group.devices) device.sm_count = 100, device.collective_sms = 24;
  scenario.cluster.nodes[1].devices[3].slowdown = 3;
  const ScheduleSpec acco = sample_schedule("acco");
  const EventGraph graph = build(acco, price(scenario, acco), 4, 4);
  std::set<int> held;
  for (const Plan& plan : graph.groups[0].plans) held.insert(plan.sms);
  EXPECT_EQ(held, (std::set<int>{1, 16}));
  const std::vector<Span> slow = named(graph, 7, "all-reduce of counts"),
                          fast = named(graph, 0, "all-reduce of counts");
  const std::vector<Span> behind = named(graph, 0, "reduce-scatter");
  ASSERT_EQ(fast.size(), slow.size());
  ASSERT_EQ(fast.size(), behind.size());
  for (std::size_t round = 1; round < fast.size(); ++round) {
    EXPECT_DOUBLE_EQ(fast[round].end.value, slow[round].end.value);
    EXPECT_GE(behind[round].begin, slow[round].begin);
  }
}

TEST(Interference, FoldedRanksAreSlowedAsTheyAre) {
  for (int seed = 0; seed < cases(15); ++seed) {
    Random random(seed);
    const Scenario scenario = interfering(random);
    for (const ScheduleSpec& spec : scenario.schedules) {
      const EventGraph whole = build(spec, price(scenario, spec), 4, 2);
      const Played all = play(whole, NetworkKind::kReference, {});
      const Played once = play(fold(whole).graph, NetworkKind::kReference, {});
      EXPECT_NEAR(once.end / all.end, 1, 1e-9) << spec.name << " seed " << seed;
    }
  }
}

TEST(Interference, AtEqualBatchAccoStillGainsAtMostOneHalf) {
  // Serial ZeRO-1 is not slowed, ACCO's rounds are: the law holds all the more.
  for (int seed = 0; seed < cases(40); ++seed) {
    Random random(2000 + seed);
    const Scenario scenario = interfering(random);
    const std::vector<RunResult> results = compare(scenario, {3}, NetworkKind::kReference);
    EXPECT_LE(*results[0].speedup_same_batch, 1.5 * (1 + 1e-9)) << "seed " << seed;
  }
}

/// An update of ACCO, and what of it does not depend on how many micro-batches it has, s.
struct AccoUpdate {
  double time = 0, micro_batches = 0, fixed = 0;
};

AccoUpdate acco_update_at(int gbit) {
  Scenario scenario =
      load_scenario(
          "finetune_2x4_a100",
          {fmt::format(R"(/cluster/nodes/0/nics={{"count": 1, "bandwidth": "{} Gbit/s", "efficiency": 0.85}})", gbit)})
          .scenario;
  const ScheduleSpec acco = *schedule_labelled(scenario, "acco");
  const Evaluations evaluations(NetworkKind::kReference);
  const auto play = evaluations.play(scenario, acco);
  scenario.training.interference = false;
  const auto alone = evaluations.play(scenario, acco);
  AccoUpdate update{play->measured.update_time.value, play->measured.ranks[0].micro_batches_per_update, 0};
  update.fixed =
      update.time - alone->measured.update_time.value * samples_per_update(*play) / samples_per_update(*alone);
  for (const auto& [cause, time] : critical_path(*play).causes)
    if (cause != "forward and backward") update.fixed += time.value;
  return update;
}

TEST(Interference, OnAFasterNetworkAccosUpdateIsShorterAndHasItsFixedWorkOnFewerMicroBatches) {
  // Buffer swaps, launches and what collectives cost beside the computation are the same for every update. With fewer
  // micro-batches in it each has more of that, and tokens per second fall by as much at most.
  AccoUpdate before = acco_update_at(25);
  int falls = 0;
  for (const int gbit : {35, 50, 65, 80, 110, 130, 200, 300, 400}) {
    const AccoUpdate now = acco_update_at(gbit);
    EXPECT_LT(now.time, before.time) << gbit;
    const double more = now.time / now.micro_batches - before.time / before.micro_batches;
    falls += more > 0 ? 1 : 0;
    EXPECT_LE(more, now.fixed * (1 / now.micro_batches - 1 / before.micro_batches) + 1e-9) << gbit;
    before = now;
  }
  EXPECT_GT(falls, 0);
}

}  // namespace
}  // namespace accosim
