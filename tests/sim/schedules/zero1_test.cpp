// Does ZeRO-1 take the time and the memory that can be said by hand when its shards lie inside nodes, and when each
// owner broadcasts its part of the parameters?
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/price/layer_time.hpp"
#include "models/price/partition.hpp"
#include "models/price/price.hpp"
#include "models/read/check_schedules.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/sim/sharded_scenarios.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

constexpr NetworkKind kReference = NetworkKind::kReference, kSimgrid = NetworkKind::kSimgrid;

ScheduleSpec in_nodes(Reduction reduction = Reduction::kReduceScatter) {
  return sample_schedule({.name = "zero1", .reduction = reduction, .island = Island::kNode});
}

ScheduleSpec broadcasting(ScheduleSpec spec = sample_schedule("zero1")) {
  spec.parameter_sync = ParameterSync::kBroadcast;
  return spec;
}

/// A t and the step of one of so many parts, of 2-byte parameters and gradients.
double computed(const Scenario& scenario, const ScheduleSpec& spec, int parts) {
  const RankKind kind = price(scenario, spec).kinds[0];
  return (scenario.training.gradient_accumulation_steps * (kind.forward + kind.backward) +
          adamw_time(kind.parameters / parts, Dtype::kBf16, Dtype::kBf16, kind.device))
      .value;
}

// The sample's nodes: NVLink of 300 GB/s of which 0.8 are reached, 3 us a step; an adapter of 12.5 GB/s of which 0.9
// are reached, 5 us a step. Parameters and gradients have 2 bytes, P of them.
constexpr double kLink = 0.8 * 300e9, kAdapter = 0.9 * 12.5e9, kStep = 3e-6, kHop = 5e-6;

TEST(ShardsInNodes, AnUpdateIsAReduceScatterAndAGatherInTheNodeAndAnAllReduceOfTheShardBetween) {
  // 2 nodes of 4. In a node each of two passes around the ring of 4 moves 3/4 of 2 P bytes over a link in 3 steps: 2 (3
  // steps + 1.5 P / link). Between the nodes a GPU's ring of 2 moves 2 (1/2) of the shard's 2 P / 4 bytes over each
  // edge in 2 hops; the 4 rings share the one adapter: 2 hops + 2 P / adapter.
  const Scenario scenario = sample_scenario(2, 4);
  const ScheduleSpec spec = in_nodes();
  const double P = parameters_of(scenario);
  const double node = 3 * kStep + 1.5 * P / kLink, between = 2 * kHop + 2 * P / kAdapter;
  EXPECT_NEAR(update_time(scenario, spec, kSimgrid) / (computed(scenario, spec, 4) + 2 * node + between), 1, 1e-6);
}

TEST(ShardsInNodes, AnAllReduceOverAllRanksLeavesOnlyTheGatherInTheNode) {
  // Of 8 ranks a ring of 12 steps in the nodes and 2 hops moves 2 (7/8) of 2 P bytes over each edge; a tree moves 2 P
  // over the edge between the nodes, in 2 x 3 steps and 2 hops, and is the quicker.
  const Scenario scenario = sample_scenario(2, 4);
  const ScheduleSpec spec = in_nodes(Reduction::kAllReduce);
  const double P = parameters_of(scenario);
  const double ring = 12 * kStep + 2 * kHop + 3.5 * P / kAdapter, tree = 6 * kStep + 2 * kHop + 2 * P / kAdapter;
  const double gather = 3 * kStep + 1.5 * P / kLink;
  for (const NetworkKind network : {kReference, kSimgrid})
    EXPECT_NEAR(update_time(scenario, spec, network) / (computed(scenario, spec, 4) + std::min(ring, tree) + gather), 1,
                1e-6);
}

TEST(ShardsInNodes, SendWhatTheirGroupsCount) {
  // 2 nodes of 4, 2 P bytes. In the node 3/4 of that in a reduce-scatter and again in a gather; between 2 nodes 2 (1/2)
  // of a quarter. All-reduced over 8 ranks 2 (7/8), and the gather. Broadcasts of 4 quarters send as much as a gather.
  const Scenario scenario = sample_scenario(2, 4);
  const double P = parameters_of(scenario);
  const auto of = [&](const ScheduleSpec& spec) { return sent(scenario, spec); };
  EXPECT_NEAR(of(in_nodes()), 2 * P * (3 / 4.0 + 3 / 4.0 + 1 / 4.0), 1e-3);
  EXPECT_NEAR(of(in_nodes(Reduction::kAllReduce)), 2 * P * (14 / 8.0 + 3 / 4.0), 1e-3);
  EXPECT_NEAR(of(broadcasting(in_nodes())), of(in_nodes()), 1e-3);
  EXPECT_NEAR(of(broadcasting()), 2 * P * (7 / 8.0 + 7 / 8.0), 1e-3);
}

