// What Hugging Face's names mean, and those of trainers that run PyTorch's DDP and FSDP, or DeepSpeed, as it does.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "models/base/text.hpp"
#include "models/launch/deepspeed.hpp"
#include "models/launch/reader.hpp"
#include "models/launch/titan.hpp"
#include "models/read/load.hpp"
#include "models/read/other_words.hpp"
#include "models/spec/model_families.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/shipped.hpp"

namespace accosim {
namespace {

using Names = std::initializer_list<std::string_view>;
const Names kMicro = {"per-device-train-batch-size", "ds.train-micro-batch-size-per-gpu"};
const Names kAccumulation = {"gradient-accumulation-steps", "ds.gradient-accumulation-steps"};
const Names kGlobal = {"global-batch-size", "ds.train-batch-size"};

/// A shipped model by what the hub calls it, "meta-llama/Llama-2-7b-hf"; empty where there is none.
std::string shipped_model(const std::string& hub_name) {
  const std::vector<ShippedFile> meant = shipped_as(FileKind::kModel, hub_name);
  return meant.size() == 1 ? meant.front().name : "";
}

/// "bfloat16" as a scenario has it; empty where it is no type.
std::string dtype_of(const std::string& name) {
  const std::string small = lower(name);
  if (small == "bfloat16" || small == "bf16") return "bf16";
  if (small == "float16" || small == "fp16") return "fp16";
  return small == "float32" || small == "fp32" ? "fp32" : "";
}

class Reader : LaunchReader {
 public:
  using LaunchReader::LaunchReader;

  void read() {
    tensor_ = flags_.count({"tensor-model-parallel-size"}).value_or(1);
    stages_ = flags_.count({"pipeline-model-parallel-size"}).value_or(1);
    ranks_ = launched_.gpus / tensor_ / stages_;
    adapters_ = read_adapters(flags_, draft_);
    read_model();
    read_batch();
    read_precision();
    read_kernels();
    read_parallel();
    read_schedule();
    flags_.sort_unread();
  }

 private:
  void required(std::string_view name, const std::string& what, const char* example) {
    draft_.refuse(launched_.line, fmt::format("{} is not said; add {}", what, flags_.with(name, example)));
  }

  void read_model() {
    if (!launched_.model.empty()) {
      layers_ = load_model(launched_.model).num_hidden_layers;
      return draft_.put("/model", launched_.model, "--model");
    }
    const std::optional<std::string> name = flags_.path({"model-name-or-path", "model-name"}),
                                     flavor = flags_.text({"model-flavor"});
    const bool written_out = flags_.on("written-out-model");
    if (written_out) return read_sizes(plain_family(false), 4);
    if (name && flavor && *name == "llama3" && *flavor == "debugmodel") return read_debug_model(plain_family(true));
    std::string ours = name ? shipped_model(flavor ? *name + "-" + *flavor : *name) : "";
    for (const TitanFlavor& each : titan_flavors())
      if (name && flavor && *name + "/" + *flavor == each.name) ours = each.shipped;
    if (!ours.empty()) layers_ = load_model(ours).num_hidden_layers;
    if (!ours.empty()) return set("/model", ours, {"model-flavor", "model-name-or-path"});
    if (!name)
      return draft_.refuse(launched_.line, "which model is trained is not said; add --model with its config.json");
    const TextPlace place = flags_.place({"model-flavor", "model-name-or-path", "model-name"});
    if (const std::string lacking = lacking_family(*name); !lacking.empty())
      return draft_.refuse(place, fmt::format("{} is not modelled yet: {}", *name, lacking));
    draft_.refuse(place, fmt::format("{}{}{} is no model that is known by its name; add --model with its config.json",
                                     *name, flavor ? " " : "", flavor.value_or("")));
  }

