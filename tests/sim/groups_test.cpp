// Do groups of any dimensions meet over the links that lie between their GPUs?
#include "sim/schedules/groups.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "sim/player/player.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

/// A graph of one program for all ranks, which does nothing but this.
EventGraph graph_of(const Costs& costs, const std::vector<PlanRequest>& requests) {
  EventGraph graph;
  Tables tables;
  ProgramBuilder program(tables, {"communication"});
  for (const PlanRequest& request : requests) program.collective(0, "all-reduce", request);
  graph.programs.push_back(program.take(1));
  graph.labels = tables.labels;
  add_groups(graph, costs, tables);
  return graph;
}

TEST(Groups, OfTwoGpusANodeShareAdaptersAsTheirPriceSays) {
  // Two nodes of 4 GPUs with 2 adapters, and two tensor ranks: the data groups are 0, 2, 4, 6 and 1, 3, 5, 7, each next
  // to both adapters of its node. An all-reduce of S bytes over two nodes goes in two trees: an edge carries S, half of
  // it through each adapter, which two groups share: S / 2 over b / 2 is S / b.
  Scenario scenario = sample_scenario(2, 4);
  scenario.cluster.nodes[0].nics = {2, BytesPerSecond{1e9}, 1, Seconds{0}};
  scenario.cluster.nodes[0].intra = {"nvlink", BytesPerSecond{1e15}, 1, Seconds{0}};
  scenario.training.interference = false;
  Costs costs = price(scenario, sample_schedule("ddp"));
  costs.layout = layout_of(scenario.cluster, Island::kWorld, {.tensor = 2});
  EXPECT_EQ(members_of(costs.layout, {kAllData}, 3), (std::vector<int>{1, 3, 5, 7}));
  const PlanRequest request{CollectiveKind::kAllReduce, Bytes{1e6}};
  const Seconds priced = request_time(costs, request);
  EXPECT_NEAR(priced.value, 1e-3, 1e-6);
  const EventGraph graph = graph_of(costs, {request});
  ASSERT_EQ(graph.groups.size(), 2u);
  EXPECT_EQ(graph.groups[0].plans[0].flows.size(), 4u) << "two edges over two adapters each";
  EXPECT_NEAR(play(graph, NetworkKind::kSimgrid, {}).end.value, priced.value, 1e-9);
}

TEST(Groups, AMessageTakesTheEdgeOfItsDirection) {
  // Two stages on two nodes of one GPU: rank 0 sends to rank 1, or back.
  Scenario scenario = sample_scenario(2, 1);
  scenario.training.parallel.pipeline = 2;
  const Costs costs = price(scenario, sample_schedule("ddp"));
  const Ranks next{over(Dim::kPipeline), Pick::kNext};
  const EventGraph graph = graph_of(costs, {{CollectiveKind::kSendRecv, Bytes{1e6}, 1, next},
                                            {CollectiveKind::kSendRecv, Bytes{1e6}, 1, next, true}});
  ASSERT_EQ(graph.groups.size(), 4u) << "each stage by itself, 0 with 1, and 1 with 0 around the end";
  EXPECT_EQ(graph.groups[2].members, (std::vector<int>{0, 1}));
  const auto first_link = [&](int group, int plan) {
    const std::vector<Plan::Flow>& flows = graph.groups[group].plans[plan].flows;
    EXPECT_EQ(flows.size(), 1u);
    return graph.links[graph.paths[flows[0].path].links[0]].name;
  };
  EXPECT_EQ(first_link(2, 0), "node 0 out");
  EXPECT_EQ(first_link(2, 1), "node 1 out");
  EXPECT_EQ(first_link(3, 0), "node 1 out");
  EXPECT_EQ(first_link(3, 1), "node 0 out");
}

