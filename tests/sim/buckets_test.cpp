// Do gradients travel tensor by tensor, as PyTorch's DDP and its ZeroRedundancyOptimizer send them, and in the pieces
// of other frameworks?
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "models/price/layer_time.hpp"
#include "models/price/partition.hpp"
#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "models/spec/shipped.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/sim/sharded_scenarios.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

ScheduleSpec in_buckets(double first, double cap) {
  return ScheduleSpec{.buckets = Buckets::kTensors, .bucket_cap = Bytes{cap}, .first_bucket = Bytes{first}};
}

/// An embedding whose table of 9 is ready last, and a block of four tensors.
std::vector<LayerTime> two_layers() {
  using Tensors = std::vector<GradientTensor>;
  return {{Seconds{1}, Seconds{1}, 9, Tensors{{9, 1}}},
          {Seconds{2}, Seconds{4}, 8, Tensors{{1, 0.25, 0.75}, {3, 0.25, 0.75}, {2, 0.5, 0.5}, {2, 1, 0}}}};
}

TEST(Buckets, CloseWhenATensorReachesTheirSize) {
  // Elements of 2 B. First bucket of 4 B: 2 B are less; with the next 6 it holds 8 >= 4 and closes, a quarter of 4 s
  // into the backward pass. Then 7 B: 4 at 2 s, 8 >= 7 at 4 s. The table of 18 B at 5 s is a bucket of its own.
  const std::vector<TimedBucket> buckets = timed_buckets(two_layers(), Bytes{2}, in_buckets(4, 7));
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_EQ(buckets[0].bytes.value, 8);
  EXPECT_EQ(buckets[0].ready.value, 1);
  EXPECT_EQ(buckets[0].tensors, (std::vector<double>{1, 3}));
  EXPECT_EQ(buckets[1].bytes.value, 8);
  EXPECT_EQ(buckets[1].ready.value, 4);
  EXPECT_EQ(buckets[2].bytes.value, 18);
  EXPECT_EQ(buckets[2].ready.value, 5);
}

TEST(Buckets, AreNeededWhenTheFirstOfTheirTensorsIs) {
  // The forward pass is the embedding's 1 s and the block's 2 s. The last bucket, which is gathered first, is the
  // table, needed at once; then the block's first two tensors, at 1 s; then the others, three quarters into the block.
  std::vector<TimedBucket> buckets = timed_buckets(two_layers(), Bytes{2}, in_buckets(4, 7));
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_EQ(buckets[2].needed.value, 0);
  EXPECT_EQ(buckets[1].needed.value, 1);
  EXPECT_EQ(buckets[0].needed.value, 2.5);
  // One that is read before another that is gathered ahead of it makes both be needed then.
  std::vector<LayerTime> crossed = two_layers();
  crossed[1].gradients.edit()[1].needed = 0;  // in the first bucket
  buckets = timed_buckets(crossed, Bytes{2}, in_buckets(4, 7));
  EXPECT_EQ(buckets[0].needed.value, 1);
  EXPECT_EQ(buckets[1].needed.value, 1);
  crossed[1].gradients.edit()[3].needed = 1;  // in the second: it must have come all the same
  EXPECT_EQ(timed_buckets(crossed, Bytes{2}, in_buckets(4, 7))[1].needed.value, 1);
}

TEST(Buckets, AreUnitsOrOne) {
  ScheduleSpec spec = in_buckets(4, 7);
  spec.buckets = Buckets::kUnits;
  const std::vector<TimedBucket> units = timed_buckets(two_layers(), Bytes{2}, spec);
  ASSERT_EQ(units.size(), 2u);
  EXPECT_EQ(units[0].bytes.value, 16);
  EXPECT_EQ(units[0].ready.value, 4);
  EXPECT_EQ(units[1].bytes.value, 18);
  spec.buckets = Buckets::kWhole;
  const std::vector<TimedBucket> whole = timed_buckets(two_layers(), Bytes{2}, spec);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].bytes.value, 34);
  EXPECT_EQ(whole[0].ready.value, 5);
}

