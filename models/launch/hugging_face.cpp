#include "models/launch/hugging_face.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/base/text.hpp"
#include "models/launch/deepspeed.hpp"
#include "models/launch/flags.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/shipped.hpp"

namespace accosim {
namespace {

constexpr std::string_view kNames[] = {"model-name-or-path",
                                       "config-name",
                                       "per-device-train-batch-size",
                                       "gradient-accumulation-steps",
                                       "max-steps",
                                       "num-train-epochs",
                                       "block-size",
                                       "max-seq-length",
                                       "max-length",
                                       "model-max-length",
                                       "bf16",
                                       "fp16",
                                       "tf32",
                                       "torch-dtype",
                                       "gradient-checkpointing",
                                       "gradient-checkpointing-kwargs",
                                       "max-grad-norm",
                                       "optim",
                                       "torch-compile",
                                       "attn-implementation",
                                       "deepspeed",
                                       "fsdp",
                                       "fsdp-config",
                                       "ddp-bucket-cap-mb",
                                       "use-liger-kernel",
                                       "ddp-broadcast-buffers",
                                       "per-device-eval-batch-size",
                                       "group-by-length"};

/// Beginnings of names without effect on the time of a step.
constexpr std::string_view kWithoutEffect[] = {"learning-rate",
                                               "lr-",
                                               "warmup-",
                                               "weight-decay",
                                               "adam-",
                                               "seed",
                                               "data-seed",
                                               "output-dir",
                                               "overwrite-",
                                               "do-train",
                                               "do-eval",
                                               "do-predict",
                                               "logging-",
                                               "log-level",
                                               "report-to",
                                               "run-name",
                                               "save-",
                                               "eval-",
                                               "evaluation-strategy",
                                               "per-device-eval-",
                                               "load-best-",
                                               "metric-",
                                               "dataset-",
                                               "train-file",
                                               "validation-",
                                               "tokenizer-",
                                               "use-fast-tokenizer",
                                               "cache-dir",
                                               "model-revision",
                                               "token",
                                               "use-auth-token",
                                               "hub-",
                                               "push-to-hub",
                                               "dataloader-",
                                               "preprocessing-",
                                               "remove-unused-columns",
                                               "ddp-timeout",
                                               "ddp-find-unused-parameters",
                                               "local-rank",
                                               "disable-tqdm",
                                               "streaming",
                                               "trust-remote-code",
                                               "low-cpu-mem-usage",
                                               "group-by-length",
                                               "num-train-epochs",
                                               "max-train-samples",
                                               "max-eval-samples",
                                               "ignore-data-skip",
                                               "resume-from-checkpoint",
                                               "data-path"};

constexpr FlagRow kRefused[] = {
    {"lora-", "LoRA is not modelled yet; give a launch line of full training"},
    {"use-lora", "LoRA is not modelled yet; give a launch line of full training", "False"},
    {"use-peft", "adapters are not modelled yet; give a launch line of full training", "False"},
    {"load-in-", "quantised weights are not modelled yet; give a launch line without"},
    {"bits", "quantised weights are not modelled yet; give a launch line without"},
    {"sp-size", "sequence parallelism is not modelled yet; leave it out"},
    {"cp-size", "context parallelism is not modelled yet; leave it out"}};

/// A shipped model by what the hub calls it, "meta-llama/Llama-2-7b-hf"; empty where there is none.
std::string shipped_model(const std::string& hub_name) {
  const std::vector<ShippedFile> meant = shipped_as(FileKind::kModel, hub_name);
  return meant.size() == 1 ? meant.front().name : "";
}

class Reader {
 public:
  Reader(const LaunchLine& launch, int gpus, Draft& draft)
      : launch_(launch),
        gpus_(gpus),
        draft_(draft),
        flags_(launch.arguments, kNames, {kWithoutEffect, {}, kRefused}, draft) {}

  void read(const std::string& model) {
    read_model(model);
    read_batch();
    read_precision();
    read_kernels();
    read_schedule();
    flags_.sort_unread();
  }

 private:
  void set(const std::string& pointer, JsonValue value, std::initializer_list<std::string_view> names) {
    draft_.set(pointer, std::move(value), flags_.line(names));
  }

  void read_model(const std::string& given) {
    const std::optional<std::string> name = flags_.path({"model-name-or-path", "config-name"});
    if (!given.empty()) return draft_.put("/model", given, "--model");
    if (const std::string ours = name ? shipped_model(*name) : ""; !ours.empty())
      return set("/model", ours, {"model-name-or-path", "config-name"});
    draft_.refuse(flags_.line({"model-name-or-path", "config-name"}),
                  fmt::format("{} is no model that is known by its name; add --model with its config.json",
                              name.value_or("the model")));
  }

  void read_batch() {
    const int micro = flags_.count({"per-device-train-batch-size"}).value_or(8),
              accumulation = flags_.count({"gradient-accumulation-steps"}).value_or(1);
    set("/training/micro_batch_size", micro, {"per-device-train-batch-size"});
    set("/training/gradient_accumulation_steps", accumulation, {"gradient-accumulation-steps"});
    const std::initializer_list<std::string_view> lengths = {"block-size", "max-seq-length", "model-max-length",
                                                             "max-length"};
    const std::optional<int> length = flags_.count(lengths);
    if (!length && flags_.line(lengths) == 0)
      draft_.refuse(launch_.line, "how long sequences are is in no argument; add --with '--block_size 1024'");
    set("/training/sequence_length", length.value_or(1), lengths);
    const double steps = flags_.number({"max-steps"}).value_or(-1);  // -1: epochs decide
    const std::optional<std::int64_t> updates =
        steps >= 1 ? std::optional(static_cast<std::int64_t>(std::min(steps, 1e9))) : std::nullopt;
    if (!updates)
      draft_.not_modelled(
          flags_.line({"num-train-epochs"}),
          "epochs depend on the dataset: the training is one update long here; --with '--max_steps N' says more");
    const double tokens = static_cast<double>(micro) * accumulation * gpus_ * static_cast<double>(updates.value_or(1)) *
                          length.value_or(1);
    set("/training/train_tokens", static_cast<std::int64_t>(std::min(tokens, 1e18)), {"max-steps"});
  }

