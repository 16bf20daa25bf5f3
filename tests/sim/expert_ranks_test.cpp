// Ranks that have the experts of a layer between them: what each has, sends, steps and holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/collectives/dispatch.hpp"
#include "models/price/layers.hpp"
#include "models/price/price.hpp"
#include "sim/evaluation/resident.hpp"
#include "sim/knobs/degrees.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

constexpr double kTokens = 4 * 512, kHidden = 512, kInner = 256, kExperts = 16, kPerToken = 2, kLayers = 4;

/// 2 nodes of 8 GPUs, 16 experts of an inner size of 256 without a gate in each of 4 layers of width 512.
Scenario with_experts(int ranks, double imbalance = 1, int pipeline = 1) {
  Scenario scenario = sample_scenario(2, 8);
  Experts& experts = scenario.model.experts;
  experts.count = 16;
  experts.per_token = 2;
  experts.inner_size = 256;
  experts.in_layer.assign(4, true);
  scenario.model.mlp_bias = false;
  scenario.training.implementation = Implementation::kFused;
  scenario.training.parallel.experts = ranks;
  scenario.training.parallel.pipeline = pipeline;
  scenario.training.expert_imbalance = imbalance;
  return scenario;
}

Costs costs_of(const Scenario& scenario, const char* schedule = "zero1") {
  return price(scenario, sample_schedule(schedule));
}

const Operator& find(const Layer& layer, const std::string& name) {
  for (const Operator& op : layer.operators)
    if (op.name == name) return op;
  throw std::logic_error("no " + name);
}

// T K rows of h elements of 2 bytes out, with a weight of 4 bytes each, and back; the same of gradients.
TEST(ExpertRanks, ExchangesAreThoseOfTheDispatcher) {
  const Costs costs = costs_of(with_experts(4));
  const Layer& layer = (*costs.kinds[0].layers)[1];
  const Bytes rows{kTokens * kPerToken * kHidden * 2}, weights{kTokens * kPerToken * 4};
  const auto exchange = [](Bytes bytes, bool backward, bool counted = false) {
    return TensorMessage{CollectiveKind::kAllToAll, bytes, backward, Beside::kNothing, true, counted};
  };
  EXPECT_EQ(find(layer, "dispatch").messages,
            (std::vector<TensorMessage>{exchange(rows, false, true), exchange(weights, false), exchange(rows, true),
                                        exchange(weights, true)}));
  EXPECT_EQ(find(layer, "combine").messages, (std::vector<TensorMessage>{exchange(rows, false), exchange(rows, true)}));
  // In a node: the waits of four layers are those of three exchanges each way.
  const RankKind& kind = costs.kinds[0];
  const auto time = [&](Bytes bytes) {
    return collective_time(CollectiveKind::kAllToAll, bytes, costs.cluster,
                           ring_of_message(costs, exchange(bytes, false), 0));
  };
  const double each = (2 * time(rows) + time(weights)).value;
  EXPECT_NEAR(kind.forward_waits.value, kLayers * (each + kCountWait.value), 1e-9);  // the host counts once
  EXPECT_NEAR(kind.backward_waits.value, kLayers * each, 1e-9);
  EXPECT_EQ(ring_of_message(costs, exchange(rows, false), 5).gpus, (std::vector<std::vector<int>>{{4, 5, 6, 7}}));
}

/// The same where pairs of GPUs split tensors and sequences, and have their experts whole.
Scenario with_whole_experts(int ranks, Dispatcher dispatcher = Dispatcher::kAllToAll) {
  Scenario scenario = with_experts(ranks);
  Parallel& parallel = scenario.training.parallel;
  parallel.tensor = 2;
  parallel.sequence = parallel.whole_experts = true;
  parallel.dispatcher = dispatcher;
  return scenario;
}

// 8 of 16 GPUs have 16 experts between them, 2 each; a rank has half of the tokens, and sends K rows of each.
TEST(ExpertRanks, WholeExpertsAreSharedByRanksThatSplitTensorsToo) {
  const Costs costs = costs_of(with_whole_experts(8));
  const RankKind& kind = costs.kinds[0];
  const Layer& layer = (*kind.layers)[1];
  EXPECT_EQ(kind.expert_parameters, kLayers * 2 * 2 * kHidden * kInner);
  EXPECT_EQ(find(layer, "expert up").forward_flops.value, 2 * kTokens / 2 * kPerToken * kHidden * kInner);
  const Bytes rows{kTokens / 2 * kPerToken * kHidden * 2};
  const std::vector<TensorMessage>& sent = find(layer, "dispatch").messages;
  ASSERT_EQ(sent.size(), 4U);  // nothing is gathered or scattered beside
  EXPECT_EQ(sent[0].bytes, rows);
  EXPECT_EQ(ring_of_message(costs, sent[0], 3).ranks, 8);
  // Gradients of experts are summed by the 8 data ranks over the 4 pairs of a group: 2, shards of them too.
  EXPECT_EQ(costs.layout.size(Dim::kExpert), 4);
  const double own = kind.expert_parameters;
  EXPECT_EQ(shard_elements(kind), (kind.parameters - own) / 8 + own / 2);
}

