// Keys of the trainers that run Megatron Core under their own configuration: NeMo 1.x, and Megatron-Bridge.
#include "models/launch/trainer.hpp"
#include "models/spec/not_modelled.hpp"

namespace accosim {
namespace {

constexpr const char* kAdapterDropout = "a kernel each way before each adapter";

// "model." is taken away before.
constexpr TrainerRow kNemo[] = {
    {"micro_batch_size global_batch_size tensor_model_parallel_size pipeline_model_parallel_size encoder_seq_length "
     "max_position_embeddings num_layers hidden_size ffn_hidden_size num_attention_heads kv_channels hidden_dropout "
     "attention_dropout make_vocab_size_divisible_by position_embedding_type normalization sequence_parallel "
     "transformer_impl vocab_size openai_gelu"},
    {"virtual_pipeline_model_parallel_size", KeyUse::kTaken, "num-virtual-stages-per-pipeline-rank"},
    {"num_query_groups", KeyUse::kTaken, "num-query-groups group-query-attention=true"},
    {"activation=swiglu|fast-swiglu|geglu|fast-geglu|reglu|fast-reglu", KeyUse::kTaken, "swiglu=true"},
    {"activation=squared-relu", KeyUse::kTaken, "squared-relu=true"},
    {"activation=gelu|approx-gelu", KeyUse::kNoEffect},
    {"share_embeddings_and_output_weights=false", KeyUse::kTaken, "untie-embeddings-and-output-weights=true"},
    {"bias=false", KeyUse::kTaken, "disable-bias-linear=true"},
    {"qkv_bias=true add_qkv_bias=true", KeyUse::kTaken, "add-qkv-bias=true"},
    {"ub_tp_comm_overlap", KeyUse::kTaken, "tp-comm-overlap"},
    {"overlap_p2p_comm=false", KeyUse::kTaken, "no-overlap-p2p-communication=true"},
    {"activations_checkpoint_granularity", KeyUse::kTaken, "recompute-granularity"},
    {"activations_checkpoint_method", KeyUse::kTaken, "recompute-method"},
    {"activations_checkpoint_num_layers=0 activations_checkpoint_num_layers=-1", KeyUse::kNoEffect},
    {"activations_checkpoint_num_layers", KeyUse::kTaken, "recompute-num-layers"},
    {"activations_checkpoint_layers_per_pipeline num_micro_batches_with_partial_activation_checkpoints",
     KeyUse::kNotModelled, "some micro-batches or stages would recompute fewer blocks"},
    {"mcore_gpt=true transformer_engine=true", KeyUse::kTaken, "transformer-impl=transformer_engine"},
    {"fp8=true", KeyUse::kTaken, "fp8-format=hybrid"},
    {"use_flash_attention=true", KeyUse::kTaken, "use-flash-attn=true"},
    {"megatron_amp_O2=false", KeyUse::kTaken, "autocast=true"},
    {"tokenizer.type=GPT2BPETokenizer", KeyUse::kTaken, "tokenizer-type"},
    {"fsdp=true", KeyUse::kTaken, "use-torch-fsdp2=true"},
    {"fsdp_sharding_strategy=hybrid|grad", KeyUse::kNotModelled, "parameters would be kept, or sharded in groups"},
    {"optim.name=distributed_fused_adam|mcore_distributed_optim", KeyUse::kTaken, "use-distributed-optimizer=true"},
    {"optim.name=fused_adam|adamw|adam|megatron_fused_adam", KeyUse::kNoEffect},
    {"optim.name", KeyUse::kRefused, lacking::kOptimizers},
    {"optim.overlap_grad_sync ddp.overlap_grad_reduce", KeyUse::kTaken, "overlap-grad-reduce"},
    {"optim.overlap_param_sync ddp.overlap_param_gather", KeyUse::kTaken, "overlap-param-gather"},
    {"optim.bucket_cap_mb", KeyUse::kTaken, "bucket-cap-mb"},
    {"optim.grad_sync_dtype=bf16|bfloat16", KeyUse::kTaken, "grad-reduce-in-bf16=true"},
    {"trainer.max_steps", KeyUse::kTaken, "train-iters"},
    {"trainer.precision=bf16|bf16-mixed|bf16-true", KeyUse::kTaken, "bf16=true"},
    {"trainer.precision=16|16-mixed|fp16", KeyUse::kTaken, "fp16=true"},
    {"trainer.precision=32|32-true", KeyUse::kNoEffect},
    {"trainer.gradient_clip_val", KeyUse::kTaken, "clip-grad"},
    {"trainer.devices", KeyUse::kTaken, "launcher-devices"},
    {"trainer.num_nodes", KeyUse::kTaken, "launcher-nodes"},
    {"context_parallel_size", KeyUse::kRefused, lacking::kContexts, "1"},
    {"num_moe_experts", KeyUse::kTaken, "num-experts"},
    {"expert_model_parallel_size", KeyUse::kTaken, "expert-model-parallel-size"},
    {"moe_router_topk moe_grouped_gemm moe_token_dispatcher_type"},
    {"peft.peft_scheme=lora|qlora", KeyUse::kTaken, "adapters"},
    {"peft.lora_tuning.adapter_dim", KeyUse::kTaken, "lora-rank"},
    {"peft.lora_tuning.target_modules", KeyUse::kTaken, "lora-targets"},
    {"data.train_ds.max_seq_length", KeyUse::kTaken, "seq-length"},
    {"peft.lora_tuning.adapter_dropout", KeyUse::kNotModelled, kAdapterDropout},
    {"peft.peft_scheme peft.lora_tuning.layer_selection peft.lora_tuning.weight_tying", KeyUse::kRefused,
     lacking::kOtherAdapters},
    {"gradient_accumulation_fusion=false", KeyUse::kNotModelled, "a pass over each weight's gradient"},
    {"bias_activation_fusion=false bias_dropout_add_fusion=false masked_softmax_fusion=false", KeyUse::kNotModelled,
     "one more kernel a block"},
    {"window_size qk_layernorm", KeyUse::kNotModelled, "a small part of attention"},
    {"defer_embedding_wgrad_compute wgrad_deferral_limit", KeyUse::kNotModelled,
     "the embedding's gradient would be computed later"},
    {"nsys_profile.enabled", KeyUse::kNotModelled, "a profiler slows the steps that it watches"},
    {"defaults hydra. run. exp_manager. trainer. optim. data. tokenizer. nsys_profile. peft. name restore_ base_ model "
     "rampup_batch_size mcore_gpt init_method_std use_scaled_init_method ffn_dropout apply_query_key_layer_scaling "
     "layernorm_epsilon do_layer_norm_ pre_process post_process persist_layer_norm headscale transformer_block_type "
     "normalize_attention_scores rotary_ attention_type native_amp_ hysteresis fp32_residual_connection "
     "fp16_lm_cross_entropy fp8 megatron_amp_O2 grad_ gradient_ bias_ masked_softmax_fusion seed resume_ "
     "use_cpu_initialization onnx_safe apex_ sync_batch_comm fp8_ use_emha batch_p2p_comm overlap_p2p_comm gc_interval "
     "transformer_engine use_flash_attention share_embeddings_ bias fsdp_ fsdp sharp reduce_amax seq_len_interpolation "
     "position_ qkv_bias add_qkv_bias target precision ub_tp_comm_ num_layers_ apply_rope_fusion cross_entropy_ "
     "deterministic_mode dist_ckpt_ use_te_rng_tracker rope_ scale_positional_embedding tp_comm_ mcore_customization_ "
     "openai_ legacy_tokenizer answer_only_loss save_ optim cluster_type dtype data inference. get_attention_ "
     "attention_softmax_in_fp32 moe_ activation_ async_save encoder_ multi_ bucket_ torch_ sync_ validation_ ddp. "
     "nccl_",
     KeyUse::kNoEffect},
};

constexpr TrainerRow kBridge[] = {
    {"train.global_batch_size gb gbs global_batch_size", KeyUse::kTaken, "global-batch-size"},
    {"train.micro_batch_size mb mbs micro_batch_size", KeyUse::kTaken, "micro-batch-size"},
    {"train.train_iters train_iters max_steps ms", KeyUse::kTaken, "train-iters"},
    {"dataset.seq_length dataset.sequence_length seq_length sl", KeyUse::kTaken, "seq-length"},
    {"tensor_model_parallel_size tp", KeyUse::kTaken, "tensor-model-parallel-size"},
    {"pipeline_model_parallel_size pp", KeyUse::kTaken, "pipeline-model-parallel-size"},
    {"virtual_pipeline_model_parallel_size vp", KeyUse::kTaken, "num-virtual-stages-per-pipeline-rank"},
    {"context_parallel_size cp", KeyUse::kRefused, lacking::kContexts, "1"},
    {"num_moe_experts", KeyUse::kTaken, "num-experts"},
    {"expert_model_parallel_size ep", KeyUse::kTaken, "expert-model-parallel-size"},
    {"expert_tensor_parallel_size etp", KeyUse::kTaken, "expert-tensor-parallel-size"},
    {"moe_router_topk moe_ffn_hidden_size moe_shared_expert_intermediate_size moe_layer_freq moe_token_dispatcher_type "
     "moe_grouped_gemm q_lora_rank kv_lora_rank qk_head_dim qk_pos_emb_head_dim v_head_dim qk_layernorm "
     "multi_latent_attention"},
    {"moe_enable_deepep moe_flex_dispatcher_backend overlap_moe_expert_parallel_comm"},
    {"moe_shared_expert_overlap", KeyUse::kNotModelled, "shared experts would run beside the exchanges"},
    {"comm_overlap.overlap_moe_expert_parallel_comm", KeyUse::kTaken, "overlap-moe-expert-parallel-comm"},
    {"num_layers hidden_size ffn_hidden_size num_attention_heads kv_channels sequence_parallel recompute_granularity "
     "recompute_method recompute_num_layers recompute_modules hidden_dropout attention_dropout vocab_size "
     "normalization position_embedding_type make_vocab_size_divisible_by attention_backend bf16 fp16"},
    {"num_query_groups", KeyUse::kTaken, "num-query-groups group-query-attention=true"},
    {"gated_linear_unit=true", KeyUse::kTaken, "swiglu=true"},
    {"add_bias_linear=false", KeyUse::kTaken, "disable-bias-linear=true"},
    {"add_qkv_bias=true", KeyUse::kTaken, "add-qkv-bias=true"},
    {"share_embeddings_and_output_weights=false", KeyUse::kTaken, "untie-embeddings-and-output-weights=true"},
    {"ddp.use_distributed_optimizer optimizer.use_distributed_optimizer", KeyUse::kTaken, "use-distributed-optimizer"},
    {"ddp.overlap_grad_reduce comm_overlap.overlap_grad_reduce", KeyUse::kTaken, "overlap-grad-reduce"},
    {"ddp.overlap_param_gather comm_overlap.overlap_param_gather", KeyUse::kTaken, "overlap-param-gather"},
    {"ddp.align_param_gather=false", KeyUse::kTaken, "no-align-param-gather=true"},
    {"ddp.grad_reduce_in_fp32=true mixed_precision.grad_reduce_in_fp32=true", KeyUse::kTaken,
     "grad-reduce-in-bf16=false"},
    {"ddp.grad_reduce_in_fp32=false mixed_precision.grad_reduce_in_fp32=false", KeyUse::kTaken,
     "grad-reduce-in-bf16=true"},
    {"ddp.bucket_size", KeyUse::kTaken, "ddp-bucket-size"},
    {"ddp.num_distributed_optimizer_instances", KeyUse::kTaken, "num-distributed-optimizer-instances"},
    {"ddp.use_megatron_fsdp use_megatron_fsdp", KeyUse::kTaken, "use-megatron-fsdp"},
    {"ddp.data_parallel_sharding_strategy", KeyUse::kTaken, "data-parallel-sharding-strategy"},
    {"comm_overlap.tp_comm_overlap tp_comm_overlap", KeyUse::kTaken, "tp-comm-overlap"},
    {"mixed_precision=bf16_mixed compute_dtype=bf16", KeyUse::kTaken, "bf16=true fp8-format=none"},
    {"mixed_precision=fp16_mixed mixed_precision=16-mixed", KeyUse::kTaken, "bf16=false fp16=true"},
    {"mixed_precision=bf16_with_nvfp4_mixed compute_dtype=nvfp4", KeyUse::kRefused, lacking::kFp4},
    {"mixed_precision compute_dtype", KeyUse::kTaken, "bf16=true fp8-format=hybrid", "", "the recipe of fp8's scales"},
    {"mixed_precision.fp8=hybrid|e4m3", KeyUse::kTaken, "fp8-format"},
    {"optimizer.clip_grad", KeyUse::kTaken, "clip-grad"},
    {"optimizer.optimizer", KeyUse::kTaken, "optimizer"},
    {"optimizer.optimizer_cpu_offload", KeyUse::kTaken, "optimizer-cpu-offload"},
    {"optimizer.use_precision_aware_optimizer", KeyUse::kNotModelled, "the optimizer's states would take less memory"},
    {"peft=lora peft_scheme=lora mode=lora peft._target_=megatron.bridge.peft.lora.LoRA", KeyUse::kTaken,
     "adapters=true"},
    {"peft=none|null peft_scheme=none|null", KeyUse::kTaken, "adapters=false"},
    {"peft.dim", KeyUse::kTaken, "lora-rank adapters=true"},
    {"peft.target_modules", KeyUse::kTaken, "lora-targets"},
    {"peft.dropout", KeyUse::kNotModelled, kAdapterDropout},
    {"peft.alpha peft.dropout_position peft.lora_A_init_method peft.lora_B_init_method", KeyUse::kNoEffect},
    {"peft peft_scheme mode=dora peft.", KeyUse::kRefused, lacking::kOtherAdapters},
    {"nodes num_nodes", KeyUse::kTaken, "launcher-nodes"},
    {"gpus_per_node", KeyUse::kTaken, "launcher-devices"},
    {"num_gpus ng", KeyUse::kTaken, "launcher-gpus"},
    {"cuda_graph_impl cuda_graph_scope enable_cuda_graph external_cuda_graph", KeyUse::kNotModelled,
     "launches would take no time"},
    {"profiling.use_nsys_profiler profiling.use_pytorch_profiler", KeyUse::kNotModelled,
     "a profiler slows the steps that it watches"},
    {"mtp_num_layers", KeyUse::kRefused, lacking::kNextTokens},
    {"recipe model model_family_name model_recipe_name gpu container_image account partition time_limit hf_token "
     "wandb_ log_dir custom_ data dataset dataset. "
     "scheduler. "
     "optimizer. checkpoint. logger. rng. dist. tokenizer. train. validation. profiling. ddp. comm_overlap. "
     "mixed_precision. peft_ config_file step_func mode lr min_lr warmup_iters pretrained_checkpoint save_dir load_dir "
     "save_interval seed profile. rerun_state_machine. straggler. nvrx_straggler. ft. inprocess_restart. "
     "gradient_accumulation_fusion cross_entropy_ apply_rope_fusion bias_ masked_softmax_fusion params_dtype "
     "pipeline_dtype seq_length_ rotary_ init_method_std layernorm_epsilon max_position_embeddings experiment_name "
     "dryrun moe_ _target_ tensor_ pipeline_ autocast_ deallocate_ tp_comm_ config_variant task domain",
     KeyUse::kNoEffect},
};

}  // namespace

std::span<const TrainerRow> nemo_rows() { return kNemo; }
std::span<const TrainerRow> bridge_rows() { return kBridge; }

}  // namespace accosim
