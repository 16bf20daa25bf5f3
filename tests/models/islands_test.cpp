// Are sites, sockets and replicas of several GPUs read as they are written, and refused where they mean nothing?
#include <gtest/gtest.h>

#include "models/spec/fabrics.hpp"
#include "models/spec/schedule_traits.hpp"
#include "tests/models/scenario_files.hpp"

namespace accosim {
namespace {

std::string nodes(int count, int gpus, const std::string& name, const std::string& nics = "") {
  return R"({"name": ")" + name + R"(", "count": )" + std::to_string(count) + R"(, "gpus": )" + std::to_string(gpus) +
         R"(, "device": "devices/gpu.json", "intra": {"kind": "nvlink", "bandwidth": "100 GB/s"},
         "nics": {"bandwidth": "100 Gbit/s")" +
         nics + "}}";
}

/// A scenario of these node groups, with this fabric and one schedule.
std::string scenario_of(const std::string& groups, const std::string& fabric, const std::string& schedule) {
  return R"({"schema": "accosim.scenario/1", "name": "test", "model": "models/tiny.json",
    "cluster": {"nodes": [)" +
         groups + R"(], "fabric": )" + fabric + R"(},
    "training": {"sequence_length": 128, "micro_batch_size": 4, "train_tokens": 80e6}, "schedules": [)" +
         schedule + "]}";
}

class IslandFiles : public ScenarioFiles {
 protected:
  Scenario loaded(const std::string& groups, const std::string& fabric, const std::string& schedule) {
    return load_scenario(files.write("i.json", scenario_of(groups, fabric, schedule)), {}).scenario;
  }
  Lines refused(const std::string& groups, const std::string& fabric, const std::string& schedule) {
    return errors_of(files.write("i.json", scenario_of(groups, fabric, schedule)));
  }
};

const std::string kTwo = nodes(2, 2, "here") + "," + nodes(2, 2, "there");
constexpr const char* kApart =
    R"({"latency": "5 us", "between_groups": {"bandwidth": "10 Gbit/s", "latency": "30 ms"}})";

TEST_F(IslandFiles, SitesHaveALinkEach) {
  const Scenario s = loaded(kTwo, kApart, R"({"name": "ddp"})");
  ASSERT_TRUE(s.cluster.fabric.between_groups.has_value());
  EXPECT_DOUBLE_EQ(s.cluster.fabric.between_groups->bandwidth.value, 1.25e9);
  EXPECT_DOUBLE_EQ(s.cluster.fabric.between_groups->latency.value, 30e-3);
  EXPECT_DOUBLE_EQ(s.cluster.fabric.latency.value, 5e-6);
  EXPECT_FALSE(loaded(kTwo, "{}", R"({"name": "ddp"})").cluster.fabric.between_groups.has_value());
  EXPECT_TRUE(any_has(refused(nodes(2, 2, "here"), kApart, R"({"name": "ddp"})"),
                      "/cluster/fabric/between_groups: joins node groups, and the cluster has one"));
  EXPECT_TRUE(any_has(refused(kTwo, R"({"between_groups": {}})", R"({"name": "ddp"})"), "between_groups/bandwidth"));
  EXPECT_TRUE(any_has(
      refused(kTwo, R"({"oversubscription": 2, "between_groups": {"bandwidth": "1 GB/s"}})", R"({"name": "ddp"})"),
      "/cluster/fabric/oversubscription: is of one network"));
}

TEST_F(IslandFiles, SocketsAreOfTcp) {
  const auto nics = [&](const std::string& more) {
    return loaded(nodes(2, 2, "tcp", more), "{}", R"({"name": "ddp"})").cluster.nodes[0].nics;
  };
  EXPECT_EQ(nics("").channels, 0) << "what NCCL finds";
  EXPECT_EQ(nics("").socket_window, Bytes{0}) << "InfiniBand has none";
  EXPECT_EQ(nics(R"(, "kind": "tcp")").socket_window, kSocketWindow);
  EXPECT_EQ(nics(R"(, "kind": "tcp")").sockets, 1);
  const Nics many = nics(R"(, "kind": "tcp", "sockets": 16, "socket_window": "64 MiB", "channels": 8)");
  EXPECT_EQ(many.sockets, 16);
  EXPECT_EQ(many.socket_window, Bytes{64 * 0x1p20});
  EXPECT_EQ(many.channels, 8);
  const auto lines = [&](const std::string& more) {
    return refused(nodes(2, 2, "tcp", more), "{}", R"({"name": "ddp"})");
  };
  EXPECT_TRUE(any_has(lines(R"(, "sockets": 2)"), "nics/sockets: is of TCP, and infiniband has no sockets"));
  EXPECT_TRUE(any_has(lines(R"(, "kind": "tcp", "socket_window": "0 B")"), "socket_window: lets nothing through"));
  EXPECT_TRUE(any_has(lines(R"(, "kind": "sockets", "channels": 2)"), "nics/channels: are for NCCL's"));
}

TEST_F(IslandFiles, ReplicasHaveAScheduleInside) {
  const auto spec = [&](const std::string& keys) {
    return loaded(kTwo, kApart, R"({"name": "diloco")" + keys + "}").schedules[0];
  };
  EXPECT_EQ(spec("").island, Island::kGpu);
  EXPECT_EQ(spec("").inner, "");
  EXPECT_EQ(spec("").outer_dtype, OuterDtype::kBf16) << "that of the parameters";
  EXPECT_EQ(outer_bytes(spec(R"(, "outer_dtype": "int8")")), Bytes{1});
  const ScheduleSpec node = spec(R"(, "replica": "node")");
  EXPECT_EQ(node.inner, "ddp");
  EXPECT_EQ(sharding_of(node), Sharding::kNothing);
  // What PyTorch's DDP does unless it is told otherwise.
  EXPECT_EQ(node.overlap, Overlap::kBackward);
  EXPECT_EQ(node.buckets, Buckets::kTensors);
  EXPECT_EQ(node.sync, Sync::kLastMicroBatch);
  const ScheduleSpec group = spec(R"(, "replica": "group", "inner": "zero3", "prefetch": 3, "outer_dtype": "fp32")");
  EXPECT_EQ(group.island, Island::kGroup);
  EXPECT_EQ(sharding_of(group), Sharding::kParameters);
  EXPECT_EQ(group.prefetch, 3);
  EXPECT_EQ(group.sync, Sync::kEveryMicroBatch) << "zero3's own default";
}

TEST_F(IslandFiles, WhatMeansNothingIsRefused) {
  const auto lines = [&](const std::string& groups, const std::string& keys) {
    return refused(groups, "{}", R"({"name": "local_sgd")" + keys + "}");
  };
  EXPECT_TRUE(any_has(lines(kTwo, R"(, "inner": "zero3")"), R"(write "replica": "node", or )"));
  EXPECT_TRUE(any_has(lines(kTwo, R"(, "replica": "node", "inner": "fsdp")"), R"(PyTorch's FSDP is "zero3")"));
  EXPECT_TRUE(any_has(lines(kTwo, R"(, "replica": "node", "prefetch": 2)"), "it belongs to zero3"));
  EXPECT_TRUE(any_has(lines(kTwo, R"(, "replica": "node", "inner": "zero3", "shard_group": "node")"),
                      "/schedules/0/shard_group: unknown key"));
  EXPECT_TRUE(any_has(lines(nodes(1, 2, "one"), R"(, "replica": "node")"), "would meet nobody"));
  EXPECT_TRUE(any_has(lines(nodes(4, 2, "one"), R"(, "replica": "group")"), "would meet nobody"));
  // Islands of unequal size have whole parameters to exchange, and no shards that stand against each other.
  const std::string unequal = nodes(3, 2, "here") + "," + nodes(2, 2, "there");
  EXPECT_TRUE(lines(unequal, R"(, "replica": "group")").empty());
  EXPECT_TRUE(lines(unequal, R"(, "replica": "node", "inner": "zero3")").empty());
  EXPECT_TRUE(any_has(lines(unequal, R"(, "replica": "group", "inner": "zero3")"),
                      R"(needs as many nodes in every node group, and "there" has 2 where "here" has 3; write "ddp")"));
  EXPECT_TRUE(
      any_has(lines(nodes(2, 2, "here") + "," + nodes(2, 4, "there"), R"(, "replica": "node", "inner": "zero3")"),
              R"(needs as many GPUs in every node, and "there" has 4 where "here" has 2)"));
}

TEST_F(IslandFiles, ShardsInANodeNeedNodesThatAreAlike) {
  const std::string unlike = nodes(2, 2, "here") + "," + nodes(2, 4, "there");
  for (const char* name : {"zero1", "zero3"}) {
    const auto spec = [&](const std::string& group) {
      return R"({"name": ")" + std::string(name) + R"(", "shard_group": ")" + group + "\"}";
    };
    EXPECT_TRUE(any_has(refused(unlike, "{}", spec("node")),
                        R"(/schedules/0/shard_group: "node" needs as many GPUs in every node, and "there" has 4 where )"
                        R"("here" has 2; write "world")"));
    EXPECT_TRUE(refused(unlike, "{}", spec("world")).empty());
    EXPECT_TRUE(refused(kTwo, "{}", spec("node")).empty());
  }
}

TEST_F(IslandFiles, WholeParametersMeetInARingOrBySites) {
  const auto spec = [&](const std::string& keys) {
    return loaded(kTwo, kApart, R"({"name": "diloco")" + keys + "}").schedules[0];
  };
  EXPECT_EQ(spec("").meeting, Meeting::kRing);
  EXPECT_EQ(spec(R"(, "meeting": "hierarchical")").meeting, Meeting::kHierarchical);
  EXPECT_EQ(spec(R"(, "replica": "group", "meeting": "hierarchical")").meeting, Meeting::kHierarchical);
  const auto lines = [&](const std::string& groups, const std::string& fabric, const std::string& keys) {
    return refused(groups, fabric, R"({"name": "diloco", "meeting": "hierarchical")" + keys + "}");
  };
  // Shards meet those of the same place already.
  EXPECT_TRUE(any_has(lines(kTwo, kApart, R"(, "replica": "group", "inner": "zero3")"),
                      "/schedules/0/meeting: is how whole parameters are exchanged, and here each shard meets those of "
                      "the same place at the other replicas; leave it out"));
  // Sites are of one shape: node groups that are apart, or nodes.
  const std::string more_nodes = nodes(3, 2, "here") + "," + nodes(2, 2, "there");
  EXPECT_TRUE(any_has(lines(more_nodes, kApart, ""),
                      R"("hierarchical" needs as many nodes in every node group, and "there" has 2 where "here" has 3;)"
                      R"( write "ring")"));
  EXPECT_TRUE(lines(more_nodes, "{}", "").empty());
  EXPECT_TRUE(any_has(lines(nodes(2, 2, "here") + "," + nodes(2, 4, "there"), "{}", ""),
                      R"("hierarchical" needs as many GPUs in every node, and "there" has 4 where "here" has 2)"));
  EXPECT_TRUE(any_has(lines(nodes(1, 2, "one"), "{}", ""), "the cluster is one node, so there is one site"));
  EXPECT_TRUE(any_has(lines(nodes(4, 1, "single"), "{}", ""), "a site has one GPU, which a ring joins as well"));
  EXPECT_TRUE(any_has(refused(kTwo, kApart, R"({"name": "ddp", "meeting": "ring"})"),
                      "it belongs to diloco, local_sgd, slowmo, "));
}

TEST_F(IslandFiles, BucketsThatGrowWithTheRanksGrowWithThoseOfAReplica) {
  // Megatron-LM: max(40e6, 1e6 x ranks) elements of 4 B. Sites of 6 and 8 nodes of 8 GPUs have 48 and 64 ranks,
  // nodes 8.
  const auto spec = [&](const std::string& groups, const std::string& keys) {
    const std::string file =
        files.write("i.json", scenario_of(groups, kApart, R"({"name": "diloco", "overlap": "backward")" + keys + "}"));
    return load_scenario(file, {"/training/framework=megatron", "/training/precision=bf16"}).scenario.schedules[0];
  };
  const std::string equal = nodes(8, 8, "here") + "," + nodes(8, 8, "there");
  const ScheduleSpec group = spec(equal, R"(, "replica": "group")");
  EXPECT_EQ(group.bucket_cap, Bytes{64e6 * 4});
  EXPECT_EQ(bucket_cap_of(group, 64), Bytes{64e6 * 4});
  EXPECT_EQ(spec(equal, R"(, "replica": "node")").bucket_cap, Bytes{40e6 * 4});
  // Unlike sites have each their own, and no number stands for both.
  const std::string unequal = nodes(6, 8, "here") + "," + nodes(8, 8, "there");
  const ScheduleSpec each = spec(unequal, R"(, "replica": "group")");
  EXPECT_EQ(bucket_cap_of(each, 48), Bytes{48e6 * 4});
  EXPECT_EQ(bucket_cap_of(each, 64), Bytes{64e6 * 4});
  EXPECT_EQ(each.first_bucket, each.bucket_cap);
  const ScheduleSpec written = spec(unequal, R"(, "replica": "group", "bucket_cap_mb": 25)");
  EXPECT_EQ(bucket_cap_of(written, 48), Bytes{25 * 0x1p20});
  EXPECT_EQ(bucket_cap_of(written, 64), Bytes{25 * 0x1p20});
}

TEST_F(IslandFiles, UpdatesThatBecomeEqualAreNotTooMany) {
  // 4 units gathered twice and reduced are 12 collectives in an update, 108,000 in 9,000: more than are played, which
  // they are where micro-batches are drawn.
  const std::string schedule = R"({"name": "diloco", "replica": "group", "inner": "zero3", "inner_updates": 9000})";
  EXPECT_TRUE(refused(kTwo, kApart, schedule).empty());
  const std::string file = files.write("i.json", scenario_of(kTwo, kApart, schedule));
  EXPECT_TRUE(
      any_has(errors_of(file, {R"(/training/compute_jitter={"micro_batch": 0.1})"}),
              "\"diloco\" would send 108000 units from one meeting of its replicas to the next; at most 100000: "
              "lower inner_updates or gradient_accumulation_steps"));
}

// Are the keys of schedules whose replicas make updates by themselves read as they are written, and refused where they
// mean nothing?

class LocalScheduleFiles : public ScenarioFiles {
 protected:
  std::string path_of(const std::string& schedule, int nodes, const std::string& more) {
    return files.write("i.json", R"({"schema": "accosim.scenario/1", "name": "test", "model": "models/tiny.json",
      "cluster": {"nodes": [{"count": )" +
                                     std::to_string(nodes) +
                                     R"(, "gpus": 2, "device": "devices/gpu.json", "intra": {"kind": "nvlink",
      "bandwidth": "100 GB/s"}, "nics": {"bandwidth": "100 Gbit/s"})" +
                                     more + R"(}]}, "training": {"sequence_length": 128, "micro_batch_size": 4,
      "train_tokens": 80e6}, "schedules": [)" +
                                     schedule + "]}");
  }
  ScheduleSpec spec(const std::string& schedule, const std::string& more = "") {
    return load_scenario(path_of(schedule, 2, more), {}).scenario.schedules.front();
  }
  Lines refused(const std::string& schedule, int nodes = 2, const std::string& more = "") {
    return errors_of(path_of(schedule, nodes, more));
  }
};

TEST_F(LocalScheduleFiles, DefaultsAreThePapersAndTheCodes) {
  const ScheduleSpec slowmo = spec(R"({"name": "slowmo"})");
  EXPECT_EQ(slowmo.inner_updates, 3);
  EXPECT_EQ(slowmo.outer_every, 48);
  EXPECT_EQ(spec(R"({"name": "slowmo", "inner_updates": 5})").outer_every, 45) << "a multiple";
  const ScheduleSpec co2 = spec(R"({"name": "co2"})");
  EXPECT_EQ(co2.inner_updates, 48);
  EXPECT_EQ(co2.outer_every, 0) << "every meeting has an outer step";
  EXPECT_EQ(updates_per_mark(co2), 48);
  const ScheduleSpec released = spec(R"({"name": "co2", "form": "code"})");
  EXPECT_EQ(released.inner_updates, 3);
  EXPECT_EQ(released.outer_every, 48);
  EXPECT_EQ(updates_per_mark(released), 48);
  EXPECT_EQ(released.island, Island::kNode);
  EXPECT_EQ(released.inner, "ddp");
  EXPECT_EQ(released.overlap, Overlap::kNone) << "its hooks reduce after the backward pass";
  const ScheduleSpec streaming = spec(R"({"name": "streaming_diloco"})");
  EXPECT_EQ(streaming.fragment_layers, 3);
  EXPECT_EQ(streaming.delay, 1);
  EXPECT_EQ(streaming.mixing, 0.5);
  EXPECT_EQ(spec(R"({"name": "streaming_diloco", "delay": 0})").mixing, 0) << "what would be mixed is the same";
}

TEST_F(LocalScheduleFiles, WhatMeansNothingIsRefused) {
  const auto has = [&](const std::string& schedule, const std::string& what) {
    return any_has(refused(schedule), what);
  };
  EXPECT_TRUE(
      has(R"({"name": "slowmo", "inner_updates": 4, "outer_every": 10})", "write a multiple of that, such as 8"));
  EXPECT_TRUE(has(R"({"name": "co2", "outer_every": 48})", "in the paper every meeting has an outer step"));
  EXPECT_TRUE(has(R"({"name": "co2", "form": "code", "replica": "gpu"})", "replica"));
  EXPECT_TRUE(has(R"({"name": "co2", "form": "code", "inner": "zero3"})", "inner"));
  EXPECT_TRUE(has(R"({"name": "slowmo", "form": "code", "offload_outer": true})", "write \"form\": \"paper\""));
  EXPECT_TRUE(has(R"({"name": "streaming_diloco", "inner_updates": 5, "delay": 5})",
                  "/delay: is 5, and a fragment is applied before it is sent again, which is after 5 updates "
                  "(inner_updates); write 4 or less, or more inner_updates"));
  EXPECT_TRUE(has(R"({"name": "streaming_diloco", "inner_updates": 1, "delay": 1})",
                  "which is in every update (inner_updates); write 0, or more inner_updates"));
  EXPECT_TRUE(has(R"({"name": "streaming_diloco", "mixing": 1})", "mixing"));
  EXPECT_TRUE(
      has(R"({"name": "streaming_diloco", "by_layer": true, "replica": "node"})", "write \"replica\": \"gpu\""));
  EXPECT_TRUE(has(R"({"name": "local_sgd", "outer_dtype": "e3m0"})",
                  "/outer_dtype: \"e3m0\" holds changes of the parameters, and local_sgd sends the parameters "
                  "themselves; write another type, or a schedule that sends changes (diloco, eager_diloco or "
                  "streaming_diloco)"));
  EXPECT_TRUE(has(R"({"name": "diloco", "meeting": "hierarchical", "outer_dtype": "e3m0"})",
                  "a site sends the sum of several; write another type, or \"meeting\": \"ring\""));
  EXPECT_TRUE(
      has(R"({"name": "local_sgd", "outer_dtype": "e4m3"})", R"(write one of: "fp32", "fp16", "bf16", "int8")"));
  EXPECT_TRUE(any_has(refused(R"({"name": "slowmo", "form": "code"})", 1), "write \"paper\""));
  EXPECT_EQ(spec(R"({"name": "diloco", "outer_dtype": "e3m0"})").outer_dtype, OuterDtype::kE3m0);
}

TEST_F(LocalScheduleFiles, OthersWordsLeadToOurs) {
  const auto streaming = [&](const std::string& key) {
    return refused(R"({"name": "streaming_diloco", ")" + key + R"(": 3})");
  };
  EXPECT_TRUE(any_has(streaming("fragments"), R"(unknown key; here it is "fragment_layers")"));
  EXPECT_TRUE(any_has(streaming("payload"), R"(unknown key; here it is "outer_dtype")"));
  EXPECT_TRUE(any_has(streaming("outer_bits"), R"(unknown key; here it is "outer_dtype")"));
  EXPECT_TRUE(any_has(streaming("local_steps"), R"(unknown key; here it is "inner_updates")"));
  EXPECT_TRUE(any_has(streaming("tau"), R"("inner_updates" here, and those that a fragment travels "delay")"));
}

TEST_F(LocalScheduleFiles, AKeyThatReplicasSettleIsNotSaidToBelongToTheScheduleInside) {
  const std::string acco = R"({"name": "diloco", "replica": "node", "inner": "acco", )";
  for (const char* key : {R"("overlap": "none"})", R"("late_communication": "wait"})", R"("zero_stage": 2})"})
    EXPECT_TRUE(any_has(refused(acco + key), "unknown key; acco has no such choice inside replicas; remove it")) << key;
  EXPECT_TRUE(any_has(refused(acco + R"("prefetch": 2})"), "it belongs to zero3")) << "which does not run inside";
}

TEST_F(LocalScheduleFiles, ANodeGroupsOwnInnerUpdatesNeedReplicasThatReadThem) {
  const std::string own = R"(, "inner_updates": 7)";
  EXPECT_TRUE(any_has(refused(R"({"name": "ddp"})", 2, own), "none has replicas that make updates by themselves"));
  EXPECT_TRUE(any_has(refused(R"({"name": "slowmo"})", 2, own), "an outer step every 48 updates of all replicas"));
  EXPECT_TRUE(refused(R"({"name": "diloco"})", 2, own).empty());
}

TEST_F(LocalScheduleFiles, ANodeGroupsOwnInnerUpdatesHoldWhatAFragmentNeeds) {
  const auto streams = [&](const char* keys, const char* own) {
    return refused(std::string(R"({"name": "streaming_diloco", )") + keys + "}", 2,
                   std::string(R"(, "inner_updates": )") + own);
  };
  EXPECT_TRUE(any_has(streams(R"("delay": 9)", "7"), "makes 7 inner_updates, applies a fragment 9 updates after"));
  EXPECT_TRUE(any_has(streams(R"("delay": 0, "fragment_layers": 1, "by_layer": true)", "1"),
                      "sends 2 fragments a layer at a time, and of 1 updates some would send two"));
  EXPECT_TRUE(streams(R"("delay": 0, "fragment_layers": 1, "by_layer": true)", "2").empty());
}

}  // namespace
}  // namespace accosim