TEST(Buckets, OfGptNeoEndWithTheTiedTableThatNothingHides) {
  // 50257 x 768 in fp32 are 154 MB; the position table of 1024 x 768, 3 MB, is ready just before it.
  const Scenario scenario = load_scenario(data_dir() + "/scenarios/paper/pretrain_4x8_a100.json", {}).scenario;
  const ScheduleSpec& released = scenario.schedules[0];
  const Costs costs = price(scenario, released);
  const std::vector<TimedBucket> buckets = timed_buckets(costs.kinds[0].times, Bytes{4}, released);
  EXPECT_EQ(buckets.back().tensors.back(), 50257.0 * 768);
  EXPECT_GE(buckets.back().bytes.value, 4 * 50257.0 * 768);
  EXPECT_DOUBLE_EQ(buckets.back().ready.value, costs.kinds[0].backward.value);
  // The first to be full is the final norm's vectors and what follows them, at least 1 MiB; no bucket but the last
  // stays below its size, and none but the last exceeds it by more than the largest matrix, 768 x 3072.
  const double matrix = 4 * 768.0 * 3072;
  EXPECT_GE(buckets[0].bytes.value, 0x1p20);
  EXPECT_LT(buckets[0].bytes.value, 0x1p20 + matrix);
  for (std::size_t i = 1; i + 1 < buckets.size(); ++i) {
    EXPECT_GE(buckets[i].bytes.value, 25 * 0x1p20);
    EXPECT_LT(buckets[i].bytes.value, 25 * 0x1p20 + matrix);
  }
  double elements = 0;
  for (const TimedBucket& bucket : buckets)
    elements += std::accumulate(bucket.tensors.begin(), bucket.tensors.end(), 0.0);
  EXPECT_EQ(elements, static_cast<double>(parameter_count(scenario.model)));
}

TEST(Buckets, KeepEveryByteAndNeverGoBackInTime) {
  for (int seed = 0; seed < cases(100); ++seed) {
    Random random(seed);
    std::vector<LayerTime> layers;
    double elements = 0, time = 0;
    for (int i = random.integer(1, 10); i > 0; --i) {
      LayerTime layer{Seconds{1}, Seconds{random.uniform(0, 1)}};
      for (int tensors = random.integer(1, 5), t = 1; t <= tensors; ++t)
        layer.gradients.edit().push_back({std::floor(random.uniform(1, 1e6)), 1.0 * t / tensors, random.uniform(0, 1)});
      for (const GradientTensor& tensor : *layer.gradients) elements += tensor.elements;
      time += layer.backward.value;
      layers.push_back(layer);
    }
    double bytes = 0, last = 0, needed = static_cast<double>(layers.size());  // a second of forward pass each
    for (const TimedBucket& bucket : timed_buckets(layers, Bytes{4}, in_buckets(1e4, random.uniform(1e4, 1e6)))) {
      EXPECT_GE(bucket.ready.value, last);
      EXPECT_LE(bucket.needed.value, needed);
      needed = bucket.needed.value;
      bytes += bucket.bytes.value;
      last = bucket.ready.value;
    }
    EXPECT_NEAR(bytes, 4 * elements, 1e-3);
    EXPECT_NEAR(last, time, 1e-12);
  }
}

/// Two ranks, fp32 parameters and gradients, DDP with its buckets.
Scenario ddp_scenario() {
  Scenario scenario = sample_scenario(1, 2);
  scenario.training.interference = false;
  ScheduleSpec spec = sample_schedule({.name = "ddp", .overlap = Overlap::kBackward, .buckets = Buckets::kTensors});
  spec.parameter_dtype = spec.gradient_dtype = Dtype::kFp32;
  scenario.schedules = {spec};
  scenario.baseline = spec.label;
  return scenario;
}

Seconds synchronized(const Scenario& scenario) {
  const Costs costs = price(scenario, scenario.schedules[0]);
  return synchronized_micro_batch_time({scenario.schedules[0], costs, costs.kinds[0], 1, 1});
}

/// Of all gradients into their buckets or back: each is read and written by a kernel of its own.
Seconds copies(const RankKind& kind) {
  return sum_of<Seconds>(tensors_of(kind.layers), [&](const double elements) {
    return memory_time(Bytes{4 * elements}, Bytes{4 * elements}, kind.device);
  });
}

