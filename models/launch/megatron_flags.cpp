#include "models/launch/megatron_flags.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/base/text.hpp"

namespace accosim {
namespace {

/// Names, or beginnings of names where they end in "-".
constexpr std::string_view kWithoutEffect[] = {"lr",
                                               "lr-",
                                               "min-lr",
                                               "decoupled-",
                                               "weight-decay",
                                               "weight-decay-",
                                               "start-weight-decay",
                                               "end-weight-decay",
                                               "adam-",
                                               "init-method-std",
                                               "seed",
                                               "save",
                                               "save-",
                                               "load",
                                               "load-",
                                               "data-",
                                               "split",
                                               "log-",
                                               "tensorboard-",
                                               "wandb-",
                                               "eval-",
                                               "num-workers",
                                               "valid-num-workers",
                                               "vocab-file",
                                               "vocab-extra-ids",
                                               "merge-file",
                                               "tokenizer-",
                                               "tiktoken-",
                                               "exit-",
                                               "distributed-backend",
                                               "distributed-timeout-minutes",
                                               "ckpt-",
                                               "dist-ckpt-",
                                               "auto-detect-ckpt-format",
                                               "no-load-",
                                               "no-save-",
                                               "async-save",
                                               "finetune",
                                               "mock-data",
                                               "no-create-attention-mask-in-dataloader",
                                               "no-mmap-bin-files",
                                               "mmap-bin-files",
                                               "train-data-path",
                                               "valid-data-path",
                                               "test-data-path",
                                               "train-weighted-split-paths-path",
                                               "valid-weighted-split-paths-path",
                                               "test-weighted-split-paths-path",
                                               "dataloader-type",
                                               "reset-position-ids",
                                               "reset-attention-mask",
                                               "eod-mask-loss",
                                               "rotary-",
                                               "use-rotary-position-embeddings-",
                                               "use-rope-scaling",
                                               "rope-",
                                               "no-rope-freq",
                                               "norm-epsilon",
                                               "layernorm-epsilon",
                                               "epsilon",
                                               "initial-loss-scale",
                                               "loss-scale",
                                               "loss-scale-window",
                                               "min-loss-scale",
                                               "hysteresis",
                                               "manual-gc",
                                               "manual-gc-",
                                               "empty-unused-memory-level",
                                               "timing-log-level",
                                               "timing-log-option",
                                               "use-mcore-models",
                                               "use-legacy-models",
                                               "rampup-batch-size",
                                               "step-batch-size-schedule",
                                               "decrease-batch-size-if-needed",
                                               "override-opt-param-scheduler",
                                               "override-lr-scheduler",
                                               "use-checkpoint-opt-param-scheduler",
                                               "use-checkpoint-lr-scheduler",
                                               "kill-switch-path",
                                               "abort-on-unmet-fused-kernel-constraints",
                                               "sync-tp-duplicated-parameters",
                                               "universal-checkpoint",
                                               "check-for-nan-in-loss-and-grad",
                                               "no-check-for-nan-in-loss-and-grad",
                                               "calculate-per-token-loss",
                                               "no-async-tensor-model-parallel-allreduce",
                                               "no-query-key-layer-scaling",
                                               "apply-query-key-layer-scaling",
                                               "apply-layernorm-1p",
                                               "attention-softmax-in-fp32",
                                               "num-dataset-builder-threads",
                                               "job-name",
                                               "local-rank",
                                               "node-rank",
                                               "cross-entropy-loss-fusion",
                                               "cross-entropy-fusion-impl",
                                               "max-position-embeddings",
                                               "make-vocab-size-divisible-by",
                                               "deallocate-pipeline-outputs",
                                               "variable-seq-lengths",
                                               "codecarbon-dir",
                                               "inference-",
                                               "transformer-pipeline-model-parallel-size",
                                               "enable-one-logger",
                                               "one-logger-",
                                               "te-rng-tracker",
                                               "fp8-amax-history-len",
                                               "fp8-amax-compute-algo",
                                               "fp8-interval",
                                               "fp8-margin",
                                               "loss-on-targets-only",
                                               "deepspeed-activation-checkpointing",
                                               "deepspeed",
                                               "clone-scatter-output-in-embedding",
                                               "use-cpu-initialization",
                                               "lazy-mpu-init",
                                               "high-priority-stream-groups",
                                               "straggler-",
                                               "disable-straggler-on-startup",
                                               "rerun-mode",
                                               "error-injection-",
                                               "use-tokenizer-model-from-checkpoint-args",
                                               "legacy-tokenizer",
                                               "trust-remote-code",
                                               "mmap-",
                                               "s3-cache-path",
                                               "bert-",
                                               "mask-",
                                               "short-seq-prob",
                                               "skip-train",
                                               "config-logger-dir"};

struct Unmodelled {
  std::string_view name;
  const char* what;
};
constexpr Unmodelled kUnmodelled[] = {
    {"qk-layernorm", "two small norms a block"},
    {"qk-layernorm-hidden-dim", "two small norms a block"},
    {"window-size", "attention would be cheaper"},
    {"softmax-type", "a small part of attention"},
    {"attention-output-gate", "one more product a block"},
    {"embed-layernorm", "one more norm of the embedding"},
    {"embedding-init-method-std", "nothing of the time"},
    {"overlap-p2p-communication-warmup-flush", "transfers between stages would hide in warm-up and drain too"},
    {"microbatch-group-size-per-virtual-pipeline-stage", "the order of micro-batches under interleaving"},
    {"overlap-param-gather-with-optimizer-step", "the first gather would hide behind the optimizer's step"},
    {"fp8-param-gather", "parameters would be gathered at half of the bytes"},
    {"fp8-recipe", "scales by tensor are taken"},
    {"first-last-layers-bf16", "first and last blocks would run in bf16"},
    {"use-precision-aware-optimizer", "the optimizer's states would take less memory"},
    {"exp-avg-dtype", "the optimizer's states would take less memory"},
    {"exp-avg-sq-dtype", "the optimizer's states would take less memory"},
    {"main-params-dtype", "the optimizer's states would take less memory"},
    {"main-grads-dtype", "gradients would take less memory"},
    {"optimizer-offload-fraction", "a part of the optimizer would stay on the GPU"},
    {"overlap-cpu-optimizer-d2h-h2d", "copies would hide behind the host's step"},
    {"distribute-saved-activations", "kept activations would be sliced and gathered"},
    {"cpu-offloading", "activations would go to the host"},
    {"cpu-offloading-num-layers", "activations would go to the host"},
    {"fine-grained-activation-offloading", "activations would go to the host"},
    {"no-masked-softmax-fusion", "more kernels in attention"},
    {"no-bias-gelu-fusion", "one more kernel a block"},
    {"no-bias-swiglu-fusion", "one more kernel a block"},
    {"no-bias-dropout-fusion", "one more kernel a block"},
    {"no-rope-fusion", "more kernels in attention"},
    {"no-gradient-accumulation-fusion", "a pass over each weight's gradient"},
    {"no-persist-layer-norm", "slower norms"},
    {"enable-cuda-graph", "launches would take no time"},
    {"external-cuda-graph", "launches would take no time"},
    {"cuda-graph-impl", "launches would take no time"},
    {"cuda-graph-scope", "launches would take no time"},
    {"delay-wgrad-compute", "gradients of weights would be computed later"},
    {"tp-comm-bulk-dgrad", "finer overlap of tensor-parallel collectives"},
    {"tp-comm-bulk-wgrad", "finer overlap of tensor-parallel collectives"},
    {"tp-comm-overlap-ag", "finer overlap of tensor-parallel collectives"},
    {"tp-comm-overlap-rs", "finer overlap of tensor-parallel collectives"},
    {"tp-comm-overlap-rs-dgrad", "finer overlap of tensor-parallel collectives"},
    {"tp-comm-overlap-cfg", "finer overlap of tensor-parallel collectives"},
    {"disable-tp-comm-bulk-dgrad", "finer overlap of tensor-parallel collectives"},
    {"disable-tp-comm-bulk-wgrad", "finer overlap of tensor-parallel collectives"},
    {"disable-tp-comm-split-ag", "finer overlap of tensor-parallel collectives"},
    {"disable-tp-comm-split-rs", "finer overlap of tensor-parallel collectives"},
    {"ddp-num-buckets", "the size of the gradients' buckets"},
    {"ddp-average-in-collective", "nothing that is counted"},
    {"profile", "a profiler slows the steps that it watches"},
    {"profile-step-start", "a profiler slows the steps that it watches"},
    {"profile-step-end", "a profiler slows the steps that it watches"},
    {"profile-ranks", "a profiler slows the steps that it watches"},
    {"use-pytorch-profiler", "a profiler slows the steps that it watches"},
};

/// What makes another model or training, unless its value is one that switches it off.
struct Refused {
  std::string_view name;
  const char* what;
  std::string_view harmless = "";
};
constexpr const char* kExperts = "experts are not modelled yet; give a launch line of a dense model";
constexpr Refused kRefused[] = {
    {"num-experts", kExperts, "1"},
    {"expert-model-parallel-size", kExperts, "1"},
    {"expert-tensor-parallel-size", kExperts, "1"},
    {"moe-", kExperts},
    {"context-parallel-size", "context parallelism is not modelled yet; write 1", "1"},
    {"hierarchical-context-parallel-sizes", "context parallelism is not modelled yet; leave it out"},
    {"hybrid-context-parallel", "context parallelism is not modelled yet; leave it out"},
    {"dynamic-context-parallel", "context parallelism is not modelled yet; leave it out"},
    {"ds-sequence-parallel-size", "DeepSpeed's sequence parallelism is not modelled yet; write 1", "1"},
    {"multi-latent-attention", "multi-head latent attention is not modelled yet; give a launch line without"},
    {"q-lora-rank", "multi-head latent attention is not modelled yet; give a launch line without"},
    {"kv-lora-rank", "multi-head latent attention is not modelled yet; give a launch line without"},
    {"mtp-num-layers", "multi-token prediction is not modelled yet; give a launch line without", "0"},
    {"hybrid-", "hybrid and Mamba layers are not modelled yet; give a launch line of a transformer"},
    {"is-hybrid-model", "hybrid and Mamba layers are not modelled yet; give a launch line of a transformer"},
    {"spec", "another model than Megatron's own is not known; give a launch line without"},
    {"encoder-num-layers", "models with an encoder are not modelled yet; give a launch line of a decoder"},
    {"encoder-tensor-model-parallel-size",
     "models with an encoder are not modelled yet; give a launch line of a decoder"},
    {"vision-", "models with an encoder are not modelled yet; give a launch line of a decoder"},
    {"use-checkpoint-args",
     "the sizes come from a checkpoint that is not here; write them, --with '--num-layers 32 ...'"},
    {"yaml-cfg", "the arguments stand in another file, which is not read yet; write them behind the trainer"},
    {"fp4-format", "fp4 is not modelled yet; leave it out"},
};

template <typename Row>
const Row* row_of(const std::string& name, const Row* begin, const Row* end) {
  const Row* const row = std::find_if(begin, end, [&](const Row& each) {
    return each.name.ends_with('-') ? name.starts_with(each.name) : name == each.name;
  });
  return row == end ? nullptr : row;
}

}  // namespace

std::vector<std::string_view> megatron_names(const std::vector<std::string_view>& taken) {
  std::vector<std::string_view> names = taken;
  const auto add = [&](std::string_view name) {
    if (!name.ends_with('-')) names.push_back(name);
  };
  for (const std::string_view name : kWithoutEffect) add(name);
  for (const Unmodelled& row : kUnmodelled) add(row.name);
  for (const Refused& row : kRefused) add(row.name);
  return names;
}

void sort_unread(const Flags& flags, Draft& draft) {
  for (const Flag& flag : flags.unread()) {
    const std::string value = flag.values.empty() ? "" : flag.values.front().text;
    if (const Refused* const row = row_of(flag.name, std::begin(kRefused), std::end(kRefused))) {
      if (!row->harmless.empty() && value == row->harmless)
        draft.without_effect(flag.line, flag.text());
      else
        draft.refuse(flag.line, fmt::format("{}: {}", flag.text(), row->what));
    } else if (const Unmodelled* const other = row_of(flag.name, std::begin(kUnmodelled), std::end(kUnmodelled))) {
      draft.not_modelled(flag.line, fmt::format("{}: {}", flag.text(), other->what));
    } else if (std::any_of(std::begin(kWithoutEffect), std::end(kWithoutEffect), [&](std::string_view each) {
                 return each.ends_with('-') ? flag.name.starts_with(each) : flag.name == each;
               })) {
      draft.without_effect(flag.line, flag.text());
    } else {
      draft.not_modelled(flag.line, fmt::format("{}: not known here; what it changes is not counted", flag.text()));
    }
  }
}

}  // namespace accosim
