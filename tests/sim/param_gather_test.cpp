// Do parameters that are gathered beside the forward pass come when their modules need them, in the time that can be
// said by hand, and at no cost in bytes or memory?
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/price/layer_time.hpp"
#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "models/spec/device.hpp"
#include "models/spec/model.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/shipped.hpp"
#include "models/spec/training.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sharded_scenarios.hpp"

namespace accosim {
namespace {

constexpr NetworkKind kReference = NetworkKind::kReference;

ScheduleSpec overlapped(bool aligned, Buckets buckets = Buckets::kUnits) {
  ScheduleSpec spec = sample_schedule("zero1");
  spec.overlap = Overlap::kBackward;
  spec.buckets = buckets;
  spec.overlap_param_gather = true;
  spec.align_param_gather = aligned;
  return spec;
}

/// All of an update but the forward pass of its first micro-batch.
Seconds rest_of_update(const ScheduleInput& input) {
  const Seconds t = input.kind.forward + input.kind.backward;
  return (input.accumulation_steps - 1) * t + synchronized_micro_batch_time(input) + shard_optimizer_time(input) -
         input.kind.forward;
}

/// In buckets that are units: the gather and the forward pass of each, in forward order. Each unit reads a parameter of
/// its own in its first operator, so a piece of the forward pass is a layer.
struct Units {
  std::vector<Seconds> g, f;
};

Units units_of(const ScheduleInput& input) {
  Units units;
  for (const LayerTime& layer : input.kind.times) {
    units.g.push_back(request_time(input.costs, {CollectiveKind::kAllGather, layer.parameters * Bytes{2}}));
    units.f.push_back(layer.forward);
  }
  return units;
}

TEST(ParamGather, AModuleWaitsForItsBucketAndThenSendsForTheNext) {
  // F = g_1 + max(f_1, g_2) + max(f_2, g_3) + ... + f_last: the first is bare, and behind each piece of the forward
  // pass there is one gather.
  for (const double gbit : {1.0, 20.0, 100.0, 2000.0}) {
    const Scenario scenario = sample_scenario(2, 4, gbit);
    const ScheduleSpec spec = overlapped(false);
    const Costs costs = price(scenario, spec);
    const ScheduleInput input{spec, costs, costs.kinds[0], 4, 1};
    const Units units = units_of(input);
    Seconds F = units.g.front() + units.f.back();
    for (std::size_t k = 0; k + 1 < units.f.size(); ++k) F += std::max(units.f[k], units.g[k + 1]);
    EXPECT_NEAR(update_time(scenario, spec, kReference) / (rest_of_update(input) + F).value, 1, 1e-6) << gbit;
  }
}

TEST(ParamGather, AlignedTheyAreAllSentForWhenTheForwardPassBegins) {
  // G_k = g_1 + ... + g_k and C_k = max(C_(k-1), G_k) + f_k; the last C is the forward pass. An untied head is larger
  // than a block, so that on some network its gather is longer than a block's forward pass, and a block's is shorter.
  int earlier = 0;
  for (const double gbit : {1.0, 20.0, 100.0, 200.0, 400.0, 800.0, 2000.0}) {
    Scenario scenario = sample_scenario(2, 4, gbit);
    scenario.model.tie_word_embeddings = false;
    const ScheduleSpec spec = overlapped(true);
    const Costs costs = price(scenario, spec);
    const ScheduleInput input{spec, costs, costs.kinds[0], 4, 1};
    const Units units = units_of(input);
    Seconds G, C;
    for (std::size_t k = 0; k < units.f.size(); ++k) {
      G += units.g[k];
      C = std::max(C, G) + units.f[k];
    }
    const double time = update_time(scenario, spec, kReference),
                 one_by_one = update_time(scenario, overlapped(false), kReference);
    EXPECT_NEAR(time / (rest_of_update(input) + C).value, 1, 1e-6) << gbit;
    EXPECT_LE(time, one_by_one * (1 + 1e-9));
    earlier += time < one_by_one * (1 - 1e-6) ? 1 : 0;
  }
  EXPECT_GT(earlier, 0);
}

TEST(ParamGather, TakesItsClosedFormOnBothNetworks) {
  int hidden = 0;
  for (int seed = 0; seed < 60; ++seed) {
    Random random(seed);
    Scenario scenario = random_homogeneous(random);
    scenario.training.gradient_accumulation_steps = random.integer(1, 4);
    scenario.model.tie_word_embeddings = random.integer(0, 1) == 1;
    scenario.training.autocast = random.integer(0, 2) == 0 ? Autocast::kBf16 : Autocast::kNone;
    ScheduleSpec spec = overlapped(random.integer(0, 1) == 1, static_cast<Buckets>(random.integer(0, 2)));
    spec.first_bucket = Bytes{random.uniform(1e3, 1e6)};
    spec.bucket_cap = Bytes{random.uniform(1e5, 1e7)};  // so that layers are cut
    spec.gradient_as_bucket_view = random.integer(0, 1) == 1;
    if (random.integer(0, 2) == 0) spec.gradient_dtype = Dtype::kFp32;
    if (random.integer(0, 2) == 0) spec.reduction = Reduction::kAllReduce;
    const Costs costs = price(scenario, spec);
    const ScheduleInput input{spec, costs, costs.kinds[0], scenario.training.gradient_accumulation_steps, 1};
    const double expected = closed_form(input).value;
    for (const NetworkKind network : {kReference, NetworkKind::kSimgrid})
      EXPECT_NEAR(update_time(scenario, spec, network) / expected, 1, 1e-6) << "seed " << seed;
    // Between nothing hidden and all but the first gather.
    ScheduleSpec after = spec;
    after.overlap_param_gather = after.align_param_gather = false;
    Seconds gathers;
    for (const TimedBucket& bucket : timed_buckets(input))
      gathers += request_time(costs, {CollectiveKind::kAllGather,
                                      bucket.bytes / bytes_of(spec.gradient_dtype) * bytes_of(spec.parameter_dtype)});
    const Seconds bare = rest_of_update(input) + input.kind.forward;
    EXPECT_LE(expected, (bare + gathers).value * (1 + 1e-9)) << "seed " << seed;
    EXPECT_GT(expected, bare.value) << "seed " << seed;
    hidden += expected < (bare + 0.7 * gathers).value ? 1 : 0;
  }
  EXPECT_GT(hidden, 5) << "the form is only tested where much is hidden";
}

TEST(ParamGather, ABucketOfAnotherTypeIsCastWhenItIsThere) {
  // Every rank casts: behind each gather comes a kernel that reads and writes the bucket's 2 bytes a parameter, before
  // the forward piece that waits for it. Two buckets: the last unit's gather lies beside the cast and the piece before
  // it only from where its module has its own.
  const Scenario scenario = sample_scenario(2, 4, 20);
  for (const bool aligned : {false, true}) {
    const ScheduleSpec spec = overlapped(aligned);
    Costs costs = price(scenario, spec);
    costs.kinds[0].casts_parameters = true;
    const ScheduleInput input{spec, costs, costs.kinds[0], 4, 1};
    const Units units = units_of(input);
    Seconds gathered, computed, sent_for;
    for (std::size_t k = 0; k < units.f.size(); ++k) {
      gathered = std::max(gathered, sent_for) + units.g[k];
      if (!aligned) sent_for = computed;  // the module of unit k waits from here, and then sends for the next
      const Bytes bytes = costs.kinds[0].times[k].parameters * Bytes{2};
      computed = std::max(computed, gathered) + memory_time(bytes, bytes, costs.kinds[0].device) + units.f[k];
    }
    const auto end = [&](int updates) { return play(build(spec, costs, 4, updates), kReference, {}).end; };
    EXPECT_NEAR((end(3) - end(2)) / (rest_of_update(input) + computed), 1, 1e-6) << aligned;
  }
}

TEST(ParamGather, SendsWhatAnAllGatherSendsInAsManyPiecesAsThereAreBuckets) {
  // 8 ranks, 2-byte elements: reduce-scatter and all-gather of 2 P, each 7/8 of it sent. Embedding, 4 blocks and head
  // are 6 gathers and 6 reductions; the memory is that of the gradients' buckets alone.
  const Scenario scenario = sample_scenario(2, 4);
  const double P = parameters_of(scenario);
  const ScheduleSpec spec = overlapped(false);
  const RunResult result = run_schedule(scenario, spec, kReference);
  EXPECT_NEAR(result.bytes_sent_per_rank_per_update.value, 4 * P * 7 / 8, 1e-3);
  ScheduleSpec after = spec;
  after.overlap_param_gather = false;
  EXPECT_EQ(result.memory_parts.total(), run_schedule(scenario, after, kReference).memory_parts.total());
  const EventGraph graph = build(spec, price(scenario, spec), 4, 1);
  int gathers = 0, reductions = 0;
  for (const Op& op : graph.programs[0].lanes[kCommunicationLane]) {
    gathers += graph.labels[op.label].name == "all-gather of a bucket" ? 1 : 0;
    reductions += graph.labels[op.label].name == "reduce-scatter of a bucket" ? 1 : 0;
  }
  EXPECT_EQ(gathers, 6);
  EXPECT_EQ(reductions, 6);
}

TEST(ParamGather, AnUpdateEndsWithItsStepAndTheNextBeginsWithTheFirstGather) {
  const Scenario scenario = sample_scenario(1, 2);
  const ScheduleSpec spec = overlapped(false, Buckets::kWhole);
  for (const int steps : {1, 2, 4}) {
    const EventGraph graph = build(spec, price(scenario, spec), steps, 1);
    std::vector<std::string> names;
    for (const Op& op : graph.programs[0].lanes[kComputeLane])
      if (op.kind != OpKind::kLoopBegin && op.kind != OpKind::kLoopEnd) names.push_back(graph.labels[op.label].name);
    std::vector<std::string> expected;
    for (int i = 0; i < std::min(steps, 3); ++i) {  // those between the first and the last are one loop
      expected.insert(expected.end(), {"forward", "backward"});
      if (i + 1 == std::min(steps, 3)) expected.emplace_back("copy gradients into bucket");
    }
    expected.insert(expected.end(), {"optimizer", "update"});
    EXPECT_EQ(names, expected) << steps;
  }
}

/// ZeRO-1 with gradients beside the backward pass and parameters beside the next forward pass, a unit at a time.
Scenario both_ways(const std::string& scenario, std::vector<std::string> sets, const std::string& more = "") {
  sets.push_back(R"(/schedules=[{"name": "zero1", "overlap": "backward", "overlap_param_gather": true)" + more + "}]");
  sets.emplace_back("/baseline=zero1");
  sets.emplace_back("/published={}");
  return load_scenario(data_dir() + "/scenarios/" + scenario, sets).scenario;
}

TEST(ParamGather, OfAccosFineTuningIsWhatItsPiecesSay) {
  // GPT-Neo 2.7B on 2 x 4 A100, 4 micro-batches of 127 ms forward and 232 ms backward (7 ms of the forward pass are the
  // head's, 14.6 ms of the backward pass the block's and the embedding's before the last bucket), the optimizer 15 ms.
  // All parameters in units take 442 ms at 100 Gbit/s and the gradients as long; each gather is longer than its block
  // (3.7 ms), and each reduction than its own, so both stand bare, one after the other: 442 + 7 + 232 + 2 x 359 + 127 +
  // 15 + 442 + 15 ms = 2.0 s. At 400 Gbit/s each is hidden but the first and the second gather (6.2 + 3.7 ms), as the
  // embedding computes nothing, and the last reductions (9.9 ms); copies into buckets (8 ms) are bare: 4 x 359 + 2
  // x 9.9 + 15 + 8 ms = 1.48 s. At 200 Gbit/s a block's gather takes 6.6 ms and the embedding's 11.2 ms, 222 ms
  // together, still more than the forward pass; a block's reduction hides behind its backward pass (7.2 ms), but for
  // the last two, 17.8 ms: 222 + 7 + 232 + 3 x 359 + 18 + 15 ms = 1.57 s. Interference (up to 17 ms) comes on top.
  for (const auto& [gbit, seconds] : {std::pair("100", 2.0), std::pair("200", 1.57), std::pair("400", 1.48)}) {
    const Scenario scenario =
        both_ways("paper/finetune_2x4_a100.json", {std::string(R"(/cluster/nodes/0/nics={"count": 1, "bandwidth": ")") +
                                                   gbit + R"( Gbit/s", "efficiency": 0.847})"});
    const RunResult result = run_schedule(scenario, scenario.schedules[0], kReference);
    EXPECT_NEAR(result.update_time.value / seconds, 1, 0.02) << gbit;
  }
}

TEST(ParamGather, OfLlama3AlignedGathersHideTheHeadsBehindAllBlocks) {
  // 8 B parameters on 4 x 8 H100, embedding and head of 1 GB each (3.0 ms), a block of 436 MB (1.3 ms). With 2,048
  // tokens a block's forward pass takes f = 2.4 ms. One by one: the embedding's gather g_e, the first block's g_b, as
  // looking up is shorter, 31 blocks that hide the next block's, the 32nd that is shorter than the head's gather g_h
  // sent for as it begins, and the head: F = g_e + g_b + 31 f + g_h + f_h. Aligned, the head's is there long before: 31
  // g_b + g_h < 32 f, so F = g_e + g_b + 32 f + f_h. They differ by g_h - f. With 8,192 tokens a block is longer than
  // g_h and they are alike.
  const auto loaded = [](int tokens, const std::string& more) {
    return both_ways("llama-2-7b_fsdp_hsdp.json",
                     {"/model=llama-3-8b", "/cluster=dgx-h100-4x8", "/training/interference=false",
                      "/training/sequence_length=" + std::to_string(tokens)},
                     more);
  };
  const std::string at_once = R"(, "align_param_gather": true)";
  const Scenario one_by_one = loaded(2048, ""), aligned = loaded(2048, at_once);
  const ScheduleSpec& spec = one_by_one.schedules[0];
  const Costs costs = price(one_by_one, spec);
  const ScheduleInput input{spec, costs, costs.kinds[0], one_by_one.training.gradient_accumulation_steps, 1};
  const Units units = units_of(input);
  ASSERT_EQ(units.f.size(), 34U);
  const Seconds g_e = units.g[0], g_b = units.g[1], g_h = units.g[33], f = units.f[1], f_h = units.f[33];
  EXPECT_NEAR(g_h.value, 3.0e-3, 0.1e-3);
  EXPECT_NEAR(g_b.value, 1.3e-3, 0.1e-3);
  EXPECT_NEAR(f.value, 2.4e-3, 0.1e-3);
  ASSERT_LT(units.f[0], g_b);
  ASSERT_LT(31 * g_b + g_h, 32 * f);
  const Seconds rest = rest_of_update(input);
  const double apart = update_time(one_by_one, spec, kReference),
               together = update_time(aligned, aligned.schedules[0], kReference);
  EXPECT_NEAR(apart / (rest + g_e + g_b + 31 * f + g_h + f_h).value, 1, 1e-6);
  EXPECT_NEAR(together / (rest + g_e + g_b + 32 * f + f_h).value, 1, 1e-6);
  EXPECT_NEAR((apart - together) / (g_h - f).value, 1, 1e-3);
  const Scenario longer = loaded(8192, ""), longer_aligned = loaded(8192, at_once);
  EXPECT_NEAR(update_time(longer, longer.schedules[0], kReference) /
                  update_time(longer_aligned, longer_aligned.schedules[0], kReference),
              1, 1e-9);
}

}  // namespace
}  // namespace accosim
