// Do the collectives of shipped scenarios take, message by message, what predictions say?
#include "sim/what_if/network_advice.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "models/collectives/nccl_cost.hpp"
#include "models/read/load.hpp"
#include "models/spec/shipped.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/evaluation/per_sample.hpp"
#include "sim/explain/by_message.hpp"
#include "sim/explain/explained_collectives.hpp"
#include "sim/messages/message_query.hpp"
#include "sim/messages/play_messages.hpp"
#include "tests/support/scratch.hpp"

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

// Does the answer say where NCCL's own choice is slow, that host copies bind, and what of the network helps?

class NetworkAdvice : public ::testing::Test {
 protected:
  /// DDP of GPT-2 XL on two nodes of 8 A100 with one adapter each, of a kind and rate in Gbit/s.
  LoadedScenario scenario(const std::string& kind, int gbit) {
    return load_scenario(
        files_.write(
            "s.json",
            R"({"schema": "accosim.scenario/1", "model": "gpt2-xl", "cluster": {"nodes": [{"count": 2, "gpus": 8,
            "device": "A100-SXM4-80GB", "intra": {"kind": "nvswitch", "bandwidth": "300 GB/s"}, "nics": {"kind": ")" +
                kind + R"(", "count": 1, "bandwidth": ")" + std::to_string(gbit) + R"( Gbit/s"}}]},
            "training": {"sequence_length": 1024, "micro_batch_size": 4, "train_tokens": 1e9},
            "schedules": [{"name": "ddp"}]})"),
        {});
  }
  static std::shared_ptr<const SteadyPlay> play(const Evaluations& evaluations, const Scenario& scenario) {
    return evaluations.play(scenario, scenario.schedules.front());
  }
  static double update(const Evaluations& evaluations, const Scenario& scenario) {
    return estimated_time_per_sample(scenario, scenario.schedules.front(), evaluations);
  }

  Scratch files_;
};

TEST_F(NetworkAdvice, ASlowChoiceOfNcclIsNamedWithBothTimes) {
  // NCCL's estimate: one channel of 24 GB/s, a ring 24 x 16 / 30 = 12.8 GB/s and a tree at most 23.6 / 2 = 11.8; but
  // the host copies, so that the tree, which carries the buffer once and not 15/8 times, is faster.
  for (const std::string kind : {"tcp", "efa", "infiniband_host", "omnipath"}) {
    const Evaluations evaluations(NetworkKind::kReference);
    const LoadedScenario loaded = scenario(kind, 200);
    const WhatIf what_if(loaded, evaluations);
    const auto played = play(evaluations, loaded.scenario);
    const std::optional<Warning> warning = slow_choice(what_if, 0, *played);
    ASSERT_TRUE(warning) << kind;
    EXPECT_NE(warning->message.find("NCCL takes ring Simple"), std::string::npos) << warning->message;
    EXPECT_NE(warning->message.find("tree Simple is"), std::string::npos) << warning->message;
    EXPECT_NE(warning->advice.find("NCCL_ALGO=Tree"), std::string::npos) << warning->advice;
    EXPECT_EQ(binding_of(*played).term, kHostCopies) << kind;
    // With adapters of 100 Gbit/s NCCL takes the tree, and there is nothing to name.
    const LoadedScenario slower = scenario(kind, 100);
    EXPECT_FALSE(slow_choice(WhatIf(slower, evaluations), 0, *play(evaluations, slower.scenario))) << kind;
  }
}

TEST_F(NetworkAdvice, WithTheNamedChoiceAFasterAdapterIsNotSlower) {
  const Evaluations evaluations(NetworkKind::kReference);
  for (const std::string kind : {"tcp", "efa", "infiniband_host", "omnipath"}) {
    double before = 1e9;
    for (const int gbit : {25, 50, 100, 150, 200, 400}) {
      const LoadedScenario loaded = scenario(kind, gbit);
      const WhatIf what_if(loaded, evaluations);
      const auto named = slow_choice(what_if, 0, *play(evaluations, loaded.scenario));
      const double now =
          named ? update(evaluations,
                         what_if.with(0, {R"(/cluster/tuner={"algorithm": "tree", "protocol": "simple"})"})->scenario)
                : update(evaluations, loaded.scenario);
      EXPECT_LE(now, 1.01 * before) << kind << " " << gbit;
      before = now;
    }
  }
}

TEST_F(NetworkAdvice, OnlyWhatHelpsIsAdvised) {
  const Evaluations evaluations(NetworkKind::kReference);
  const auto helps = [&](const std::string& kind) {
    const LoadedScenario loaded = scenario(kind, 200);
    return network_that_helps(WhatIf(loaded, evaluations), 0).value_or("not tried");
  };
  // A node's budget is the same whatever its adapters; each further one has a thread that copies.
  EXPECT_EQ(helps("infiniband_host").find("GPUDirect (infiniband) ("), 0u) << helps("infiniband_host");
  EXPECT_EQ(helps("infiniband_host").find("NICs"), std::string::npos) << helps("infiniband_host");
  EXPECT_NE(helps("tcp").find("GPUDirect (roce)"), std::string::npos) << helps("tcp");
  EXPECT_NE(helps("tcp").find("twice the NICs"), std::string::npos) << helps("tcp");
  EXPECT_EQ(helps("tcp").find("twice as fast"), std::string::npos) << helps("tcp");
  EXPECT_NE(helps("infiniband").find("NICs twice as fast"), std::string::npos) << helps("infiniband");
}

TEST_F(NetworkAdvice, NicsThatNoChannelUsesAreNamed) {
  const auto nodes = [&](const std::string& kind, int count) {
    return load_cluster(files_.write(
        "c.json",
        R"({"schema": "accosim.cluster/1", "name": "c", "nodes": [{"count": 4, "gpus": 8, "device": "H100-SXM",
            "intra": {"kind": "nvswitch", "bandwidth": "450 GB/s"}, "nics": {"kind": ")" +
            kind + R"(", "count": )" + std::to_string(count) + R"(, "bandwidth": "100 Gbit/s"}}]})"));
  };
  const std::optional<Warning> warning = idle_nics(nodes("infiniband", 32));
  ASSERT_TRUE(warning);
  EXPECT_NE(warning->message.find("/cluster/nodes/0/nics/count is 32, and NCCL's search finds 16 channels"),
            std::string::npos)
      << warning->message;
  EXPECT_FALSE(idle_nics(nodes("efa_rdma", 32))) << "its plugin shows NCCL eight";
  EXPECT_FALSE(idle_nics(nodes("infiniband", 8)));
}

}  // namespace
}  // namespace accosim
