// Does each schedule take the time that its closed form says, and do the numbers of micro-batches that follow from it?
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "models/price/partition.hpp"
#include "models/price/price.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

constexpr NetworkKind kNetworks[] = {NetworkKind::kReference, NetworkKind::kSimgrid};

/// DDP as the code of the ACCO paper runs it, with buckets beside the backward pass and without.
void add_released(std::vector<ScheduleSpec>& specs) {
  ScheduleSpec released = sample_schedule("ddp", "as released");
  released.overlap = Overlap::kBackward;
  released.buckets = Buckets::kTensors;
  released.broadcast_buffers = true;
  released.sync = Sync::kEveryMicroBatch;
  released.parameter_dtype = released.gradient_dtype = Dtype::kFp32;
  released.optimizer_sharding = OptimizerSharding::kZeroRedundancy;
  specs.push_back(released);
  released.overlap = Overlap::kNone;
  specs.push_back(released);
}

/// Those whose replicas, of one GPU here, make updates by themselves.
void add_local(std::vector<ScheduleSpec>& specs, const Scenario& scenario) {
  for (const char* name : {"slowmo", "overlap_local_sgd", "co2", "eager_diloco"}) {
    ScheduleSpec spec = sample_schedule({.name = name, .inner_updates = 3});
    if (spec.name == "slowmo") spec.outer_every = 9;
    specs.push_back(spec);
    spec.outer_dtype = OuterDtype::kFp32;
    spec.offload_outer = traits_of(spec).takes("offload_outer");
    specs.push_back(spec);
    spec.offload_outer = false;
    if (scenario.cluster.nodes[0].count > 1 && spec.name != "slowmo") spec.meeting = Meeting::kHierarchical;
    specs.push_back(spec);
  }
  for (const int delay : {0, 1, 4})
    for (const bool by_layer : {false, true}) {
      ScheduleSpec spec = sample_schedule("streaming_diloco");
      spec.inner_updates = 5;
      spec.fragment_layers = 2;
      spec.delay = delay;
      spec.by_layer = by_layer;
      spec.mixing = delay > 0 ? 0.5 : 0;
      if (delay == 1) spec.outer_dtype = OuterDtype::kE3m0;
      specs.push_back(spec);
    }
}

/// The optimizer's states on the host.
void add_offloaded(std::vector<ScheduleSpec>& specs, ScheduleSpec spec) {
  if (spec.name != "zero1" && spec.name != "dpu") return;
  spec.offload_optimizer = true;
  std::vector<std::string> names{spec.name};
  if (spec.name == "zero1") names = {"zero1", "zero2", "zero3"};
  for (const std::string& name : names)
    for (const Sync sync : {Sync::kEveryMicroBatch, Sync::kLastMicroBatch})
      for (const Overlap overlap : {Overlap::kBackward, Overlap::kNone}) {
        spec.name = name;
        if (name == "zero3") spec.parameter_sync = ParameterSync::kAllGather;
        spec.label = name + " on the host";
        spec.sync = sync;
        spec.late_communication = LateCommunication::kWait;
        spec.overlap = overlap;
        spec.buckets = overlap == Overlap::kNone ? Buckets::kWhole : Buckets::kTensors;
        specs.push_back(spec);
      }
}

