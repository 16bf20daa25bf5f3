// Do ACCO's relatives (Pipe-SGD, SAPipe, DPU with its optimizer on the host) and ACCO's own further forms send what
// they should, wait for what they need, and gain no more than their laws allow? Their times are in schedules_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "models/price/price.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/host.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/sim/sharded_scenarios.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

double update_time(const Scenario& scenario, const ScheduleSpec& spec) {
  return run_schedule(scenario, spec, NetworkKind::kReference).update_time.value;
}

ScheduleSpec acco(int micro_batches_per_round, LateCommunication late = LateCommunication::kWait) {
  return sample_schedule(
      {.name = "acco", .late_communication = late, .micro_batches_per_round = micro_batches_per_round});
}

ScheduleSpec in_buckets(ScheduleSpec spec) {
  spec.label += " in buckets";
  spec.overlap = Overlap::kBackward;
  spec.buckets = Buckets::kTensors;
  return spec;
}

ScheduleSpec with_local_estimate(ScheduleSpec spec) {
  spec.label += " with a local estimate";
  spec.estimate = EstimateOf::kLocal;
  return spec;
}

ScheduleSpec of_stage_2(ScheduleSpec spec) {
  spec.label += " of stage 2";
  spec.zero_stage = 2;
  spec.sync = Sync::kEveryMicroBatch;
  return spec;
}

ScheduleSpec of_stage_3(ScheduleSpec spec) {
  spec.label += " of stage 3";
  spec.zero_stage = 3;
  spec.sync = Sync::kEveryMicroBatch;
  return spec;
}

ScheduleSpec pipesgd(int delay) {
  ScheduleSpec spec = sample_schedule("pipesgd", "pipesgd " + std::to_string(delay));
  spec.delay = delay;
  spec.late_communication = LateCommunication::kWait;
  return spec;
}

ScheduleSpec on_host(const std::string& name) {
  ScheduleSpec spec = sample_schedule(name, name + " on the host");
  spec.offload_optimizer = true;
  spec.sync = Sync::kEveryMicroBatch;
  spec.late_communication = LateCommunication::kWait;
  return spec;
}

/// Names of the ops of a lane, loop marks left out.
std::vector<std::string> op_names(const EventGraph& graph, const std::string& lane) {
  const Program& program = graph.programs[0];
  std::vector<std::string> names;
  for (std::size_t l = 0; l < program.lanes.size(); ++l)
    for (const Op& op : program.lanes[l])
      if (program.lane_names[l] == lane && op.kind != OpKind::kLoopBegin && op.kind != OpKind::kLoopEnd)
        names.push_back(graph.labels[op.label].name);
  return names;
}

TEST(Schedules, AccoSendsTwiceAnIdealZero1) {
  // But for the counts of 4 bytes, which 8 ranks all-reduce in both rounds.
  const Scenario scenario = sample_scenario(2, 4);
  const double zero1 = sent(scenario, sample_schedule("zero1"));
  EXPECT_NEAR(sent(scenario, sample_schedule("acco")), 2 * zero1 + 2 * 2 * 7.0 / 8 * 4, 1e-3);
}

TEST(AccoFamily, SendsWhatItsFormsSay) {
  // 8 ranks, P parameters in 2 bytes, 4 micro-batches. An all-reduce sends 2 x 2 P 7/8, a reduce-scatter and a gather
  // 2 P 7/8 each; a count of 4 bytes is all-reduced for each round that communicates.
  const Scenario scenario = sample_scenario(2, 4);
  const double one = 2 * parameters_of(scenario) * 7 / 8, count = 2 * 7.0 / 8 * 4;
  EXPECT_NEAR(sent(scenario, sample_schedule("zero1")), 2 * one, 1e-3);
  EXPECT_NEAR(sent(scenario, pipesgd(1)), 2 * one, 1e-3);
  EXPECT_NEAR(sent(scenario, pipesgd(3)), 2 * one, 1e-3);
  EXPECT_NEAR(sent(scenario, sample_schedule("sapipe")), 2 * one, 1e-3);
  EXPECT_NEAR(sent(scenario, acco(2)), 4 * one + 2 * count, 1e-3);  // 8 P 7/8
  EXPECT_NEAR(sent(scenario, in_buckets(acco(2))), 4 * one + 2 * count, 1e-3);
  EXPECT_NEAR(sent(scenario, with_local_estimate(acco(2))), 2 * one + count, 1e-3);  // 4 P 7/8
  EXPECT_NEAR(sent(scenario, in_buckets(with_local_estimate(acco(2)))), 2 * one + count, 1e-3);
  EXPECT_NEAR(sent(scenario, of_stage_2(acco(2))), (4 + 2) * one + 2 * count, 1e-3);  // four reductions, two gathers
  // Units: as zero3 with as many micro-batches.
  const ScheduleSpec zero3 = sample_schedule({.name = "zero3", .sync = Sync::kEveryMicroBatch});
  EXPECT_NEAR(sent(scenario, of_stage_3(acco(2))), sent(scenario, zero3), 1e-3);
  EXPECT_NEAR(sent(scenario, on_host("dpu")), (4 + 1) * one, 1e-3);
  EXPECT_NEAR(sent(scenario, on_host("zero1")), 2 * one, 1e-3);
}

