// The keys of torchtitan's TOML (torchtitan/config/job_config.py, v0.2.0).
#include <fmt/format.h>

#include <tuple>

#include "models/launch/titan.hpp"
#include "models/launch/typed.hpp"
#include "models/read/load.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

constexpr TitanFlavor kFlavors[] = {{"llama3/8B", "llama-3-8b"},
                                    {"llama3/70B", "llama-3-70b"},
                                    {"llama3/405B", "llama-3-405b"},
                                    {"qwen3/0.6B", "qwen3-0.6b"},
                                    {"qwen3/1.7B", "qwen3-1.7b"},
                                    {"qwen3/4B", "qwen3-4b"},
                                    {"qwen3/8B", "qwen3-8b"},
                                    {"qwen3/14B", "qwen3-14b"},
                                    {"qwen3/32B", "qwen3-32b"},
                                    {"qwen3/30B-A3B", "qwen3-30b-a3b"},
                                    {"qwen3/235B-A22B", "qwen3-235b-a22b"},
                                    {"deepseek_v3/16B", "deepseek-v2-lite"},
                                    {"deepseek_v3/236B", "deepseek-v2"},
                                    {"deepseek_v3/671B", "deepseek-v3"},
                                    {"gpt_oss/20b", "gpt-oss-20b"},
                                    {"gpt_oss/120b", "gpt-oss-120b"}};

/// That with the model's sizes; nullptr: none.
const TitanFlavor* flavor_of(const Model& model) {
  const auto sizes = [](const Model& of) {
    return std::tuple(of.num_hidden_layers, of.hidden_size, of.num_attention_heads, of.intermediate_size,
                      of.experts.count, of.latent.key_value_rank, of.query_key_norm);
  };
  for (const TitanFlavor& each : kFlavors)
    if (sizes(load_model(each.shipped)) == sizes(model)) return &each;
  return nullptr;
}

const char* long_name(Dtype dtype) { return bytes_of(dtype) > Bytes{2} ? "float32" : "bfloat16"; }

}  // namespace

std::span<const TitanFlavor> titan_flavors() { return kFlavors; }

std::vector<int> titan_blocks(int blocks, int runs, int first, int last) {
  if (runs < 1 || blocks + first + last < runs) return {};
  std::vector<int> shares = equal_blocks(blocks + first + last, runs);
  shares.front() -= first;
  shares.back() -= last;
  return shares;
}

std::optional<TitanShares> titan_shares(int blocks, const Parallel& parallel) {
  const int runs = parallel.pipeline * parallel.chunks;
  for (const auto& [first, last] : {std::pair(1, 1), {0, 0}, {1, 0}, {0, 1}}) {
    const std::vector<int> shares = titan_blocks(blocks, runs, first, last);
    if (shares.empty()) continue;
    const int most = shares.front() + first;
    if (!parallel.blocks.empty() && shares != parallel.blocks) continue;
    // One chunk or two are what its schedules have by themselves.
    if (parallel.chunks <= 2) return TitanShares{first, last};
    if ((blocks + first + last + most - 1) / most == runs) return TitanShares{first, last, most};
  }
  return {};
}

