// From files to a valid scenario: references, --set, defaults, provenance; and for every bad or hostile input a message
// that says where and what to write instead.

#include <gtest/gtest.h>

#include "models/collectives/collectives.hpp"
#include "models/read/library.hpp"
#include "models/read/load.hpp"
#include "models/spec/fabrics.hpp"
#include "models/spec/shipped.hpp"
#include "tests/models/scenario_files.hpp"

namespace accosim {
namespace {

TEST_F(ScenarioFiles, FilesAreRelativeToTheFileThatNamesThem) {
  const Scenario s = load().scenario;
  EXPECT_EQ(s.model.name, "tiny");
  EXPECT_EQ(s.model.hidden_size, 64);
  ASSERT_EQ(s.cluster.nodes.size(), 1U);
  ASSERT_EQ(s.cluster.nodes[0].devices.size(), 2U);
  EXPECT_EQ(s.cluster.nodes[0].devices[1].name, "gpu");
  EXPECT_EQ(s.cluster.nodes[0].nics.bandwidth.value, 12.5e9);
  EXPECT_EQ(s.training.train_tokens, 80e6);
}

TEST_F(ScenarioFiles, DefaultsAreTheDocumentedOnes) {
  const Scenario s = load().scenario;
  EXPECT_EQ(s.baseline, "ddp");
  EXPECT_EQ(s.training.precision, Dtype::kBf16);
  EXPECT_EQ(s.training.attention, Attention::kFlash);
  const NodeGroup& group = s.cluster.nodes[0];
  EXPECT_EQ(group.precision, Dtype::kBf16);
  EXPECT_EQ(group.micro_batch_size, 4);
  EXPECT_EQ(group.nics.count, 1);
  EXPECT_EQ(group.nics.kind, "infiniband");
  EXPECT_EQ(group.intra.latency, usual_intra(group.intra.kind, "ampere").latency);
  EXPECT_EQ(group.intra.efficiency, usual_intra(group.intra.kind, "ampere").efficiency);
  EXPECT_EQ(group.nics.latency, usual_nics("infiniband").latency);
  EXPECT_EQ(group.nics.message, usual_nics("infiniband").message);
  EXPECT_EQ(s.cluster.fabric.oversubscription, 1);
  const ScheduleSpec& ddp = s.schedules[0];
  EXPECT_EQ(ddp.label, "ddp");
  EXPECT_EQ(ddp.overlap, Overlap::kBackward);
  EXPECT_EQ(ddp.sync, Sync::kLastMicroBatch);
  EXPECT_EQ(ddp.bucket_cap.value, 25.0 * 1024 * 1024);
  EXPECT_EQ(ddp.first_bucket.value, 1024.0 * 1024);
  EXPECT_EQ(ddp.parameter_dtype, Dtype::kBf16);
  EXPECT_EQ(s.training.autocast, Autocast::kNone);
  EXPECT_EQ(s.training.framework, Framework::kPytorch);
  EXPECT_EQ(s.training.optimizer_implementation, OptimizerImplementation::kForeach);
  EXPECT_EQ(ddp.buckets, Buckets::kTensors);
  EXPECT_TRUE(ddp.broadcast_buffers);
  EXPECT_FALSE(ddp.gradient_as_bucket_view);
  EXPECT_EQ(s.schedules[1].buckets, Buckets::kWhole);
  EXPECT_EQ(s.schedules[1].reduction, Reduction::kReduceScatter);
  EXPECT_EQ(s.schedules[1].overlap, Overlap::kNone);
  EXPECT_EQ(s.schedules[2].late_communication, LateCommunication::kAccumulate);
  EXPECT_EQ(s.schedules[3].micro_batches_per_round, 2);
  EXPECT_TRUE(s.schedules[3].rollback_estimate);
}

TEST_F(ScenarioFiles, GradientsTakeTheDtypeOfTheParameters) {
  const LoadedScenario loaded = load_scenario(with_schedules(R"([{"name": "ddp", "parameter_dtype": "fp32"}])"), {});
  EXPECT_EQ(loaded.scenario.schedules[0].gradient_dtype, Dtype::kFp32);
}

TEST_F(ScenarioFiles, ADeviceLaysItsKeysOverWhatItInherits) {
  const Device old = load_device(files.path("devices/old.json"));
  EXPECT_EQ(old.name, "old");
  EXPECT_EQ(old.memory.value, 8.0 * (1 << 30));
  EXPECT_EQ(old.memory_bandwidth.value, 1e12);
  EXPECT_EQ(old.peak[static_cast<std::size_t>(Dtype::kFp16)]->value, 50e12);
  EXPECT_EQ(old.peak[static_cast<std::size_t>(Dtype::kBf16)]->value, 100e12);  // kept from the base
}

TEST(Devices, AConstantStandsForTheFitsOfAShippedProfile) {
  const Scratch scratch;
  const std::string path =
      scratch.write("mine.json", R"({"schema": "accosim.device/1", "inherits": "H100-SXM", "gemm_efficiency": 0.5})");
  const Device mine = load_device(path);
  EXPECT_EQ(mine.gemm_efficiency, 0.5);
  EXPECT_FALSE(mine.gemm[static_cast<std::size_t>(Dtype::kBf16)].has_value());
}

TEST_F(ScenarioFiles, ACitationDoesNotOutliveItsNumber) {
  const std::string resolved = load({"/cluster/nodes/0/device=" + files.path("devices/old.json")}).resolved();
  EXPECT_EQ(resolved.find("\"/memory\": \"a datasheet\""), std::string::npos);
  EXPECT_NE(resolved.find("\"/peak/bf16\": \"a datasheet\""), std::string::npos);
}

TEST_F(ScenarioFiles, ANodeMayMixDevices) {
  const std::string path = with_nodes(R"([{"gpus": 2, "device": ["devices/gpu.json",
    {"inherits": "devices/gpu.json", "slowdown": 4}], "intra": {"kind": "pcie", "bandwidth": "10 GB/s"}}])");
  const std::vector<Device> devices = load_scenario(path, {}).scenario.cluster.nodes[0].devices;
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].slowdown, 1);
  EXPECT_EQ(devices[1].slowdown, 4);
  EXPECT_EQ(devices[1].name, "gpu (modified)");
}

