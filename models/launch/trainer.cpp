#include "models/launch/trainer.hpp"

namespace accosim {
namespace {

using Beginning = std::pair<std::string_view, std::string_view>;
constexpr Beginning kNested[] = {{"fsdp-config.fsdp-", "fsdp-"},
                                 {"fsdp-config.", "fsdp-"},
                                 {"deepspeed.", kDeepspeedKeys},
                                 {"accelerate.fsdp-config.fsdp-", "fsdp-"},
                                 {"accelerate.fsdp-config.", "fsdp-"},
                                 {"accelerate.fsdp-", "fsdp-"},
                                 {"accelerate.parallelism-config.parallelism-config-", "parallelism-config."},
                                 {"accelerate.parallelism-config.", "parallelism-config."}};
constexpr Beginning kOfModel[] = {{"model.", ""}, {"training.model.", ""}, {"training.trainer.", "trainer."}};

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table, a line a trainer
std::span<const Trainer> trainers() {
  static const Trainer kTrainers[] = {
      {"torchtitan",
       TrainerReader::kTorch,
       "torchtitan.train run_train.sh",
       "training.local_batch_size job.config_file job.dump_folder training.seq_len model.flavor",
       false,
       {titan_rows()},
       "training.local_batch_size=8 training.seq_len=2048 training.steps=10000 training.mixed_precision_param=bfloat16 "
       "training.mixed_precision_reduce=float32 activation_checkpoint.mode=selective "
       "activation_checkpoint.selective_ac_option=2 "
       "fsdp-on=true sequence-parallel=true"},
      {"LLaMA-Factory",
       TrainerReader::kTorch,
       "llamafactory-cli llamafactory.cli",
       "finetuning_type cutoff_len",
       true,
       {llama_factory_rows(), hugging_face_rows(), deepspeed_rows()},
       "finetuning_type=lora stage=sft cutoff_len=2048 per_device_train_batch_size=8 "
       "gradient_checkpointing=true lora_rank=8 lora_target=all double_quantization=true no_sync=true",
       kNested},
      {"axolotl",
       TrainerReader::kTorch,
       "axolotl axolotl.cli.train",
       "base_model",
       false,
       {axolotl_rows(), hugging_face_rows(), deepspeed_rows()},
       "micro_batch_size=1 sequence_len=512 bf16=auto optimizer=adamw_torch_fused double_quant=true no_sync=true",
       kNested},
      {"NeMo",
       TrainerReader::kMegatron,
       "megatron_gpt_pretraining.py megatron_gpt_finetuning.py",
       "trainer.num_nodes exp_manager.name",
       true,
       {nemo_rows()},
       "optim.overlap_grad_sync=true transformer_impl=local peft.lora_tuning.adapter_dim=32 "
       "peft.lora_tuning.target_modules=attention_qkv",
       kOfModel},
      {"Megatron-Bridge",
       TrainerReader::kMegatron,
       "run_recipe.py run_script.py setup_experiment.py",
       "train.global_batch_size train.micro_batch_size train.train_iters ddp.use_distributed_optimizer",
       true,
       {bridge_rows()},
       "ddp.use_distributed_optimizer=true ddp.overlap_grad_reduce=true ddp.overlap_param_gather=true "
       "ddp.grad_reduce_in_fp32=false mixed_precision=bf16_mixed hidden_dropout=0 attention_dropout=0 "
       "moe_grouped_gemm=true moe_token_dispatcher_type=alltoall peft.target_modules=all-linear",
       kOfModel,
       "what a recipe sets in code is not known: bf16, ZeRO-1 with both overlaps and gradients reduced in bf16 are "
       "assumed "
       "where nothing else is said"},
      {"llm-foundry",
       TrainerReader::kTorch,
       "",
       "max_duration max_seq_len",
       true,
       {foundry_rows(), hugging_face_rows()},
       "algorithms.gradient_clipping.clipping_threshold=0",
       kNested},
      {"Megatron-LM", TrainerReader::kMegatron, "pretrain_*", "", false, {megatron_rows(), deepspeed_rows()}},
      {"Hugging Face's Trainer",
       TrainerReader::kTorch,
       "run_clm* trl",
       "per_device_train_batch_size model_name_or_path",
       false,
       {hugging_face_rows(), deepspeed_rows()},
       "per_device_train_batch_size=8 no_sync=true",
       kNested},
      {"DeepSpeed", TrainerReader::kTorch, "", "deepspeed_config", false, {hugging_face_rows(), deepspeed_rows()}}};
  return kTrainers;
}

}  // namespace accosim
