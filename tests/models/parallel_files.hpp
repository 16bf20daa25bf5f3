// Scenarios of a small model on several GPUs, read with "parallel".
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "models/spec/frameworks.hpp"
#include "tests/models/scenario_files.hpp"

namespace accosim {

/// 12 blocks, 8 heads of which 2 have keys and values, on 4 nodes of 8 GPUs.
class ReadParallel : public ScenarioFiles {
 protected:
  ReadParallel() {
    files.write("models/twelve.json", R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 12,
      "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 100,
      "max_position_embeddings": 128, "hidden_act": "silu"})");
    write(8, R"([{"name": "ddp"}])");
  }

  void write(int steps, const std::string& schedules, const std::string& nodes = kNodes) {
    path_ = files.write("p.json", R"({"schema": "accosim.scenario/1", "model": "models/twelve.json",
      "cluster": {"nodes": )" + nodes +
                                      R"(}, "training": {"sequence_length": 128, "micro_batch_size": 4,
      "gradient_accumulation_steps": )" +
                                      std::to_string(steps) + R"(, "train_tokens": 80e6}, "schedules": )" + schedules +
                                      "}");
  }

  static std::string parallel(const std::string& members) { return "/training/parallel={" + members + "}"; }
  static std::string framework(Framework which) { return std::string("/training/framework=") + name_of(which); }

  Parallel read(const std::string& members, Framework which = Framework::kPytorch) const {
    return load_scenario(path_, {framework(which), parallel(members)}).scenario.training.parallel;
  }
  /// The only error, without its place.
  std::string refused(const std::string& members, Framework which = Framework::kPytorch,
                      const std::vector<std::string>& sets = {}) const {
    std::vector<std::string> all{framework(which), parallel(members)};
    all.insert(all.end(), sets.begin(), sets.end());
    const Lines lines = errors_of(path_, all);
    EXPECT_EQ(lines.size(), 1U) << members << (lines.size() > 1 ? ": " + lines[0] + " | " + lines[1] : "");
    if (lines.empty()) return "";
    const std::size_t at = lines.front().find(" /");
    return at == std::string::npos ? lines.front() : lines.front().substr(at + 1);
  }
  std::map<std::string, std::string> origins(const std::string& members, Framework which) const {
    const std::string text = load_scenario(path_, {framework(which), parallel(members)}).resolved();
    const JsonValue tree = parse_json(text, "").root;
    std::map<std::string, std::string> all;
    const std::string from = "/training/parallel/";
    for (const JsonMember& each : tree.find("origins")->members)
      if (each.key.rfind(from, 0) == 0) all[each.key.substr(from.size())] = each.value.text;
    return all;
  }

  static constexpr const char* kNodes = R"([{"name": "a", "count": 4, "gpus": 8, "device": "devices/gpu.json",
    "intra": {"kind": "nvswitch", "bandwidth": "100 GB/s"}, "nics": {"bandwidth": "100 Gbit/s"}}])";
  std::string path_;
};

}  // namespace accosim
