// From files to a valid scenario: references, --set, defaults, provenance; and for every bad or hostile input a message
// that says where and what to write instead.
#include "models/spec/scenario.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "models/spec/fabrics.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

const char* const kModel = R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "n_positions": 128,
  "vocab_size": 100})";
const char* const kGpu = R"({"schema": "accosim.device/1", "name": "gpu", "peak": {"bf16": "100 TFLOP/s",
  "fp32": "10 TFLOP/s"}, "gemm_efficiency": 0.7, "flash_attention_efficiency": 0.5, "memory_bandwidth": "1 TB/s",
  "memory_efficiency": 0.8, "memory": "16 GiB", "launch_interval": "4 us", "sources": {"/memory": "a datasheet",
  "/peak/bf16": "a datasheet"}})";
const char* const kOld = R"({"schema": "accosim.device/1", "name": "old", "inherits": "gpu.json",
  "peak": {"fp16": "50 TFLOP/s"}, "memory": "8 GiB"})";
const char* const kCluster = R"({"schema": "accosim.cluster/1", "name": "two", "nodes": [{"count": 2, "gpus": 2,
  "device": "../devices/gpu.json", "intra": {"kind": "nvlink", "bandwidth": "100 GB/s"},
  "nics": {"bandwidth": "100 Gbit/s"}}]})";
const char* const kScenario = R"({"schema": "accosim.scenario/1", "name": "test", "model": "models/tiny.json",
  "cluster": "clusters/two.json",
  "training": {"sequence_length": 128, "micro_batch_size": 4, "gradient_accumulation_steps": 4, "train_tokens": 80e6},
  "schedules": [{"name": "ddp"}, {"name": "zero1"}, {"name": "dpu"}, {"name": "acco"}]})";

class ScenarioFiles : public testing::Test {
 protected:
  ScenarioFiles() {
    files.write("models/tiny.json", kModel);
    files.write("devices/gpu.json", kGpu);
    files.write("devices/old.json", kOld);
    files.write("clusters/two.json", kCluster);
    scenario = files.write("s.json", kScenario);
  }

  LoadedScenario load(const std::vector<std::string>& sets = {}) const { return load_scenario(scenario, sets); }
  std::vector<std::string> errors(const std::vector<std::string>& sets = {}) const { return errors_of(scenario, sets); }
  /// Errors with the scratch directory taken out.
  std::vector<std::string> errors_of(const std::string& path, const std::vector<std::string>& sets = {}) const {
    std::vector<std::string> out;
    try {
      load_scenario(path, sets);
    } catch (const ScenarioError& error) {
      EXPECT_FALSE(error.errors.empty());
      out = error.errors;
    }
    const std::string directory = files.path("");
    for (std::string& line : out) {
      for (std::size_t at; (at = line.find(directory)) != std::string::npos;) line.erase(at, directory.size());
      EXPECT_EQ(line.find('\n'), std::string::npos);
      EXPECT_LT(line.size(), 2000U);
    }
    return out;
  }
  /// The scenario with its last brace taken off and more members added.
  std::string with(const std::string& members) {
    std::string text = kScenario;
    text.pop_back();
    return files.write("with.json", text + ", " + members + "}");
  }
  std::string with_schedules(const std::string& list) {
    const std::string text = kScenario;
    return files.write("with.json", text.substr(0, text.find("\"schedules\"")) + "\"schedules\": " + list + "}");
  }
  std::string with_nodes(const std::string& list) {
    const std::string text = kScenario;
    const std::string cluster = "\"clusters/two.json\"";
    std::string out = text;
    out.replace(text.find(cluster), cluster.size(), "{\"nodes\": " + list + "}");
    return files.write("with.json", out);
  }

  Scratch files;
  std::string scenario;
};

using Lines = std::vector<std::string>;

