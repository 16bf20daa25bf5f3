// Can everything that comes with accosim be named from anywhere, does what lies beside the file that names it go first,
// and does a name that leads nowhere, or to two places, say so?
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "models/read/library.hpp"
#include "models/read/load.hpp"
#include "models/spec/constants.hpp"
#include "tests/models/refusal.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

/// Another current directory, and another ACCOSIM_DATA_DIR where one is given, for as long as it lives.
class Elsewhere {
 public:
  explicit Elsewhere(const std::string& directory, const std::string& data = "") : before_(fs::current_path()) {
    if (const char* const set = std::getenv("ACCOSIM_DATA_DIR")) data_before_ = set;
    fs::current_path(directory);
    if (!data.empty()) setenv("ACCOSIM_DATA_DIR", data.c_str(), 1);
  }
  ~Elsewhere() {
    std::error_code ignored;
    fs::current_path(before_, ignored);
    if (data_before_)
      setenv("ACCOSIM_DATA_DIR", data_before_->c_str(), 1);
    else
      unsetenv("ACCOSIM_DATA_DIR");
  }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;

 private:
  fs::path before_;
  std::optional<std::string> data_before_;
};

Lines errors_of(const std::string& name_or_path, const std::vector<std::string>& sets = {}) {
  return refusals_of([&] { load_scenario(name_or_path, sets); });
}

std::string scenario_text(const std::string& model, const std::string& cluster) {
  return R"({"schema": "accosim.scenario/1", "model": ")" + model + R"(", "cluster": ")" + cluster + R"(",
    "training": {"sequence_length": 128, "micro_batch_size": 1, "train_tokens": 1e9}, "schedules": [{"name": "ddp"}]})";
}

TEST(Names, ModelsAreNamedAsPeopleAndTheHubWriteThem) {
  const Scratch scratch;
  const Elsewhere elsewhere(scratch.path(""));
  for (const auto& [written, ours] :
       std::vector<std::pair<std::string, std::string>>{{"Qwen/Qwen3-8B", "qwen3-8b"},
                                                        {"qwen3-8b", "qwen3-8b"},
                                                        {"QWEN3-8B", "qwen3-8b"},
                                                        {"Qwen/Qwen3-4B-Instruct-2507", "qwen3-4b"},
                                                        {"Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b"},
                                                        {"Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"},
                                                        {"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"},
                                                        {"meta-llama/Meta-Llama-3-8B", "llama-3-8b"},
                                                        {"meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"},
                                                        {"google/gemma-3-27b-it", "gemma-3-27b"},
                                                        {"google/gemma-2-9b", "gemma-2-9b"},
                                                        {"microsoft/Phi-3-mini-4k-instruct", "phi-3-mini-4k"},
                                                        {"microsoft/phi-4", "phi-4"},
                                                        {"mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"},
                                                        {"mistralai/Mistral-Small-24B-Base-2501", "mistral-small-24b"},
                                                        {"allenai/OLMo-2-1124-7B", "olmo-2-7b"},
                                                        {"GPT-Neo-125M-1024", "gpt-neo-125m-1024"},
                                                        {"EleutherAI/gpt-neo-2.7B", "gpt-neo-2.7b"}}) {
    const Model model = load_scenario("overlap_2x4_a100", {"/model=" + written}).scenario.model;
    EXPECT_EQ(model, load_scenario("overlap_2x4_a100", {"/model=" + ours}).scenario.model) << written;
    EXPECT_EQ(model.name, ours);
  }
  for (const char* other : {"Qwen/Qwen3-8B-AWQ", "Qwen/Qwen3-30B-A2B", "qwen3", "Qwen/", "a/b/c", "-", "2501"})
    EXPECT_EQ(errors_of("overlap_2x4_a100", {std::string("/model=") + other}).size(), 1U) << other;
}

TEST(Names, EveryNameThatListPrintsLoadsFromAnyFolder) {
  const Scratch scratch;
  const Elsewhere elsewhere(scratch.path(""));
  int names = 0;
  for (const LibraryEntry& entry : list_library()) {
    ++names;
    const std::string loaded = entry.kind == "device"    ? load_device(entry.name).name
                               : entry.kind == "model"   ? load_model(entry.name).name
                               : entry.kind == "cluster" ? load_cluster(entry.name).name
                                                         : load_scenario(entry.name, {}).scenario.name;
    EXPECT_EQ(loaded, entry.name);
  }
  EXPECT_GT(names, 30);
  for (const char* name : {"paper/finetune_2x4_a100", "scenarios/paper/finetune_2x4_a100"})
    EXPECT_EQ(load_scenario(name, {}).scenario.name, "finetune_2x4_a100");
}