/// Delayed schedules with the whole optimizer on every rank, and ACCO's own forms.
void add_of_accos_family(std::vector<ScheduleSpec>& specs, ScheduleSpec acco) {
  for (const int delay : {1, 2, 5}) {
    ScheduleSpec pipe = sample_schedule("pipesgd", "pipesgd, delay " + std::to_string(delay));
    pipe.delay = delay;
    specs.push_back(pipe);
  }
  for (const Buckets buckets : {Buckets::kTensors, Buckets::kUnits, Buckets::kWhole}) {
    ScheduleSpec each = sample_schedule("sapipe", std::string("sapipe, ") + name_of(buckets));
    each.buckets = buckets;
    specs.push_back(each);
    each = acco;
    each.label = std::string("acco, ") + name_of(buckets);
    each.overlap = Overlap::kBackward;
    each.late_communication = LateCommunication::kWait;
    each.buckets = buckets;
    specs.push_back(each);
    each.label += ", local estimate";
    each.estimate = EstimateOf::kLocal;
    specs.push_back(each);
  }
  acco.estimate = EstimateOf::kLocal;
  acco.label = "acco, local estimate";
  for (const LateCommunication late : {LateCommunication::kAccumulate, LateCommunication::kWait}) {
    acco.late_communication = late;
    specs.push_back(acco);
  }
  acco.estimate = EstimateOf::kGathered;
  acco.label = "acco, zero_stage 2";
  acco.zero_stage = 2;
  acco.sync = Sync::kEveryMicroBatch;
  specs.push_back(acco);
  acco.label = "acco, zero_stage 3";
  acco.zero_stage = 3;
  specs.push_back(acco);
}

/// Buckets of all kinds beside the backward pass and after it, and gathers in pieces.
void add_bucketed(std::vector<ScheduleSpec>& specs, ScheduleSpec& spec) {
  for (const Buckets buckets : {Buckets::kTensors, Buckets::kUnits, Buckets::kWhole}) {
    spec.buckets = buckets;
    spec.overlap = Overlap::kBackward;
    specs.push_back(spec);
    if (traits_of(spec).takes("overlap_param_gather")) {
      ScheduleSpec both = spec;
      both.overlap_param_gather = true;
      both.bucket_cap = Bytes{2e6};  // so that layers are cut
      specs.push_back(both);
      both.align_param_gather = true;
      specs.push_back(both);
    }
    spec.overlap = Overlap::kNone;
    specs.push_back(spec);
  }
  spec.gather_cap = Bytes{1e7};
  spec.reduction = Reduction::kAllReduce;
  spec.gradient_as_bucket_view = true;
  spec.buckets = Buckets::kTensors;
  specs.push_back(spec);
  spec.count_micro_batches = true;
  specs.push_back(spec);
  if (traits_of(spec).takes("parameter_sync")) {
    spec.parameter_sync = ParameterSync::kBroadcast;
    specs.push_back(spec);
  }
}

/// ACCO that waits, and DPU and weight prediction.
void add_waiting(std::vector<ScheduleSpec>& specs, ScheduleSpec spec) {
  spec.late_communication = LateCommunication::kWait;
  specs.push_back(spec);
  if (spec.name == "acco") {
    spec.rollback_estimate = false;
    specs.push_back(spec);
    return;
  }
  spec.name = spec.label = "wp";
  specs.push_back(spec);
  spec.late_communication = LateCommunication::kAccumulate;
  specs.push_back(spec);
}

/// Whole parameters that meet in a ring, and by sites where there are several.
void add_meetings(std::vector<ScheduleSpec>& specs, const Scenario& scenario) {
  ScheduleSpec spec = sample_schedule({.name = "diloco", .label = "diloco", .inner_updates = 3});
  for (const Meeting meeting : {Meeting::kRing, Meeting::kHierarchical}) {
    if (meeting == Meeting::kHierarchical && scenario.cluster.nodes[0].count < 2) continue;
    spec.meeting = meeting;
    for (const char* name : {"diloco", "local_sgd"}) {
      spec.name = spec.label = name;
      specs.push_back(spec);
    }
  }
}

/// Every variant of every schedule.
std::vector<ScheduleSpec> variants(const Scenario& scenario) {
  std::vector<ScheduleSpec> specs;
  for (ScheduleSpec spec : scenario.schedules) {
    specs.push_back(spec);
    if (spec.name == "ddp" || spec.name == "zero1") add_bucketed(specs, spec);
    add_offloaded(specs, spec);
    if (spec.name == "acco") add_of_accos_family(specs, spec);
    if (spec.name == "acco" || spec.name == "dpu") add_waiting(specs, spec);
  }
  add_meetings(specs, scenario);
  add_released(specs);
  add_local(specs, scenario);
  return specs;
}