bool any_has(const Lines& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

// --- what loads ---

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
  EXPECT_EQ(group.intra.latency, usual_intra(group.intra.kind).latency);
  EXPECT_EQ(group.intra.efficiency, usual_intra(group.intra.kind).efficiency);
  EXPECT_EQ(group.nics.latency, usual_nics("infiniband").latency);
  EXPECT_EQ(group.nics.ll.efficiency, usual_nics("infiniband").ll.efficiency);
  EXPECT_EQ(s.cluster.fabric.oversubscription, 1);
  const ScheduleSpec& ddp = s.schedules[0];
  EXPECT_EQ(ddp.label, "ddp");
  EXPECT_EQ(ddp.overlap, Overlap::kBackward);
  EXPECT_EQ(ddp.sync, Sync::kLastMicroBatch);
  EXPECT_EQ(ddp.bucket_cap.value, 25.0 * 1024 * 1024);
  EXPECT_EQ(ddp.first_bucket.value, 1024.0 * 1024);
  EXPECT_EQ(ddp.parameter_dtype, Dtype::kBf16);
  EXPECT_FALSE(ddp.autocast.has_value());
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
  const std::string resolved = load({"/cluster/nodes/0/device=" + files.path("devices/old.json")}).resolved;
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

TEST_F(ScenarioFiles, OneGpuOnOneNodeNeedsNoLinks) {
  EXPECT_TRUE(errors_of(with_nodes(R"([{"gpus": 1, "device": "devices/gpu.json"}])")).empty());
}

TEST_F(ScenarioFiles, OneGpuANodeLaunchesCollectivesToo) {
  const Scenario loaded =
      load_scenario(
          with_nodes(R"([{"count": 2, "gpus": 1, "device": "devices/gpu.json", "nics": {"bandwidth": "1 GB/s"}}])"), {})
          .scenario;
  EXPECT_GT(loaded.cluster.nodes[0].intra.launch.value, 1e-6);
  EXPECT_GT(loaded.cluster.nodes[0].intra.ll.launch.value, 1e-6);
}

TEST_F(ScenarioFiles, PlainTcpIsLimitedByTheHost) {
  const auto efficiency = [&](const std::string& nics) {
    return load_scenario(with_nodes(R"([{"count": 2, "gpus": 1, "device": "devices/gpu.json", "nics": )" + nics + "}]"),
                         {})
        .scenario.cluster.nodes[0]
        .nics.efficiency;
  };
  EXPECT_DOUBLE_EQ(efficiency(R"({"kind": "tcp", "bandwidth": "10 Gbit/s"})"), 0.95);
  const double wide = efficiency(R"({"kind": "tcp", "count": 2, "bandwidth": "200 Gbit/s"})");
  EXPECT_LT(wide, 0.2);  // the machine that it was measured on
  EXPECT_DOUBLE_EQ(efficiency(R"({"kind": "tcp", "count": 4, "bandwidth": "200 Gbit/s"})"), wide / 2);
  EXPECT_DOUBLE_EQ(efficiency(R"({"kind": "tcp", "bandwidth": "200 Gbit/s", "efficiency": 0.5})"), 0.5);
}

// --- resolve ---

TEST_F(ScenarioFiles, ResolvedSaysWhereEachValueCameFrom) {
  const std::string resolved = load({"/cluster/nodes/0/nics/bandwidth=10 Gbit/s"}).resolved;
  const std::string directory = files.path("");
  for (const std::string& part :
       {"\"/training/sequence_length\": \"" + directory + "s.json:3:35\"",
        "\"/model/n_layer\": \"" + directory + "models/tiny.json:1:35\"",
        "\"/cluster/nodes/0/device/launch_interval\": \"" + directory + "devices/gpu.json:3:68\"",
        std::string("\"/cluster/nodes/0/nics/bandwidth\": \"--set\""),
        std::string("\"/schedules/0/overlap\": \"default\"")}) {
    EXPECT_NE(resolved.find(part), std::string::npos) << part;
  }
}

TEST_F(ScenarioFiles, ResolvingTwiceChangesNothing) {
  const std::string once = load({"/training/attention=naive"}).resolved;
  const std::string path = files.write("elsewhere/resolved.json", once);
  EXPECT_EQ(load_scenario(path, {}).resolved, once);
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
    EXPECT_EQ(load_scenario(files.write("r.json", loaded.resolved), {}).resolved, loaded.resolved);
  }
  EXPECT_GE(count, 6);
}

