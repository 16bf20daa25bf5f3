// Names as the files spell them, and the two counts that everything else is built on: parameters of a model, places of
// a cluster.
#include "models/spec/spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/spec/model_families.hpp"

namespace accosim {

std::int64_t parameter_count(const Model& model) {
  if (family_of(model).measured) return model.measured_parameters;
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t queries = std::int64_t{model.num_attention_heads} * model.head_dim;
  const std::int64_t keys = std::int64_t{model.num_key_value_heads} * model.head_dim;
  const std::int64_t inner = model.intermediate_size;

  const std::int64_t norm = model.rms_norm ? hidden : 2 * hidden;
  std::int64_t attention = hidden * (queries + 2 * keys) + queries * hidden;
  if (model.qkv_bias) attention += queries + 2 * keys;
  if (model.attention_output_bias) attention += hidden;
  std::int64_t mlp = (model.gated_mlp ? 3 : 2) * hidden * inner;
  if (model.mlp_bias) mlp += (model.gated_mlp ? 2 : 1) * inner + hidden;

  const std::int64_t token_table = std::int64_t{model.vocab_size} * hidden;
  const std::int64_t position_table = model.learned_positions ? model.max_position_embeddings * hidden : 0;
  const std::int64_t head = model.tie_word_embeddings ? 0 : token_table;
  return token_table + position_table + model.num_hidden_layers * (2 * norm + attention + mlp) + norm + head;
}

std::vector<Place> places_of(const Cluster& cluster) {
  std::vector<Place> places;
  int node = 0;
  for (std::size_t group = 0; group < cluster.nodes.size(); ++group) {
    for (int i = 0; i < cluster.nodes[group].count; ++i, ++node) {
      for (int gpu = 0; gpu < cluster.nodes[group].gpus; ++gpu) {
        places.push_back(Place{static_cast<int>(group), node, gpu});
      }
    }
  }
  return places;
}

int listed_index(const Cluster& cluster, int group) {
  return group + cluster.nodes[static_cast<std::size_t>(group)].absent_before;
}

std::string device_name(const Cluster& cluster, const Device& device) {
  const auto other = [&](const Device& d) { return d.name == device.name && d.slowdown != device.slowdown; };
  const bool ambiguous = std::any_of(cluster.nodes.begin(), cluster.nodes.end(), [&](const NodeGroup& group) {
    return std::any_of(group.devices.begin(), group.devices.end(), other);
  });
  if (!ambiguous || device.slowdown == 1) return device.name;
  return fmt::format("{} ({:.3g} times slower)", device.name, device.slowdown);
}

double gpu_count(const Cluster& cluster) {
  double gpus = 0;
  for (const NodeGroup& group : cluster.nodes) gpus += static_cast<double>(group.count) * group.gpus;
  return gpus;
}

std::optional<double> price_per_hour(const Cluster& cluster) {
  double price = 0;
  for (const NodeGroup& group : cluster.nodes) {
    if (!group.price_per_gpu_hour) return std::nullopt;
    price += static_cast<double>(group.count) * group.gpus * *group.price_per_gpu_hour;
  }
  return price;
}

int accumulation_steps_of(const NodeGroup& group, int gpu, const Training& training) {
  if (group.accumulation_steps.empty()) return training.gradient_accumulation_steps;
  return group.accumulation_steps[static_cast<std::size_t>(gpu)];
}

bool all_have_own_steps(const Cluster& cluster) {
  return std::none_of(cluster.nodes.begin(), cluster.nodes.end(),
                      [](const NodeGroup& group) { return group.accumulation_steps.empty(); });
}

bool identical_ranks(const Cluster& cluster) {
  const NodeGroup& first = cluster.nodes.front();
  return std::all_of(cluster.nodes.begin(), cluster.nodes.end(), [&](const NodeGroup& group) {
    return group.micro_batch_size == first.micro_batch_size && group.accumulation_steps == first.accumulation_steps &&
           group.precision == first.precision && group.attention == first.attention &&
           std::all_of(group.devices.begin(), group.devices.end(),
                       [&](const Device& device) { return device == first.devices.front(); });
  });
}

double samples_asked(const Scenario& scenario) {
  double samples = 0;
  for (const NodeGroup& group : scenario.cluster.nodes) {
    double steps = 0;
    for (int gpu = 0; gpu < group.gpus; ++gpu) steps += accumulation_steps_of(group, gpu, scenario.training);
    samples += 1.0 * group.count * group.micro_batch_size * steps;
  }
  return samples;
}

const char* name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFp32: return "fp32";
    case Dtype::kTf32: return "tf32";
    case Dtype::kFp16: return "fp16";
    case Dtype::kBf16: return "bf16";
    case Dtype::kFp8: return "fp8";
  }
  return "";
}

const char* name_of(Attention attention) {
  switch (attention) {
    case Attention::kNaive: return "naive";
    case Attention::kFlash: return "flash";
    case Attention::kFlash1: return "flash_1";
    case Attention::kMemoryEfficient: return "memory_efficient";
  }
  return "";
}

const std::vector<Attention>& all_attentions() {
  static const std::vector<Attention> kAll = {Attention::kNaive, Attention::kFlash, Attention::kFlash1,
                                              Attention::kMemoryEfficient};
  return kAll;
}