TEST(Schedules, SteadyTimeIsTheClosedFormOnBothNetworks) {
  for (int seed = 0; seed < cases(40); ++seed) {
    Random random(seed);
    const Scenario scenario = random_homogeneous(random);
    const int steps = scenario.training.gradient_accumulation_steps;
    for (const ScheduleSpec& spec : variants(scenario)) {
      // Of rings of single ranks that share a node's adapters only SimGrid knows.
      const bool shared = spec.meeting == Meeting::kHierarchical && scenario.cluster.nodes[0].gpus > 1;
      double times[2];
      for (const NetworkKind network : kNetworks) {
        const SteadyPlay play = play_steady(scenario, spec, steps, shared ? NetworkKind::kSimgrid : network);
        const Seconds expected = closed_form({spec, play.costs, play.costs->kinds[0], steps, 1});
        ASSERT_TRUE(play.measured.periodic) << spec.label << " seed " << seed;
        const double mine = closed_form_micro_batches({spec, play.costs, play.costs->kinds[0], steps, 1});
        const double sequences = mine * play.costs->kinds[0].workload.micro_batch_size * play.costs->ranks();
        EXPECT_NEAR(samples_per_update(play) / sequences, 1, 1e-9) << spec.label << " seed " << seed;
        EXPECT_NEAR(play.measured.update_time / expected, 1, 1e-6) << spec.label << " seed " << seed;
        const SteadyPlay alone =
            play_steady(scenario, spec, steps, shared ? NetworkKind::kSimgrid : network, Keep::kNothing);
        EXPECT_NEAR(alone.measured.update_time / play.measured.update_time, 1, 1e-9) << spec.label << " seed " << seed;
        EXPECT_EQ(alone.updates, is_synchronous(spec) ? 2 : play.updates) << spec.label << " seed " << seed;
        times[static_cast<int>(network == NetworkKind::kSimgrid)] = play.measured.update_time.value;
      }
      EXPECT_NEAR(times[1] / times[0], 1, 1e-9) << spec.label << " seed " << seed;
    }
  }
}

TEST(Schedules, EveryRowHasItsFunctions) {
  const Scenario scenario = sample_scenario(2, 4);
  for (const ScheduleTraits& row : schedules()) {
    const ScheduleSpec spec = sample_schedule(row.name);
    const SteadyPlay play = play_steady(scenario, spec, 4, NetworkKind::kReference);
    const Seconds expected = closed_form({spec, play.costs, play.costs->kinds[0], 4, 1});
    EXPECT_NEAR(play.measured.update_time / expected, 1, 1e-6) << row.name;
  }
}

TEST(Schedules, AccumulatingRanksDoAsManyMicroBatchesAsTheCommunicationTakes) {
  // m looks at least a round, each after p, which ends with a drained host; ceil(T / p) of them cover the
  // communication.
  for (int seed = 0; seed < cases(40); ++seed) {
    Random random(seed);
    const Scenario scenario = random_homogeneous(random);
    const int steps = scenario.training.gradient_accumulation_steps;
    for (const ScheduleSpec& spec : scenario.schedules) {
      const SteadyPlay play = play_steady(scenario, spec, steps, NetworkKind::kReference);
      const ScheduleInput input{spec, play.costs, play.costs->kinds[0], steps, 1};
      const Seconds p =
          spec.poll_every * (input.kind.forward + input.kind.backward) + input.kind.device.launch_interval;
      const auto looks = [&](int micro_batches, bool clone) {
        const double least = std::ceil(static_cast<double>(micro_batches) / spec.poll_every);
        return std::max(least,
                        std::ceil((sharded_update_time(input, clone ? Round::kEstimate : Round::kUpdate) - kTie) / p)) *
               spec.poll_every;
      };
      double expected = steps;
      if (spec.name == "dpu") expected = looks(steps, false);
      if (spec.name == "acco") expected = looks(steps / 2, spec.rollback_estimate) + looks(steps / 2, false);
      EXPECT_EQ(play.measured.ranks[0].micro_batches_per_update, expected) << spec.label << " seed " << seed;
    }
  }
}

