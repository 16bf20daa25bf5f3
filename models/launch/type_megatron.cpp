// The arguments of Megatron-LM's pretrain_gpt.py (megatron/training/arguments.py, core_v0.15), and the same as
// overrides of Megatron-Bridge (067f987), whose recipe has the model. The way back is models/launch/megatron.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/launch/typed.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

using Of = const Typing&;
using Value = std::optional<JsonValue>;

bool is_uneven(const std::vector<int>& blocks) {
  return std::adjacent_find(blocks.begin(), blocks.end(), std::not_equal_to()) != blocks.end();
}
/// "Ettt|(tttt|)*6tttL"; nothing where all chunks are alike.
Value layout(const std::vector<int>& blocks) {
  if (!is_uneven(blocks)) return {};
  const auto chunk = [&](std::size_t i) { return std::string(static_cast<std::size_t>(blocks[i]), 't'); };
  std::string text = "E" + chunk(0) + "|";
  for (std::size_t i = 1, times = 1; i + 1 < blocks.size(); i += times) {
    for (times = 1; i + times + 1 < blocks.size() && blocks[i + times] == blocks[i];) ++times;
    text += times > 1 ? fmt::format("({}|)*{}", chunk(i), times) : chunk(i) + "|";
  }
  return text + chunk(blocks.size() - 1) + "L";
}

/// "([0]*3+[1]*58)": which layers have experts; nothing where all have.
Value layers_with_experts(const std::vector<bool>& in_layer) {
  if (std::ranges::find(in_layer, false) == in_layer.end()) return {};
  std::string text;
  for (std::size_t i = 0, same = 0; i < in_layer.size(); i += same) {
    for (same = 1; i + same < in_layer.size() && in_layer[i + same] == in_layer[i];) ++same;
    text += fmt::format("{}[{}]*{}", i > 0 ? "+" : "", in_layer[i] ? 1 : 0, same);
  }
  return Value("(" + text + ")");
}

/// Elements of a bucket, where they are not what Megatron-LM takes by itself.
Value bucket(Of of) {
  const Bytes element = bytes_of(of.spec.gradient_dtype);
  const CommunicationDefaults usual =
      communication_defaults(Framework::kMegatron, traits_of(of.spec), Overlap::kBackward, element);
  const double own = of.spec.bucket_cap / element,
               its = std::max(usual.bucket_elements, usual.bucket_elements_a_rank * of.replicas);
  return own < its - 0.5 || own > its + 0.5 ? Value(std::llround(own)) : Value();
}

/// "[linear_qkv,linear_fc1]": what Bridge's adapters stand beside, each whole.
std::string bridge_modules(const Lora& lora) {
  constexpr const char* kModules[] = {"linear_qkv", "linear_qkv", "linear_qkv", "linear_proj",
                                      "linear_fc1", "linear_fc1", "linear_fc2"};  // of each target
  std::vector<std::string> modules;
  for (const LoraTarget target : lora.targets) modules.emplace_back(kModules[static_cast<std::size_t>(target)]);
  modules.erase(std::unique(modules.begin(), modules.end()), modules.end());
  return fmt::format("[{}]", fmt::join(modules, ","));
}

const char* mixed_precision(Dtype precision) {
  return precision == Dtype::kFp8    ? "bf16_with_fp8_current_scaling_mixed"
         : precision == Dtype::kFp16 ? "fp16_mixed"
                                     : "bf16_mixed";
}