TEST(Ddp, CopiesEveryGradientIntoItsBucketAndBackUnlessItIsAView) {
  Scenario scenario = ddp_scenario();
  const Seconds back = copies(price(scenario, scenario.schedules[0]).kinds[0]);
  const Seconds copied = synchronized(scenario);
  scenario.schedules[0].gradient_as_bucket_view = true;
  EXPECT_NEAR((copied - synchronized(scenario)).value, back.value, 1e-12);
  // One rank is not wrapped: its gradients are where they are.
  scenario.cluster.nodes[0].gpus = 1;
  scenario.cluster.nodes[0].devices.resize(1);
  scenario.schedules[0].gradient_as_bucket_view = false;
  const Costs alone = price(scenario, scenario.schedules[0]);
  EXPECT_NEAR((synchronized(scenario) - alone.kinds[0].forward - alone.kinds[0].backward).value, 0, 1e-12);
}

TEST(Ddp, CopiesIntoTheBucketsDelayTheLastOfThem) {
  // Everything in one bucket of tensors: it is full after the backward pass and all copies into it, then sent, then
  // copied back. In one buffer, without buckets, there are no copies.
  Scenario scenario = ddp_scenario();
  ScheduleSpec& spec = scenario.schedules[0];
  spec.first_bucket = spec.bucket_cap = Bytes{1e15};
  const Costs costs = price(scenario, spec);
  const Seconds copied = copies(costs.kinds[0]);
  const Seconds computed = costs.kinds[0].forward + costs.kinds[0].backward;
  const Seconds sent = request_time(costs, {CollectiveKind::kAllReduce, costs.gradient_bytes(costs.kinds[0])});
  EXPECT_NEAR(synchronized(scenario).value, (computed + copied + sent + copied).value, 1e-12);
  spec.overlap = Overlap::kNone;
  spec.buckets = Buckets::kWhole;
  EXPECT_NEAR(synchronized(scenario).value, (computed + sent).value, 1e-12);
}

TEST(Zero1, CopiesItsGradientsIntoBucketsOnceAndNotBack) {
  Scenario scenario = ddp_scenario();
  ScheduleSpec& spec = scenario.schedules[0];
  spec.name = "zero1";
  spec.buckets = Buckets::kUnits;
  spec.overlap = Overlap::kNone;
  const Seconds once = copies(price(scenario, spec).kinds[0]);
  const Seconds copied = synchronized(scenario);
  spec.gradient_as_bucket_view = true;
  EXPECT_NEAR((copied - synchronized(scenario)).value, once.value, 1e-12);
}

/// GPT-Neo with 2 layers of 64 x 64 booleans, 8192 B of buffers.
Scenario with_buffers() {
  Scenario scenario = ddp_scenario();
  scenario.model.family = "gpt_neo";
  scenario.model.max_position_embeddings = 64;
  scenario.model.num_hidden_layers = 2;
  scenario.schedules[0].broadcast_buffers = true;
  return scenario;
}

TEST(Ddp, BroadcastsItsBuffersOncePerSynchronisation) {
  // Flattened, sent in one piece and copied back; in 3 micro-batches once, or three times where each synchronises.
  Scenario scenario = with_buffers();
  EXPECT_EQ(buffer_bytes(scenario.model, Implementation::kEager).value, 8192);
  EXPECT_EQ(buffer_bytes(scenario.model, Implementation::kCompiled).value, 0);
  ScheduleSpec& spec = scenario.schedules[0];
  for (const auto& [sync, times] : {std::pair(Sync::kLastMicroBatch, 1), std::pair(Sync::kEveryMicroBatch, 3)}) {
    spec.sync = sync;
    const Costs costs = price(scenario, spec);
    const ScheduleInput input{spec, costs, costs.kinds[0], 3, 1};
    ScheduleSpec without = spec;
    without.broadcast_buffers = false;
    const Bytes buffers{8192};
    const Seconds once = 2 * memory_time(buffers, buffers, costs.kinds[0].device) +
                         request_time(costs, {CollectiveKind::kBroadcast, buffers});
    const Seconds more = ddp_closed_form(input) - ddp_closed_form({without, costs, costs.kinds[0], 3, 1});
    EXPECT_NEAR(more.value, (times * once).value, 1e-12);
  }
}