TEST(ExpertRanks, GroupsOfThoseThatShareExpertsPartitionTheRanks) {
  for (const int ranks : {2, 4, 8, 16}) {
    const Costs costs = costs_of(with_whole_experts(ranks));
    TensorMessage message{.of_experts = true};
    std::vector<int> seen(16);
    for (const std::vector<int>& group : groups_of(costs.layout, {over(Dim::kTensor, Dim::kExpert)}).members) {
      EXPECT_EQ(static_cast<int>(group.size()), ranks);
      EXPECT_EQ(ring_of_message(costs, message, group.front()).ranks, ranks);
      for (const int rank : group) ++seen[static_cast<std::size_t>(rank)];
    }
    EXPECT_EQ(seen, std::vector<int>(16, 1));
  }
}

// A gather of tokens and weights, and of the map: 16 experts, a byte each. Back one sum.
TEST(ExpertRanks, AGatherSendsAllTokensToAll) {
  const Costs costs = costs_of(with_whole_experts(8, Dispatcher::kAllGather));
  const Layer& layer = (*costs.kinds[0].layers)[1];
  const double all = kTokens / 2 * 8;
  const auto message = [](CollectiveKind kind, double bytes, bool backward) {
    return TensorMessage{kind, Bytes{bytes}, backward, Beside::kNothing, true};
  };
  constexpr CollectiveKind kGather = CollectiveKind::kAllGather, kScatter = CollectiveKind::kReduceScatter;
  EXPECT_EQ(find(layer, "dispatch").messages,
            (std::vector<TensorMessage>{
                message(kGather, all * kHidden * 2, false), message(kGather, all * kExperts * (4 + 1), false),
                message(kScatter, all * kHidden * 2, true), message(kScatter, all * kExperts * 4, true)}));
  EXPECT_EQ(find(layer, "combine").messages, (std::vector<TensorMessage>{message(kScatter, all * kHidden * 2, false),
                                                                         message(kGather, all * kHidden * 2, true)}));
}

// Tokens once, with their K weights out; kernels with the map in them have no rows moved beside.
TEST(ExpertRanks, KernelsThatTakeTokensHaveEachOnce) {
  for (const Dispatcher dispatcher : {Dispatcher::kDeepEp, Dispatcher::kHybridEp}) {
    const Costs costs = costs_of(with_whole_experts(8, dispatcher));
    const Layer& layer = (*costs.kinds[0].layers)[1];
    const std::vector<TensorMessage>& out = find(layer, "dispatch").messages;
    ASSERT_EQ(out.size(), 2U);
    EXPECT_EQ(out[0].bytes.value, kTokens / 2 * (kHidden * 2 + kPerToken * 4));
    EXPECT_EQ(out[0].receivers, 2);
    EXPECT_TRUE(out[0].counted);
    EXPECT_FALSE(out[1].counted);
    EXPECT_EQ(find(layer, "combine").messages[0].bytes.value, kTokens / 2 * kHidden * 2);
    const Ring ring = ring_of_message(costs, out[0], 0);
    EXPECT_EQ(price_of_message(costs, out[0], ring).time.value,
              (kCountWait + dispatch_time(out[0].bytes, 2, costs.cluster, ring)).value);
    const auto moved = std::ranges::count_if(layer.operators, [](const Operator& op) {
      return op.name == "permute" || op.name == "unpermute" || op.name == "sort" || op.name == "unsort";
    });
    EXPECT_EQ(moved, dispatcher == Dispatcher::kDeepEp ? 2 : 0);
  }
}

TEST(ExpertRanks, RecomputedLayersSendToTheirExpertsAgain) {
  Scenario scenario = with_experts(8);
  const double once = costs_of(scenario).kinds[0].backward_waits.value;
  scenario.training.activation_recompute = Recompute::kFull;
  const RankKind again = costs_of(scenario).kinds[0];
  EXPECT_NEAR(again.backward_waits.value, once + again.forward_waits.value, 1e-9);
}

