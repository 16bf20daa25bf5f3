#include "models/launch/deepspeed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "models/base/text.hpp"
#include "models/spec/not_modelled.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024 * 1024;

constexpr TrainerRow kRows[] = {
    {"ds.zero-optimization.stage ds.zero-optimization.overlap-comm ds.zero-optimization.reduce-bucket-size "
     "ds.zero-optimization.allgather-bucket-size ds.zero-optimization.contiguous-gradients "
     "ds.zero-optimization.allgather-partitions ds.zero-optimization.offload-optimizer.device ds.bf16.enabled "
     "ds.fp16.enabled ds.communication-data-type ds.data-types.grad-accum-dtype ds.gradient-clipping "
     "ds.zero-optimization.mics-shard-size ds.train-batch-size ds.train-micro-batch-size-per-gpu "
     "ds.gradient-accumulation-steps"},
    {"ds.bfloat16.enabled", KeyUse::kTaken, "ds.bf16.enabled"},
    {"ds.zero-optimization.cpu-offload=true", KeyUse::kTaken, "ds.zero-optimization.offload-optimizer.device=cpu"},
    {"ds.optimizer.type=adam|adamw", KeyUse::kNoEffect},
    {"ds.optimizer.type", KeyUse::kRefused, lacking::kOptimizers},
    {"ds.zero-optimization.offload-param.device", KeyUse::kRefused, lacking::kOnHost},
    {"ds.sequence-parallel-size", KeyUse::kRefused, lacking::kUlysses, "1"},
    {"ds.tensor-parallel.autotp-size", KeyUse::kTaken, "tensor-model-parallel-size"},
    {"ds.zero-optimization.offload-optimizer.ratio", KeyUse::kNotModelled,
     "a part of the optimizer's step would stay on the GPU", "1"},
    {"ds.zero-optimization.round-robin-gradients", KeyUse::kNotModelled, "copies to the host in turn"},
    {"ds.zero-optimization.zero-hpz-partition-size", KeyUse::kNotModelled,
     "a second copy of parameters near by, for the gathers of the backward pass", "1"},
    {"ds.zero-optimization.zero-quantized-weights", KeyUse::kNotModelled, "parameters would be gathered in int8"},
    {"ds.zero-optimization.zero-quantized-gradients", KeyUse::kNotModelled, "gradients would be reduced in int4"},
    {"ds.activation-checkpointing.partition-activations", KeyUse::kNotModelled, "kept activations would be sliced"},
    {"ds.activation-checkpointing.cpu-checkpointing", KeyUse::kNotModelled, "kept activations would go to the host"},
    {"ds.wall-clock-breakdown", KeyUse::kNotModelled, "timers that wait for the GPU"},
    {"ds.flops-profiler.enabled", KeyUse::kNotModelled, "a profiler slows the steps that it watches"},
    {"ds.torch-autocast.enabled", KeyUse::kNotModelled, "operators would choose their precision"},
    {"ds.compression-training. ds.curriculum-learning. ds.data-efficiency.", KeyUse::kNotModelled,
     "what a step has would change while it trains"},
    {"ds.optimizer. ds.scheduler. ds.fp16. ds.bf16. ds.zero-optimization. ds.activation-checkpointing. "
     "ds.flops-profiler. ds.steps-per-print ds.zero-allow-untested-optimizer ds.aio. ds.tensorboard. ds.wandb. "
     "ds.csv-monitor. ds.monitor-config. ds.comms-logger. ds.checkpoint. ds.data-types. ds.dump-state "
     "ds.prescale-gradients ds.gradient-predivide-factor ds.zero-force-ds-cpu-optimizer ds.timers. "
     "ds.memory-breakdown ds.seed ds.nebula.",
     KeyUse::kNoEffect},
};

const char* dtype_of(const std::string& name) {
  const std::string small = lower(name);
  return small == "bf16" || small == "bfloat16"                     ? "bf16"
         : small == "fp16" || small == "float16" || small == "half" ? "fp16"
                                                                    : "fp32";
}

}  // namespace

std::span<const TrainerRow> deepspeed_rows() { return kRows; }

