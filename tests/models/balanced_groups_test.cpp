// Node groups with numbers of micro-batches of their own, groups of no nodes, and values that training.balance chooses:
// what loads, what is refused, and what a resolved scenario says of them.
#include <gtest/gtest.h>

#include "tests/models/scenario_files.hpp"

namespace accosim {
namespace {

/// Two groups, of two nodes with one GPU each and of one node with two.
class NodeGroups : public ScenarioFiles {
 protected:
  NodeGroups() {
    const std::string nics = R"("nics": {"bandwidth": "100 Gbit/s"}})";
    const std::string fast = R"({"name": "fast", "count": 2, "gpus": 1, "device": "devices/gpu.json", )" + nics;
    const std::string slow = R"({"name": "slow", "gpus": 2, "device": "devices/gpu.json",
      "intra": {"kind": "nvlink", "bandwidth": "100 GB/s"}, )" +
                             nics;
    scenario = with_nodes("[" + fast + ", " + slow + "]");
  }
  std::string without(const std::string& key, const std::string& value) const {
    return "/cluster/nodes/1/" + key + "=" + value;
  }
  const std::string steps_ = "gradient_accumulation_steps";
};

TEST_F(NodeGroups, HaveTheirOwnAccumulationForAllGpusOrForEach) {
  const Cluster plain = load().scenario.cluster;
  EXPECT_TRUE(plain.nodes[0].accumulation_steps.empty());
  EXPECT_FALSE(all_have_own_steps(plain));
  const Scenario one = load({without(steps_, "6")}).scenario;
  EXPECT_EQ(one.cluster.nodes[1].accumulation_steps, (std::vector<int>{6, 6}));
  const Scenario each = load({without(steps_, "[6, 2]")}).scenario;
  EXPECT_EQ(each.cluster.nodes[1].accumulation_steps, (std::vector<int>{6, 2}));
  // Micro-batches of 4: 2 GPUs with the training's 4 of them, one with 6 and one with 2.
  EXPECT_EQ(samples_asked(each), 4 * (2 * 4 + 6 + 2));
  // What was not written is not written out either, and a resolved scenario loads to itself.
  const LoadedScenario loaded = load({without(steps_, "[6, 2]")});
  EXPECT_EQ(loaded.resolved().find("/cluster/nodes/0/" + steps_), std::string::npos);
  EXPECT_EQ(load_scenario(files.write("resolved.json", loaded.resolved()), {}).resolved(), loaded.resolved());
}

TEST_F(NodeGroups, AreRefusedANumberThatASchedulesCannotDo) {
  const std::string list = "is a list that does not hold a whole number from 1 on for each of the 2 GPUs; ";
  for (const char* const bad : {"[6]", "[6, 0]", "[6, 2.5]", "[6, 2, 2]", "[\"6\", 2]", "[]"})
    EXPECT_TRUE(any_has(errors({without(steps_, bad)}), list)) << bad;
  EXPECT_TRUE(any_has(errors({without(steps_, "0")}), "is 0; write a whole number from 1 to 1000000000"));
  // ACCO does half of them in a round.
  EXPECT_TRUE(
      any_has(errors({without(steps_, "3")}),
              "/schedules/3/name: acco does half of the micro-batches in a round, and node group \"slow\" has 3 "
              "gradient_accumulation_steps; write an even number there"));
  // Where every group has its own, the training's number may be odd, and a least number a round says nothing.
  const std::string fast = "/cluster/nodes/0/" + steps_ + "=2", odd = "/training/" + steps_ + "=5";
  EXPECT_TRUE(errors({fast, without(steps_, "6"), odd}).empty());
  EXPECT_TRUE(any_has(errors({fast, without(steps_, "6"), "/schedules/3/micro_batches_per_round=2"}),
                      "is half of each node group's own gradient_accumulation_steps; leave it out"));
  // What meets in every micro-batch needs as many everywhere.
  const std::string zero3 = "/schedules/1/name=zero3";
  EXPECT_TRUE(any_has(errors({zero3, without(steps_, "6")}), "\"zero3\" communicates in every micro-batch"));
  EXPECT_TRUE(any_has(errors({"/schedules/0/sync=every_micro_batch", without(steps_, "6")}),
                      "\"ddp\" communicates in every micro-batch"));
  EXPECT_TRUE(errors({zero3, without(steps_, "4")}).empty());
}

TEST_F(NodeGroups, OfNoNodesAreAsIfTheyWereNotThere) {
  const Cluster cluster = load({"/cluster/nodes/0/count=0"}).scenario.cluster;
  ASSERT_EQ(cluster.nodes.size(), 1U);
  EXPECT_EQ(cluster.nodes[0].name, "slow");
  EXPECT_EQ(listed_index(cluster, 0), 1);  // advice still names its place in the file
  EXPECT_EQ(places_of(cluster).size(), 2U);
  // What it cannot do harms nobody, and the other, now alone, needs no adapters.
  EXPECT_TRUE(errors({"/cluster/nodes/0/count=0", "/cluster/nodes/0/precision=fp16"}).empty());
  EXPECT_FALSE(errors({"/cluster/nodes/0/precision=fp16"}).empty());
  EXPECT_TRUE(any_has(errors({"/cluster/nodes/0/count=0", without("count", "0")}),
                      "/cluster/nodes: has no node: every \"count\" is 0; write at least one above it"));
}

TEST_F(NodeGroups, LeaveToTheBalanceWhatItChooses) {
  const std::string speed = "/training/balance=speed";
  EXPECT_TRUE(errors({speed}).empty());
  EXPECT_TRUE(any_has(errors({speed, without("micro_batch_size", "2")}),
                      "/cluster/nodes/1/micro_batch_size: is what \"balance\": \"speed\" of the training chooses; "
                      "remove it, or write \"balance\": \"none\""));
  EXPECT_TRUE(any_has(errors({speed, without(steps_, "2")}), "is what \"balance\": \"speed\" of the training chooses"));
  EXPECT_TRUE(any_has(errors({speed, "/schedules/3/micro_batches_per_round=2"}),
                      "is half of what \"balance\" chooses; leave it out"));
}

TEST_F(NodeGroups, WhatBalanceIsToChooseIsNotWrittenByWhoResolves) {
  const LoadedScenario loaded = load_scenario(scenario, {"/training/balance=speed"});
  const std::string again = files.write("resolved.json", loaded.resolved());
  EXPECT_EQ(load_scenario(again, {}).resolved(), loaded.resolved());
  // Without the balance the defaults are as any number that is written.
  EXPECT_EQ(load_scenario(again, {"/training/balance=none", "/training/micro_batch_size=7"})
                .scenario.cluster.nodes[1]
                .micro_batch_size,
            loaded.scenario.cluster.nodes[1].micro_batch_size);
}

}  // namespace
}  // namespace accosim