// 4 micro-batches without a pipeline: 3 forward passes of 4 run with a backward pass, and hide their exchanges behind
// it.
TEST(ExpertRanks, ExchangesRunBesideAnotherMicroBatch) {
  Scenario scenario = with_experts(8);
  scenario.training.gradient_accumulation_steps = 4;
  const RankKind bare = costs_of(scenario).kinds[0];
  scenario.training.parallel.overlap_experts = true;
  const RankKind beside = costs_of(scenario).kinds[0];
  EXPECT_LT(beside.forward_waits, bare.forward_waits);
  EXPECT_GE(beside.forward_waits.value, 0.25 * bare.forward_waits.value - 1e-12);
  EXPECT_LT(beside.backward_waits, bare.backward_waits);
  EXPECT_EQ(beside.hardware_flops.value, bare.hardware_flops.value);
}

// 16 GPUs, 16 experts: over 1, 2, 4, 8 or 16 ranks of as many as there are; pairs that split tensors share whole ones.
TEST(ExpertRanks, SearchesTryEveryNumberOfRanksThatMayShareThem) {
  const std::vector<Parallel> all = degrees_of(with_experts(1));
  std::map<std::pair<int, int>, std::vector<int>> tried;  // by ranks that split tensors, and stages
  for (const Parallel& each : all) {
    if (each.chunks == 1) tried[{each.tensor, each.pipeline}].push_back(each.experts);
    EXPECT_EQ(each.whole_experts, each.tensor > 1 && each.experts > 1);
    EXPECT_TRUE(each.tensor == 1 || each.experts == 1 || each.sequence);
    EXPECT_EQ(16 / each.tensor / each.pipeline % expert_data_ranks(each), 0);
  }
  EXPECT_EQ((tried[{1, 1}]), (std::vector<int>{1, 2, 4, 8, 16}));
  EXPECT_EQ((tried[{1, 4}]), (std::vector<int>{1, 2, 4}));
  std::vector<int>& pairs = tried[{2, 2}];
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());  // with split sequences and without
  EXPECT_EQ(pairs, (std::vector<int>{1, 2, 4, 8}));
  for (const Parallel& each : degrees_of(sample_scenario(2, 8))) EXPECT_EQ(each.experts, 1);
  Parallel shared{.experts = 8};
  EXPECT_EQ(degrees_in_words(shared), "expert_parallel_size 8");
}

TEST(ExpertRanks, ARankComputesAsMuchAndHasAShareOfTheExperts) {
  const Costs whole = costs_of(with_experts(1)), shared = costs_of(with_experts(8));
  const RankKind &all = whole.kinds[0], &own = shared.kinds[0];
  EXPECT_EQ(all.expert_parameters, kLayers * kExperts * 2 * kHidden * kInner);
  EXPECT_EQ(own.expert_parameters, all.expert_parameters / 8);
  EXPECT_EQ(own.parameters - own.expert_parameters, all.parameters - all.expert_parameters);
  EXPECT_EQ(own.model_flops.value, all.model_flops.value);
  EXPECT_EQ(own.hardware_flops.value, all.hardware_flops.value);
  EXPECT_EQ(all.forward_waits.value, 0);
}

TEST(ExpertRanks, ShardsAreOfThoseWithTheSameExperts) {
  RankKind kind{.parameters = 100, .expert_parameters = 80, .shards = 8};
  EXPECT_EQ(shard_elements(kind), 100.0 / 8);
  kind.share.experts = 4;
  EXPECT_EQ(shard_elements(kind), 20.0 / 8 + 80.0 / 2);
  kind.share.experts = 8;
  EXPECT_EQ(shard_elements(kind), 20.0 / 8 + 80);
}

/// By who meets: bytes of a kind of collective in an update.
std::map<Dims, double> bytes_by(const Costs& costs, const ScheduleSpec& spec, CollectiveKind kind) {
  std::map<Dims, double> bytes;
  for (const PlanRequest& request : requests_of(spec, costs, 4))
    if (request.kind == kind && request.bytes > Bytes{100}) bytes[request.ranks.dims] += request.bytes.value;
  return bytes;
}

