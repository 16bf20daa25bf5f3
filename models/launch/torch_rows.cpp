// Arguments and keys of the trainers that run PyTorch's own DDP and FSDP, or DeepSpeed: Hugging Face's Trainer with
// accelerate below it, and those that are not far from it.
#include "models/launch/trainer.hpp"
#include "models/spec/not_modelled.hpp"

namespace accosim {
namespace {

constexpr const char* kAdapterDropout = "a kernel each way before each adapter";
constexpr const char* kLiger = "norms, positions and gate would be fused";

constexpr TrainerRow kHuggingFace[] = {
    {"fsdp-reshard-after-forward=full_shard|shard_grad_op|no_shard|hybrid_shard|hybrid_shard_zero2", KeyUse::kTaken,
     "fsdp-sharding-strategy"},
    {"model-name-or-path per-device-train-batch-size gradient-accumulation-steps max-steps num-train-epochs "
     "bf16 fp16 tf32 torch-dtype gradient-checkpointing use-reentrant max-grad-norm optim "
     "torch-compile attn-implementation deepspeed fsdp fsdp-config ddp-bucket-cap-mb ddp-broadcast-buffers packing "
     "fsdp-version fsdp-sharding-strategy fsdp-reshard-after-forward fsdp-backward-prefetch "
     "fsdp-activation-checkpointing fsdp-auto-wrap-policy no-sync deepspeed-config"},
    {"config-name model-name", KeyUse::kTaken, "model-name-or-path"},
    {"train-batch-size per-gpu-train-batch-size", KeyUse::kTaken, "per-device-train-batch-size"},
    {"block-size", KeyUse::kTaken, "max-seq-length"},
    {"max-seq-length model-max-length max-length", KeyUse::kTaken, "max-seq-length may-pad"},
    {"dtype", KeyUse::kTaken, "torch-dtype"},
    {"gradient-checkpointing-kwargs.use-reentrant gradient-checkpointing-kwargs", KeyUse::kTaken, "use-reentrant"},
    {"attention-implementation", KeyUse::kTaken, "attn-implementation"},
    {"use-flash-attn use-flash-attn-2 use-flash-attention-2", KeyUse::kTaken, "attn-implementation=flash_attention_2"},

    {"use-liger-kernel=true use-liger=true", KeyUse::kTaken, "loss=fused_linear", "", kLiger},
    {"torch-compile-", KeyUse::kNoEffect},
    {"fsdp-offload-params fsdp-cpu-offload fsdp-offload", KeyUse::kRefused, lacking::kOnHost},
    {"fsdp-activation-cpu-offload activation-offloading", KeyUse::kNotModelled,
     "kept activations would go to the host"},
    {"fsdp-min-num-params fsdp-use-orig-params fsdp-sync-module-states fsdp-state-dict-type "
     "fsdp-cpu-ram-efficient-loading fsdp-transformer-layer-cls-to-wrap fsdp-limit-all-gathers fsdp-forward-prefetch "
     "fsdp-load-balanced-sharding fsdp-verbose fsdp-keep-low-precision-grads fsdp-flatten-parameters "
     "fsdp-final-state-dict-type fsdp-xla",
     KeyUse::kNoEffect},
    {"use-peft use-lora", KeyUse::kTaken, "adapters"},
    {"lora-r lora-rank", KeyUse::kTaken, "lora-rank peft-asked"},
    {"lora-target-modules lora-target", KeyUse::kTaken, "lora-targets"},
    {"load-in-4bit bits=4", KeyUse::kTaken, "four-bits"},
    {"use-bnb-nested-quant bnb-4bit-use-double-quant double-quant", KeyUse::kTaken, "nested-scales"},
    {"bits=16|32 lora-alpha lora-bias lora-task-type use-rslora bnb-4bit-", KeyUse::kNoEffect},
    {"lora-dropout", KeyUse::kNotModelled, kAdapterDropout},
    {"lora- use-dora modules-to-save", KeyUse::kRefused, lacking::kOtherAdapters},
    {"load-in- bits", KeyUse::kRefused, lacking::kOtherQuantised},
    {"sp-size cp-size parallelism-config.cp-size parallelism-config.sp-size", KeyUse::kRefused, lacking::kContexts,
     "1"},
    {"parallelism-config.tp-size", KeyUse::kTaken, "tensor-model-parallel-size"},
    {"parallelism-config.dp-replicate-size", KeyUse::kTaken, "dp-replicate-size"},
    {"parallelism-config.dp-shard-size", KeyUse::kTaken, "dp-shard-size"},
    {"beta max-prompt-length max-completion-length num-generations reward-funcs reward-model-path", KeyUse::kRefused,
     lacking::kOtherPasses},
    {"neftune-noise-alpha packing-strategy assistant-only-loss average-tokens-across-devices", KeyUse::kNoEffect},

    {"accelerate.distributed-type=fsdp", KeyUse::kTaken, "fsdp-on"},
    {"accelerate.use-fsdp", KeyUse::kTaken, "fsdp-on"},
    {"accelerate.distributed-type=deepspeed accelerate.use-deepspeed", KeyUse::kTaken, "deepspeed-on"},
    {"accelerate.distributed-type=megatron_lm accelerate.use-megatron-lm", KeyUse::kRefused,
     "accelerate's Megatron-LM is not read yet; give its own launch line"},
    {"accelerate.distributed-type=multi_gpu|no accelerate.multi-gpu", KeyUse::kNoEffect},
    {"accelerate.mixed-precision=bf16", KeyUse::kTaken, "bf16"},
    {"accelerate.mixed-precision=fp16", KeyUse::kTaken, "fp16"},
    {"accelerate.mixed-precision=fp8", KeyUse::kNotModelled, "products would run in fp8"},
    {"accelerate.deepspeed-config-file accelerate.deepspeed-config.deepspeed-config-file", KeyUse::kTaken, "deepspeed"},
    {"accelerate.deepspeed-config.zero-stage accelerate.zero-stage", KeyUse::kTaken, "ds.zero-optimization.stage"},
    {"accelerate.deepspeed-config.offload-optimizer-device accelerate.offload-optimizer-device", KeyUse::kTaken,
     "ds.zero-optimization.offload-optimizer.device"},
    {"accelerate.deepspeed-config.offload-param-device accelerate.offload-param-device", KeyUse::kRefused,
     lacking::kOnHost},
    {"accelerate.deepspeed-config.gradient-clipping accelerate.gradient-clipping", KeyUse::kTaken,
     "ds.gradient-clipping"},
    {"accelerate.num-machines", KeyUse::kTaken, "launcher-nodes"},
    {"accelerate.num-processes", KeyUse::kTaken, "launcher-gpus"},
    {"accelerate.gradient-accumulation-steps accelerate.deepspeed-config.gradient-accumulation-steps",
     KeyUse::kNoEffect},  // the Trainer's counts
    {"accelerate.deepspeed-config. accelerate.zero3- accelerate.num- accelerate.machine-rank accelerate.main- "
     "accelerate.compute-environment accelerate.debug accelerate.downcast-bf16 accelerate.rdzv- "
     "accelerate.same-network accelerate.tpu- accelerate.use-cpu accelerate.enable-cpu-affinity accelerate.gpu-ids "
     "accelerate.config-file accelerate.max-restarts accelerate.dynamo- accelerate.deepspeed- accelerate.role "
     "accelerate.tee accelerate.log-dir accelerate.module accelerate.m accelerate.mixed-precision accelerate.fsdp "
     "accelerate.command-file accelerate.commands accelerate.tpu accelerate.monitor-interval",
     KeyUse::kNoEffect},

    {"learning-rate lr- warmup- weight-decay adam- seed data-seed output-dir overwrite- do-train do-eval do-predict "
     "logging- log- report-to run-name save- eval- evaluation-strategy per-device-eval- load-best- metric- dataset- "
     "dataset train-file validation- tokenizer- use-fast-tokenizer cache-dir model-revision token use-auth-token hub- "
     "push-to-hub dataloader- preprocessing- remove-unused-columns ddp-timeout ddp-find-unused-parameters local-rank "
     "disable-tqdm streaming trust-remote-code low-cpu-mem-usage group-by-length max-train-samples max-eval-samples "
     "ignore-data-skip resume-from-checkpoint data-path chat-template wandb- tags config use-cache "
     "include-tokens-per-second include-num-input-tokens-seen eos-token pad-token tf32 bf16-full-eval "
     "auto-find-batch-size prediction-loss-only label-names full-determinism greater-is-better length-column-name "
     "project trackio- skip-memory-metrics no-cuda fp16- half-precision-backend batch-eval-metrics "
     "use-mps-device past-index jit-mode-eval",
     KeyUse::kNoEffect},
};

constexpr TrainerRow kLlamaFactory[] = {
    {"finetuning_type=full", KeyUse::kTaken, "adapters=false"},
    {"finetuning_type=lora", KeyUse::kTaken, "adapters base-as-computed"},
    {"finetuning_type=oft use_dora additional_target", KeyUse::kRefused, lacking::kOtherAdapters},
    {"lora_rank", KeyUse::kTaken, "lora-rank"},
    {"quantization_bit=4", KeyUse::kTaken, "four-bits"},
    {"double_quantization", KeyUse::kTaken, "nested-scales"},
    {"quantization_method=bnb|bitsandbytes quantization_type", KeyUse::kNoEffect},
    {"finetuning_type", KeyUse::kRefused,
     "a part of the weights alone is trained: give a configuration of full training"},
    {"stage=pt", KeyUse::kTaken, "packing=true"},
    {"stage=sft", KeyUse::kNoEffect},
    {"stage", KeyUse::kRefused, lacking::kOtherPasses},
    {"cutoff_len", KeyUse::kTaken, "max-seq-length may-pad"},
    {"neat_packing", KeyUse::kTaken, "packing", "",
     "each sequence attends to itself alone: write training.sequence_lengths with \"separate\""},
    {"disable_gradient_checkpointing=true", KeyUse::kTaken, "gradient-checkpointing=false"},
    {"use_reentrant_gc", KeyUse::kTaken, "use-reentrant"},
    {"pure_bf16=true", KeyUse::kTaken, "bf16=false torch-dtype=bfloat16"},
    {"flash_attn=fa2 attn=fa2", KeyUse::kTaken, "attn-implementation=flash_attention_2"},
    {"flash_attn=fa3 attn=fa3", KeyUse::kTaken, "attn-implementation=flash_attention_3"},
    {"flash_attn=disabled attn=disabled", KeyUse::kTaken, "attn-implementation=eager"},
    {"flash_attn=auto|sdpa attn=auto|sdpa", KeyUse::kNoEffect},
    {"quantization_bit quantization_method", KeyUse::kRefused, lacking::kOtherQuantised},
    {"use_galore use_apollo use_badam use_muon use_adam_mini", KeyUse::kRefused, lacking::kOptimizers},
    {"mixture_of_depths", KeyUse::kRefused, "mixtures of depths are not modelled yet; leave it out"},
    {"enable_liger_kernel=true", KeyUse::kTaken, "loss=fused_linear", "", kLiger},
    {"use_unsloth use_unsloth_gc", KeyUse::kNotModelled, "norms, positions, gate, loss and adapters would be fused"},
    {"sequence_parallel_size", KeyUse::kRefused, lacking::kContexts, "1"},
    {"tensor_model_parallel_size pipeline_model_parallel_size expert_model_parallel_size use_distributed_optimizer",
     KeyUse::kRefused, "LLaMA-Factory's Megatron is not read yet; give a configuration without", "1"},
    {"fp8", KeyUse::kNotModelled, "products would run in fp8"},
    {"lora_alpha loraplus_ use_rslora pissa_ fp8_ use_dft_loss use_asft_loss asft_alpha use_eaft_loss eaft_ "
     "use_v1_kernels template rope_scaling "
     "max_samples plot_loss image_ video_ audio_ mix_strategy interleave_probs val_size "
     "train_on_prompt mask_history tokenized_path buffer_size media_dir galore_ apollo_ badam_ upcast_ resize_vocab "
     "split_special_tokens freeze_ pref_ dpo_ reward_ ppo_ ref_ ray_ max_new_tokens top_p enable_thinking "
     "create_new_adapter additional_target shift_attn use_swanlab swanlab_ ignore_pad_token_for_loss "
     "predict_with_generate compute_accuracy disable_gradient_checkpointing pure_bf16 infer_ vllm_ hf_hub_token "
     "ms_hub_token data_shared_file_system default_system tool_format file_dataset_dir",
     KeyUse::kNoEffect},
};

constexpr TrainerRow kAxolotl[] = {
    {"base_model", KeyUse::kTaken, "model-name-or-path"},
    {"sequence_len", KeyUse::kTaken, "max-seq-length may-pad"},
    {"micro_batch_size", KeyUse::kTaken, "per-device-train-batch-size"},
    {"num_epochs", KeyUse::kTaken, "num-train-epochs"},
    {"sample_packing", KeyUse::kTaken, "packing"},
    {"adapter", KeyUse::kTaken, "adapters"},
    {"lora_r", KeyUse::kTaken, "lora-rank"},
    {"lora_target_linear", KeyUse::kTaken, "lora-everywhere"},
    {"lora_modules_to_save lora_target_parameters lora_rank_pattern peft_use_dora peft_layers_to_transform "
     "peft_trainable_token_indices",
     KeyUse::kRefused, lacking::kOtherAdapters},
    {"lora_mlp_kernel lora_qkv_kernel lora_o_kernel lora_embedding_kernel", KeyUse::kNotModelled,
     "adapters would be fused with what is beside them"},
    {"lora_dropout", KeyUse::kNotModelled, kAdapterDropout},
    {"load_in_8bit gptq qat", KeyUse::kRefused, lacking::kOtherQuantised},
    {"bf16=true|auto|yes bfloat16=true", KeyUse::kTaken, "bf16 torch-dtype=bfloat16"},
    {"bf16=full", KeyUse::kTaken, "torch-dtype=bfloat16"},
    {"float16=true", KeyUse::kTaken, "fp16"},
    {"fp8 float8", KeyUse::kNotModelled, "products would run in fp8"},
    {"gradient_checkpointing=offload|offload_disk|unsloth", KeyUse::kTaken, "gradient-checkpointing=true", "",
     "kept activations would go to the host"},
    {"flash_attention=true attn_implementation=flash|fa2", KeyUse::kTaken, "attn-implementation=flash_attention_2"},
    {"sdp_attention=true", KeyUse::kTaken, "attn-implementation=sdpa"},
    {"eager_attention=true", KeyUse::kTaken, "attn-implementation=eager"},
    {"xformers_attention=true", KeyUse::kTaken, "attn-implementation=xformers"},
    {"flex_attention sage_attention s2_attention", KeyUse::kNotModelled,
     "another kernel of attention than FlashAttention 2"},
    {"fsdp_version", KeyUse::kTaken, "fsdp-version fsdp-on"},
    {"fsdp_auto_wrap_policy", KeyUse::kTaken, "fsdp-auto-wrap-policy fsdp-on"},
    {"optimizer", KeyUse::kTaken, "optim"},
    {"dp_replicate_size", KeyUse::kTaken, "dp-replicate-size"},
    {"dp_shard_size", KeyUse::kTaken, "dp-shard-size"},
    {"tensor_parallel_size", KeyUse::kTaken, "tensor-model-parallel-size"},
    {"context_parallel_size sequence_parallel_degree", KeyUse::kRefused, lacking::kContexts, "1"},
    {"expert_parallel_size", KeyUse::kTaken, "expert-model-parallel-size"},
    {"rl reward_model process_reward_model num_labels", KeyUse::kRefused, lacking::kOtherPasses},
    {"unfrozen_parameters", KeyUse::kRefused,
     "a part of the weights alone is trained: give a configuration of full training"},
    {"liger_fused_linear_cross_entropy=true", KeyUse::kTaken, "loss=fused_linear"},
    {"cut_cross_entropy=true", KeyUse::kTaken, "loss=cut"},
    {"chunked_cross_entropy=true", KeyUse::kTaken, "loss=chunked"},
    {"liger_ unsloth_ activation_offloading", KeyUse::kNotModelled, kLiger},
    {"pad_to_sequence_len plugins base_model_ tokenizer datasets test_datasets pretraining_dataset "
     "shuffle_ val_set_size evals_per_epoch saves_per_epoch sample_packing_ eval_sample_packing train_on_inputs "
     "special_tokens tokens strict debug early_stopping_ xformers_ flash_attention flash_attn_ s2_ flash_optimum "
     "lora_alpha lora_fan_in_fan_out lora_on_cpu lora_model_dir loraplus_ bnb_config_kwargs "
     "is_ model_type tokenizer_ added_tokens_ eot_tokens eta_min hf_use_auth_token skip_prepare_dataset "
     "flex_attn_compile_kwargs full_finetune "
     "processor_type use_eaft eaft_ fp8_ peft_ mlflow_ comet_ loss_watchdog_ "
     "auto_resume_ learning_rate lr_ cosine_ relora_ model_config overrides_of_model_config trust_remote_code "
     "group_by_length hub_ use_tensorboard gc_steps profiler_ deepspeed_ chat_template_ default_system_ "
     "bfloat16 float16 sdp_attention eager_attention xformers_attention experimental_ remove_unused_ rope_ "
     "excess_length_strategy gpu_memory_limit local_files_only eval_ save_ noisy_embedding_alpha "
     "include_tokens_per_second use_ray ray_ logging_steps warmup_",
     KeyUse::kNoEffect},
};

constexpr TrainerRow kFoundry[] = {
    {"max_seq_len", KeyUse::kTaken, "max-seq-length"},
    {"device_train_microbatch_size", KeyUse::kTaken, "per-device-train-batch-size micro-batch-at-most"},
    {"global_train_batch_size", KeyUse::kTaken, "global-batch-size"},
    {"max_duration", KeyUse::kTaken, "max-duration"},
    {"train_loader.name=finetuning", KeyUse::kTaken, "may-pad"},
    {"train_loader.dataset.packing_ratio", KeyUse::kTaken, "packing"},
    {"precision=amp_bf16|bf16", KeyUse::kTaken, "bf16=true"},
    {"precision=amp_fp16|fp16", KeyUse::kTaken, "fp16=true"},
    {"precision=amp_fp8", KeyUse::kTaken, "bf16=true", "", "products would run in fp8"},
    {"precision=fp32", KeyUse::kNoEffect},
    {"model.name=mpt_causal_lm", KeyUse::kTaken, "written-out-model"},
    {"model.name=hf_causal_lm", KeyUse::kNoEffect},
    {"model.name", KeyUse::kRefused, "of models only mpt_causal_lm and hf_causal_lm are read"},
    {"model.pretrained_model_name_or_path", KeyUse::kTaken, "model-name-or-path"},
    {"model.n_layers", KeyUse::kTaken, "num-layers"},
    {"model.d_model", KeyUse::kTaken, "hidden-size"},
    {"model.n_heads", KeyUse::kTaken, "num-attention-heads"},
    {"model.expansion_ratio", KeyUse::kTaken, "expansion-ratio"},
    {"model.vocab_size", KeyUse::kTaken, "vocab-size"},
    {"model.attn_config.attn_impl model.attn_impl", KeyUse::kTaken, "attn-implementation"},
    {"model.attn_config.attn_type=grouped_query_attention|multiquery_attention "
     "model.ffn_config.ffn_type=mb_moe|mb_dmoe",
     KeyUse::kRefused, "not modelled for mpt_causal_lm yet; give --model FILE"},
    {"model.attn_config.alibi", KeyUse::kNotModelled, "no table of positions, and a bias on the scores"},
    {"model.no_bias", KeyUse::kNotModelled, "biases are a small part of a step"},
    {"model.peft_config.peft_type=lora", KeyUse::kTaken, "adapters"},
    {"model.peft_config.r", KeyUse::kTaken, "lora-rank"},
    {"model.peft_config.target_modules", KeyUse::kTaken, "lora-targets"},
    {"model.peft_config.lora_dropout", KeyUse::kNotModelled, kAdapterDropout},
    {"model.peft_config.lora_alpha model.peft_config.bias model.peft_config.task_type", KeyUse::kNoEffect},
    {"model.peft_config.", KeyUse::kRefused, lacking::kOtherAdapters},
    {"algorithms.gradient_clipping.clipping_threshold", KeyUse::kTaken, "max-grad-norm"},
    {"algorithms.gradient_clipping.clipping_type", KeyUse::kNoEffect},
    {"algorithms.", KeyUse::kNotModelled, "changes what a step does"},
    {"optimizer.name=decoupled_adamw|adamw", KeyUse::kNoEffect},
    {"optimizer.name", KeyUse::kRefused, lacking::kOptimizers},
    {"fsdp-mixed-precision=pure", KeyUse::kTaken, "fsdp-reduce-dtype=bfloat16"},
    {"fsdp-mixed-precision=default", KeyUse::kTaken, "fsdp-reduce-dtype=float32"},
    {"fsdp-mixed-precision", KeyUse::kNotModelled, "gathers and reductions would be of other types"},
    {"fsdp-activation-checkpointing-reentrant", KeyUse::kTaken, "use-reentrant"},
    {"fsdp-device-mesh", KeyUse::kTaken, "device-mesh"},
    {"data_local data_remote global_seed run_name model. tokenizer. train_loader. eval_loader. eval_loader icl_ "
     "scheduler. optimizer. eval_ seed device_eval_ precision progress_bar log_to_console console_log_interval "
     "callbacks. loggers. save_ load_ dist_timeout python_log_level autoresume variables. callbacks train_loader "
     "dataset. expt_name max_split_size_mb device_train_batch_size num_canonical_nodes data_dir code_paths "
     "tokenizer_name "
     "metadata. compute. image name integrations command scheduling. cluster gpu_type gpu_num",
     KeyUse::kNoEffect},
};

constexpr TrainerRow kTitan[] = {
    {"fsdp-on sequence-parallel"},
    {"model.name", KeyUse::kTaken, "model-name"},
    {"model.flavor", KeyUse::kTaken, "model-flavor"},
    // What names say of the release: until 2025-02 AdamW was not fused, until 2025-08 recomputation stopped early.
    {"training.batch_size", KeyUse::kTaken, "per-device-train-batch-size until-2025-08"},
    {"training.local_batch_size", KeyUse::kTaken, "per-device-train-batch-size"},
    {"training.global_batch_size=-1", KeyUse::kNoEffect},
    {"training.global_batch_size", KeyUse::kTaken, "global-batch-size"},
    {"training.gradient_accumulation_steps", KeyUse::kTaken, "gradient-accumulation-steps"},
    {"training.seq_len", KeyUse::kTaken, "max-seq-length"},
    {"training.steps", KeyUse::kTaken, "max-steps"},
    {"training.max_norm", KeyUse::kTaken, "max-grad-norm"},
    {"training.mixed_precision_param", KeyUse::kTaken, "fsdp-param-dtype"},
    {"training.mixed_precision_reduce", KeyUse::kTaken, "fsdp-reduce-dtype"},
    {"training.dtype=float32", KeyUse::kNoEffect},
    {"training.dtype", KeyUse::kTaken, "optimizer-dtype"},
    {"training.enable_cpu_offload experimental.enable_cpu_offload", KeyUse::kRefused, lacking::kOnHost},
    {"training.compile", KeyUse::kTaken, "torch-compile until-2025-08"},
    {"compile.enable", KeyUse::kTaken, "torch-compile"},
    {"compile.components", KeyUse::kTaken, "torch-compile-parts"},
    {"parallelism.data_parallel_replicate_degree training.data_parallel_replicate_degree", KeyUse::kTaken,
     "dp-replicate-size"},
    {"parallelism.data_parallel_shard_degree", KeyUse::kTaken, "dp-shard-size"},
    {"training.data_parallel_shard_degree training.data_parallel_degree", KeyUse::kTaken,
     "dp-shard-size until-2025-02 until-2025-08"},
    {"parallelism.fsdp_reshard_after_forward=never training.fsdp_reshard_after_forward=never", KeyUse::kTaken,
     "fsdp-reshard-after-forward=false"},
    {"parallelism.fsdp_reshard_after_forward=always", KeyUse::kTaken, "fsdp-reshard-after-forward=true"},
    {"parallelism.fsdp_reshard_after_forward training.fsdp_reshard_after_forward", KeyUse::kNoEffect},
    {"parallelism.tensor_parallel_degree", KeyUse::kTaken, "tensor-model-parallel-size"},
    {"training.tensor_parallel_degree", KeyUse::kTaken, "tensor-model-parallel-size until-2025-02 until-2025-08"},
    {"parallelism.enable_async_tensor_parallel experimental.enable_async_tensor_parallel", KeyUse::kTaken,
     "tp-comm-overlap"},
    {"parallelism.pipeline_parallel_degree", KeyUse::kTaken, "pipeline-model-parallel-size"},
    {"experimental.pipeline_parallel_degree", KeyUse::kTaken,
     "pipeline-model-parallel-size until-2025-02 until-2025-08"},
    {"parallelism.pipeline_parallel_schedule experimental.pipeline_parallel_schedule", KeyUse::kTaken,
     "pipeline-schedule"},
    {"experimental.pipeline_parallel_microbatches", KeyUse::kTaken,
     "pipeline-micro-batches until-2025-02 until-2025-08"},
    {"parallelism.pipeline_parallel_microbatch_size", KeyUse::kTaken, "pipeline-micro-batch-size"},
    {"parallelism.pipeline_parallel_layers_per_stage", KeyUse::kTaken, "layers-per-stage"},
    {"parallelism.pipeline_parallel_first_stage_less_layers", KeyUse::kTaken, "first-stage-less-layers"},
    {"parallelism.pipeline_parallel_last_stage_less_layers", KeyUse::kTaken, "last-stage-less-layers"},
    {"parallelism.context_parallel_degree experimental.context_parallel_degree", KeyUse::kRefused, lacking::kContexts,
     "1"},
    {"parallelism.expert_parallel_degree", KeyUse::kTaken, "expert-model-parallel-size"},
    {"parallelism.expert_tensor_parallel_degree", KeyUse::kTaken, "expert-tensor-parallel-size"},
    {"activation_checkpoint.mode", KeyUse::kTaken, "activation-checkpoint"},
    {"activation_checkpoint.selective_ac_option", KeyUse::kTaken, "selective-ac-option"},
    {"activation_checkpoint.early_stop", KeyUse::kTaken, "early-stop"},
    {"optimizer.name=adamw|adam", KeyUse::kNoEffect},
    {"optimizer.name", KeyUse::kRefused, lacking::kOptimizers},
    {"optimizer.implementation", KeyUse::kTaken, "optimizer-implementation"},
    {"optimizer.fused=true", KeyUse::kTaken, "optimizer-implementation=fused"},
    {"optimizer.early_step_in_backward", KeyUse::kNotModelled, "each gradient would be stepped as soon as it is there"},
    {"model.converters", KeyUse::kTaken, "model-converters"},
    {"float8.enable_float8_linear=true", KeyUse::kTaken, "model-converters=float8"},
    {"float8.enable_fsdp_float8_all_gather quantize.linear.float8.enable_fsdp_float8_all_gather", KeyUse::kNotModelled,
     "where blocks are in fp8, parameters would be gathered at half of the bytes"},
    {"fault_tolerance.enable", KeyUse::kNotModelled, "replicas would meet by torchft"},
    {"profiling.enable_profiling", KeyUse::kNotModelled, "a profiler slows the steps that it watches"},
    {"training.seed training.dataset training.dataset_ training.warmup_steps training.gc_ training.deterministic "
     "training.data_parallel_type training.enable_loss_parallel training.debug parallelism. experimental. model. "
     "optimizer. lr_scheduler. checkpoint. job. profiling. metrics. comm. fault_tolerance. float8. quantize. mx. "
     "compile. activation_checkpoint. memory_estimation. validation. debug. training.loss_parallel",
     KeyUse::kNoEffect},
};

}  // namespace

std::span<const TrainerRow> hugging_face_rows() { return kHuggingFace; }
std::span<const TrainerRow> llama_factory_rows() { return kLlamaFactory; }
std::span<const TrainerRow> axolotl_rows() { return kAxolotl; }
std::span<const TrainerRow> foundry_rows() { return kFoundry; }
std::span<const TrainerRow> titan_rows() { return kTitan; }

}  // namespace accosim