TEST(Scenarios, ThePapersRowsAreAsThePaperSays) {
  const Scenario s = load_scenario(data_dir() + "/scenarios/paper/finetune_2x4_a100.json", {}).scenario;
  EXPECT_EQ(places_of(s.cluster).size(), 8U);
  EXPECT_EQ(s.baseline, "DDP as released");
  EXPECT_EQ(s.published.at("acco"), 7.79);
  EXPECT_EQ(s.training.gradient_accumulation_steps, 4);
  const ScheduleSpec& released = s.schedules[0];
  EXPECT_EQ(released.parameter_dtype, Dtype::kFp32);
  EXPECT_EQ(released.gradient_dtype, Dtype::kFp32);
  EXPECT_EQ(released.autocast, Dtype::kBf16);
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

// --- --set ---

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

TEST_F(ScenarioFiles, ASetThatLeadsNowhereNamesTheNearestKey) {
  EXPECT_EQ(errors({"/cluster/nodes/0/nic/bandwidth=1 GB/s"}),
            Lines{"--set /cluster/nodes/0/nic: no such key; did you mean \"nics\"?"});
  EXPECT_EQ(errors({"/cluster/nodes/1/count=1"}),
            Lines{"--set /cluster/nodes/1: no such element; write an index from 0 to 0"});
  EXPECT_EQ(errors({"/training/micro_batch_sise=1"}),
            Lines{"--set /training/micro_batch_sise: unknown key; did you mean \"micro_batch_size\"?"});
  EXPECT_EQ(errors({"/name/x=1"}),
            Lines{"--set /name/x: what is before it is a text and has no keys; check the pointer"});
  EXPECT_EQ(errors({"training=1"}).size(), 1U);
  EXPECT_EQ(errors({"/training"}).size(), 1U);
  EXPECT_EQ(errors({""}).size(), 1U);
  EXPECT_EQ(errors({"=1"}).size(), 1U);
  EXPECT_EQ(errors({"/cluster={\"nodes\":"}).size(), 1U);
  EXPECT_TRUE(any_has(errors({"/training/train_tokens=1e400"}), "--set /training/train_tokens: is the text \"1e400\""));
}

// --- mistakes ---

TEST_F(ScenarioFiles, TenMistakesGiveTenLines) {
  const std::string path = files.write("bad.json", R"({"schema": "accosim.scenario/1", "name": "bad",
  "model": "models/tinny.json",
  "cluster": {"nodes": [{"count": -2, "gpus": 2, "device": "devices/gpu.json",
    "intra": {"kind": "nvlinc", "bandwidth": "100 GB"},
    "nics": {"bandwith": "100 Gbit/s"}}]},
  "training": {"sequence_length": 512.5, "micro_batch_size": "4", "gradient_accumulation_steps": -1, "train_tokens": 0},
  "schedules": [{"name": "acco"}, {"name": "zero1", "poll_every": 3}]})");
  Lines expected;
  const auto expect = [&](const std::string& place, const std::string& what) {
    expected.push_back(place + ": " + what);
  };
  const std::string count = "write a whole number from 1 to 1000000000";
  expect("bad.json:2:12 /model", "no file \"models/tinny.json\"; did you mean \"tiny.json\"?");
  expect("bad.json:6:35 /training/sequence_length", "is 512.5; " + count);
  expect("bad.json:6:62 /training/micro_batch_size", "is the text \"4\"; " + count + ", without quotes");
  expect("bad.json:6:98 /training/gradient_accumulation_steps", "is -1; " + count);
  expect("bad.json:6:118 /training/train_tokens", "is 0; write a number above 0, at most 1e+18");
  expect("bad.json:3:35 /cluster/nodes/0/count", "is -2; write a whole number from 1 to 1048576");
  expect("bad.json:4:23 /cluster/nodes/0/intra/kind",
         R"("nvlinc" is not known; did you mean "nvlink"? write one of: "nvswitch", "nvlink", "cube_mesh", "pcie")");
  expect("bad.json:4:46 /cluster/nodes/0/intra/bandwidth",
         R"("100 GB" is an amount of data; a bandwidth is written "100 GB/s" (bytes) or "100 Gbit/s" (bits))");
  expect("bad.json:5:14 /cluster/nodes/0/nics/bandwith", R"(unknown key; did you mean "bandwidth"?)");
  expect("bad.json:7:53 /schedules/1/poll_every",
         "unknown key; it belongs to dpu, wp and acco, and zero1 has no such choice; remove it");
  EXPECT_EQ(errors_of(path), expected);
}