TEST(Names, AScenarioNamesItsModelItsClusterAndTheirDevices) {
  const Scratch scratch;
  const Scenario s = load_scenario(scratch.write("s.json", scenario_text("gpt-neo-1.3b", "dgx-a100-1x8")), {}).scenario;
  EXPECT_EQ(s.model.name, "gpt-neo-1.3b");  // the dot is no extension
  EXPECT_EQ(s.cluster.name, "dgx-a100-1x8");
  EXPECT_EQ(load_scenario(scratch.path("s.json"), {"/model=gpt2-xl"}).scenario.model.name, "gpt2-xl");
  EXPECT_EQ(
      load_scenario(scratch.path("s"), {"/cluster/nodes/0/device=H100-SXM"}).scenario.cluster.nodes[0].devices[0].name,
      "H100-SXM");
}

TEST(Names, AFileBesideGoesFirst) {
  const Scratch scratch;
  scratch.write("gpt2.json", R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "n_positions": 128,
    "vocab_size": 100})");
  const std::string path = scratch.write("s.json", scenario_text("gpt2", "dgx-a100-1x8"));
  EXPECT_EQ(load_scenario(path, {}).scenario.model.num_hidden_layers, 2);
  // ... of the file that names it, not of the current directory.
  scratch.write("elsewhere/s.json", scenario_text("gpt2", "dgx-a100-1x8"));
  const Elsewhere elsewhere(scratch.path(""));
  EXPECT_EQ(load_scenario("elsewhere/s", {}).scenario.model.num_hidden_layers, 12);
  EXPECT_EQ(load_scenario("elsewhere/s", {"/model=gpt2"}).scenario.model.num_hidden_layers, 2);
}

TEST(Names, AFileDoesNotNameItself) {
  const Scratch scratch;
  const std::string path = scratch.write("gpt2.json", scenario_text("gpt2", "dgx-a100-1x8"));
  EXPECT_EQ(load_scenario(path, {}).scenario.model.num_hidden_layers, 12);
  const std::string device =
      scratch.write("H100-SXM.json", R"({"schema": "accosim.device/1", "inherits": "H100-SXM", "memory": "60 GiB"})");
  EXPECT_EQ(load_device(device).memory.value, 60.0 * (1 << 30));
  // One of another kind is told with its place.
  EXPECT_EQ(errors_of(scratch.write("s.json", scenario_text("gpt2", "dgx-a100-1x8"))),
            Lines{scratch.path("s.json:1:43 /model: \"") + scratch.path("gpt2.json") +
                  "\" is of schema \"accosim.scenario/1\"; name a Hugging Face config.json"});
}

TEST(Names, ANameOfTwoPlacesIsRefusedWithBoth) {
  const Scratch scratch;
  const std::string text = load_scenario("mixed_a100_v100", {}).resolved();
  for (const char* place : {"scenarios/same.json", "scenarios/paper/same.json", "scenarios/paper/other.json"})
    scratch.write(place, text);
  const Elsewhere elsewhere("/", scratch.path(""));
  EXPECT_EQ(errors_of("same"), Lines{"\"same\" is the name of scenarios/same.json and of scenarios/paper/same.json; "
                                     "write more of the path, such as \"scenarios/same\""});
  Lines names;
  for (const LibraryEntry& entry : list_library()) {
    names.push_back(entry.name);
    EXPECT_EQ(errors_of(entry.name), Lines{}) << entry.name;
  }
  EXPECT_EQ(names, (Lines{"scenarios/same", "other", "paper/same"}));
}

