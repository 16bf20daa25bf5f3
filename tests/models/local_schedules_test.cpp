// Are the keys of schedules whose replicas make updates by themselves read as they are written, and refused where they
// mean nothing?
#include <gtest/gtest.h>

#include "models/spec/schedule_traits.hpp"
#include "tests/models/scenario_files.hpp"

namespace accosim {
namespace {

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
