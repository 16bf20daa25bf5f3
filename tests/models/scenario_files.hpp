// A small scenario in files, for tests of what loads and what is refused.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/read/load.hpp"
#include "tests/models/refusal.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {

inline const char* const kModel = R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "n_positions": 128,
  "vocab_size": 100})";
inline const char* const kGpu = R"({"schema": "accosim.device/1", "name": "gpu", "peak": {"bf16": "100 TFLOP/s",
  "fp32": "10 TFLOP/s"}, "gemm_efficiency": 0.7, "flash_attention_efficiency": 0.5, "memory_bandwidth": "1 TB/s",
  "memory_efficiency": 0.8, "memory": "16 GiB", "launch_interval": "4 us", "sources": {"/memory": "a datasheet",
  "/peak/bf16": "a datasheet"}})";
inline const char* const kOld = R"({"schema": "accosim.device/1", "name": "old", "inherits": "gpu.json",
  "peak": {"fp16": "50 TFLOP/s"}, "memory": "8 GiB"})";
inline const char* const kCluster = R"({"schema": "accosim.cluster/1", "name": "two", "nodes": [{"count": 2, "gpus": 2,
  "device": "../devices/gpu.json", "intra": {"kind": "nvlink", "bandwidth": "100 GB/s"},
  "nics": {"bandwidth": "100 Gbit/s"}}]})";
inline const char* const kScenario = R"({"schema": "accosim.scenario/1", "name": "test", "model": "models/tiny.json",
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
    std::vector<std::string> out = refusals_of([&] { load_scenario(path, sets); });
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

inline bool any_has(const Lines& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

}  // namespace accosim
