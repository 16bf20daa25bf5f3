// sample_scenario() as a file, for tests of what loads a scenario with more settings.
#pragma once

#include <string>
#include <vector>

#include "models/read/load.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {

inline std::string sample_device_json(const std::string& name = "sample GPU", const std::string& memory = "80 GB",
                                      const std::string& slowdown = "1") {
  return R"({"schema": "accosim.device/1", "name": ")" + name + R"(", "memory": ")" + memory + R"(", "slowdown": )" +
         slowdown + R"(, "peak": {"fp32": "20 TFLOP/s", "fp16": "300 TFLOP/s", "bf16": "300 TFLOP/s"},
    "gemm_efficiency": 0.6, "flash_attention_efficiency": 0.5, "memory_bandwidth": "2 TB/s", "memory_efficiency": 0.8,
    "reserved_memory": "1 GB", "launch_interval": "2 us"})";
}

/// One node of 8 GPUs, or one of each of several groups "nodes-0", "nodes-1"...
inline LoadedScenario load_sample(const std::vector<std::string>& sets, int groups = 1) {
  std::string nodes;
  for (int g = 0; g < groups; ++g)
    nodes += (g > 0 ? ", " : "") + (R"({"gpus": 8, "device": )" + sample_device_json()) +
             R"(, "intra": {"kind": "nvswitch", "bandwidth": "300 GB/s", "efficiency": 0.8, "latency": "3 us"},
      "nics": {"bandwidth": "100 Gbit/s", "efficiency": 0.9, "latency": "5 us"}})";
  const Scratch scratch;
  return load_scenario(scratch.write("sample.json", R"({"schema": "accosim.scenario/1",
    "model": {"model_type": "gpt2", "n_layer": 4, "n_embd": 512, "n_head": 8, "n_positions": 1024, "vocab_size": 10000,
      "activation_function": "gelu"},
    "cluster": {"schema": "accosim.cluster/1", "nodes": [)" +
                                                        nodes +
                                                        R"(]},
    "training": {"sequence_length": 512, "micro_batch_size": 4, "gradient_accumulation_steps": 4, "train_tokens": 1e9,
      "interference": false},
    "schedules": [{"name": "zero1"}, {"name": "ddp"}, {"name": "dpu"}, {"name": "acco"}]})"),
                       sets);
}

}  // namespace accosim