TEST_F(ScenarioFiles, ADeviceOfAnotherArchitectureInheritsWhatAnotherGenerationMeasured) {
  const auto bf16 = [&](const std::string& keys) {
    const std::string path = with_nodes("[{\"gpus\": 1, \"device\": {\"inherits\": \"A100-SXM4-80GB\"" + keys + "}}]");
    return *load_scenario(path, {}).scenario.cluster.nodes[0].devices[0].gemm[static_cast<std::size_t>(Dtype::kBf16)];
  };
  EXPECT_FALSE(bf16("").quality.inherited);
  const GemmFit relative = bf16(", \"memory_bandwidth\": \"1900 GB/s\"");
  EXPECT_TRUE(relative.quality.inherited && !relative.quality.other_generation);
  EXPECT_GT(relative.reference_power, 0);
  const GemmFit other = bf16(", \"architecture\": \"hopper\", \"power\": \"700 W\"");
  EXPECT_TRUE(other.quality.inherited && other.quality.other_generation);
  EXPECT_EQ(other.reference_power, 0) << "its own power is what it has";
  EXPECT_FALSE(bf16(", \"architecture\": \"ampere\"").quality.other_generation);
}

TEST_F(ScenarioFiles, OneGpuOnOneNodeNeedsNoLinks) {
  EXPECT_TRUE(errors_of(with_nodes(R"([{"gpus": 1, "device": "devices/gpu.json"}])")).empty());
}

TEST_F(ScenarioFiles, OneGpuANodeLaunchesCollectivesToo) {
  const Scenario loaded =
      load_scenario(
          with_nodes(R"([{"count": 2, "gpus": 1, "device": "devices/gpu.json", "nics": {"bandwidth": "1 GB/s"}}])"), {})
          .scenario;
  EXPECT_GT(loaded.cluster.nodes[0].intra.launch.value, 1e-6);
  EXPECT_GT(loaded.cluster.nodes[0].intra.start.value, 1e-6);
}

