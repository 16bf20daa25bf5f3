// The keys of torchtitan's TOML (torchtitan/config/job_config.py, v0.2.0).
#include <fmt/format.h>

#include "models/launch/typed.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

/// Of its Llama 3, in torchtitan/models/llama3/__init__.py.
struct Flavor {
  const char* name;
  int layers, width, inner;
};
constexpr Flavor kFlavors[] = {{"8B", 32, 4096, 14336}, {"70B", 80, 8192, 28672}, {"405B", 126, 16384, 53248}};

const char* long_name(Dtype dtype) { return bytes_of(dtype) > Bytes{2} ? "float32" : "bfloat16"; }

}  // namespace

std::optional<TitanShares> titan_shares(int blocks, const Parallel& parallel) {
  const int runs = parallel.pipeline * parallel.chunks;
  for (const auto& [first, last] : {std::pair(1, 1), {0, 0}, {1, 0}, {0, 1}}) {
    if (blocks + first + last < runs) continue;
    std::vector<int> shares = equal_blocks(blocks + first + last, runs);
    const int most = shares.front();
    shares.front() -= first;
    shares.back() -= last;
    if (!parallel.blocks.empty() && shares != parallel.blocks) continue;
    // One chunk or two are what its schedules have by themselves.
    if (parallel.chunks <= 2) return TitanShares{first, last};
    if ((blocks + first + last + most - 1) / most == runs) return TitanShares{first, last, most};
  }
  return {};
}

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
  const char* flavor = nullptr;
  for (const Flavor& each : kFlavors)
    if (each.layers == model.num_hidden_layers && each.width == model.hidden_size &&
        each.inner == model.intermediate_size)
      flavor = each.name;
  const std::optional<TitanShares> known = titan_shares(model.num_hidden_layers, split);
  const TitanShares shares = known.value_or(TitanShares{});

  table = "model";
  say("name", "llama3");
  say("flavor", flavor == nullptr ? JsonValue(model.name) : JsonValue(flavor));
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
  if (model.learned_positions || !model.gated_mlp)
    typed.remarks.emplace_back("torchtitan's llama3 has rotary positions, RMS norms and a gate; this model has not.");
  if (piped && !known)
    typed.remarks.emplace_back("torchtitan cannot be told these blocks of each chunk: it shares them in its own way.");
  if (split.overlap_tensor && training.implementation != Implementation::kCompiled)
    typed.remarks.emplace_back("Async tensor parallelism needs compiled kernels.");
}

}  // namespace accosim