TEST(Groups, PlanOnlyWhatAMembersProgramAsksFor) {
  // The world asks for an all-gather, which the islands' groups do not price, and the other way round.
  Scenario scenario = sample_scenario(2, 2);
  const Costs costs = price(scenario, sample_schedule({.name = "zero3", .island = Island::kNode}));
  const EventGraph graph = graph_of(
      costs, {{CollectiveKind::kAllGather, Bytes{1e6}}, {CollectiveKind::kReduceScatter, Bytes{1e6}, 1, {kIsland}}});
  ASSERT_EQ(graph.groups.size(), 3u) << "all, and two islands";
  EXPECT_GT(graph.groups[0].plans[0].sent_per_rank, Bytes{0});
  EXPECT_EQ(graph.groups[0].plans[1].sent_per_rank, Bytes{0});
  EXPECT_EQ(graph.groups[1].plans[0].sent_per_rank, Bytes{0});
  EXPECT_GT(graph.groups[2].plans[1].sent_per_rank, Bytes{0});
  EXPECT_EQ(graph.groups[0].name, "all 4 ranks");
  EXPECT_EQ(graph.groups[2].name, "the 2 ranks of its node");
}

TEST(Groups, AKindOfRankOwnsItsStage) {
  // Eight blocks on three stages: 3, 3 and 2 of them, the first with the embedding, the last with the head. Together
  // they hold the model, and what they do is all of it.
  Scenario scenario = sample_scenario(3, 2);
  scenario.model = sample_model(8);
  const ScheduleSpec spec = sample_schedule("ddp");
  const Costs whole = price(scenario, spec);
  scenario.training.parallel.pipeline = 3;
  const Costs stages = price(scenario, spec);
  ASSERT_EQ(stages.kinds.size(), 3u);
  EXPECT_EQ(stages.kind_of, (std::vector<int>{0, 0, 1, 1, 2, 2}));
  double parameters = 0;
  Flops model, hardware;
  for (const RankKind& kind : stages.kinds) {
    parameters += kind.parameters;
    model += kind.model_flops;
    hardware += kind.hardware_flops;
    EXPECT_EQ(kind.shards, 2) << "data ranks, not all";
  }
  EXPECT_EQ(stages.kinds[0].layers->size(), 4u);
  EXPECT_EQ(stages.kinds[1].layers->size(), 3u);
  EXPECT_EQ(stages.kinds[2].layers->size(), 3u);
  // The head's table is the embedding's: the last stage has a copy, which both ends keep equal.
  const double table = 1.0 * scenario.model.vocab_size * scenario.model.hidden_size;
  EXPECT_TRUE(scenario.model.tie_word_embeddings);
  EXPECT_EQ(parameters, static_cast<double>(parameter_count(scenario.model)) + table);
  EXPECT_EQ(parameters, whole.kinds[0].parameters + table);
  EXPECT_EQ(stages.kinds[0].shared_table, table);
  EXPECT_EQ(stages.kinds[1].shared_table, 0);
  EXPECT_EQ(stages.kinds[2].shared_table, table);
  EXPECT_NEAR(model / whole.kinds[0].model_flops, 1, 1e-12);
  EXPECT_NEAR(hardware / whole.kinds[0].hardware_flops, 1, 1e-12);
  // Two model replicas do the samples of two GPUs.
  EXPECT_EQ(samples_asked(scenario) * 3, samples_asked(sample_scenario(3, 2)));
}

TEST(Groups, TheRanksOfAModelReplicaMeetTheSameDraws) {
  // Three stages of two data ranks: ranks 0, 2, 4 are one replica, 1, 3, 5 the other.
  Scenario scenario = sample_scenario(3, 2);
  scenario.training.parallel.pipeline = 3;
  const EventGraph graph = graph_of(price(scenario, sample_schedule("ddp")), {});
  for (std::size_t rank = 0; rank < 6; ++rank) EXPECT_EQ(replica_of(graph, rank), static_cast<int>(rank) % 2);
  scenario.training.parallel = {};
  const EventGraph alone = graph_of(price(scenario, sample_schedule("ddp")), {});
  for (std::size_t rank = 0; rank < 6; ++rank) EXPECT_EQ(replica_of(alone, rank), static_cast<int>(rank));
}

}  // namespace
}  // namespace accosim
