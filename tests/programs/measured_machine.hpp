// A machine of one rank whose micro-batches take 10 ms, and a micro-batch that a run there did.
#pragma once

#include <fmt/format.h>

#include <string>

namespace accosim {

inline const char* const kMeasuredMachine = R"({"schema": "accosim.scenario/1",
    "model": {"model_type": "measured", "parameters": 1000, "micro_batch_time": "10 ms"},
    "cluster": {"schema": "accosim.cluster/1", "nodes": [{"gpus": 1, "device": {"schema": "accosim.device/1",
      "peak": {"fp32": "1 TFLOP/s"}, "gemm_efficiency": 1, "flash_attention_efficiency": 0,
      "memory_bandwidth": "10 GB/s", "memory_efficiency": 1, "memory": "8 GiB", "launch_interval": "0 s"}}]},
    "training": {"sequence_length": 1, "micro_batch_size": 1, "train_tokens": 1e6, "precision": "fp32",
      "attention": "naive", "gradient_accumulation_steps": 2}, "schedules": [{"name": "zero1"}]})";

inline std::string micro_batch_span(const std::string& begin, const std::string& end) {
  return fmt::format(R"({{"rank": 0, "lane": "compute", "label": "micro-batch", "begin_s": {}, "end_s": {}}})", begin,
                     end);
}

}  // namespace accosim
