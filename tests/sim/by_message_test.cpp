// Do the collectives of shipped scenarios take, message by message, what predictions say?
#include "sim/explain/by_message.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "models/collectives/nccl_cost.hpp"
#include "models/read/load.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/shipped.hpp"
#include "sim/messages/message_query.hpp"
#include "sim/messages/play_messages.hpp"

namespace accosim {
namespace {

Cluster nodes_of_8(int nodes) {
  Cluster cluster = load_scenario(data_dir() + "/scenarios/paper/pretrain_4x8_a100.json", {}).scenario.cluster;
  cluster.nodes[0].count = nodes;
  return cluster;
}

/// The steps alone, without launch.
double steps_time(CollectiveKind kind, double bytes, const Cluster& cluster, const NcclWay& way) {
  const Ring ring = whole_ring(cluster);
  const Seconds launch = nccl_steps(kind, Bytes{bytes}, cluster, ring, way).launch;
  return (collective_time(NcclPrices(kind, cluster, ring).of(Bytes{bytes}, way)) - launch).value;
}

double played(CollectiveKind kind, double bytes, const Cluster& cluster, const NcclWay& way) {
  return play(expand(message_query(kind, Bytes{bytes}, cluster, whole_ring(cluster), way))).end.value;
}

TEST(ByMessage, ATreeIsAsDeepAsNcclBuildsIt) {
  // Of 2, 4 and 8 nodes the depth is the logarithm, and of a number between two powers that of the higher. A message of
  // 8 B then takes 2 depth steps between nodes, 14 inside and one more for each level, both ways, where the way leads
  // by second children: of some numbers of nodes it does so at one level less. And, of the way down, the host's thread
  // posts one to a sibling before, at depth - 1 levels at most. 8 B take up to 3 ns of a thread block in each step,
  // which the form counts once.
  const NcclWay tree{Algorithm::kTree, Protocol::kLowLatency};
  for (const int nodes : {2, 3, 4, 5, 6, 7, 8, 12, 16}) {
    const Cluster cluster = nodes_of_8(nodes);
    const double form = steps_time(CollectiveKind::kAllReduce, 8, cluster, tree);
    const double time = played(CollectiveKind::kAllReduce, 8, cluster, tree);
    const double sibling = 2 * cluster.nodes[0].nics.message.value + 1e-9;
    const Ring ring = whole_ring(cluster);
    const NcclSteps steps = nccl_steps(CollectiveKind::kAllReduce, Bytes{8}, cluster, ring, tree);
    EXPECT_GE(time, form - 2 * steps.links.inner_hop.value) << nodes;
    EXPECT_LE(time, form + (std::ceil(std::log2(nodes)) - 1) * sibling + 30 * 3e-9) << nodes;
  }
}

TEST(ByMessage, ABroadcastGoesInChunksOfOneStep) {
  // 512 KiB each in 8 slots: 64 MiB over 4 nodes of 8 are 128 chunks, which follow each other through 31 edges.
  const Cluster cluster = nodes_of_8(4);
  const NcclWay ring{Algorithm::kRing, Protocol::kSimple};
  const MessageQuery query =
      message_query(CollectiveKind::kBroadcast, Bytes{0x1p26}, cluster, whole_ring(cluster), ring);
  EXPECT_EQ(query.links.chunk.value, 512 * 1024);
  EXPECT_EQ(query.slots, kSlots);
  EXPECT_EQ(play(expand(query)).messages, 128 * 31);
  const double form = steps_time(CollectiveKind::kBroadcast, 0x1p26, cluster, ring);
  EXPECT_NEAR(played(CollectiveKind::kBroadcast, 0x1p26, cluster, ring), form, 0.01 * form);
}

TEST(ByMessage, ListsTheCollectivesOfAnUpdate) {
  // ACCO on 4 nodes of 8: gradients of 124M parameters reduce-scattered, parameters gathered, counts all-reduced.
  const Scenario scenario = load_scenario(data_dir() + "/scenarios/paper/pretrain_4x8_a100.json", {}).scenario;
  for (const ScheduleSpec& spec : scenario.schedules) {
    if (spec.label != "acco") continue;
    const CollectivesByMessage result = by_message(scenario, spec);
    ASSERT_EQ(result.rows.size(), 3u);
    EXPECT_TRUE(result.without.empty());
    EXPECT_EQ(result.rows[0].bytes, result.rows[1].bytes);
    EXPECT_EQ(result.rows[2].collective, "all_reduce");
    EXPECT_EQ(result.rows[2].bytes.value, 4);
    for (const ByMessage& row : result.rows) {
      EXPECT_EQ(row.ranks, 32);
      EXPECT_LT(std::fabs(row.deviation()), 0.06);
    }
    return;
  }
  FAIL() << "no ACCO in the scenario";
}

TEST(ByMessage, OfOneNodeThereIsNothingToPlay) {
  const Scenario scenario = load_scenario(data_dir() + "/scenarios/paper/pretrain_1x8_h100.json", {}).scenario;
  const CollectivesByMessage result = by_message(scenario, scenario.schedules.front());
  EXPECT_TRUE(result.rows.empty());
  ASSERT_FALSE(result.without.empty());
  EXPECT_NE(result.without.front().find("stays in a node"), std::string::npos);
}

}  // namespace
}  // namespace accosim