const char* name_of(Recompute recompute) {
  switch (recompute) {
    case Recompute::kNone: return "none";
    case Recompute::kSelective: return "selective";
    case Recompute::kSelectiveOp: return "selective_op";
    case Recompute::kFull: return "full";
    case Recompute::kFullEarlyStop: return "full_early_stop";
  }
  return "";
}

const char* name_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kAdamW: return "adamw";
  }
  return "";
}

const char* name_of(Implementation implementation) {
  switch (implementation) {
    case Implementation::kEager: return "eager";
    case Implementation::kCompiled: return "compiled";
    case Implementation::kFused: return "fused";
    case Implementation::kAccocal: return "accocal";
  }
  return "";
}

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::kGelu: return "gelu";
    case Activation::kGeluNew: return "gelu_new";
    case Activation::kRelu: return "relu";
    case Activation::kSilu: return "silu";
  }
  return "";
}

const char* name_of(Balance balance) { return balance == Balance::kSpeed ? "speed" : "none"; }

const char* name_of(Autocast autocast) {
  switch (autocast) {
    case Autocast::kNone: return "none";
    case Autocast::kFp16: return "fp16";
    case Autocast::kBf16: return "bf16";
  }
  return "";
}

const char* name_of(OptimizerImplementation implementation) {
  switch (implementation) {
    case OptimizerImplementation::kFused: return "fused";
    case OptimizerImplementation::kForeach: return "foreach";
  }
  return "";
}

const char* name_of(Sync sync) {
  switch (sync) {
    case Sync::kLastMicroBatch: return "last_micro_batch";
    case Sync::kEveryMicroBatch: return "every_micro_batch";
  }
  return "";
}

bool runs_on(const std::string& architecture, Attention attention) {
  if (architecture == "volta") return attention != Attention::kFlash && attention != Attention::kFlash1;
  return architecture != "turing" || attention != Attention::kFlash;
}

bool has_bucket_copies(const ScheduleSpec& spec) {
  const bool one_buffer = spec.overlap == Overlap::kNone && spec.buckets == Buckets::kWhole;
  return !spec.gradient_as_bucket_view && !one_buffer;
}

const char* name_of(Overlap overlap) {
  switch (overlap) {
    case Overlap::kNone: return "none";
    case Overlap::kBackward: return "backward";
  }
  return "";
}

const char* name_of(Buckets buckets) {
  switch (buckets) {
    case Buckets::kTensors: return "tensors";
    case Buckets::kUnits: return "units";
    case Buckets::kWhole: return "whole";
  }
  return "";
}

const char* name_of(Reduction reduction) {
  return reduction == Reduction::kReduceScatter ? "reduce_scatter" : "all_reduce";
}

const char* name_of(Framework framework) {
  switch (framework) {
    case Framework::kPytorch: return "pytorch";
    case Framework::kDeepspeed: return "deepspeed";
    case Framework::kMegatron: return "megatron";
  }
  return "";
}

const char* name_of(OptimizerSharding sharding) {
  switch (sharding) {
    case OptimizerSharding::kNone: return "none";
    case OptimizerSharding::kZeroRedundancy: return "zero_redundancy";
  }
  return "";
}

const char* name_of(LateCommunication late) {
  switch (late) {
    case LateCommunication::kWait: return "wait";
    case LateCommunication::kAccumulate: return "accumulate";
  }
  return "";
}

const char* name_of(GemmLayout layout) {
  switch (layout) {
    case GemmLayout::kAny: return "any";
    case GemmLayout::kNN: return "NN";
    case GemmLayout::kTN: return "TN";
    case GemmLayout::kNT: return "NT";
    case GemmLayout::kTT: return "TT";
  }
  return "";
}

GemmLayout layout_of(bool transpose_a, bool transpose_b) {
  if (transpose_a) return transpose_b ? GemmLayout::kTT : GemmLayout::kTN;
  return transpose_b ? GemmLayout::kNT : GemmLayout::kNN;
}

const char* name_of(ShardGroup group) {
  switch (group) {
    case ShardGroup::kWorld: return "world";
    case ShardGroup::kNode: return "node";
  }
  return "";
}

const char* name_of(Replica replica) {
  switch (replica) {
    case Replica::kGpu: return "gpu";
    case Replica::kNode: return "node";
    case Replica::kGroup: return "group";
  }
  return "";
}

const char* name_of(OuterDtype dtype) {
  switch (dtype) {
    case OuterDtype::kFp32: return "fp32";
    case OuterDtype::kFp16: return "fp16";
    case OuterDtype::kBf16: return "bf16";
    case OuterDtype::kInt8: return "int8";
  }
  return "";
}

Bytes outer_bytes(const ScheduleSpec& spec) {
  if (!spec.outer_dtype) return bytes_of(spec.parameter_dtype);
  switch (*spec.outer_dtype) {
    case OuterDtype::kFp32: return Bytes{4};
    case OuterDtype::kFp16:
    case OuterDtype::kBf16: return Bytes{2};
    case OuterDtype::kInt8: return Bytes{1};
  }
  return Bytes{0};
}

bool is_sharded_inside(const ScheduleSpec& spec) { return spec.inner == Inner::kZero3; }

}  // namespace accosim