TEST(AccoFamily, ALongerDelayHidesNoBandwidth) {
  // In order on one lane: no update takes less than its all-reduce, whatever the delay; with d > 1 no more than that.
  const Scenario slow = sample_scenario(2, 1, 1);
  const Costs costs = price(slow, pipesgd(1));
  const double all_reduce =
      request_time(costs, {CollectiveKind::kAllReduce, costs.gradient_bytes(costs.kinds[0])}).value;
  ASSERT_GT(all_reduce, 2 * 4 * (costs.kinds[0].forward + costs.kinds[0].backward).value);
  EXPECT_GT(update_time(slow, pipesgd(1)), 1.0001 * all_reduce);  // and its step
  for (const int delay : {2, 3, 8}) EXPECT_NEAR(update_time(slow, pipesgd(delay)) / all_reduce, 1, 1e-6) << delay;
}

TEST(AccoFamily, ALongerDelayHidesJitter) {
  // An all-reduce that takes as long as the mean computation: with a delay of one every rank waits for the slowest of
  // its update; with more, what one update is late another makes up.
  Scenario scenario = sample_scenario(2, 4);
  const Costs any = price(scenario, pipesgd(1));
  const double compute = 4 * (any.kinds[0].forward + any.kinds[0].backward).value;
  double low = 0.1, high = 1000;  // Gbit/s
  for (int i = 0; i < cases(60); ++i) {
    const double rate = std::sqrt(low * high);
    scenario.cluster.nodes[0].nics.bandwidth = BytesPerSecond{rate * 1e9 / 8};
    const Costs costs = price(scenario, pipesgd(1));
    const Seconds sending = request_time(costs, {CollectiveKind::kAllReduce, costs.gradient_bytes(costs.kinds[0])});
    (sending.value > compute ? low : high) = rate;
  }
  scenario.training.unsteady.jitter = {0.3, 0, Distribution::kLognormal};
  const double one = update_time(scenario, pipesgd(1)), two = update_time(scenario, pipesgd(2)),
               eight = update_time(scenario, pipesgd(8));
  EXPECT_LT(two, 0.99 * one);
  EXPECT_LT(eight, two);
  EXPECT_GT(eight, 0.98 * compute);
}

TEST(AccoFamily, GainsNoMoreThanItsLawsAllow) {
  // At equal samples an update, identical ranks. Over serial DDP, A t + T_ar + O, Pipe-SGD and SAPipe take at least the
  // larger of A t + O (SAPipe's O is beside A t: of A t and O) and T_ar: at most twice, and three times. Over serial
  // ZeRO-1 ACCO's forms keep (2 R + T) / 2 R <= 3/2, since each round still takes T and m t; where the estimate is
  // local and its round does not grow while the other does, it is 1 + T / (m t + R) <= 2. DPU on the host is at most
  // thrice as fast while the host is not faster than the GPU.
  double most_pipe = 0, most_buckets = 0, most_local = 0, most_stage_2 = 0;
  for (int seed = 0; seed < 80; ++seed) {
    Random random(2000 + seed);
    Scenario scenario = random_homogeneous(random);
    const int m = scenario.training.gradient_accumulation_steps / 2;
    std::vector<ScheduleSpec>& specs = scenario.schedules;
    specs = {sample_schedule("zero1")};
    for (const ScheduleSpec& spec :
         {in_buckets(acco(m)), with_local_estimate(acco(m)),
          with_local_estimate(acco(m, LateCommunication::kAccumulate)), in_buckets(with_local_estimate(acco(m))),
          of_stage_2(acco(m)), on_host("dpu"), of_stage_3(acco(m))}) {
      specs.push_back(spec);
      specs.back().label = std::to_string(specs.size());
    }
    const std::vector<RunResult> over_zero1 = compare(scenario, {1, 2, 3, 4, 5, 6, 7}, NetworkKind::kReference);
    constexpr double kMost[] = {1.5, 1.5, 2, 1.5, 1.5, 3, 2};
    for (std::size_t i = 0; i < over_zero1.size(); ++i) {
      EXPECT_EQ(most_same_batch(specs[i + 1]), kMost[i]) << "form " << i;
      EXPECT_LE(*over_zero1[i].speedup_same_batch, kMost[i] * (1 + 1e-9)) << "form " << i << " seed " << seed;
    }
    most_buckets = std::max(most_buckets, *over_zero1[0].speedup_same_batch);
    most_local = std::max(most_local, *over_zero1[2].speedup_same_batch);
    most_stage_2 = std::max(most_stage_2, *over_zero1[4].speedup_same_batch);
    specs = {sample_schedule("ddp"), pipesgd(1), pipesgd(4), sample_schedule("sapipe")};
    scenario.baseline = "ddp";
    const std::vector<RunResult> over_ddp = compare(scenario, {1, 2, 3}, NetworkKind::kReference);
    EXPECT_LE(*over_ddp[0].speedup_same_batch, 2) << "seed " << seed;
    EXPECT_LE(*over_ddp[1].speedup_same_batch, 2) << "seed " << seed;
    EXPECT_LE(*over_ddp[2].speedup_same_batch, 3) << "seed " << seed;
    most_pipe = std::max(most_pipe, *over_ddp[1].speedup_same_batch);
  }
  EXPECT_GT(most_pipe, 1.5) << "laws are only tested where they are nearly reached";
  EXPECT_GT(most_buckets, 1.25);
  EXPECT_GT(most_local, 1.25);
  EXPECT_GT(most_stage_2, 1.15);
}