  void read_precision() {
    const bool bf16 = is_true("bf16"), fp16 = is_true("fp16");
    const std::string stored = flags_.text({"torch-dtype"}).value_or("auto");
    const bool stored_short = stored == "bfloat16" || stored == "float16";
    set("/training/precision", "fp32", {"torch-dtype"});
    if (stored_short) set("/training/precision", stored == "float16" ? "fp16" : "bf16", {"torch-dtype"});
    autocast_ = bf16 ? "bf16" : fp16 ? "fp16" : "";
    if (autocast_.empty() && is_true("tf32")) set("/training/precision", "tf32", {"tf32"});
  }

  void read_kernels() {
    if (is_true("gradient-checkpointing")) {
      const std::string how = flags_.path({"gradient-checkpointing-kwargs"}).value_or("");
      const bool without = how.find("false") != std::string::npos || how.find("False") != std::string::npos;
      set("/training/activation_recompute", without ? "full_early_stop" : "full", {"gradient-checkpointing"});
    }
    set("/training/gradient_clipping", flags_.number({"max-grad-norm"}).value_or(1) > 0, {"max-grad-norm"});
    const std::string optimizer = flags_.text({"optim"}).value_or("adamw_torch");
    if (optimizer == "adamw_torch_fused" || optimizer == "adamw_apex_fused")
      set("/training/optimizer_implementation", "fused", {"optim"});
    else if (optimizer != "adamw_torch" && optimizer != "adamw_hf")
      draft_.refuse(flags_.line({"optim"}), fmt::format("--optim {}: of optimizers only AdamW is modelled", optimizer));
    if (is_true("torch-compile")) set("/training/implementation", "compiled", {"torch-compile"});
    if (is_true("use-liger-kernel"))
      draft_.not_modelled(flags_.line_of("use-liger-kernel"),
                          "--use-liger-kernel: norms, positions, gate and loss would be fused");
    const std::string attention = flags_.text({"attn-implementation"}).value_or("sdpa");
    set("/training/attention",
        attention == "eager"               ? "naive"
        : attention == "flash_attention_3" ? "flash_3"
                                           : "flash",
        {"attn-implementation"});
  }

  void read_schedule() {
    const std::optional<std::string> deepspeed = flags_.path({"deepspeed"}), fsdp = flags_.text({"fsdp"});
    set("/training/framework", deepspeed ? "deepspeed" : "pytorch", {"deepspeed"});
    set("/schedules/0/name", plain_schedule().name, {"deepspeed", "fsdp"});
    if (deepspeed) {
      const std::optional<ConfigFile> config = read_config(*deepspeed, launch_, flags_.line({"deepspeed"}), draft_);
      if (!autocast_.empty()) set("/training/precision", autocast_, {"bf16", "fp16"});  // DeepSpeed stores in it
      if (config) read_deepspeed(*config, draft_);
      return;
    }
    if (fsdp && *fsdp != "false") return read_fsdp(*fsdp);
    if (!autocast_.empty()) set("/training/autocast", autocast_, {"bf16", "fp16"});
    if (const std::optional<double> cap = flags_.number({"ddp-bucket-cap-mb"}))
      set("/schedules/0/bucket_cap_mb", *cap, {"ddp-bucket-cap-mb"});
    flags_.on("ddp-broadcast-buffers");
  }

  /// "full_shard auto_wrap offload": parameters and reductions in the mixed dtype, shards in fp32.
  void read_fsdp(const std::string& words) {
    const auto has = [&](const char* word) { return (" " + words + " ").find(word) != std::string::npos; };
    if (has("no_shard")) return;
    set("/schedules/0/name", plain_schedule(Sharding::kParameters).name, {"fsdp"});
    set("/schedules/0/sync", "last_micro_batch", {"fsdp"});
    if (has("shard_grad_op") || has("hybrid_shard_zero2")) set("/schedules/0/reshard_after_forward", false, {"fsdp"});
    if (has("hybrid")) set("/schedules/0/shard_group", "node", {"fsdp"});
    if (!autocast_.empty()) set("/training/precision", autocast_, {"bf16", "fp16"});
    if (has("offload"))
      draft_.refuse(flags_.line({"fsdp"}), "--fsdp offload: parameters on the host are not modelled yet; leave it out");
    if (!has("auto_wrap"))
      draft_.not_modelled(flags_.line({"fsdp"}),
                          "without auto_wrap everything is gathered at once: here a block is a unit");
    if (flags_.has("fsdp-config")) draft_.not_modelled(flags_.line({"fsdp-config"}), "--fsdp-config is not read");
    flags_.path({"fsdp-config"});
  }

  bool is_true(std::string_view name) { return flags_.on(name); }

  const LaunchLine& launch_;
  int gpus_;
  Draft& draft_;
  Flags flags_;
  std::string autocast_;
};

}  // namespace

bool is_hugging_face(const LaunchLine& launch) {
  return std::any_of(launch.arguments.begin(), launch.arguments.end(), [](const ShellText& word) {
    return word.text.starts_with("--per_device_train_batch_size") || word.text.starts_with("--model_name_or_path");
  });
}

void read_hugging_face(const LaunchLine& launch, const std::string& model, int gpus, Draft& draft) {
  Reader(launch, gpus, draft).read(model);
}

}  // namespace accosim