TEST_F(ScenarioFiles, AHostThatCopiesLimitsItsAdapters) {
  const auto group = [&](const std::string& nics) {
    return load_scenario(
               with_nodes(R"([{"count": 2, "gpus": 4, "device": "devices/gpu.json", "intra": {"kind": "nvlink",
      "bandwidth": "100 GB/s"}, "nics": )" +
                          nics + "}]"),
               {})
        .scenario.cluster.nodes[0];
  };
  // Of what GPUs write to a host copies half each way for all adapters: 10 Gbit/s are less, twice 200 are more.
  const Nics usual = usual_nics("omnipath");
  EXPECT_DOUBLE_EQ(node_bandwidth(group(R"({"kind": "omnipath", "bandwidth": "10 Gbit/s"})")).value,
                   usual.efficiency * 1.25e9);
  EXPECT_DOUBLE_EQ(node_bandwidth(group(R"({"kind": "omnipath", "count": 2, "bandwidth": "200 Gbit/s"})")).value,
                   usual.staging.value / 2);
  EXPECT_DOUBLE_EQ(
      node_bandwidth(group(R"({"kind": "omnipath", "bandwidth": "200 Gbit/s", "staging": "18 GB/s"})")).value, 9e9);
  // Threads that copy are each ring's own, and no bound of the node.
  EXPECT_DOUBLE_EQ(node_bandwidth(group(R"({"kind": "tcp", "count": 2, "bandwidth": "200 Gbit/s"})")).value,
                   2 * usual_nics("tcp").efficiency * 25e9);
}

TEST_F(ScenarioFiles, APriceIsThatOfAllGpusForAnHour) {
  EXPECT_FALSE(price_per_hour(load().scenario.cluster));
  const LoadedScenario priced = load({"/cluster/nodes/0/price_per_gpu_hour=2.5"});
  EXPECT_EQ(price_per_hour(priced.scenario.cluster), 2 * 2 * 2.5);  // two nodes of two GPUs
  const Scenario again = load_scenario(files.write("again.json", priced.resolved()), {}).scenario;
  EXPECT_EQ(price_per_hour(again.cluster), 10);
  EXPECT_EQ(price_per_hour(load({"/cluster/nodes/0/price_per_gpu_hour=0"}).scenario.cluster), 0);
}

TEST_F(ScenarioFiles, ResolvedSaysWhereEachValueCameFrom) {
  const std::string resolved = load({"/cluster/nodes/0/nics/bandwidth=10 Gbit/s"}).resolved();
  const std::string directory = files.path("");
  for (const std::string& part :
       {"\"/training/sequence_length\": \"" + directory + "s.json:3:35\"",
        "\"/model/n_layer\": \"" + directory + "models/tiny.json:1:35\"",
        "\"/cluster/nodes/0/device/launch_interval\": \"" + directory + "devices/gpu.json:3:68\"",
        std::string("\"/cluster/nodes/0/nics/bandwidth\": \"--set\""),
        std::string("\"/schedules/0/sync\": \"default\"")}) {
    EXPECT_NE(resolved.find(part), std::string::npos) << part;
  }
}

TEST_F(ScenarioFiles, ResolvingTwiceChangesNothing) {
  const std::string once = load({"/training/attention=naive"}).resolved();
  const std::string path = files.write("elsewhere/resolved.json", once);
  EXPECT_EQ(load_scenario(path, {}).resolved(), once);
}

TEST(Scenarios, EveryShippedOneLoadsAndResolvesToItself) {
  const Scratch files;
  int count = 0;
  for (const LibraryEntry& entry : list_library()) {
    if (entry.kind == "cluster") load_cluster(data_dir() + "/" + entry.path);
    if (entry.kind == "device") {
      EXPECT_EQ(load_device(entry.name).name, entry.name);
    }
    EXPECT_NE(entry.description, "") << entry.path;
    if (entry.kind != "scenario") continue;
    ++count;
    const LoadedScenario loaded = load_scenario(data_dir() + "/" + entry.path, {});
    EXPECT_EQ(loaded.scenario.name, entry.name);
    EXPECT_EQ(load_scenario(files.write("r.json", loaded.resolved()), {}).resolved(), loaded.resolved());
  }
  EXPECT_GE(count, 6);
}

TEST(Scenarios, ThePapersRowsShareOneNetwork) {
  // The paper does not say how many links were used: whatever is taken, it is the same for all of its A100 runs.
  const Nics two = load_cluster("jean-zay-a100-2x4").nodes[0].nics,
             four = load_cluster("jean-zay-a100-4x8").nodes[0].nics;
  EXPECT_EQ(two.kind, four.kind);
  EXPECT_EQ(two.count, four.count);
  EXPECT_EQ(two.bandwidth, four.bandwidth);
  EXPECT_EQ(two.efficiency, four.efficiency);
}