/// When ops of a name ran on the first rank, in their order.
class Spans {
 public:
  Spans(const Scenario& scenario, const ScheduleSpec& spec) {
    constexpr int kUpdates = 8;
    const int steps = scenario.training.gradient_accumulation_steps;
    const EventGraph graph = build(spec, price(scenario, spec), steps, kUpdates);
    play(graph, NetworkKind::kReference, [&](const Span& span) {
      if (span.rank == 0) spans_[graph.labels[span.label].name].push_back(span);
    });
  }
  std::size_t count(const std::string& name) { return spans_[name].size(); }
  double begin(const std::string& name, std::size_t k) { return spans_[name].at(k).begin.value; }
  double end(const std::string& name, std::size_t k) { return spans_[name].at(k).end.value; }

 private:
  std::map<std::string, std::vector<Span>> spans_;
};

TEST(AccoFamily, NothingBeginsBeforeWhatItNeeds) {
  for (int seed = 0; seed < cases(20); ++seed) {
    Random random(5000 + seed);
    Scenario scenario = random_homogeneous(random);
    scenario.training.gradient_accumulation_steps = 2;
    for (const int delay : {1, 3}) {  // as many reductions as are late stand before those of the first update
      Spans pipe(scenario, pipesgd(delay));
      ASSERT_EQ(pipe.count("optimizer"), 8u);
      for (std::size_t k = 0; k < pipe.count("optimizer"); ++k) {
        EXPECT_GE(pipe.begin("optimizer", k), pipe.end("all-reduce", k)) << delay << " seed " << seed;
        if (k + delay < pipe.count("all-reduce")) {
          EXPECT_GE(pipe.begin("all-reduce", k + delay), pipe.end("copy and clear gradients", k));
        }
      }
    }
    Spans sapipe(scenario, sample_schedule({.name = "sapipe", .buckets = Buckets::kUnits}));
    const std::size_t buckets = scenario.model.num_hidden_layers + 2;
    ASSERT_EQ(sapipe.count("optimizer of a bucket"), 8 * buckets);
    for (std::size_t k = 0; k < 8 * buckets; ++k) {
      EXPECT_GE(sapipe.begin("all-reduce of a bucket", k), sapipe.end("copy gradients into bucket", k));
      EXPECT_GE(sapipe.begin("optimizer of a bucket", k), sapipe.end("all-reduce of a bucket", k));
      const std::size_t before = k / buckets * buckets;  // of all buckets of the updates before
      if (before > 0) {
        EXPECT_GE(sapipe.begin("copy gradients into bucket", k), sapipe.end("optimizer of a bucket", before - 1));
      }
    }
    Spans host(scenario, on_host("dpu"));
    ASSERT_EQ(host.count("optimizer on the host"), 8u);
    ASSERT_EQ(host.count("all-gather"), 7u);  // the last update's is the next one's
    for (std::size_t k = 0; k < host.count("optimizer on the host"); ++k) {
      EXPECT_GE(host.begin("optimizer on the host", k), host.end("gradients to host", k));
      EXPECT_GE(host.begin("parameters from host", k), host.end("optimizer on the host", k));
      if (k < host.count("all-gather")) {
        EXPECT_GE(host.begin("all-gather", k), host.end("parameters from host", k));
      }
    }
    Spans rounds(scenario, of_stage_2(acco(1)));  // the first backward pass is before the first round
    ASSERT_EQ(rounds.count("backward"), 17u);
    for (std::size_t k = 1; k < rounds.count("backward"); ++k)
      EXPECT_GE(rounds.begin("backward", k), rounds.end("reduce-scatter", k - 1)) << "seed " << seed;
    ScheduleSpec whole = in_buckets(acco(1));
    whole.buckets = Buckets::kWhole;
    Spans inside(scenario, whole);
    ASSERT_EQ(inside.count("reduce-scatter of a bucket"), 17u);
    for (std::size_t k = 1; k < inside.count("reduce-scatter of a bucket"); ++k)
      EXPECT_GE(inside.begin("reduce-scatter of a bucket", k), inside.end("all-gather", k - 1)) << "seed " << seed;
  }
}