TEST(Schedules, LocalSgdsMeanReachesTheCopyThatTheOptimizerStepsFrom) {
  // Into the buffer 2 B a parameter are read and 2 written; back 2 are read, and 2 and the 4 of the fp32 master
  // written: twice as long. Without a master (fp32 parameters) both ways are alike.
  const Scenario scenario = sample_scenario(2, 4);
  ScheduleSpec spec = sample_schedule("local_sgd");
  for (const auto& [dtype, ratio] : {std::pair(Dtype::kBf16, 2.0), std::pair(Dtype::kFp32, 1.0)}) {
    spec.parameter_dtype = spec.gradient_dtype = dtype;
    const SteadyPlay play = play_steady(scenario, spec, 1, NetworkKind::kReference);
    std::map<std::string, double> seconds;
    for (const Span& span : play.spans)
      seconds[play.folded.graph.labels[span.label].name] = (span.end - span.begin).value;
    EXPECT_NEAR(seconds.at("parameters from buffer") / seconds.at("parameters to buffer"), ratio, 1e-9);
  }
}

TEST(Schedules, AtEqualBatchAccoGainsAtMostOneHalfAndDpuAtMostDoubles) {
  // Against serial ZeRO-1 on identical ranks: (2R + T) / 2R <= 3/2 as T <= R, and (R + T) / R <= 2.
  double most_acco = 0, most_dpu = 0;
  for (int seed = 0; seed < cases(120); ++seed) {
    Random random(1000 + seed);
    const Scenario scenario = random_homogeneous(random);
    const std::vector<RunResult> results = compare(scenario, {2, 3}, NetworkKind::kReference);
    EXPECT_LE(*results[0].speedup_same_batch, 2) << "seed " << seed;
    EXPECT_LE(*results[1].speedup_same_batch, 1.5) << "seed " << seed;
    most_dpu = std::max(most_dpu, *results[0].speedup_same_batch);
    most_acco = std::max(most_acco, *results[1].speedup_same_batch);
  }
  EXPECT_GT(most_dpu, 1.5) << "the law is only tested where it is nearly reached";
  EXPECT_GT(most_acco, 1.25);
}

TEST(Schedules, EqualBatchIsTheSpeedupWhereTheBatchDoesNotGrow) {
  // A fast network: ACCO does the micro-batches asked for, so both speedups are one number.
  const Scenario scenario = sample_scenario(1, 8);
  const std::vector<RunResult> results = compare(scenario, {0, 3}, NetworkKind::kReference);
  EXPECT_DOUBLE_EQ(*results[0].speedup, 1);
  EXPECT_DOUBLE_EQ(*results[0].speedup_same_batch, 1);
  EXPECT_DOUBLE_EQ(results[1].batch_inflation, 1);
  EXPECT_NEAR(*results[1].speedup, *results[1].speedup_same_batch, 1e-12);
}

/// 4 GPUs in a node, the last `slowdown` times slower.
Scenario one_slow(double slowdown) {
  Scenario scenario = sample_scenario(1, 4);
  scenario.training.gradient_accumulation_steps = 2;
  scenario.cluster.nodes[0].devices[3].slowdown = slowdown;
  scenario.cluster.nodes[0].micro_batch_size = 32;
  for (ScheduleSpec& spec : scenario.schedules) spec.micro_batches_per_round = 1;
  return scenario;
}