TEST(Scenarios, ThePapersRowsAreAsThePaperSays) {
  const Scenario s = load_scenario(data_dir() + "/scenarios/paper/finetune_2x4_a100.json", {}).scenario;
  EXPECT_EQ(places_of(s.cluster).size(), 8U);
  EXPECT_EQ(s.baseline, "DDP as released");
  EXPECT_EQ(s.published.at("acco").speedup, 7.79);
  EXPECT_EQ(s.published.at("acco").time.value().value, 29 * 60);
  EXPECT_EQ(s.published.at("DDP as released").time.value().value, 3 * 3600 + 46 * 60);
  EXPECT_FALSE(s.published.at("DDP as released").speedup);
  EXPECT_EQ(s.training.gradient_accumulation_steps, 4);
  const ScheduleSpec& released = s.schedules[0];
  EXPECT_EQ(released.parameter_dtype, Dtype::kFp32);
  EXPECT_EQ(released.gradient_dtype, Dtype::kFp32);
  EXPECT_EQ(s.training.autocast, Autocast::kBf16);
  EXPECT_EQ(released.sync, Sync::kEveryMicroBatch);
  EXPECT_EQ(released.overlap, Overlap::kBackward);
  EXPECT_EQ(released.optimizer_sharding, OptimizerSharding::kZeroRedundancy);
  // 24 sequences x 1024 tokens x 2 micro-batches x 32 ranks = 1,572,864 tokens an update, the paper's 1.5 M.
  const Scenario p = load_scenario(data_dir() + "/scenarios/paper/pretrain_4x8_a100.json", {}).scenario;
  EXPECT_EQ(static_cast<int>(places_of(p.cluster).size()) * p.training.micro_batch_size * p.training.sequence_length *
                p.training.gradient_accumulation_steps,
            1'572'864);
}

TEST(Scenarios, OneOfFourIsFourTimesSlower) {
  const Scenario s = load_scenario(data_dir() + "/scenarios/paper/hetero_4xa100_one_slow.json", {}).scenario;
  ASSERT_EQ(s.cluster.nodes[0].devices.size(), 4U);
  EXPECT_EQ(s.cluster.nodes[0].devices[2].slowdown, 1);
  EXPECT_EQ(s.cluster.nodes[0].devices[3].slowdown, 4);
}

TEST_F(ScenarioFiles, SetReachesThroughFilesAndQuotesAreOptional) {
  for (const char* value : {"10 Gbit/s", "\"10 Gbit/s\""}) {
    const Scenario s = load({std::string("/cluster/nodes/0/nics/bandwidth=") + value}).scenario;
    EXPECT_EQ(s.cluster.nodes[0].nics.bandwidth.value, 1.25e9);
  }
  EXPECT_EQ(load({"/cluster/fabric/oversubscription=2"}).scenario.cluster.fabric.oversubscription, 2);
  EXPECT_EQ(load({"/schedules/0/label=a=b"}).scenario.schedules[0].label, "a=b");
}

TEST_F(ScenarioFiles, SetsApplyInOrderAndMayBringFiles) {
  files.write("clusters/one.json",
              R"({"schema": "accosim.cluster/1", "nodes": [{"gpus": 1, "device": "../devices/gpu.json"}]})");
  const Scenario s =
      load({"/cluster=" + files.path("clusters/one.json"), "/cluster/nodes/0/device/memory=40 GiB"}).scenario;
  EXPECT_EQ(places_of(s.cluster).size(), 1U);
  EXPECT_EQ(s.cluster.nodes[0].devices[0].memory.value, 40.0 * (1 << 30));
}

TEST_F(ScenarioFiles, AStarSetsEveryElementOfAList) {
  const std::string device =
      "\"device\": \"" + files.path("devices/gpu.json") + "\", \"nics\": {\"bandwidth\": \"100 Gbit/s\"}}";
  const auto with = [&](const std::string& set) {
    return std::vector<std::string>{"/cluster/nodes=[{\"gpus\": 1, " + device + ", {\"gpus\": 1, " + device + "]", set};
  };
  const Scenario s = load(with("/cluster/nodes/*/micro_batch_size=7")).scenario;
  ASSERT_EQ(s.cluster.nodes.size(), 2U);
  for (const NodeGroup& group : s.cluster.nodes) EXPECT_EQ(group.micro_batch_size, 7);
  const Lines told = errors(with("/cluster/*/micro_batch_size=7"));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("/cluster/*: stands for every element of a list, and there is none"), std::string::npos)
      << told[0];
}

}  // namespace
}  // namespace accosim
