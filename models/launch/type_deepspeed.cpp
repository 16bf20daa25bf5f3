// Arguments of Hugging Face's Trainer (transformers.TrainingArguments) and keys of DeepSpeed's JSON
// (deepspeed/runtime/config.py, zero/config.py). The way back is models/launch/deepspeed.cpp and hugging_face.cpp.
#include <fmt/format.h>

#include <cmath>

#include "models/launch/typed.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {

// NOLINTNEXTLINE(readability-function-size): a table, a line an argument
void type_deepspeed(const Typing& of, Typed& typed) {
  const auto argument = [&](const char* name, bool wanted, JsonValue value) {
    if (wanted) typed.arguments.push_back({"", name, std::move(value)});
  };
  const auto key = [&](const char* part, const char* name, bool wanted, JsonValue value) {
    if (wanted) typed.file.push_back({part, name, std::move(value)});
  };
  const Training& training = of.training;
  const ScheduleSpec& spec = of.spec;
  const int stage = static_cast<int>(traits_of(spec).sharding), steps = training.gradient_accumulation_steps;
  const bool bf16 = training.precision == Dtype::kBf16, fp16 = training.precision == Dtype::kFp16,
             fused = training.optimizer_implementation == OptimizerImplementation::kFused,
             host = spec.offload_optimizer, naive = training.attention == Attention::kNaive;
  const bool recomputes = training.activation_recompute != Recompute::kNone,
             stops = training.activation_recompute == Recompute::kFullEarlyStop;
  // Only stages 1 and 2 have buckets that are the user's to choose.
  const bool buckets = stage == 1 || stage == 2, gathers = spec.parameter_sync == ParameterSync::kAllGather;
  const bool sums = (bf16 || fp16) && spec.gradient_dtype == Dtype::kFp32 && stage < 3;
  const auto elements = [](Bytes bytes, Dtype dtype) { return std::llround(bytes / bytes_of(dtype)); };

  argument("model_name_or_path", true, of.model.name);
  argument("block_size", true, training.sequence_length);
  argument("per_device_train_batch_size", true, training.micro_batch_size);
  argument("gradient_accumulation_steps", true, steps);
  argument("max_steps", true, static_cast<std::int64_t>(of.steps));
  argument("bf16", bf16, "True");
  argument("fp16", fp16, "True");
  argument("tf32", training.precision == Dtype::kTf32, "True");
  argument("max_grad_norm", true, training.gradient_clipping ? 1.0 : 0.0);
  argument("optim", !fused, "adamw_torch");
  argument("gradient_checkpointing", recomputes, "True");
  argument("gradient_checkpointing_kwargs", stops, "{\"use_reentrant\": false}");
  argument("torch_compile", training.implementation == Implementation::kCompiled, "True");
  argument("attn_implementation", training.attention != Attention::kFlash, naive ? "eager" : "flash_attention_3");
  argument("use_liger_kernel", training.loss == Loss::kFusedLinear, "True");
  const Lora& lora = training.lora;
  const bool four = lora.base == LoraBase::kNf4;
  argument("use_peft", lora.on(), "True");
  argument("lora_r", lora.on(), lora.rank);
  if (lora.on())
    typed.arguments.push_back({"", fmt::format("lora_target_modules {}", fmt::join(module_names(lora), " "))});
  argument("load_in_4bit", four, "True");
  argument("use_bnb_nested_quant", four, "True");
  argument("deepspeed", true, "ds_config.json");

  constexpr const char *kZero = "/zero_optimization", *kHost = "/zero_optimization/offload_optimizer",
                       *kOptimizer = "/optimizer/params";
  key("", "train_micro_batch_size_per_gpu", true, training.micro_batch_size);
  key("", "gradient_accumulation_steps", true, steps);
  key("", "gradient_clipping", true, training.gradient_clipping ? 1.0 : 0.0);
  key("/bf16", "enabled", bf16, true);
  key("/fp16", "enabled", fp16, true);
  key("", "communication_data_type", sums, "fp32");
  key("/data_types", "grad_accum_dtype", sums, "fp32");
  key(kZero, "stage", true, stage);
  key(kZero, "overlap_comm", buckets, spec.overlap == Overlap::kBackward);
  key(kZero, "contiguous_gradients", buckets, !spec.gradient_as_bucket_view);
  key(kZero, "reduce_bucket_size", buckets, elements(spec.bucket_cap, spec.gradient_dtype));
  key(kZero, "allgather_partitions", buckets, gathers);
  key(kZero, "allgather_bucket_size", buckets && gathers, elements(spec.gather_cap, spec.parameter_dtype));
  key(kZero, "mics_shard_size", is_hybrid(spec), of.gpus_per_node);
  key(kHost, "device", host, "cpu");
  key(kHost, "pin_memory", host, true);
  key("/optimizer", "type", fused, "AdamW");
  for (const char* const name : {"lr", "betas", "eps", "weight_decay"}) key(kOptimizer, name, fused, "auto");

  if (training.dropout > 0)
    typed.remarks.push_back(fmt::format("Dropout of {} is set in the model's config.json.", training.dropout));
  if (training.attention != Attention::kFlash)
    typed.remarks.emplace_back("attn_implementation is of TRL's scripts; others give it to from_pretrained().");
  if (lora.on())
    typed.remarks.emplace_back(
        "LoRA's arguments are of TRL's sft.py, which calls block_size max_length; others give a LoraConfig to "
        "get_peft_model().");
  if (training.loss == Loss::kFusedLinear)
    typed.remarks.emplace_back("Liger's kernels fuse norms, positions and gate besides the loss.");
}

}  // namespace accosim