TEST(AccoFamily, DoesAsManyMicroBatchesAsAreAskedFor) {
  // Only a round that accumulates while it communicates may hold more.
  for (int seed = 0; seed < cases(20); ++seed) {
    Random random(3000 + seed);
    const Scenario scenario = random_homogeneous(random);
    const int steps = scenario.training.gradient_accumulation_steps,
              ranks = static_cast<int>(gpu_count(scenario.cluster));
    for (const ScheduleSpec& spec :
         {pipesgd(1), pipesgd(3), sample_schedule("sapipe"), in_buckets(acco(steps / 2)), of_stage_2(acco(steps / 2)),
          of_stage_3(acco(steps / 2)), with_local_estimate(acco(steps / 2)), on_host("dpu"), on_host("zero3")})
      EXPECT_EQ(run_schedule(scenario, spec, NetworkKind::kReference).micro_batches_per_update, 1.0 * steps * ranks)
          << spec.label << " seed " << seed;
    const ScheduleSpec grows = with_local_estimate(acco(steps / 2, LateCommunication::kAccumulate));
    EXPECT_GE(run_schedule(scenario, grows, NetworkKind::kReference).micro_batches_per_update, 1.0 * steps * ranks);
  }
}

TEST(AccoFamily, OneGradientARoundIsARoundOfOneMicroBatchThatWaits) {
  // However late the communication is, or however unequal the ranks are, each adds one gradient in a round.
  Scenario scenario = sample_scenario(2, 2, 1);
  scenario.training.gradient_accumulation_steps = 2;
  scenario.cluster.nodes[0].devices[1].slowdown = 3;
  const RunResult result = run_schedule(scenario, acco(1), NetworkKind::kReference);
  for (const RankResult& rank : result.ranks) {
    EXPECT_EQ(rank.micro_batches_per_round_min, 1);
    EXPECT_EQ(rank.micro_batches_per_round_max, 1);
  }
  EXPECT_EQ(result.batch_inflation, 1);
}

TEST(AccoFamily, ALocalEstimateSendsNothingForIt) {
  const Scenario scenario = sample_scenario(1, 2);
  const ScheduleSpec spec = with_local_estimate(acco(1));
  const EventGraph graph = build(spec, price(scenario, spec), 2, 1);
  EXPECT_EQ(op_names(graph, "communication"),
            (std::vector<std::string>{"drained host", "all-reduce of counts", "reduce-scatter",
                                      "copy and scale gradients", "optimizer", "all-gather"}));
  EXPECT_EQ(op_names(graph, "compute"),
            (std::vector<std::string>{"forward", "backward", "swap and clear buffers",  // g~, as before the first round
                                      "local estimate", "forward", "backward", "swap and clear buffers", "round",  // g
                                      "forward", "backward", "swap buffers", "update"}));  // g~, beside the update
}

TEST(AccoFamily, BucketsOfARoundLeaveBehindTheGatherThatItWaitsFor) {
  const Scenario scenario = sample_scenario(1, 2);
  ScheduleSpec spec = in_buckets(acco(1));
  spec.buckets = Buckets::kWhole;
  const EventGraph graph = build(spec, price(scenario, spec), 2, 1);
  EXPECT_EQ(op_names(graph, "communication"),
            (std::vector<std::string>{"reduce-scatter of a bucket", "drained host", "clone optimizer states",
                                      "all-reduce of counts", "copy and scale gradients", "optimizer", "all-gather",
                                      "restore optimizer states", "reduce-scatter of a bucket", "drained host",
                                      "all-reduce of counts", "copy and scale gradients", "optimizer", "all-gather",
                                      "reduce-scatter of a bucket"}));
}