TEST(Schedules, FastRanksAccumulateWhileSlowOnesFinish) {
  // A round lasts as long as the slow rank's one micro-batch and its swap, 4 t + s; a fast rank fits (4 t + s - s) / t
  // = 4.
  for (const NetworkKind network : kNetworks) {
    const RunResult acco = run_schedule(one_slow(4), sample_schedule("acco"), network);
    // sample_schedule asks for 2 a round; ask for one.
    const ScheduleSpec spec = sample_schedule({.name = "acco", .micro_batches_per_round = 1});
    const RunResult one = run_schedule(one_slow(4), spec, network);
    ASSERT_EQ(one.ranks.size(), 2U);
    ASSERT_EQ(acco.ranks.size(), 2U);
    EXPECT_EQ(in_words(one.ranks[0].ranks), "0-2");
    EXPECT_EQ(in_words(one.ranks[1].ranks), "3");
    EXPECT_EQ(one.ranks[0].micro_batches_per_round_min, 4);
    EXPECT_EQ(one.ranks[0].micro_batches_per_round_max, 4);
    EXPECT_EQ(acco.ranks[0].micro_batches_per_round, 8);
    EXPECT_EQ(one.ranks[1].micro_batches_per_round, 1);
    EXPECT_EQ(acco.ranks[1].micro_batches_per_round, 2);
  }
}

TEST(Schedules, AFractionOfASlowdownShowsInTheMean) {
  // A round lasts as long as the slow rank's one micro-batch and its swap, f t + s; n micro-batches and a swap of a
  // fast rank fill it on average, so n = f, as whole numbers next to f. With f close to a whole number a fast rank
  // gains its extra micro-batch over many updates.
  const ScheduleSpec spec = sample_schedule({.name = "acco", .micro_batches_per_round = 1});
  const SteadyState alike = run_schedule(one_slow(1), spec, NetworkKind::kReference).steady;
  EXPECT_EQ(alike.repeats_after, 1);  // equal ranks: every update is like the one before
  EXPECT_EQ(alike.averaged, 1);
  EXPECT_EQ(alike.halves_differ, 0);
  for (const double slowdown : {1.01, 1.1, 1.5, 2.5, 3.9, 4.01, 4.3, std::sqrt(2.0), std::sqrt(17.0)}) {
    const RunResult result = run_schedule(one_slow(slowdown), spec, NetworkKind::kReference);
    EXPECT_EQ(result.ranks[0].micro_batches_per_round_min, std::floor(slowdown)) << slowdown;
    EXPECT_EQ(result.ranks[0].micro_batches_per_round_max, std::ceil(slowdown)) << slowdown;
    EXPECT_NEAR(result.ranks[0].micro_batches_per_round / slowdown, 1, 0.003) << slowdown;
    ASSERT_EQ(result.ranks.size(), 2U);
    // A ratio that is no fraction never repeats: 512 updates are played, and the mean of the later half is known.
    if (slowdown == std::sqrt(2.0) || slowdown == std::sqrt(17.0)) {
      EXPECT_EQ(result.steady.repeats_after, 0) << slowdown;
      EXPECT_EQ(result.steady.played, 512) << slowdown;
      EXPECT_EQ(result.steady.averaged, 256) << slowdown;
      EXPECT_LT(std::abs(result.steady.halves_differ), 0.01) << slowdown;
    }
    EXPECT_EQ(result.ranks[1].micro_batches_per_round, 1) << slowdown;
  }
}

TEST(Schedules, AnUnsharedFabricIsFasterThanAnOversubscribedOne) {
  Scenario scenario = sample_scenario(4, 2);
  const RunResult open = run_schedule(scenario, scenario.schedules[0], NetworkKind::kSimgrid);
  scenario.cluster.fabric.oversubscription = 4;
  const RunResult tight = run_schedule(scenario, scenario.schedules[0], NetworkKind::kSimgrid);
  EXPECT_GT(tight.update_time, open.update_time);
}