TEST(ShardsInNodes, EveryGradientIsSummedOverAllRanks) {
  // 3 nodes of 2. Ranks 0 and 1 reduce-scatter, after which rank 0 has the first half of its node's sum; the first
  // halves meet in ranks 0, 2 and 4. The count of micro-batches is over all.
  const Scenario scenario = sample_scenario(3, 2);
  ScheduleSpec spec = in_nodes();
  spec.count_micro_batches = true;
  const EventGraph graph = build(spec, price(scenario, spec), 1, 1);
  std::vector<std::string> sent;
  for (const std::vector<Op>& lane : graph.programs[0].lanes)
    for (const Op& op : lane) {
      if (op.kind != OpKind::kCollective) continue;
      sent.push_back(graph.labels[op.label].name + ":");
      for (const int rank : graph.groups[graph.ranks[0].groups[op.slot]].members) sent.back() += std::to_string(rank);
    }
  EXPECT_EQ(sent, (std::vector<std::string>{"all-reduce of counts:012345", "reduce-scatter:01", "all-gather:01",
                                            "all-reduce of a shard:024"}));
}

TEST(ShardsInNodes, DivideTheStatesByTheRanksOfANode) {
  // 2 nodes of 4: 12 bytes of states a parameter over 4 ranks and not over 8; all else is as before, also by the
  // papers' formula.
  Scenario scenario = sample_scenario(2, 4);
  const double P = parameters_of(scenario);
  for (const Buckets buckets : {Buckets::kWhole, Buckets::kUnits}) {
    ScheduleSpec inside = in_nodes(), everywhere = sample_schedule("zero1");
    inside.buckets = everywhere.buckets = buckets;
    const RunResult four = run_schedule(scenario, inside, kReference),
                    eight = run_schedule(scenario, everywhere, kReference);
    EXPECT_EQ(four.memory_parts.part(MemoryUse::kOptimizerStates), Bytes{12 * P / 4});
    EXPECT_EQ(eight.memory_parts.part(MemoryUse::kOptimizerStates), Bytes{12 * P / 8});
    EXPECT_NEAR((four.memory_parts.total() - eight.memory_parts.total()).value, 12 * P / 8, 1e-3);
    EXPECT_EQ(four.memory_formula, Bytes{(4 + 12 / 4.0) * P});
    // Owners that broadcast have whole tensors, and the largest share counts.
    const double largest = largest_share(price(scenario, inside).kinds[0].layers, 4);
    EXPECT_EQ(run_schedule(scenario, broadcasting(inside), kReference).memory_parts.part(MemoryUse::kOptimizerStates),
              Bytes{12 * largest});
  }
}

TEST(ShardsInNodes, OfOneNodeAreShardsOverAllRanks) {
  Scenario scenario = sample_scenario(1, 8);
  for (const Overlap overlap : {Overlap::kNone, Overlap::kBackward})
    for (const ParameterSync sync : {ParameterSync::kAllGather, ParameterSync::kBroadcast}) {
      ScheduleSpec inside = in_nodes(), everywhere = sample_schedule("zero1");
      inside.overlap = everywhere.overlap = overlap;
      inside.buckets = everywhere.buckets = Buckets::kUnits;
      inside.parameter_sync = everywhere.parameter_sync = sync;
      EXPECT_NEAR(update_time(scenario, inside, kSimgrid) / update_time(scenario, everywhere, kSimgrid), 1, 1e-12);
    }
}

TEST(ShardsInNodes, OfNodesOfOneGpuAreWhole) {
  // Every rank has all states, and gradients are all-reduced between nodes, in buckets that they are copied into: DDP
  // but for the copies out of them. Of 4 ranks a ring of 6 hops moves 2 (3/4) of 2 P bytes over an edge; the tree's
  // inner edges carry 2 x 2 P.
  Scenario scenario = sample_scenario(4, 1);
  const double P = parameters_of(scenario);
  ScheduleSpec spec = in_nodes();
  EXPECT_NEAR(update_time(scenario, spec, kReference) / (computed(scenario, spec, 1) + 6 * kHop + 3 * P / kAdapter), 1,
              1e-6);
  spec.buckets = Buckets::kUnits;
  const RunResult result = run_schedule(scenario, spec, kReference);
  EXPECT_EQ(result.memory_parts.part(MemoryUse::kOptimizerStates), Bytes{12 * P});
  EXPECT_GT(result.memory_parts.part(MemoryUse::kGradientBuckets), Bytes{0});
}