// Each request counts once, however often it is made; without buckets every schedule asks for all gradients once over
// all data ranks, of experts over those that have the same ones.
TEST(ExpertRanks, GradientsOfExpertsAreSummedByThoseThatHaveThem) {
  const Dims same = with_same_experts(kAllData);
  for (const auto& [schedule, kind] :
       std::vector<std::pair<const char*, CollectiveKind>>{{"ddp", CollectiveKind::kAllReduce},
                                                           {"zero1", CollectiveKind::kReduceScatter},
                                                           {"zero1", CollectiveKind::kAllGather},
                                                           {"zero2", CollectiveKind::kReduceScatter},
                                                           {"dpu", CollectiveKind::kReduceScatter},
                                                           {"dpu", CollectiveKind::kAllGather},
                                                           {"acco", CollectiveKind::kReduceScatter},
                                                           {"pipesgd", CollectiveKind::kAllReduce}})
    for (const int pipeline : {1, 2}) {
      if (pipeline > 1 && schedule == std::string("zero2")) continue;
      const Costs costs = costs_of(with_experts(4, 1, pipeline), schedule);
      const ScheduleSpec spec = sample_schedule({.name = schedule, .buckets = Buckets::kWhole});
      double dense = 0, own = 0;
      for (const RankKind& each : costs.kinds) {
        dense = std::max(dense, each.parameters - each.expert_parameters);
        own = std::max(own, each.expert_parameters);
      }
      const std::map<Dims, double> bytes = bytes_by(costs, spec, kind);
      ASSERT_EQ(bytes.count(kAllData), 1U) << schedule;
      ASSERT_EQ(bytes.count(same), 1U) << schedule;
      EXPECT_GE(bytes.at(kAllData), dense * 2) << schedule;
      EXPECT_GE(bytes.at(same), own * 2) << schedule;
      if (pipeline == 1) {
        EXPECT_NEAR(bytes.at(kAllData), dense * 2, 1e-3) << schedule;
        EXPECT_NEAR(bytes.at(same), own * 2, 1e-3) << schedule;
      }
    }
}

// Blocks that are alike ask once: of its experts each gathers and reduces 2 kHidden kInner elements of 16 / 4 experts.
TEST(ExpertRanks, UnitsGatherExpertsAmongThoseThatHaveThem) {
  const Costs costs = costs_of(with_experts(4), "zero3");
  const ScheduleSpec spec = sample_schedule("zero3");
  const double own = kExperts / 4 * 2 * kHidden * kInner;
  EXPECT_EQ(costs.kinds[0].expert_parameters, kLayers * own);
  const std::map<Dims, double> gathered = bytes_by(costs, spec, CollectiveKind::kAllGather);
  ASSERT_EQ(gathered.size(), 2U);
  EXPECT_EQ(gathered.at(with_same_experts(kIsland)), own * 2);
  const std::map<Dims, double> reduced = bytes_by(costs, spec, CollectiveKind::kReduceScatter);
  ASSERT_EQ(reduced.size(), 2U);
  EXPECT_EQ(reduced.at(with_same_experts(kIsland)), own * bytes_of(spec.reduce_dtype).value);
  EXPECT_GT(gathered.at(kIsland), 0);
}

TEST(ExpertRanks, BucketsHoldGradientsOfOneKind) {
  const Costs costs = costs_of(with_experts(4));
  const ScheduleSpec spec =
      sample_schedule({.name = "ddp", .overlap = Overlap::kBackward, .buckets = Buckets::kTensors});
  const auto bytes = bytes_by(costs, spec, CollectiveKind::kAllReduce);
  EXPECT_EQ(bytes.size(), 2U);
}

TEST(ExpertRanks, TheFullestRankDecides) {
  const Costs even = costs_of(with_experts(4)), skewed = costs_of(with_experts(4, 1.5));
  const Layer &a = (*even.kinds[0].layers)[1], &b = (*skewed.kinds[0].layers)[1];
  EXPECT_NEAR(find(b, "expert up").forward_flops.value, 1.5 * find(a, "expert up").forward_flops.value, 1);
  EXPECT_NEAR(find(b, "expert up").activations.value, 1.5 * find(a, "expert up").activations.value, 1);
  EXPECT_NEAR(find(b, "combine").messages[0].bytes.value, 1.5 * find(a, "combine").messages[0].bytes.value, 1);
  EXPECT_EQ(find(b, "router").forward_flops.value, find(a, "router").forward_flops.value);
  EXPECT_EQ(skewed.kinds[0].model_flops.value, even.kinds[0].model_flops.value);
  EXPECT_GT(skewed.kinds[0].forward, even.kinds[0].forward);
  // A rank that has all experts has the rows of its own tokens, however they are routed.
  EXPECT_EQ(costs_of(with_experts(1, 1.5)).kinds[0].forward.value, costs_of(with_experts(1)).kinds[0].forward.value);
}

// 12 bytes of states, of which a rank has 1/16 of what all have and, of its experts, 1/(16/e).
TEST(ExpertRanks, StatesAreShardedOverThoseThatHaveThem) {
  const Costs costs = costs_of(with_experts(8));
  const RankKind& kind = costs.kinds[0];
  const MemoryParts memory = memory_of(kind, sample_schedule("zero1"), 4);
  const double dense = kind.parameters - kind.expert_parameters;
  EXPECT_NEAR(memory.part(MemoryUse::kOptimizerStates).value, 12 * (dense / 16 + kind.expert_parameters / 2), 24);
  EXPECT_EQ(memory.part(MemoryUse::kParameters).value, 2 * kind.parameters);
}

}  // namespace
}  // namespace accosim