TEST_F(ScenarioFiles, WhatADeviceCannotDoIsAnErrorThatSaysWhatToWrite) {
  files.write("devices/fp16.json", R"({"schema": "accosim.device/1", "name": "V", "inherits": "gpu.json"})");
  const std::string volta = R"({"name": "V", "peak": {"fp32": "15 TFLOP/s", "fp16": "125 TFLOP/s"},
    "gemm_efficiency": 0.7, "flash_attention_efficiency": 0, "memory_bandwidth": "900 GB/s", "memory_efficiency": 0.8,
    "memory": "16 GiB", "launch_interval": "4 us"})";
  const std::string nodes = "[{\"gpus\": 1, \"device\": " + volta;
  EXPECT_EQ(errors_of(with_nodes(nodes + ", \"attention\": \"naive\"}]")),
            Lines{"with.json:2:25 /cluster/nodes/0/precision: V cannot compute in bf16 (it has a peak for fp32, fp16); "
                  "write \"precision\": \"fp16\" for this node group"});
  EXPECT_TRUE(
      any_has(errors_of(with_nodes(nodes + ", \"precision\": \"fp16\"}]")), "/attention: V has no fused attention"));
  EXPECT_TRUE(errors_of(with_nodes(nodes + ", \"precision\": \"fp16\", \"attention\": \"naive\"}]")).empty());
  const std::vector<std::string> autocast = {"/schedules/0/autocast=bf16"};
  EXPECT_TRUE(any_has(errors_of(with_nodes(nodes + ", \"precision\": \"fp16\", \"attention\": \"naive\"}]"), autocast),
                      "--set /schedules/0/autocast: V in node group \"nodes-0\" cannot compute in bf16"));
}

TEST_F(ScenarioFiles, LinksThatAreNeededAreAskedFor) {
  EXPECT_TRUE(any_has(errors_of(with_nodes(R"([{"gpus": 2, "device": "devices/gpu.json"}])")),
                      "/cluster/nodes/0/intra: missing"));
  EXPECT_TRUE(any_has(errors_of(with_nodes(R"([{"gpus": 1, "count": 2, "device": "devices/gpu.json"}])")),
                      "/cluster/nodes/0/nics: missing"));
  EXPECT_TRUE(any_has(errors_of(with_nodes(R"([{"gpus": 2, "device": ["devices/gpu.json"],
    "intra": {"kind": "pcie", "bandwidth": "1 GB/s"}}])")),
                      "lists 1 devices for 2 GPUs"));
}

TEST_F(ScenarioFiles, SchedulesAreToldApartByLabels) {
  EXPECT_TRUE(
      any_has(errors_of(with_schedules(R"([{"name": "acco"}, {"name": "acco"}])")), "is the label of two schedules"));
  EXPECT_TRUE(errors_of(with_schedules(R"([{"name": "acco"}, {"name": "acco", "label": "b"}])")).empty());
  EXPECT_TRUE(any_has(errors_of(with_schedules("[]")), "write at least one"));
  EXPECT_TRUE(any_has(errors_of(with_schedules(R"([{"name": "zero11"}])")), "did you mean \"zero1\"?"));
  EXPECT_TRUE(any_has(errors_of(with(R"("baseline": "dpp")")), "did you mean \"ddp\"?"));
  EXPECT_TRUE(any_has(errors_of(with(R"("published": {"aco": 1.2})")), "did you mean \"acco\"?"));
  EXPECT_TRUE(any_has(errors_of(with(R"("published": {"acco": 0})")), "/published/acco: is 0"));
}

