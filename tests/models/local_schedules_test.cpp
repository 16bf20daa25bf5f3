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
  EXPECT_TRUE(has(R"({"name": "streaming_diloco", "inner_updates": 5, "delay": 5})", "delay"));
  EXPECT_TRUE(has(R"({"name": "streaming_diloco", "mixing": 1})", "mixing"));
  EXPECT_TRUE(
      has(R"({"name": "streaming_diloco", "by_layer": true, "replica": "node"})", "write \"replica\": \"gpu\""));
  EXPECT_TRUE(has(R"({"name": "local_sgd", "outer_dtype": "e3m0"})", "outer_dtype")) << "parameters, not changes";
  EXPECT_TRUE(has(R"({"name": "diloco", "meeting": "hierarchical", "outer_dtype": "e3m0"})", "outer_dtype"));
  EXPECT_TRUE(any_has(refused(R"({"name": "slowmo", "form": "code"})", 1), "write \"paper\""));
  EXPECT_EQ(spec(R"({"name": "diloco", "outer_dtype": "e3m0"})").outer_dtype, OuterDtype::kE3m0);
}

TEST_F(LocalScheduleFiles, ANodeGroupsOwnInnerUpdatesNeedReplicasThatReadThem) {
  const std::string own = R"(, "inner_updates": 7)";
  EXPECT_TRUE(any_has(refused(R"({"name": "ddp"})", 2, own), "none has replicas that make updates by themselves"));
  EXPECT_TRUE(any_has(refused(R"({"name": "slowmo"})", 2, own), "an outer step every 48 updates of all replicas"));
  EXPECT_TRUE(refused(R"({"name": "diloco"})", 2, own).empty());
}

}  // namespace
}  // namespace accosim