/// What Megatron-LM's GPT has otherwise than the model.
void tell_model(Of of, std::vector<std::string>& remarks) {
  const Model& model = of.model;
  if (std::ranges::any_of(model.attention_window, [](int each) { return each > 0; }))
    remarks.emplace_back("Megatron-LM's GPT attends to all earlier tokens; the model has windows, which take less.");
  if (model.activation == Activation::kRelu)
    remarks.emplace_back("Megatron-LM has no plain ReLU; its GELU takes as long.");
  if (!model.gated_mlp && model.mlp_bias && !model.qkv_bias)
    remarks.emplace_back("Megatron-LM's GPT has biases in all products.");
  if (!model.causal) remarks.emplace_back("pretrain_gpt.py trains decoders; this model attends to all tokens.");
  const int each = 128 * of.training.parallel.tensor, padded = (model.vocab_size + each - 1) / each * each;
  if (padded != model.vocab_size)
    remarks.push_back(fmt::format("The vocabulary of {} is padded to {}.", model.vocab_size, padded));
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table, a line an argument
void type_megatron(const Typing& of, LaunchForm form, Typed& typed) {
  const bool bridge = form == LaunchForm::kBridge;
  const char* part = "";
  // A bare argument is there or not; an override is true or false, since recipes have opinions.
  const auto say = [&](const char* flag, const char* override, Value value, const char* note = "") {
    const char* const name = bridge ? override : flag;
    if (name == nullptr || !value) return;
    const bool bare = !bridge && value->kind == JsonKind::kBool;
    if (bare && !value->boolean) return;
    if (bare) value.reset();
    typed.arguments.push_back({bridge ? "" : part, name, std::move(value), note});
  };
  const auto whole = [](double number) { return static_cast<std::int64_t>(number); };
  const Model& model = of.model;
  const Training& training = of.training;
  const Parallel& split = training.parallel;
  const ScheduleSpec& spec = of.spec;
  const Experts& experts = model.experts;
  const bool by_kernel = sends_by_kernel(split.dispatcher);
  const bool routed = experts.count > 0, latent = model.latent.key_value_rank > 0;
  const bool piped = split.pipeline > 1, chunks = split.chunks > 1,
             grouped = model.num_key_value_heads != model.num_attention_heads && !latent;
  const bool fp8 = training.precision == Dtype::kFp8, fp16 = training.precision == Dtype::kFp16,
             bf16 = fp8 || training.precision == Dtype::kBf16;
  const bool recomputes = training.activation_recompute != Recompute::kNone,
             blocks = training.activation_recompute == Recompute::kFull;
  const int first = training.recomputed_blocks.first;
  const Sharding sharding = traits_of(spec).sharding;
  const bool sharded = sharding != Sharding::kNothing, fsdp = sharding == Sharding::kParameters,
             beside = spec.overlap == Overlap::kBackward, gathers = spec.overlap_param_gather;

  part = "MODEL_ARGS";
  say("num-layers", nullptr, model.num_hidden_layers);
  say("hidden-size", nullptr, model.hidden_size);
  say("ffn-hidden-size", nullptr, model.intermediate_size);
  say("num-attention-heads", nullptr, model.num_attention_heads);
  say("group-query-attention", nullptr, grouped);
  say("num-query-groups", nullptr, where(grouped, model.num_key_value_heads));
  say("kv-channels", nullptr,
      where(!latent && model.head_dim * model.num_attention_heads != model.hidden_size, model.head_dim));
  say("qk-layernorm", nullptr, model.query_key_norm != QueryKeyNorm::kNone);
  say("multi-latent-attention", nullptr, latent);
  say("q-lora-rank", nullptr, where(model.latent.query_rank > 0, model.latent.query_rank));
  say("kv-lora-rank", nullptr, where(latent, model.latent.key_value_rank));
  say("qk-head-dim", nullptr, where(latent, model.head_dim - model.latent.rotary_dim));
  say("qk-pos-emb-head-dim", nullptr, where(latent, model.latent.rotary_dim));
  say("v-head-dim", nullptr, where(latent, model.latent.value_dim));
  say("num-experts", nullptr, where(routed, experts.count));
  say("moe-router-topk", nullptr, where(routed, experts.per_token));
  say("moe-ffn-hidden-size", nullptr, where(routed, experts.inner_size));
  say("moe-shared-expert-intermediate-size", nullptr, where(experts.shared_inner_size > 0, experts.shared_inner_size));
  say("moe-layer-freq", nullptr, layers_with_experts(experts.in_layer));
  say("moe-router-enable-expert-bias", nullptr, experts.correction_bias);
  say("moe-router-score-function", nullptr, where(experts.correction_bias, "sigmoid"), "which that bias needs");
  say("moe-grouped-gemm", nullptr, routed);
  say("swiglu", nullptr, model.gated_mlp);
  say("normalization", nullptr, where(model.rms_norm, "RMSNorm"));
  say("position-embedding-type", nullptr, where(!model.learned_positions, "rope"));
  say("disable-bias-linear", nullptr, !model.mlp_bias);
  say("add-qkv-bias", nullptr, model.qkv_bias && !model.mlp_bias);
  say("untie-embeddings-and-output-weights", nullptr, !model.tie_word_embeddings);
  say("vocab-size", nullptr, model.vocab_size);
  say("max-position-embeddings", nullptr, std::max(model.max_position_embeddings, training.sequence_length));
  say("seq-length", "dataset.seq_length", training.sequence_length);

  part = "TRAINING_ARGS";
  say("micro-batch-size", "train.micro_batch_size", training.micro_batch_size);
  say("global-batch-size", "train.global_batch_size", whole(of.samples));
  say("train-iters", "train.train_iters", whole(of.steps));
  say(nullptr, "mixed_precision", where(bf16 || fp16, mixed_precision(training.precision)));
  say("bf16", nullptr, bf16);
  say("fp16", nullptr, fp16);
  say("fp8-format", nullptr, where(fp8, "hybrid"));
  say("fp8-recipe", nullptr, where(fp8, "tensorwise"));
  say("clip-grad", "optimizer.clip_grad", training.gradient_clipping ? 1.0 : 0.0);
  say("attention-dropout", "model.attention_dropout", training.dropout);
  say("hidden-dropout", "model.hidden_dropout", training.dropout);
  say("attention-backend", nullptr, training.attention == Attention::kNaive ? "unfused" : "flash");
  say("recompute-granularity", "model.recompute_granularity",
      where(recomputes, name_of(training.activation_recompute)));
  say("recompute-method", "model.recompute_method", where(blocks, first > 0 ? "block" : "uniform"));
  say("recompute-num-layers", "model.recompute_num_layers", where(blocks, std::max(1, first)));

  const Lora& lora = training.lora;
  say(nullptr, "peft.dim", where(lora.on(), lora.rank));
  say(nullptr, "peft.target_modules", where(lora.on(), bridge_modules(lora)));

  part = "PARALLEL_ARGS";
  say("tensor-model-parallel-size", "model.tensor_model_parallel_size", split.tensor);
  say("sequence-parallel", "model.sequence_parallel", split.sequence);
  say("tp-comm-overlap", "comm_overlap.tp_comm_overlap", split.overlap_tensor);
  say("expert-model-parallel-size", "model.expert_model_parallel_size", where(split.experts > 1, split.experts));
  say("expert-tensor-parallel-size", "model.expert_tensor_parallel_size", where(split.whole_experts, 1));
  say("moe-token-dispatcher-type", "model.moe_token_dispatcher_type",
      where(routed, by_kernel ? "flex" : name_of(split.dispatcher)));
  say("moe-enable-deepep", nullptr, by_kernel);
  say(nullptr, "model.moe_flex_dispatcher_backend", where(by_kernel, name_of(split.dispatcher)));
  say("overlap-moe-expert-parallel-comm", "comm_overlap.overlap_moe_expert_parallel_comm",
      where(split.overlap_experts, true));
  say("pipeline-model-parallel-size", "model.pipeline_model_parallel_size", split.pipeline);
  say("num-virtual-stages-per-pipeline-rank", nullptr, where(chunks && !is_uneven(split.blocks), split.chunks));
  say(nullptr, "model.virtual_pipeline_model_parallel_size", where(chunks, split.chunks));
  say("pipeline-model-parallel-layout", "model.pipeline_model_parallel_layout", layout(split.blocks));
  say("no-overlap-p2p-communication", nullptr, chunks && !split.overlap_messages);
  say(nullptr, "comm_overlap.overlap_p2p_comm", where(piped, split.overlap_messages));
  say("use-tp-pp-dp-mapping", "dist.use_tp_pp_dp_mapping", piped && split.order != order_of(kUsualOrder));

  part = "DATA_PARALLEL_ARGS";
  say("use-distributed-optimizer", "ddp.use_distributed_optimizer", sharded);
  say(nullptr, "optimizer.use_distributed_optimizer", sharded);
  say("overlap-grad-reduce", "ddp.overlap_grad_reduce", beside || fsdp);
  say("overlap-param-gather", "ddp.overlap_param_gather", gathers || fsdp);
  say("no-align-param-gather", nullptr, gathers && chunks && !spec.align_param_gather);
  say(nullptr, "ddp.align_param_gather", where(gathers && chunks, spec.align_param_gather));
  say("ddp-bucket-size", "ddp.bucket_size", beside && !fsdp ? bucket(of) : Value(), "elements");
  say("grad-reduce-in-bf16", nullptr, bf16 && spec.gradient_dtype == Dtype::kBf16);
  say("accumulate-allreduce-grads-in-fp32", nullptr, fp16 && spec.gradient_dtype == Dtype::kFp32);
  say(nullptr, "ddp.grad_reduce_in_fp32", spec.gradient_dtype == Dtype::kFp32);
  say("use-megatron-fsdp", "ddp.use_megatron_fsdp", fsdp);
  say("data-parallel-sharding-strategy", "ddp.data_parallel_sharding_strategy", where(fsdp, "optim_grads_params"));
  say("ckpt-format", "checkpoint.ckpt_format", where(fsdp, "fsdp_dtensor"), "the only one that Megatron-FSDP has");
  say("num-distributed-optimizer-instances", "ddp.num_distributed_optimizer_instances",
      where(is_hybrid(spec) && of.nodes > split.pipeline, of.nodes / split.pipeline), "shards in a node");
  say("optimizer-cpu-offload", "optimizer.optimizer_cpu_offload", spec.offload_optimizer);
  say("use-precision-aware-optimizer", "optimizer.use_precision_aware_optimizer", spec.offload_optimizer,
      "which offloading needs");

  if (bridge)
    typed.remarks.push_back(
        fmt::format("The model, {}, is the recipe's{}.", model.name, lora.on() ? ", which must be one of LoRA" : ""));
  else
    tell_model(of, typed.remarks);
  if (training.attention == Attention::kFlash3)
    typed.remarks.emplace_back("Transformer Engine takes FlashAttention 3 where it is installed.");
}

}  // namespace accosim