/// Names of the ops of a lane, loop marks left out.
std::vector<std::string> op_names(const EventGraph& graph, int lane) {
  std::vector<std::string> names;
  for (const Op& op : graph.programs[0].lanes[lane])
    if (op.kind != OpKind::kLoopBegin && op.kind != OpKind::kLoopEnd) names.push_back(graph.labels[op.label].name);
  return names;
}

TEST(Schedules, AccoEstimatesWithClonesThenUpdates) {
  // Even rounds estimate: states are cloned before and restored after, and the sum of gradients starts anew at the
  // swap. Odd rounds update: no clones, and the gradients go on into the next round's communication.
  const Scenario scenario = sample_scenario(1, 2);
  const ScheduleSpec& acco = scenario.schedules[3];
  const EventGraph graph = build(acco, price(scenario, acco), 4, 1);
  EXPECT_EQ(op_names(graph, kCommunicationLane),
            (std::vector<std::string>{"drained host", "clone optimizer states", "all-reduce of counts",
                                      "reduce-scatter", "copy and scale gradients", "optimizer", "all-gather",
                                      "restore optimizer states", "drained host", "all-reduce of counts",
                                      "reduce-scatter", "copy and scale gradients", "optimizer", "all-gather"}));
  EXPECT_EQ(op_names(graph, kComputeLane),
            (std::vector<std::string>{
                "forward", "backward", "swap and clear buffers",                           // the first micro-batch
                "forward", "backward", "drained host", "swap and clear buffers", "round",  // g, beside the estimate
                "forward", "backward", "drained host", "swap buffers", "update"}));        // g~, beside the update
}

TEST(Schedules, ReleasedDdpReducesEveryMicroBatchThenOwnersBroadcast) {
  const Scenario scenario = sample_scenario(1, 2);
  const ScheduleSpec spec = sample_schedule(
      {.name = "ddp", .sync = Sync::kEveryMicroBatch, .optimizer_sharding = OptimizerSharding::kZeroRedundancy});
  const EventGraph graph = build(spec, price(scenario, spec), 2, 1);
  // A broadcast for each tensor, those of one size in one op.
  const std::vector<double> tensors = tensors_of(layers_of(scenario.model, Workload{}));
  std::vector<std::string> expected(2, "all-reduce");
  for (const auto& [elements, count] : tensor_sizes(tensors))
    expected.push_back("broadcast of " + std::to_string(count) + " tensors");
  EXPECT_EQ(op_names(graph, kCommunicationLane), expected);
  EXPECT_EQ(op_names(graph, kComputeLane), (std::vector<std::string>{"forward", "backward", "forward", "backward",
                                                                     "optimizer", "wait for parameters", "update"}));
}

TEST(Schedules, PartsMoveTheBytesTheyShould) {
  // 8 ranks, 1.6e12 B/s achieved. AdamW on a shard: master, m, v read and written (24 B), a 2-byte gradient read and a
  // 2-byte parameter written, 28 P/8. A swap copies 2-byte parameters and gradients, each read and written, 8 P;
  // clearing writes 2 P more, and the drained host's next launch takes 2 us. Clones of 12 P/8 are read and written, out
  // and back: 48 P/8. The shard's gradient is read in 2 bytes and written in 4, then read and written in 4: 14 P/8.
  const Scenario scenario = sample_scenario(2, 4);
  const ScheduleSpec& acco = scenario.schedules[3];
  const Costs costs = price(scenario, acco);
  const ScheduleInput input{acco, costs, costs.kinds[0], 4, 1};
  const double P = static_cast<double>(parameter_count(scenario.model)), rate = 1.6e12;
  EXPECT_NEAR(shard_optimizer_time(input).value, 28 * P / 8 / rate, 1e-12);
  EXPECT_NEAR(full_optimizer_time(input).value, 28 * P / rate, 1e-12);
  EXPECT_NEAR(swap_time(input, false).value, 8 * P / rate + 2e-6, 1e-12);
  EXPECT_NEAR(swap_time(input, true).value, 10 * P / rate + 2e-6, 1e-12);
  const Seconds sent = request_time(costs, {CollectiveKind::kAllReduce, Bytes{4}}) +
                       request_time(costs, {CollectiveKind::kReduceScatter, Bytes{2 * P}}) +
                       request_time(costs, {CollectiveKind::kAllGather, Bytes{2 * P}});
  EXPECT_NEAR((sharded_update_time(input, Round::kUpdate) - sent).value, 2e-6 + (14 + 28) * P / 8 / rate, 1e-12);
  EXPECT_NEAR((sharded_update_time(input, Round::kEstimate) - sharded_update_time(input, Round::kUpdate)).value,
              48 * P / 8 / rate, 1e-12);
}