TEST(AccoFamily, DilocoHasItInsideItsReplicas) {
  // H updates of ACCO in a node, of its ranks alone, then the exchange and the outer step of all.
  for (int seed = 0; seed < cases(20); ++seed) {
    Random random(4000 + seed);
    Scenario scenario = random_homogeneous(random);
    scenario.cluster.nodes[0].count = 2;
    const int m = scenario.training.gradient_accumulation_steps / 2;
    ScheduleSpec spec = sample_schedule("diloco");
    spec.inner = "acco";
    spec.island = Island::kNode;
    spec.inner_updates = random.integer(1, 4);
    spec.micro_batches_per_round = m;
    spec.late_communication = LateCommunication::kWait;
    spec.rollback_estimate = random.integer(0, 1) == 1;
    const SteadyPlay play = play_steady(scenario, spec, 2 * m, NetworkKind::kReference);
    const Seconds expected = closed_form({spec, play.costs, play.costs->kinds[0], 2 * m, 1});
    EXPECT_NEAR(play.measured.update_time / expected, 1, 1e-6) << "seed " << seed;
    const RunResult result = run_schedule(scenario, spec, NetworkKind::kReference);
    EXPECT_EQ(result.batch_inflation, 1);
    const int gpus = scenario.cluster.nodes[0].gpus, ranks = 2 * gpus;
    const double one = 2 * parameters_of(scenario), inside = 1.0 * (gpus - 1) / gpus;
    const double update = inside * (4 * one + 2 * 2 * 4), exchange = 2.0 * (ranks - 1) / ranks * one;
    EXPECT_NEAR(result.bytes_sent_per_rank_per_update.value, update + exchange / spec.inner_updates, 1e-3);
  }
}

TEST(Host, SharesItsMemoryAndEachGpuHasItsSlot) {
  // 4 GPUs a node, 8 ranks, 80 GB/s of a host: 20 GB/s a GPU. AdamW of P/8 reads 12 + 2 bytes and writes 12 + 2.
  Scenario scenario = sample_scenario(2, 4);
  scenario.cluster.nodes[0].pcie = BytesPerSecond{25e9};
  scenario.cluster.nodes[0].host_memory = BytesPerSecond{80e9};
  const ScheduleSpec spec = on_host("zero1");
  const Costs costs = price(scenario, spec);
  const ScheduleInput input{spec, costs, costs.kinds[0], 4, 1};
  const double shard = parameters_of(scenario) / 8;
  EXPECT_NEAR(host_optimizer_time(input, shard).value, 28 * shard / 20e9, 1e-12);
  EXPECT_NEAR(pcie_time(input, Bytes{2 * shard}).value, 2 * shard / 25e9, 1e-12);
  EXPECT_NEAR(host_time(input, Bytes{3e9}, Bytes{1e9}).value, 0.2, 1e-12);
  // Serial: copies out and back and the host's step in the place of the GPU's.
  const double more = (2 * 2 * shard / 25e9) + 28 * shard / 20e9 - shard_optimizer_time(input).value;
  EXPECT_NEAR(update_time(scenario, spec) - update_time(scenario, sample_schedule("zero1")), more, 1e-9);
}

TEST(Host, WhatItDoesIsNotTheGpusWork) {
  // DPU hides it: the GPU is busy for A t, and idle while it reduces, copies the last gradients and gathers.
  Scenario scenario = sample_scenario(1, 4);
  scenario.cluster.nodes[0].host_memory = BytesPerSecond{1e9};  // far longer than the computation
  const ScheduleSpec spec = on_host("dpu");
  const RunResult result = run_schedule(scenario, spec, NetworkKind::kReference);
  const Costs costs = price(scenario, spec);
  const double compute = 4 * (costs.kinds[0].forward + costs.kinds[0].backward).value;
  EXPECT_NEAR(result.gpu_idle_fraction, 1 - compute / result.update_time.value, 1e-6);
  EXPECT_NEAR(result.exposed_communication.value, result.update_time.value - compute, 1e-9);
}

TEST(Host, GroupsWithUnlikeHostsAreUnlikeKinds) {
  Scenario scenario = sample_scenario(1, 2);
  scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
  EXPECT_EQ(price(scenario, on_host("zero1")).kinds.size(), 1U);
  scenario.cluster.nodes[1].host_memory = BytesPerSecond{50e9};
  EXPECT_EQ(price(scenario, on_host("zero1")).kinds.size(), 2U);
}

}  // namespace
}  // namespace accosim
