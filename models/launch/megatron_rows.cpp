// The arguments of Megatron-LM and of the Megatron-DeepSpeed forks.
#include "models/launch/trainer.hpp"
#include "models/spec/not_modelled.hpp"

namespace accosim {
namespace {

constexpr TrainerRow kRows[] = {
    {"num-layers hidden-size num-attention-heads ffn-hidden-size kv-channels group-query-attention "
     "num-query-groups num-key-value-heads swiglu glu-activation train-tokens activations-checkpoint-method "
     "make-vocab-size-divisible-by squared-relu openai-gelu quick-geglu normalization position-embedding-type "
     "use-rotary-position-embeddings no-position-embedding disable-bias-linear add-qkv-bias "
     "untie-embeddings-and-output-weights vocab-size padded-vocab-size pad-vocab-size-to tokenizer-type "
     "tokenizer-model tokenizer-name-or-path seq-length encoder-seq-length max-position-embeddings "
     "micro-batch-size batch-size global-batch-size train-iters train-samples tensor-model-parallel-size "
     "model-parallel-size sequence-parallel tp-comm-overlap pipeline-model-parallel-size "
     "num-layers-per-virtual-pipeline-stage num-virtual-stages-per-pipeline-rank pipeline-model-parallel-layout "
     "decoder-first-pipeline-num-layers decoder-last-pipeline-num-layers account-for-embedding-in-pipeline-split "
     "account-for-loss-in-pipeline-split no-overlap-p2p-communication use-tp-pp-dp-mapping "
     "use-distributed-optimizer overlap-grad-reduce overlap-param-gather no-align-param-gather delay-param-gather "
     "ddp-bucket-size num-distributed-optimizer-instances fp16 bf16 accumulate-allreduce-grads-in-fp32 "
     "grad-reduce-in-bf16 fp8-format fp8-hybrid fp8-e4m3 optimizer optimizer-cpu-offload clip-grad "
     "attention-dropout hidden-dropout recompute-activations recompute-granularity recompute-method "
     "recompute-num-layers recompute-modules checkpoint-activations checkpoint-num-layers transformer-impl "
     "use-flash-attn use-flash-attn-v2 use-flash-attn-triton attention-backend use-megatron-fsdp use-custom-fsdp "
     "data-parallel-sharding-strategy use-torch-fsdp2 torch-fsdp2-no-reshard-after-forward zero-stage "
     "deepspeed deepspeed-config no-pipeline-parallel ds-pipeline pp-partition-method vocab-file "
     "abort-on-unmet-fused-kernel-constraints"},
    {"num-experts moe-router-topk moe-ffn-hidden-size moe-shared-expert-intermediate-size moe-layer-freq "
     "moe-router-enable-expert-bias moe-token-dispatcher-type moe-grouped-gemm expert-model-parallel-size "
     "expert-tensor-parallel-size multi-latent-attention q-lora-rank kv-lora-rank qk-head-dim qk-pos-emb-head-dim "
     "v-head-dim qk-layernorm no-scatter-gather-tensors-in-pipeline DDP-impl"},
    {"moe-expert-capacity-factor moe-pad-expert-input-to-capacity", KeyUse::kNotModelled,
     "what a rank gets beyond its capacity would be dropped, and less than that padded"},
    {"moe-enable-deepep moe-flex-dispatcher-backend overlap-moe-expert-parallel-comm"},
    {"moe-shared-expert-overlap", KeyUse::kNotModelled, "shared experts would run beside the exchanges"},
    {"moe-permute-fusion moe-router-fusion", KeyUse::kNotModelled, "fewer kernels around the exchanges"},
    {"enable-zbh1-pipeline", KeyUse::kRefused, lacking::kZeroBubble},
    {"context-parallel-size hierarchical-context-parallel-sizes hybrid-context-parallel dynamic-context-parallel",
     KeyUse::kRefused, lacking::kContexts, "1"},
    {"ds-sequence-parallel-size", KeyUse::kRefused, lacking::kUlysses, "1"},
    {"mtp-num-layers", KeyUse::kRefused, lacking::kNextTokens},
    {"hybrid- is-hybrid-model", KeyUse::kRefused, lacking::kHybrid},
    {"spec", KeyUse::kRefused, "another model than Megatron's own is not known; give a launch line without"},
    {"encoder-num-layers encoder-tensor-model-parallel-size vision-", KeyUse::kRefused, lacking::kEncoders},
    {"use-checkpoint-args", KeyUse::kRefused,
     "the sizes come from a checkpoint that is not here; write them, --with '--num-layers 32 ...'"},
    {"yaml-cfg", KeyUse::kRefused,
     "the arguments stand in another file, which is not read yet; write them behind the trainer, --with '--num-layers "
     "32 "
     "...'"},
    {"fp4-format", KeyUse::kRefused, lacking::kFp4},
    {"window-size", KeyUse::kNotModelled, "attention would be cheaper"},
    {"softmax-type", KeyUse::kNotModelled, "a small part of attention"},
    {"attention-output-gate", KeyUse::kNotModelled, "one more product a block"},
    {"embed-layernorm", KeyUse::kNotModelled, "one more norm of the embedding"},
    {"embedding-init-method-std", KeyUse::kNotModelled, "nothing of the time"},
    {"overlap-p2p-communication-warmup-flush", KeyUse::kNotModelled,
     "transfers between stages would hide in warm-up and drain too"},
    {"microbatch-group-size-per-virtual-pipeline-stage", KeyUse::kNotModelled,
     "the order of micro-batches under interleaving"},
    {"overlap-param-gather-with-optimizer-step", KeyUse::kNotModelled,
     "the first gather would hide behind the optimizer's step"},
    {"fp8-param-gather", KeyUse::kNotModelled, "parameters would be gathered at half of the bytes"},
    {"fp8-recipe", KeyUse::kNotModelled, "scales by tensor are taken"},
    {"first-last-layers-bf16", KeyUse::kNotModelled, "first and last blocks would run in bf16"},
    {"use-precision-aware-optimizer exp-avg-dtype exp-avg-sq-dtype main-params-dtype", KeyUse::kNotModelled,
     "the optimizer's states would take less memory"},
    {"main-grads-dtype", KeyUse::kNotModelled, "gradients would take less memory"},
    {"optimizer-offload-fraction", KeyUse::kNotModelled, "a part of the optimizer would stay on the GPU"},
    {"overlap-cpu-optimizer-d2h-h2d", KeyUse::kNotModelled, "copies would hide behind the host's step"},
    {"distribute-saved-activations", KeyUse::kNotModelled, "kept activations would be sliced and gathered"},
    {"cpu-offloading cpu-offloading-num-layers fine-grained-activation-offloading", KeyUse::kNotModelled,
     "activations would go to the host"},
    {"no-masked-softmax-fusion no-rope-fusion", KeyUse::kNotModelled, "more kernels in attention"},
    {"no-bias-gelu-fusion no-bias-swiglu-fusion no-bias-dropout-fusion", KeyUse::kNotModelled,
     "one more kernel a block"},
    {"no-gradient-accumulation-fusion", KeyUse::kNotModelled, "a pass over each weight's gradient"},
    {"no-persist-layer-norm", KeyUse::kNotModelled, "slower norms"},
    {"enable-cuda-graph external-cuda-graph cuda-graph-impl cuda-graph-scope", KeyUse::kNotModelled,
     "launches would take no time"},
    {"delay-wgrad-compute", KeyUse::kNotModelled, "gradients of weights would be computed later"},
    {"tp-comm-bulk-dgrad tp-comm-bulk-wgrad tp-comm-overlap-ag tp-comm-overlap-rs tp-comm-overlap-rs-dgrad "
     "tp-comm-overlap-cfg disable-tp-comm-bulk-dgrad disable-tp-comm-bulk-wgrad disable-tp-comm-split-ag "
     "disable-tp-comm-split-rs",
     KeyUse::kNotModelled, "finer overlap of tensor-parallel collectives"},
    {"ddp-num-buckets", KeyUse::kNotModelled, "the size of the gradients' buckets"},
    {"ddp-average-in-collective", KeyUse::kNotModelled, "nothing that is counted"},
    {"profile profile-step-start profile-step-end profile-ranks use-pytorch-profiler", KeyUse::kNotModelled,
     "a profiler slows the steps that it watches"},
    {"lr lr- min-lr decoupled- weight-decay weight-decay- start-weight-decay end-weight-decay adam- "
     "init-method-std seed save save- load load- data- split log- tensorboard- wandb- eval- num-workers "
     "valid-num-workers vocab-extra-ids merge-file tokenizer- tiktoken- exit- distributed-backend "
     "distributed-timeout-minutes ckpt- dist-ckpt- auto-detect-ckpt-format no-load- no-save- async-save finetune "
     "mock-data no-create-attention-mask-in-dataloader no-mmap-bin-files mmap-bin-files train-data-path "
     "valid-data-path test-data-path train-weighted-split-paths-path valid-weighted-split-paths-path "
     "test-weighted-split-paths-path dataloader-type reset-position-ids reset-attention-mask eod-mask-loss rotary- "
     "use-rotary-position-embeddings- use-rope-scaling rope- no-rope-freq norm-epsilon layernorm-epsilon epsilon "
     "initial-loss-scale loss-scale loss-scale-window min-loss-scale hysteresis manual-gc manual-gc- "
     "empty-unused-memory-level timing-log-level timing-log-option use-mcore-models use-legacy-models "
     "rampup-batch-size step-batch-size-schedule decrease-batch-size-if-needed override-opt-param-scheduler "
     "override-lr-scheduler use-checkpoint-opt-param-scheduler use-checkpoint-lr-scheduler kill-switch-path "
     "sync-tp-duplicated-parameters universal-checkpoint "
     "check-for-nan-in-loss-and-grad no-check-for-nan-in-loss-and-grad calculate-per-token-loss "
     "no-async-tensor-model-parallel-allreduce no-query-key-layer-scaling apply-query-key-layer-scaling "
     "apply-layernorm-1p attention-softmax-in-fp32 num-dataset-builder-threads job-name local-rank node-rank "
     "cross-entropy-loss-fusion cross-entropy-fusion-impl deallocate-pipeline-outputs variable-seq-lengths "
     "codecarbon-dir inference- transformer-pipeline-model-parallel-size enable-one-logger one-logger- "
     "te-rng-tracker fp8-amax-history-len fp8-amax-compute-algo fp8-interval fp8-margin loss-on-targets-only "
     "deepspeed-activation-checkpointing clone-scatter-output-in-embedding use-cpu-initialization "
     "lazy-mpu-init high-priority-stream-groups straggler- disable-straggler-on-startup rerun-mode "
     "error-injection- use-tokenizer-model-from-checkpoint-args legacy-tokenizer trust-remote-code mmap- "
     "s3-cache-path moe- num-experts-switch bert- mask- short-seq-prob skip-train config-logger-dir",
     KeyUse::kNoEffect},
};

}  // namespace

std::span<const TrainerRow> megatron_rows() { return kRows; }

}  // namespace accosim