TEST(Names, DevicesAndClustersAreListedInTheOrderOfTime) {
  const Scratch scratch;
  constants();  // which are read once, from where they are
  const auto device = [&](const std::string& name, const std::string& architecture) {
    scratch.write("calibration/profiles/" + name + ".json", R"({"schema": "accosim.device/1", "name": ")" + name +
                                                                R"(", "peak": {"fp32": "10 TFLOP/s"},
      "gemm_efficiency": 0.7, "flash_attention_efficiency": 0.5, "memory_bandwidth": "1 TB/s", "memory_efficiency": 0.8,
      "memory": "16 GiB", "launch_interval": "4 us")" + architecture +
                                                                "}");
  };
  device("a-new", R"(, "architecture": "blackwell")");
  device("b-unknown", "");
  device("c-old", R"(, "architecture": "volta")");
  scratch.write("calibration/profiles/d-child.json", R"({"schema": "accosim.device/1", "inherits": "c-old.json"})");
  for (const auto& [name, gpu] : {std::pair("x", "a-new"), std::pair("y", "d-child")})
    scratch.write(std::string("scenarios/clusters/") + name + ".json",
                  std::string(R"({"schema": "accosim.cluster/1", "nodes": [{"gpus": 1, "device": ")") + gpu + "\"}]}");
  const Elsewhere elsewhere("/", scratch.path(""));
  Lines listed;
  for (const LibraryEntry& entry : list_library()) listed.push_back(entry.name + " " + entry.architecture);
  EXPECT_EQ(listed, (Lines{"c-old volta", "d-child volta", "a-new blackwell", "b-unknown ", "y volta", "x blackwell"}));
}

TEST(Names, OneThatIsUnknownTellsTheNearestAndWhereAllAre) {
  const Scratch scratch;
  const Elsewhere elsewhere(scratch.path(""));
  EXPECT_EQ(
      errors_of("finetune_2x4_a10"),
      Lines{"no scenario is named \"finetune_2x4_a10\"; did you mean \"finetune_2x4_a100\"? accosim list scenarios "
            "shows all"});
  EXPECT_EQ(errors_of("xyzzy"), Lines{"no scenario is named \"xyzzy\"; accosim list scenarios shows all"});
  EXPECT_EQ(errors_of("llama-3.1-8b"),
            Lines{"\"llama-3.1-8b\" is a model; a scenario names it, as README.md shows under "
                  "\"Your own run\"; accosim list scenarios shows those"});
  scratch.write("s.json", scenario_text("lama-3-8b", "dgx-a100-1x9"));
  const Lines lines = errors_of("s");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(holds(lines[0],
                    "s.json:1:43 /model: no model is named \"lama-3-8b\"; did you mean \"llama-3-8b\"? accosim "
                    "list models shows all"));
  EXPECT_TRUE(holds(lines[1], "did you mean \"dgx-a100-1x8\"? accosim list clusters shows all"));
  EXPECT_EQ(
      errors_of("mixed_a100_v100", {"/cluster=nope.json"}),
      Lines{"--set /cluster: no file \"nope.json\"; write a path relative to the current directory, or a name that "
            "accosim list clusters shows"});
  EXPECT_EQ(errors_of("scenarios/paper/finetune_2x4_a100.json"),
            Lines{"scenarios/paper/finetune_2x4_a100.json: no such file; the one that comes with accosim is named "
                  "\"finetune_2x4_a100\""});
  EXPECT_EQ(errors_of(""), Lines{"the path of the scenario is empty; write the path of a file"});
  EXPECT_EQ(errors_of(scratch.path("")).size(), 1U);  // a folder
}

TEST(Names, ACitationGoesWithTheValueThatASetReplaces) {
  // The shipped profile cites a number for each dtype, and the cluster one for the links.
  const std::vector<std::string> sets = {"/cluster/nodes/0/device/peak={\"bf16\": \"100 TFLOP/s\"}",
                                         "/cluster/nodes/0/device/gemm={\"bf16\": {\"peak_fraction\": 0.5}}",
                                         "/cluster/nodes/0/intra={\"kind\": \"nvswitch\", \"bandwidth\": \"1 TB/s\"}"};
  for (const std::string& set : sets)
    for (const std::string& line : errors_of("mixed_a100_v100", {set})) EXPECT_FALSE(holds(line, "cites"));
  const std::string resolved =
      load_scenario("mixed_a100_v100", {"/cluster/nodes/0/nics/bandwidth=10 Gbit/s"}).resolved();
  EXPECT_FALSE(holds(resolved, "8 ConnectX-6 adapters"));
  EXPECT_TRUE(holds(resolved, "4 EDR InfiniBand adapters"));
}

}  // namespace
}  // namespace accosim