TEST(ShardsInNodes, ABucketsShardsCrossWhileTheNextBucketIsReducedInTheNode) {
  // Beside the backward pass, with adapters so slow that the shards of 6 units (embedding, 4 blocks, an untied head)
  // queue between the nodes and all else hides behind them. The head is the first, once its backward pass has ended,
  // its gradients are copied, a tensor a kernel, and they are reduced in the node. From there on the adapters send, for
  // each of 4 GPUs, 2 (1/2) of 2 P / 4 bytes, in 2 hops a unit. Then come the step and the gather in the node.
  Scenario scenario = sample_scenario(2, 4, 1);
  scenario.model.tie_word_embeddings = false;
  scenario.training.gradient_accumulation_steps = 1;
  ScheduleSpec spec = in_nodes();
  spec.overlap = Overlap::kBackward;
  spec.buckets = Buckets::kUnits;
  const RankKind kind = price(scenario, spec).kinds[0];
  ASSERT_EQ(kind.times.size(), 6U);
  const LayerTime& head = kind.times.back();
  Seconds copies;
  for (const GradientTensor& tensor : *head.gradients)
    copies += memory_time(tensor.elements * Bytes{2}, tensor.elements * Bytes{2}, kind.device);
  const double P = parameters_of(scenario);
  const double first = (kind.forward + head.backward + copies).value + 3 * kStep + 1.5 * head.parameters / kLink;
  const double crossing = 6 * 2 * kHop + 2 * P / (0.9 * 0.125e9);
  const double step = adamw_time(kind.parameters / 4, Dtype::kBf16, Dtype::kBf16, kind.device).value;
  const double gather = 3 * kStep + 1.5 * P / kLink;
  EXPECT_NEAR(update_time(scenario, spec, kSimgrid) / (first + crossing + step + gather), 1, 1e-6);
}

TEST(Broadcasts, AreOneOfEachOwnersPartOneAfterTheOther) {
  // 8 ranks on 2 nodes: a broadcast goes down a chain of 6 steps inside nodes and 1 between, and all of what is sent
  // crosses the adapter: 8 x (6 steps + 1 hop) + 2 P / adapter. The gather in its place takes as many steps once, and
  // 7/8 of 2 P cross. In a node of 4 a chain has 3 steps, and each link carries all: 4 x 3 steps + 2 P / link. Owners
  // have whole tensors, so that the step is that of the largest share.
  const Scenario scenario = sample_scenario(2, 4);
  const double P = parameters_of(scenario);
  const auto longer = [&](const ScheduleSpec& spec, NetworkKind network) {
    return update_time(scenario, broadcasting(spec), network) - update_time(scenario, spec, network);
  };
  const RankKind kind = price(scenario, sample_schedule("zero1")).kinds[0];
  const auto step = [&](int owners) {
    const auto of = [&](double share) { return adamw_time(share, Dtype::kBf16, Dtype::kBf16, kind.device).value; };
    return of(largest_share(kind.layers, owners)) - of(P / owners);
  };
  const double chain = 6 * kStep + kHop;
  for (const NetworkKind network : {kReference, kSimgrid})
    EXPECT_NEAR(longer(sample_schedule("zero1"), network),
                8 * chain + 2 * P / kAdapter - (chain + 1.75 * P / kAdapter) + step(8), 1e-9);
  EXPECT_NEAR(longer(in_nodes(), kSimgrid), 4 * 3 * kStep + 2 * P / kLink - (3 * kStep + 1.5 * P / kLink) + step(4),
              1e-9);
}

TEST(Broadcasts, OfHundredsOfOwnersAreOneOp) {
  // 64 nodes of 8: those of equal size are one request. The sample's tensors are fewer than 512, so each is an owner's;
  // shards in nodes have 8 owners.
  const Scenario scenario = sample_scenario(64, 8);
  for (const auto& [spec, owners] : {std::pair(broadcasting(), 512), std::pair(broadcasting(in_nodes()), 8)}) {
    const EventGraph graph = build(spec, price(scenario, spec), 4, 1);
    int found = 0;
    Bytes sent;
    for (const Op& op : graph.programs[0].lanes[kCommunicationLane]) {
      if (op.kind != OpKind::kCollective || graph.requests[op.plan].kind != CollectiveKind::kBroadcast) continue;
      const PlanRequest& request = graph.requests[op.plan];
      EXPECT_EQ(graph.labels[op.label].name, "broadcast of " + std::to_string(request.count) + " parts");
      found += request.count;
      sent += request.bytes;
    }
    const auto tensors = static_cast<int>(tensors_of(price(scenario, spec).kinds[0].layers).size());
    EXPECT_LT(tensors, 512);
    EXPECT_EQ(found, std::min(owners, tensors));
    EXPECT_EQ(sent, Bytes{2 * parameters_of(scenario)});
  }
}