TEST(Ddp, BroadcastsItsBuffersBeforeTheForwardThatFollowsASynchronisedOne) {
  // An update of 3 micro-batches, in the order of the compute lane: the buffers first, since a forward pass whose
  // gradients stay does not ask for them again; or before each of three synchronised ones.
  Scenario scenario = with_buffers();
  ScheduleSpec& spec = scenario.schedules[0];
  const auto order = [&] {
    const EventGraph graph = build(spec, price(scenario, spec), 3, 1);
    std::string letters;
    play(graph, NetworkKind::kReference, [&](const Span& span) {
      const std::string& name = graph.labels[span.label].name;
      if (span.rank != 0) return;
      if (name == "copy buffers back") letters += 'B';
      if (name == "forward") letters += std::string(static_cast<std::size_t>(span.repeat), 'F');
    });
    return letters;
  };
  EXPECT_EQ(order(), "BFFF");
  spec.sync = Sync::kEveryMicroBatch;
  EXPECT_EQ(order(), "BFBFBF");
}

TEST(ZeroRedundancy, GivesTheLargestTensorsFirstToTheRankWithTheLeast) {
  // 9 to rank 0; 5 to rank 1; 4 to rank 2; then 4 to rank 2 (4 < 5 < 9), which has 8; 3 to rank 1: 8; 1 to rank 1, the
  // lower of two with 8: 9.
  EXPECT_EQ(zero_redundancy_shares({1, 4, 9, 3, 4, 5}, 3), (std::vector<double>{9, 9, 8}));
  EXPECT_EQ(zero_redundancy_shares({2, 1}, 4), (std::vector<double>{2, 1, 0, 0}));
  // No share is below the largest tensor's: on 8 ranks GPT-Neo's table of 38.6 M of 124 M elements is the largest.
  std::vector<double> gpt_neo(1, 50257.0 * 768);
  for (int layer = 0; layer < 12; ++layer) {
    gpt_neo.insert(gpt_neo.end(), 4, 768.0 * 768);
    gpt_neo.insert(gpt_neo.end(), 2, 768.0 * 3072);
  }
  EXPECT_EQ(zero_redundancy_shares(gpt_neo, 8)[0], 50257.0 * 768);
}

TEST(ZeroRedundancy, BroadcastsTensorByTensor) {
  // As many bytes as in one piece, but a latency for each tensor.
  Scenario scenario = ddp_scenario();
  ScheduleSpec& spec = scenario.schedules[0];
  spec.optimizer_sharding = OptimizerSharding::kZeroRedundancy;
  const Costs costs = price(scenario, spec);
  const ScheduleInput input{spec, costs, costs.kinds[0], 1, 1};
  Seconds broadcasts;
  for (const double elements : tensors_of(costs.kinds[0].layers))
    broadcasts += request_time(costs, {CollectiveKind::kBroadcast, Bytes{4 * elements}});
  const Seconds step = optimizer_time(costs, largest_share(costs.kinds[0].layers, 2), costs.kinds[0].device);
  EXPECT_NEAR(ddp_closed_form(input).value, (synchronized(scenario) + step + broadcasts).value, 1e-9);
}

/// Llama 2 7B on 128 nodes of 8 A100, two micro-batches an update. `more`: keys of the schedule.
Scenario llama_on_1024_gpus(const std::string& framework, const std::string& schedule, const std::string& more,
                            int sequence = 4096) {
  return load_scenario(data_dir() + "/scenarios/llama-2-7b_fsdp_hsdp.json",
                       {"/cluster/nodes/0/count=128", "/training/framework=" + framework,
                        "/training/sequence_length=" + std::to_string(sequence),
                        R"(/schedules=[{"name": ")" + schedule + "\"" + more + "}]", "/baseline=" + schedule})
      .scenario;
}

RunResult on_1024_gpus(const std::string& framework, const std::string& schedule, const std::string& more,
                       int sequence = 4096) {
  const Scenario scenario = llama_on_1024_gpus(framework, schedule, more, sequence);
  return run_schedule(scenario, scenario.schedules[0], NetworkKind::kReference);
}

const std::string kAfter = R"(, "overlap": "none")", kBeside = R"(, "overlap": "backward")";