TEST_F(ScenarioFiles, OtherNamesOfASchedulesLeadToOurs) {
  const auto said = [&](const std::string& name) {
    const Lines lines = errors_of(with_schedules("[{\"name\": \"" + name + "\"}]"));
    return lines.size() == 1 ? lines[0] : "";
  };
  for (const char* name : {"fsdp", "FSDP", "fsdp2", "fully_shard"})
    EXPECT_NE(said(name).find("is \"zero3\"; write one of"), std::string::npos) << said(name);
  EXPECT_NE(said("hsdp").find("\"zero3\" with \"shard_group\": \"node\""), std::string::npos) << said("hsdp");
  for (const char* name : {"zero", "deepspeed"})
    EXPECT_NE(said(name).find("\"zero1\", \"zero2\" or \"zero3\", by its stage"), std::string::npos) << said(name);
  for (const char* name : {"zero-3", "zero_3", "ZeRO 3"})
    EXPECT_NE(said(name).find("did you mean \"zero3\"?"), std::string::npos) << said(name);
  EXPECT_NE(said("ZeRO++").find("is not modelled yet"), std::string::npos);
  for (const char* name : {"local-sgd", "localsgd", "LocalSGD"})
    EXPECT_NE(said(name).find("did you mean \"local_sgd\"?"), std::string::npos) << said(name);
  EXPECT_NE(said("post_local_sgd").find("\"local_sgd\", once it is past its warm-up"), std::string::npos);
  EXPECT_NE(said("DistributedDataParallel").find("is \"ddp\""), std::string::npos);
  EXPECT_NE(said("zzz").find("\"zzz\" is not known; write one of"), std::string::npos);
}

TEST_F(ScenarioFiles, AccoHalvesAnEvenNumberOfSteps) {
  EXPECT_TRUE(any_has(errors({"/training/gradient_accumulation_steps=3"}), "3 is odd"));
  EXPECT_EQ(load({"/training/gradient_accumulation_steps=3", "/schedules/3/micro_batches_per_round=2"})
                .scenario.schedules[3]
                .micro_batches_per_round,
            2);
}

TEST_F(ScenarioFiles, LearnedPositionsLimitTheSequence) {
  EXPECT_EQ(
      errors({"/training/sequence_length=129"}),
      Lines{"--set /training/sequence_length: is 129, and the model has learned 128 positions; write at most that"});
}

TEST_F(ScenarioFiles, CitationsPointAtWhatIsThere) {
  EXPECT_EQ(
      errors({"/cluster/sources={\"/nodes/0/gpus\": \"x\", \"/nodes/1/gpus\": \"x\"}"}),
      Lines{"--set /cluster/sources/~1nodes~11~1gpus: cites what is not there; write the JSON pointer of a value, "
            "such as \"/memory\""});
}

// --- hostile ---

TEST_F(ScenarioFiles, FilesThatIncludeEachOtherAreToldAsAChain) {
  files.write("devices/a.json", R"({"schema": "accosim.device/1", "inherits": "b.json"})");
  files.write("devices/b.json", R"({"schema": "accosim.device/1", "inherits": "../devices/./a.json"})");
  EXPECT_EQ(errors_of(with_nodes(R"([{"gpus": 1, "device": "devices/a.json"}])")),
            Lines{"devices/b.json:1:44 /cluster/nodes/0/device/inherits/inherits: files that include each other: "
                  "devices/a.json -> devices/b.json -> devices/a.json; break the circle"});
  EXPECT_TRUE(
      any_has(errors_of(files.write("self.json", R"({"schema": "accosim.scenario/1", "cluster": "self.json"})")),
              "files that include each other: self.json -> self.json"));
}

TEST_F(ScenarioFiles, ReferencesThatAreNoFilesAreRefused) {
  EXPECT_TRUE(any_has(errors({"/model=/dev/zero"}), "is not a regular file"));
  EXPECT_TRUE(any_has(errors({"/model=" + files.path("models")}), "is a directory"));
  EXPECT_TRUE(any_has(errors({"/model=" + std::string(100000, 'a')}), "is no path"));
  EXPECT_TRUE(any_has(errors({"/model="}), "is empty"));
  EXPECT_TRUE(any_has(errors({"/model=\"\\u0000\""}), "is no path"));
  EXPECT_TRUE(any_has(errors({"/cluster=" + files.path("models/tiny.json")}), "does not say what it is"));
  EXPECT_TRUE(any_has(errors({"/model=" + files.path("clusters/two.json")}), "name a Hugging Face config.json"));
  EXPECT_TRUE(any_has(errors({"/cluster/nodes/0/device=A100-SXM4-80G"}), "did you mean \"A100-SXM4-80GB\"?"));
}

TEST_F(ScenarioFiles, ABadFileIsToldAtItsOwnPlace) {
  files.write("clusters/two.json", "{\n \"nodes\": [}");
  EXPECT_EQ(errors(), Lines{"clusters/two.json:2:12 /nodes/0: } where ] should be; close what was opened last first"});
}