// NOLINTNEXTLINE(readability-function-size): a table, a line an argument
void type_torchtitan(const Typing& of, Typed& typed) {
  const char* table = "";
  const auto say = [&](const char* key, std::optional<JsonValue> value) {
    if (value) typed.file.push_back({table, key, std::move(value)});
  };
  const Model& model = of.model;
  const Training& training = of.training;
  const Parallel& split = training.parallel;
  const bool piped = split.pipeline > 1, fp8 = training.precision == Dtype::kFp8;
  const int every = training.recomputed_blocks.every, steps = training.gradient_accumulation_steps;
  const bool operators = training.activation_recompute == Recompute::kSelectiveOp, selective = operators || every > 1,
             recomputes = training.activation_recompute != Recompute::kNone;
  constexpr const char* kSchedules[] = {"GPipe", "1F1B", "Interleaved1F1B"};
  const TitanFlavor* const flavor = flavor_of(model);
  const std::optional<TitanShares> known = titan_shares(model.num_hidden_layers, split);
  const TitanShares shares = known.value_or(TitanShares{});

  table = "model";
  const std::string known_as = flavor == nullptr ? "llama3/" + model.name : flavor->name;
  say("name", known_as.substr(0, known_as.find('/')));
  say("flavor", known_as.substr(known_as.find('/') + 1));
  say("converters", where(fp8, std::vector<JsonValue>{"float8"}));
  table = "optimizer";
  say("name", "AdamW");
  say("implementation", name_of(training.optimizer_implementation));
  table = "training";
  say("seq_len", training.sequence_length);
  // Stages pass micro-batches of a batch on; else each is a batch of its own.
  say("local_batch_size", training.micro_batch_size * (piped ? steps : 1));
  say("global_batch_size", static_cast<std::int64_t>(of.samples));
  say("steps", static_cast<std::int64_t>(of.steps));
  say("max_norm", 1.0);
  say("dtype", long_name(of.spec.optimizer_dtype));
  say("mixed_precision_param", long_name(of.spec.parameter_dtype));
  say("mixed_precision_reduce", "float32");
  table = "parallelism";
  say("data_parallel_replicate_degree", is_hybrid(of.spec) ? of.replicas / (of.gpus_per_node / split.tensor) : 1);
  say("data_parallel_shard_degree", -1);
  say("fsdp_reshard_after_forward", piped || !of.spec.reshard_after_forward ? "never" : "always");
  say("tensor_parallel_degree", split.tensor);
  say("expert_parallel_degree", where(split.experts > 1, split.experts));
  say("expert_tensor_parallel_degree",
      where(split.experts > 1 && split.tensor > 1, split.whole_experts ? 1 : split.tensor));
  say("enable_async_tensor_parallel", where(split.tensor > 1, split.overlap_tensor));
  say("pipeline_parallel_degree", split.pipeline);
  say("pipeline_parallel_schedule", where(piped, kSchedules[static_cast<int>(split.schedule)]));
  say("pipeline_parallel_microbatch_size", where(piped, training.micro_batch_size));
  say("pipeline_parallel_layers_per_stage", where(piped && shares.per_stage > 0, shares.per_stage));
  say("pipeline_parallel_first_stage_less_layers", where(piped, shares.first));
  say("pipeline_parallel_last_stage_less_layers", where(piped, shares.last));
  table = "activation_checkpoint";
  say("mode", !recomputes ? "none" : selective ? "selective" : "full");
  say("selective_ac_option", where(selective, operators ? "op" : std::to_string(every)));
  say("early_stop", where(recomputes, training.activation_recompute == Recompute::kFullEarlyStop));
  table = "compile";
  say("enable", training.implementation == Implementation::kCompiled);
  table = "quantize.linear.float8";
  say("recipe_name", where(fp8, "tensorwise"));
  say("filter_fqns", where(fp8, std::vector<JsonValue>{"output"}));

  if (flavor == nullptr)
    typed.remarks.push_back(
        fmt::format("torchtitan has no flavor of {} blocks, {} wide; add one to torchtitan/models/llama3/__init__.py.",
                    model.num_hidden_layers, model.hidden_size));
  if (flavor == nullptr && (model.learned_positions || !model.gated_mlp))
    typed.remarks.emplace_back("torchtitan's llama3 has rotary positions, RMS norms and a gate; this model has not.");
  if (piped && !known)
    typed.remarks.emplace_back("torchtitan cannot be told these blocks of each chunk: it shares them in its own way.");
  if (split.overlap_tensor && training.implementation != Implementation::kCompiled)
    typed.remarks.emplace_back("Async tensor parallelism needs compiled kernels.");
}

}  // namespace accosim