TEST(Schedules, GradientsAndParametersTravelInTheirOwnDtypes) {
  // fp32 gradients, 2-byte parameters, 8 ranks: reduce-scatter of 4 P and all-gather of 2 P, each 7/8 of it sent.
  Scenario scenario = sample_scenario(2, 4);
  for (const int index : {0, 2}) {  // zero1, dpu
    ScheduleSpec spec = scenario.schedules[index];
    spec.gradient_dtype = Dtype::kFp32;
    const double counts = index == 2 ? 2 * 7.0 / 8 * 4 : 0;
    const double P = static_cast<double>(parameter_count(scenario.model));
    EXPECT_NEAR(run_schedule(scenario, spec, NetworkKind::kReference).bytes_sent_per_rank_per_update.value,
                6 * P * 7 / 8 + counts, 1e-3);
  }
}

TEST(Costs, EqualDevicesAreOneKindAndASlowOneIsAnother) {
  const Costs costs = price(one_slow(4), sample_schedule("acco"));
  EXPECT_EQ(costs.kinds.size(), 2u);
  EXPECT_EQ(costs.kind_of, (std::vector<int>{0, 0, 0, 1}));
  EXPECT_NEAR(costs.kinds[1].forward / costs.kinds[0].forward, 4, 1e-12);
}

TEST(Run, MetricsFollowFromEachOther) {
  const Scenario scenario = sample_scenario(2, 4);
  for (const ScheduleSpec& spec : scenario.schedules) {
    const RunResult result = run_schedule(scenario, spec, NetworkKind::kSimgrid);
    EXPECT_NEAR(result.tokens_per_second * result.update_time.value, result.samples_per_update * 512, 1e-6);
    EXPECT_NEAR(result.total_time.value * result.tokens_per_second, 1e9, 1);
    EXPECT_DOUBLE_EQ(result.tokens_per_second_per_gpu * 8, result.tokens_per_second);
    EXPECT_DOUBLE_EQ(result.samples_per_update, 4 * result.micro_batches_per_update);
    EXPECT_GT(result.mfu, 0);
    EXPECT_LE(result.mfu, result.hfu);
    EXPECT_LT(result.hfu, 1);
    EXPECT_GE(result.gpu_idle_fraction, 0);
    EXPECT_LE(result.exposed_communication, result.update_time);
  }
}

TEST(Run, SerialZero1IsIdleJustWhileItCommunicates) {
  // Nothing overlaps and all ranks are equal: idle = exposed = T_rs + T_ag.
  const Scenario scenario = sample_scenario(2, 4);
  const RunResult result = run_schedule(scenario, scenario.schedules[0], NetworkKind::kReference);
  const Costs costs = price(scenario, scenario.schedules[0]);
  const Seconds communication =
      request_time(costs, {CollectiveKind::kReduceScatter, costs.gradient_bytes(costs.kinds[0])}) +
      request_time(costs, {CollectiveKind::kAllGather, costs.parameter_bytes(costs.kinds[0])});
  EXPECT_NEAR(result.exposed_communication / communication, 1, 1e-9);
  EXPECT_NEAR(result.gpu_idle_fraction * result.update_time.value / communication.value, 1, 1e-9);
}

}  // namespace
}  // namespace accosim