  /// A decoder whose sizes are written out.
  void read_sizes(const ModelFamily& family, int expansion) {
    const auto key = [](const char* name) { return std::string("/model/") + name; };
    set("/model/model_type", family.name, {"written-out-model"});
    set("/model/activation_function", "gelu", {"written-out-model"});  // not of tanh
    set("/model/name", fmt::format("decoder of {} blocks", flags_.value_of("num-layers")), {"num-layers"});
    const std::pair<const char*, const char*> sizes[] = {{"num-layers", family.layers},
                                                         {"hidden-size", family.hidden_size},
                                                         {"num-attention-heads", family.heads},
                                                         {"vocab-size", family.vocabulary},
                                                         {"max-seq-length", family.positions}};
    for (const auto& [name, place] : sizes) {
      if (!flags_.has(name)) required(name, fmt::format("{} of the model", name), "32");
      set(key(place), flags_.count({name}).value_or(1), {name});
    }
    const double inner = flags_.number({"expansion-ratio"}).value_or(expansion) *
                         static_cast<double>(flags_.count({"hidden-size"}).value_or(1));
    set(key(family.inner_size), static_cast<std::int64_t>(std::clamp(inner, 1.0, 1e9)), {"expansion-ratio"});
  }

  /// torchtitan's smallest Llama 3, for which its tests have a tokenizer of 2,048 entries.
  void read_debug_model(const ModelFamily& family) {
    const std::pair<const char*, int> sizes[] = {
        {family.layers, 6},        {family.hidden_size, 256},    {family.heads, 16},         {family.inner_size, 768},
        {family.vocabulary, 2048}, {family.key_value_heads, 16}, {family.positions, 131'072}};
    set("/model/model_type", family.name, {"model-flavor"});
    for (const auto& [key, value] : sizes) set(std::string("/model/") + key, value, {"model-flavor"});
    layers_ = sizes[0].second;
  }

  void read_batch() {
    // Of micro-batch, micro-batches and global batch two say the third.
    // DeepSpeed's are taken where the trainer has none.
    const bool own = flags_.has("per-device-train-batch-size");
    double global = flags_.count(own ? Names{"global-batch-size"} : kGlobal).value_or(0);
    const std::optional<int> accumulation = flags_.count(own ? Names{"gradient-accumulation-steps"} : kAccumulation);
    std::optional<int> micro = flags_.count(kMicro);
    if (!micro && !flags_.has_any(kMicro) && global > 0 && accumulation)
      micro = static_cast<int>(global / ranks_ / *accumulation);
    if (!micro && !flags_.has_any(kMicro)) required(*kMicro.begin(), "how many sequences a micro-batch has", "1");
    int sequences = micro.value_or(1);
    if (flags_.has("micro-batch-at-most") && global >= ranks_)  // llm-foundry's
      sequences = std::min(sequences, static_cast<int>(global / ranks_));
    const std::optional<int> part = flags_.count({"pipeline-micro-batch-size"}),
                             parts = flags_.count({"pipeline-micro-batches"});
    if (stages_ > 1) {  // torchtitan's pass parts of a batch on, in its first releases one for each of them
      const int usual = flags_.has("until-2025-02") ? sequences / parts.value_or(stages_) : 1,
                local = std::exchange(sequences, std::max(1, part.value_or(usual)));
      if (global == 0) global = static_cast<double>(local) * ranks_;
      set("/training/micro_batch_size", sequences, {"pipeline-micro-batch-size", "pipeline-micro-batches"});
    } else {
      set("/training/micro_batch_size", std::max(1, sequences), kMicro);
    }
    const double steps = global > 0 ? global / (static_cast<double>(sequences) * ranks_) : accumulation.value_or(1);
    if (global > 0)
      set("/training/global_batch_size", static_cast<std::int64_t>(global), kGlobal);
    else
      set("/training/gradient_accumulation_steps", accumulation.value_or(1), kAccumulation);
    compare_batch(flags_, sequences, steps, ranks_, draft_);
    read_length(steps * sequences * ranks_);
  }

  /// Of a sequence, and of the training, whose updates have so many sequences.
  void read_length(double batch) {
    const std::optional<int> length = flags_.count({"max-seq-length"});
    if (!flags_.has("max-seq-length")) required("max-seq-length", "how long sequences are", "1024");
    set("/training/sequence_length", length.value_or(1), {"max-seq-length"});
    if (!flags_.on("packing") && flags_.has("may-pad"))
      not_modelled({"may-pad"},
                   "sequences are not packed: here each is as long as the longest may be; write "
                   "training.sequence_lengths");
    double updates = std::max(flags_.number({"max-steps"}).value_or(-1), 0.0), tokens = 0;  // -1: epochs decide
    if (const std::optional<std::string> duration = flags_.text({"max-duration"})) {
      const std::optional<LeadingNumber> number = leading_number(*duration);
      if (number && number->rest == "ba") updates = number->number;
      if (number && number->rest == "tok") tokens = number->number;
      if (number && number->rest == "sp") tokens = number->number * length.value_or(1);
    }
    if (updates < 1 && tokens < 1) {
      updates = 1;
      const Names names = {"max-steps", "max-duration", "num-train-epochs"};
      not_modelled(names,
                   fmt::format("epochs depend on the dataset: the training is one update long here; {} says more",
                               flags_.with(flags_.has("max-duration") ? "max-duration" : "max-steps",
                                           flags_.has("max-duration") ? "1000ba" : "1000")));
    }
    if (tokens < 1) tokens = std::min(updates, 1e9) * batch * length.value_or(1);
    set("/training/train_tokens", static_cast<std::int64_t>(std::clamp(tokens, 1.0, 1e18)),
        {"max-steps", "max-duration"});
  }

  void read_precision() {
    const bool bf16 = flags_.on("bf16"), fp16 = flags_.on("fp16"), tf32 = flags_.on("tf32");
    const std::string mixed = dtype_of(flags_.text({"fsdp-param-dtype"}).value_or(""));
    stored_ = dtype_of(flags_.text({"torch-dtype"}).value_or(""));
    autocast_ = bf16 ? "bf16" : fp16 ? "fp16" : mixed == "fp32" ? "" : mixed;
    if (stored_.empty() && adapters_ && flags_.on("base-as-computed")) stored_ = autocast_;
    if (stored_.empty()) stored_ = "fp32";
    set("/training/precision", stored_, {"torch-dtype"});
    if (autocast_.empty() && stored_ == "fp32" && tf32) set("/training/precision", "tf32", {"tf32"});
    if (const std::optional<std::string> made = flags_.words({"model-converters"});
        made && made->find("float8") != std::string::npos)
      fp8_ = true;
  }

  void read_kernels() {
    read_recomputation();
    set("/training/gradient_clipping", flags_.number({"max-grad-norm"}).value_or(1) > 0, {"max-grad-norm"});
    const std::string optimizer = lower(flags_.text({"optim"}).value_or("adamw_torch"));
    if (optimizer == "adamw_torch_fused" || optimizer == "adamw_apex_fused")
      set("/training/optimizer_implementation", "fused", {"optim"});
    else if (optimizer == "paged_adamw_32bit" || optimizer == "paged_adamw")
      not_modelled({"optim"}, "states of the optimizer may be paged to the host");
    else if (adapters_ && optimizer.find("8bit") != std::string::npos)
      not_modelled({"optim"}, "states of the adapters would be in 8 bits, which saves little");
    else if (optimizer != "adamw_torch" && optimizer != "adamw_hf")
      refuse({"optim"}, fmt::format("{} {}: of optimizers only AdamW is modelled", flags_.written("optim"), optimizer));
    const char* const usual = !flags_.has("activation-checkpoint") ? ""
                              : flags_.has("until-2025-02")        ? "foreach"
                                                                   : "fused";
    const std::string how = flags_.text({"optimizer-implementation"}).value_or(usual);
    if (how == "fused" || how == "foreach")
      set("/training/optimizer_implementation", how, {"optimizer-implementation"});
    if (how == "for-loop") not_modelled({"optimizer-implementation"}, "the optimizer would step each tensor by itself");
    const std::string parts = flags_.words({"torch-compile-parts"}).value_or("model");  // torchtitan's
    if (flags_.on("torch-compile") && parts.find("model") != std::string::npos)
      set("/training/implementation", "compiled", {"torch-compile"});
    else if (flags_.on("torch-compile"))
      not_modelled({"torch-compile-parts"}, "the loss would be compiled");
    if (const std::optional<std::string> loss = flags_.text({"loss"}); loss && tensor_ == 1)
      set("/training/loss", *loss, {"loss"});
    const std::string attention = flags_.text({"attn-implementation"}).value_or("sdpa");
    set("/training/attention",
        attention == "eager" || attention == "torch" ? "naive"
        : attention == "flash_attention_3"           ? "flash_3"
        : attention == "triton"                      ? "flash_1"
        : attention == "xformers"                    ? "memory_efficient"
                                                     : "flash",
        {"attn-implementation"});
  }

  void read_recomputation() {
    const std::string mode = flags_.text({"activation-checkpoint"}).value_or(""),
                      option = flags_.text({"selective-ac-option"}).value_or("");
    if (!mode.empty()) {  // torchtitan's
      const std::optional<int> every = whole_number(option);
      if (mode == "selective" && !every && option != "op")
        refuse({"selective-ac-option"},
               fmt::format("{} is {}; write a number or op", flags_.written("selective-ac-option"), option));
      if (mode == "memory_budget")
        refuse({"activation-checkpoint"},
               "what a memory budget recomputes is the compiler's choice; write none, selective or full");
      const bool stops = flags_.has("early-stop") ? flags_.on("early-stop") : flags_.has("until-2025-08");
      set("/training/activation_recompute",
          mode == "selective" && !every ? "selective_op"
          : mode == "none"              ? "none"
          : stops                       ? "full_early_stop"
                                        : "full",
          {"activation-checkpoint"});
      if (mode == "selective" && every) set("/training/recompute_every", std::max(1, *every), {"selective-ac-option"});
      return;
    }
    const bool whole = flags_.on("gradient-checkpointing"), units = flags_.on("fsdp-activation-checkpointing");
    if (!whole && !units) return;
    // FSDP's own wraps without reentry. The Trainer's kwargs may be an object that is written as a text.
    const std::string reentry = lower(flags_.path({"use-reentrant"}).value_or(whole ? "true" : "false"));
    set("/training/activation_recompute", reentry.find("false") != std::string::npos ? "full_early_stop" : "full",
        {"gradient-checkpointing", "fsdp-activation-checkpointing"});
  }

  void read_parallel() {
    const bool overlap = flags_.on("tp-comm-overlap");
    if (tensor_ > 1) {
      set("/training/parallel/tensor_parallel_size", tensor_, {"tensor-model-parallel-size"});
      if (flags_.on("sequence-parallel")) set("/training/parallel/sequence_parallel", true, {"sequence-parallel"});
      if (overlap) set("/training/parallel/tensor_overlap", true, {"tp-comm-overlap"});
    }
    const int split = flags_.count({"expert-tensor-parallel-size"}).value_or(1);  // torchtitan's default: whole experts
    if (const int experts = flags_.count({"expert-model-parallel-size"}).value_or(1); experts > 1) {
      set("/training/parallel/expert_parallel_size", experts, {"expert-model-parallel-size"});
      if (tensor_ > 1 && split == 1)
        set("/training/parallel/expert_tensor_parallel_size", 1, {"expert-tensor-parallel-size"});
      if (split != 1 && split != tensor_)
        not_modelled({"expert-tensor-parallel-size"},
                     fmt::format("experts' tensors split over {}: here over {}, as all others", split, tensor_));
    }
    const std::string kind = lower(flags_.text({"pipeline-schedule"}).value_or("1f1b"));
    const std::optional<int> each = flags_.count({"layers-per-stage"});
    const double first = flags_.number({"first-stage-less-layers"}).value_or(1),
                 last = flags_.number({"last-stage-less-layers"}).value_or(1);
    if (stages_ < 2) return;
    set("/training/parallel/pipeline_parallel_size", stages_, {"pipeline-model-parallel-size"});
    if (kind == "gpipe") set("/training/parallel/pipeline_schedule", "gpipe", {"pipeline-schedule"});
    const bool chunks = kind == "interleaved1f1b";
    const int runs = each && chunks
                         ? (layers_ + static_cast<int>(std::clamp(first + last, 0.0, 1e4)) + *each - 1) / *each
                         : stages_ * (chunks ? 2 : 1);
    if (chunks && runs % stages_ != 0)
      refuse({"layers-per-stage"}, fmt::format("{} stages of {} layers are no equal number on each "
                                               "of {} ranks; write another",
                                               runs, each.value_or(0), stages_));
    if (chunks)
      set("/training/parallel/virtual_pipeline_stages", runs / stages_, {"layers-per-stage", "pipeline-schedule"});
    if (flags_.has_any({"first-stage-less-layers", "last-stage-less-layers"}) && layers_ > 0)
      if (const std::vector<int> blocks = titan_blocks(layers_, runs, static_cast<int>(std::clamp(first, 0.0, 1e4)),
                                                       static_cast<int>(std::clamp(last, 0.0, 1e4)));
          !blocks.empty())
        set("/training/parallel/stage_layers", blocks, {"first-stage-less-layers", "last-stage-less-layers"});
    if (kind != "1f1b" && kind != "gpipe" && kind != "interleaved1f1b")
      refuse({"pipeline-schedule"},
             fmt::format("{} is {}; write GPipe, 1F1B or Interleaved1F1B", flags_.written("pipeline-schedule"), kind));
  }

  void read_schedule() {
    const bool deepspeed = flags_.path({"deepspeed-config", "deepspeed"}).has_value() || flags_.on("deepspeed-on") ||
                           flags_.has("ds.zero-optimization.stage");
    const std::string words = lower(flags_.words({"fsdp"}).value_or("")),
                      strategy = lower(flags_.text({"fsdp-sharding-strategy"}).value_or(""));
    const bool fsdp = flags_.on("fsdp-on") || (!words.empty() && words != "false") || !strategy.empty();
    set("/training/framework", deepspeed ? "deepspeed" : "pytorch", {"deepspeed", "ds.zero-optimization.stage"});
    set("/schedules/0/name", plain_schedule().name, {"deepspeed", "fsdp"});
    if (deepspeed) {
      // Its engine stores parameters in the type of the products.
      if (!autocast_.empty()) set("/training/precision", autocast_, {"bf16", "fp16"});
      return read_deepspeed(flags_, launched_.gpus_per_node, draft_);
    }
    if (fsdp && read_fsdp(words + " " + strategy)) return;
    if (!autocast_.empty()) set("/training/autocast", autocast_, {"bf16", "fp16", "fsdp-param-dtype"});
    // PyTorch's AdamW has states of the parameters' type, and no copy of them; PEFT keeps adapters in fp32.
    if (stored_ != "fp32" && !adapters_) set("/schedules/0/optimizer_dtype", stored_, {"torch-dtype"});
    if (const std::optional<double> cap = flags_.number({"ddp-bucket-cap-mb"}))
      set("/schedules/0/bucket_cap_mb", *cap, {"ddp-bucket-cap-mb"});
    flags_.on("ddp-broadcast-buffers");
  }

  /// "full_shard auto_wrap offload", "1": parameters and reductions in the mixed dtype, shards in fp32. False where
  /// nothing is sharded.
  bool read_fsdp(const std::string& words) {
    const auto has = [&](const char* word) { return (" " + words + " ").find(word) != std::string::npos; };
    const double copies_asked = flags_.number({"dp-replicate-size"}).value_or(1),
                 shards_asked = flags_.number({"dp-shard-size"}).value_or(-1);
    const std::string mesh = flags_.words({"device-mesh"}).value_or("");
    std::int64_t copies = copies_asked > 1 && copies_asked <= ranks_ ? static_cast<std::int64_t>(copies_asked) : 1;
    if (shards_asked >= 1 && copies_asked > 1 && shards_asked * copies_asked != ranks_)
      refuse({"dp-shard-size"},
             fmt::format("{} shards in {} copies are not the {} data-parallel ranks; write {}, or give --nodes",
                         shortest(shards_asked), shortest(copies_asked), ranks_, flags_.with("dp-shard-size", "-1")));
    if (shards_asked >= 1 && shards_asked <= ranks_) copies = ranks_ / static_cast<std::int64_t>(shards_asked);
    if (const std::size_t blank = mesh.find(' '); blank != std::string::npos)
      if (const std::optional<int> shards = whole_number(trimmed(mesh.substr(blank))); shards && *shards > 0)
        copies = std::max(1, ranks_ / *shards);
    const std::int64_t shards = ranks_ / std::max<std::int64_t>(copies, 1);
    const Names who = {"fsdp", "fsdp-sharding-strategy", "fsdp-on", "dp-shard-size"};
    const bool none = has("no_shard") || has(" 3 ") || shards <= 1;
    if (none) return false;
    if (stages_ > 1) {
      if (flags_.on("fsdp-reshard-after-forward"))
        refuse({"fsdp-reshard-after-forward"},
               "FSDP that frees its parameters is not modelled in a pipeline; write never");
      // Its stages keep their parameters, which then are sent as a sharded optimizer's are.
      set("/schedules/0/name", plain_sharded_schedule().name, who);
      set("/schedules/0/overlap", "backward", who);
      set("/schedules/0/buckets", "units", who);
      set("/schedules/0/overlap_param_gather", true, who);
      set("/schedules/0/gradient_dtype", "fp32", {"fsdp-reduce-dtype"});
      read_types();
      return true;
    }
    set("/schedules/0/name", plain_schedule(Sharding::kParameters).name, who);
    if (adapters_ && stored_ == "fp32" && !autocast_.empty())
      not_modelled({"torch-dtype", "fsdp"},
                   "shards of the frozen weights would be in fp32: here they have the products' type");
    if (flags_.on("no-sync")) set("/schedules/0/sync", "last_micro_batch", who);
    if (has("shard_grad_op") || has("shard_zero2") || has(" 2 ") || has(" 5 ") ||
        (flags_.has("fsdp-reshard-after-forward") && !flags_.on("fsdp-reshard-after-forward")))
      set("/schedules/0/reshard_after_forward", false,
          {"fsdp-reshard-after-forward", "fsdp", "fsdp-sharding-strategy"});
    if (copies > 1 && shards * tensor_ != launched_.gpus_per_node)
      not_modelled({"dp-replicate-size", "dp-shard-size", "device-mesh"},
                   fmt::format("shards in groups of {} GPUs, which are no node, are not modelled: all GPUs share "
                               "the states here",
                               shards));
    else if (copies > 1 || has("hybrid") || has(" 4 ") || has(" 5 "))
      set("/schedules/0/shard_group", "node", {"dp-replicate-size", "dp-shard-size", "device-mesh", "fsdp"});
    read_types();
    if (const std::string reduced = dtype_of(flags_.text({"fsdp-reduce-dtype"}).value_or("")); !reduced.empty())
      set("/schedules/0/reduce_dtype", reduced, {"fsdp-reduce-dtype"});
    if (const std::string states = dtype_of(flags_.text({"optimizer-dtype"}).value_or("")); !states.empty())
      set("/schedules/0/optimizer_dtype", states, {"optimizer-dtype"});
    if (has("offload")) refuse({"fsdp"}, "offload: parameters on the host are not modelled yet; leave it out");
    read_units(has("auto_wrap"));
    return true;
  }

  /// Parameters are gathered in the type that is computed in.
  void read_types() {
    if (!autocast_.empty()) set("/training/precision", autocast_, {"bf16", "fp16", "fsdp-param-dtype"});
    if (fp8_) set("/training/precision", "fp8", {"model-converters"});
  }

  void read_units(bool wrapped) {
    const std::string policy = lower(flags_.text({"fsdp-auto-wrap-policy"}).value_or(""));
    if (policy == "no_wrap" || policy == "size_based_wrap" || (policy.empty() && flags_.has("fsdp") && !wrapped))
      not_modelled({"fsdp-auto-wrap-policy", "fsdp"},
                   "blocks are not wrapped one by one, so that more is gathered at once: here a block is a unit");
    const bool second = flags_.text({"fsdp-version"}).value_or("1") == "2";
    const std::string ahead = lower(flags_.text({"fsdp-backward-prefetch"}).value_or("backward_pre"));
    if (!second && (ahead == "no_prefetch" || ahead == "backward_post"))
      set("/schedules/0/prefetch", 0, {"fsdp-backward-prefetch"});
  }

  int tensor_ = 1, stages_ = 1, ranks_ = 1, layers_ = 0;
  std::string autocast_, stored_;
  bool fp8_ = false, adapters_ = false;
};

}  // namespace

void read_torch(const Launched& launched, Flags& flags, Draft& draft) { Reader(launched, flags, draft).read(); }

}  // namespace accosim