TEST(Broadcasts, OfZero2FollowItsStepToo) {
  // As DeepSpeed runs it: 4 micro-batches reduced one by one, then 4 messages of a chain of 3 steps.
  const Scenario scenario = sample_scenario(1, 4);
  const ScheduleSpec zero2 = sample_schedule("zero2");
  const double P = parameters_of(scenario);
  const RankKind kind = price(scenario, zero2).kinds[0];
  const auto of = [&](double share) { return adamw_time(share, Dtype::kBf16, Dtype::kBf16, kind.device).value; };
  const double step = of(largest_share(kind.layers, 4)) - of(P / 4);  // owners have whole tensors
  EXPECT_NEAR(update_time(scenario, broadcasting(zero2), kReference) - update_time(scenario, zero2, kReference),
              4 * 3 * kStep + 2 * P / kLink - (3 * kStep + 1.5 * P / kLink) + step, 1e-9);
}

/// With every choice that ZeRO-1 has.
ScheduleSpec random_zero1(Random& random) {
  ScheduleSpec spec = sample_schedule("zero1");
  spec.island = random.integer(0, 2) > 0 ? Island::kNode : Island::kWorld;
  spec.reduction = random.integer(0, 2) == 0 ? Reduction::kAllReduce : Reduction::kReduceScatter;
  spec.overlap = random.integer(0, 1) == 1 ? Overlap::kBackward : Overlap::kNone;
  spec.buckets = static_cast<Buckets>(random.integer(0, 2));
  spec.first_bucket = Bytes{random.uniform(1e3, 1e6)};
  spec.bucket_cap = Bytes{random.uniform(1e5, 1e7)};
  spec.gradient_as_bucket_view = random.integer(0, 1) == 1;
  if (random.integer(0, 2) == 0) spec.gradient_dtype = Dtype::kFp32;
  const bool beside = spec.overlap == Overlap::kBackward && random.integer(0, 1) == 1;
  spec.overlap_param_gather = beside;
  spec.align_param_gather = beside && random.integer(0, 1) == 1;
  if (!beside && random.integer(0, 1) == 1) spec.parameter_sync = ParameterSync::kBroadcast;
  if (!beside && random.integer(0, 1) == 1) spec.gather_cap = Bytes{random.uniform(1e5, 1e7)};
  if (spec.overlap == Overlap::kNone && spec.buckets == Buckets::kWhole)
    spec.count_micro_batches = random.integer(0, 1) == 1;
  return spec;
}

TEST(Zero1, TakesItsClosedFormWithEveryOption) {
  int between_nodes = 0;
  for (int seed = 0; seed < 120; ++seed) {
    Random random(seed);
    const Scenario scenario = random_sharded_scenario(random);
    const NodeGroup& nodes = scenario.cluster.nodes[0];
    const ScheduleSpec spec = random_zero1(random);
    const bool shared =
        is_hybrid(spec) && spec.reduction == Reduction::kReduceScatter && nodes.count > 1 && nodes.gpus > 1;
    expect_closed_form(scenario, spec, shared, seed);
    between_nodes += shared ? 1 : 0;
  }
  EXPECT_GT(between_nodes, 20);
}

TEST(Zero1, FoldedTakesTheTimeOfTheWhole) { expect_same_time_folded(cases(30), random_zero1); }

TEST(Zero1, TheCriticalPathExplainsAllOfAnUpdate) { expect_explained(cases(20), random_zero1); }

TEST(Zero1, AsManyCollectivesAreCountedAsAreMade) {
  // 6 units: each reduced once an update, in nodes and then between them; an all-reduce is one.
  const Model model = sample_model(4);
  ScheduleSpec spec = in_nodes();
  spec.buckets = Buckets::kUnits;
  EXPECT_EQ(collectives_of(spec, 4, model), 6 + 6);
  spec.reduction = Reduction::kAllReduce;
  EXPECT_EQ(collectives_of(spec, 4, model), 6);
}

TEST(Zero1, IsTheSerialOneOnlyOverAllRanksWithAnAllGatherAndOnTheGpu) {
  EXPECT_TRUE(is_serial_sharded(sample_schedule("zero1")));
  EXPECT_FALSE(is_serial_sharded(in_nodes()));
  EXPECT_FALSE(is_serial_sharded(broadcasting()));
  const ScheduleSpec on_host = sample_schedule({.name = "zero1", .offload_optimizer = true});
  EXPECT_FALSE(is_serial_sharded(on_host));
}

}  // namespace
}  // namespace accosim