TEST(OnAThousandGpus, EachFrameworkSendsWhatItsDefaultsSay) {
  // A rank sends (n-1)/n of a buffer in a reduce-scatter or an all-gather, twice that in an all-reduce. P parameters.
  const double sent = 6738415616.0 * 1023 / 1024;
  const auto per_parameter = [&](const std::string& framework, const std::string& schedule) {
    return on_1024_gpus(framework, schedule, "").bytes_sent_per_rank_per_update.value / sent;
  };
  // ZeRO-2 in PyTorch: two reduce-scatters of bf16 and two all-gathers.
  EXPECT_NEAR(per_parameter("pytorch", "zero2"), 2 * 2 + 2 * 2, 1e-9);
  // DeepSpeed's all-reduces both times, and gathers after the step. ZeRO-1 reduces once an update.
  EXPECT_NEAR(per_parameter("deepspeed", "zero2"), 2 * 4 + 2, 1e-9);
  EXPECT_NEAR(per_parameter("deepspeed", "zero1"), 4 + 2, 1e-9);
  EXPECT_NEAR(per_parameter("pytorch", "zero1"), 2 + 2, 1e-9);
  // Megatron-LM reduce-scatters fp32 and gathers bf16.
  EXPECT_NEAR(per_parameter("megatron", "zero1"), 4 + 2, 1e-9);
}

TEST(OnAThousandGpus, OverlapSendsTheSameBytesInLessTimeAndSmallBucketsTakeLonger) {
  for (const auto& [framework, schedule] : std::vector<std::pair<std::string, std::string>>{
           {"pytorch", "zero1"}, {"deepspeed", "zero1"}, {"deepspeed", "zero2"}, {"megatron", "zero1"}}) {
    const RunResult after = on_1024_gpus(framework, schedule, kAfter);
    const RunResult beside = on_1024_gpus(framework, schedule, kBeside);
    EXPECT_NEAR(beside.bytes_sent_per_rank_per_update / after.bytes_sent_per_rank_per_update, 1, 1e-9);
    EXPECT_LT(beside.update_time, after.update_time) << framework << " " << schedule;
  }
  // Buckets of 25 MiB pay a ring's 1,023 steps some 500 times an update: with little to compute beside them it takes
  // half as long again as with a bucket for each unit.
  const std::string scattered = kBeside + R"(, "reduction": "reduce_scatter")";
  const RunResult units = on_1024_gpus("deepspeed", "zero2", scattered + R"(, "buckets": "units")", 2048);
  const RunResult small = on_1024_gpus("deepspeed", "zero2", scattered + R"(, "bucket_cap_mb": 25)", 2048);
  EXPECT_GT(small.update_time, 1.4 * units.update_time);
}

TEST(OnAThousandGpus, EachFrameworkSendsAsManyMessagesAsItsBucketsSay) {
  const auto buckets = [](const std::string& framework, const std::string& schedule) {
    const Scenario scenario = llama_on_1024_gpus(framework, schedule, kBeside);
    const Costs costs = price(scenario, scenario.schedules[0]);
    return timed_buckets(costs.kinds[0].times, bytes_of(costs.gradient_dtype), scenario.schedules[0]).size();
  };
  EXPECT_EQ(buckets("pytorch", "zero1"), 34u);  // 32 blocks, the embedding and the head
  // DeepSpeed: a closed bucket has 500 M elements and at most one matrix more, 545.1 M. 6738 M are then at least 12
  // closed ones and the rest, and at most 13 and the rest.
  EXPECT_GE(buckets("deepspeed", "zero2"), 13u);
  EXPECT_LE(buckets("deepspeed", "zero2"), 14u);
  // Megatron-LM: 1,024e6 elements on 1,024 ranks: 6 closed ones hold at least 6144 M, and the rest is the last.
  EXPECT_EQ(buckets("megatron", "zero1"), 7u);
}

// Do parameters that are gathered beside the forward pass come when their modules need them, in the time that can be
// said by hand, and at no cost in bytes or memory?

constexpr NetworkKind kReference = NetworkKind::kReference;

ScheduleSpec overlapped(bool aligned, Buckets buckets = Buckets::kUnits) {
  return sample_schedule({.name = "zero1",
                          .overlap = Overlap::kBackward,
                          .buckets = buckets,
                          .overlap_param_gather = true,
                          .align_param_gather = aligned});
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