void read_deepspeed(Flags& flags, int gpus_per_node, Draft& draft) {
  const auto set = [&](const std::string& pointer, JsonValue value, std::string_view name) {
    draft.set(pointer, std::move(value), flags.place({name}));
  };
  const std::optional<double> stage = flags.number({"ds.zero-optimization.stage"});
  const int level = static_cast<int>(std::clamp(stage.value_or(0), 0.0, 3.0));
  if (stage) set("/schedules/0/name", plain_schedule(static_cast<Sharding>(level)).name, "ds.zero-optimization.stage");
  for (const char* const type : {"bf16", "fp16"})
    if (const std::string key = fmt::format("ds.{}.enabled", type); flags.on(key))
      set("/training/precision", type, key);
  std::string reduced;
  if (const auto type = flags.text({"ds.communication-data-type"})) {
    reduced = dtype_of(*type);
    if (level < 3) set("/schedules/0/gradient_dtype", reduced, "ds.communication-data-type");
  }
  const JsonValue* const precision = draft.at("/training/precision");
  const bool stored = precision == nullptr || precision->text == "fp32" || precision->text == "tf32";
  const double bytes = stored || reduced == "fp32" ? 4 : 2;
  if (const auto sums = flags.text({"ds.data-types.grad-accum-dtype"}); sums && level < 3)
    set("/schedules/0/gradient_dtype", dtype_of(*sums), "ds.data-types.grad-accum-dtype");
  if (level == 1 || level == 2) {
    if (flags.has("ds.zero-optimization.overlap-comm"))
      set("/schedules/0/overlap", flags.on("ds.zero-optimization.overlap-comm") ? "backward" : "none",
          "ds.zero-optimization.overlap-comm");
    if (const auto elements = flags.number({"ds.zero-optimization.reduce-bucket-size"}))
      set("/schedules/0/bucket_cap_mb", *elements * bytes / kMiB, "ds.zero-optimization.reduce-bucket-size");
    if (const auto elements = flags.number({"ds.zero-optimization.allgather-bucket-size"}))
      set("/schedules/0/gather_bucket_mb", *elements * (stored ? 4 : 2) / kMiB,
          "ds.zero-optimization.allgather-bucket-size");
    if (flags.has("ds.zero-optimization.contiguous-gradients"))
      set("/schedules/0/gradient_as_bucket_view", !flags.on("ds.zero-optimization.contiguous-gradients"),
          "ds.zero-optimization.contiguous-gradients");
    if (flags.has("ds.zero-optimization.allgather-partitions") &&
        !flags.on("ds.zero-optimization.allgather-partitions"))
      set("/schedules/0/parameter_sync", "broadcast", "ds.zero-optimization.allgather-partitions");
  }
  if (level == 3)
    draft.not_modelled(flags.place({"ds.zero-optimization.stage"}),
                       "ZeRO-3 gathers ahead as PyTorch's fully_shard does, not as DeepSpeed's prefetcher");
  constexpr const char* kMics = "ds.zero-optimization.mics-shard-size";
  if (const double size = flags.number({kMics}).value_or(-1); size > 0 && level == 3) {
    if (size == gpus_per_node) {
      set("/schedules/0/shard_group", "node", kMics);
      set("/schedules/0/all_reduce", "last_micro_batch", kMics);
    } else {
      draft.refuse(flags.place({kMics}),
                   fmt::format("shards in groups of {} GPUs, which are no node, are not modelled yet; write {}",
                               shortest(size), gpus_per_node));
    }
  }
  if (const auto clips = flags.number({"ds.gradient-clipping"}))
    set("/training/gradient_clipping", *clips > 0, "ds.gradient-clipping");
  constexpr const char* kDevice = "ds.zero-optimization.offload-optimizer.device";
  if (const auto device = flags.text({kDevice})) {
    if (*device == "cpu") set("/schedules/0/offload_optimizer", true, kDevice);
    if (*device == "nvme")
      draft.refuse(flags.place({kDevice}),
                   "offload_optimizer: the optimizer on a disk is not modelled yet; write \"cpu\" or \"none\"");
  }
}

void compare_batch(Flags& flags, double micro, double accumulation, double ranks, Draft& draft) {
  const std::pair<const char*, double> batch[] = {{"ds.train-micro-batch-size-per-gpu", micro},
                                                  {"ds.gradient-accumulation-steps", accumulation},
                                                  {"ds.train-batch-size", micro * accumulation * ranks}};
  for (const auto& [key, taken] : batch)
    if (const std::optional<double> own = flags.number({key}); own && *own != taken)
      draft.not_modelled(flags.place({key}), fmt::format("{} is {}, and what is taken makes {}", flags.written(key),
                                                         shortest(*own), shortest(taken)));
}

}  // namespace accosim