// NaN, a number that is too large and a key that is there twice hide nothing of what else is wrong, in any file.
TEST_F(ScenarioFiles, AWrongWordHidesNoOtherMistake) {
  std::string cluster, line;
  for (std::ifstream in(files.path("clusters/two.json")); std::getline(in, line);) cluster += line + "\n";
  const std::size_t gpus = cluster.find("\"gpus\": ");
  ASSERT_NE(gpus, std::string::npos);
  cluster.insert(gpus, "\"count\": NaN, \"count\": 1e400, \"colour\": 1, ");
  files.write("clusters/two.json", cluster);
  const Lines all = errors({"/training/micro_batch_size=-1"});
  for (const char* says : {"/count: NaN is not JSON", "the key \"count\" is there twice", "1e400 does not fit",
                           "colour: unknown key", "/training/micro_batch_size: is -1"})
    EXPECT_TRUE(any_has(all, says)) << says;
}

TEST_F(ScenarioFiles, WhatIsNoScenarioIsOneMistake) {
  for (const char* text :
       {"", "[", "[]", "3", "null", "\"x\"", "{\"schema\": \"accosim.cluster/1\"}", "\xff\xfe{", "\x7f"}) {
    EXPECT_EQ(errors_of(files.write("no.json", text)).size(), 1U) << text;
  }
  EXPECT_EQ(errors_of(files.path("models/tiny.json")).size(), 1U);
  EXPECT_EQ(errors_of(files.path("none.json")), Lines{"none.json: no such file; check the path"});
  EXPECT_EQ(errors_of(files.path("")).size(), 1U);
  EXPECT_FALSE(errors_of("/dev/zero").empty());
  EXPECT_FALSE(errors_of("").empty());
}

TEST_F(ScenarioFiles, AThousandErrorsAreToldAsAHundred) {
  std::string members = "\"k0\": 0";
  for (int i = 1; i < 50000; ++i) members += ", \"k" + std::to_string(i) + "\": 0";
  const Lines lines = errors_of(with(members));
  ASSERT_EQ(lines.size(), 101U);
  EXPECT_NE(lines.back().find("more errors"), std::string::npos);
}

TEST_F(ScenarioFiles, FilesNamedThousandsOfTimesAreRefused) {
  std::string devices = "\"devices/gpu.json\"";
  for (int i = 1; i < 1024; ++i) devices += ",\"devices/gpu.json\"";
  std::string nodes = "[";
  for (int i = 0; i < 40; ++i)
    nodes += std::string(i > 0 ? "," : "") + "{\"gpus\": 1024, \"device\": [" + devices + "]}";
  EXPECT_TRUE(any_has(errors_of(with_nodes(nodes + "]")), "the files together hold more than"));
}

TEST_F(ScenarioFiles, TooManyGpusAreRefused) {
  EXPECT_TRUE(any_has(errors({"/cluster/nodes/0/count=600000"}), "has 1200000 GPUs; write at most 1048576"));
  EXPECT_TRUE(any_has(errors({"/cluster/nodes/0/gpus=1e9"}), "whole number from 1 to 1024"));
}

// Random damage to a good file: bytes replaced, cut out and doubled. It loads or it tells, in lines that can be
// printed.
TEST_F(ScenarioFiles, RandomDamageLoadsOrTells) {
  const std::string good = kScenario;
  std::uint64_t state = 2024;
  const auto next = [&](std::size_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state >> 33) % n;
  };
  constexpr char kBytes[] = "{}[]\",:0-9e\\\0\xff";
  const std::string bytes(kBytes, sizeof kBytes - 1);
  int told = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text = good;
    for (std::size_t n = 1 + next(3); n > 0; --n) {
      const std::size_t at = next(text.size());
      switch (next(3)) {
        case 0: text[at] = bytes[next(bytes.size())]; break;
        case 1: text.erase(at, 1 + next(20)); break;
        default: text.insert(at, text.substr(at, 1 + next(20)));
      }
      if (text.empty()) text = " ";
    }
    told += errors_of(files.write("damaged.json", text)).empty() ? 0 : 1;
  }
  EXPECT_GT(told, 1000);
}

}  // namespace
}  // namespace accosim
