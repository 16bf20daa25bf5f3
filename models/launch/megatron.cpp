// The arguments of Megatron-LM and of the Megatron-DeepSpeed forks as parts of a scenario.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "models/base/text.hpp"
#include "models/launch/deepspeed.hpp"
#include "models/launch/reader.hpp"
#include "models/read/load.hpp"
#include "models/spec/model_families.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

using Names = std::initializer_list<std::string_view>;
const Names kTensor = {"tensor-model-parallel-size", "model-parallel-size"};
const Names kMicro = {"ds.train-micro-batch-size-per-gpu", "micro-batch-size", "batch-size"};
const Names kGlobal = {"ds.train-batch-size", "global-batch-size"};

/// A tokenizer's entries, where its name says them.
std::optional<int> entries_of(const std::string& tokenizer) {
  if (tokenizer == "GPT2BPETokenizer") return 50257;
  if (tokenizer == "Llama2Tokenizer") return 32000;
  return {};
}

class Reader {
 public:
  Reader(const Launched& launched, Flags& flags, Draft& draft) : launched_(launched), draft_(draft), flags_(flags) {
    deepspeed_ = flags_.has("deepspeed") || flags_.has("deepspeed-config") || flags_.has("zero-stage");
    tensor_ = flags_.count(kTensor).value_or(1);
    stages_ = flags_.on("no-pipeline-parallel") ? 1 : flags_.count({"pipeline-model-parallel-size"}).value_or(1);
    flags_.on("ds-pipeline");
  }

  void read() {
    read_adapters(flags_, draft_);
    read_model();
    read_batch();
    read_precision();
    read_parallel();
    read_schedule();
    read_recomputation();
    read_kernels();
    if (flags_.value_of("num-experts") == "1") flags_.pass_over("moe-");
    flags_.sort_unread();
  }

 private:
  void set(const std::string& pointer, JsonValue value, Names names) {
    draft_.set(pointer, std::move(value), flags_.place(names));
  }
  std::optional<int> required(Names names, const char* example) {
    if (!flags_.has_any(names)) {
      const std::string_view name = *std::find_if(
          names.begin(), names.end(), [](std::string_view each) { return !each.starts_with(kDeepspeedKeys); });
      draft_.refuse(launched_.line,
                    fmt::format("{} is not there; add {}", flags_.written(name), flags_.with(name, example)));
    }
    return flags_.count(names);
  }

  // The model. The families are told apart by their gate: what else differs from the family is told.
  void read_model() {
    sequence_ = required({"seq-length", "encoder-seq-length"}, "4096").value_or(1);
    if (!launched_.model.empty()) {
      layers_ = load_model(launched_.model).num_hidden_layers;
      return draft_.put("/model", launched_.model, "--model");
    }
    if (!flags_.has_any({"num-layers", "hidden-size", "num-attention-heads"}))
      return draft_.refuse(
          launched_.line, fmt::format("how large the model is is not said; add --model with its config.json, or {} and "
                                      "the like",
                                      flags_.with("num-layers", "32")));
    const int layers = required({"num-layers"}, "32").value_or(1),
              width = required({"hidden-size"}, "4096").value_or(1),
              heads = required({"num-attention-heads"}, "32").value_or(1);
    const bool gated = flags_.on("swiglu") || flags_.on("quick-geglu") || flags_.text({"glu-activation"}).has_value(),
               squared = flags_.on("squared-relu");
    layers_ = layers;
    const ModelFamily& family = plain_family(gated);
    const auto key = [](const char* name) { return std::string("/model/") + name; };
    set("/model/model_type", family.name, {"swiglu", "quick-geglu"});
    set("/model/name", fmt::format("{} of {} layers, {} wide", gated ? "gated transformer" : "GPT", layers, width),
        {"num-layers"});
    set(key(family.layers), layers, {"num-layers"});
    set(key(family.hidden_size), width, {"hidden-size"});
    set(key(family.heads), heads, {"num-attention-heads"});
    const int inner = flags_.count({"ffn-hidden-size"}).value_or(gated ? width * 8 / 3 / 64 * 64 : 4 * width);
    set(key(family.inner_size), inner, {"ffn-hidden-size"});
    read_heads(gated, width, heads);
    read_positions(gated);
    read_vocabulary();
    const bool untied = flags_.on("untie-embeddings-and-output-weights");
    set("/model/tie_word_embeddings", !untied, {"untie-embeddings-and-output-weights"});
    read_biases(gated);
    if (squared) draft_.set("/model/activation_function", "relu", flags_.place({"squared-relu"}));
    flags_.on("openai-gelu");
  }

  void read_heads(bool gated, int width, int heads) {
    const bool grouped = flags_.on("group-query-attention");
    const std::optional<int> own = flags_.count({"num-query-groups", "num-key-value-heads"});
    const int key_value = grouped || flags_.has("num-key-value-heads") ? own.value_or(1) : heads;
    if (gated)
      set("/model/num_key_value_heads", key_value, {"num-query-groups", "num-key-value-heads"});
    else if (key_value != heads)
      draft_.refuse(flags_.place({"num-query-groups", "num-key-value-heads"}),
                    "grouped queries without --swiglu are not modelled yet; give a launch line with it");
    const std::optional<int> channels = flags_.count({"kv-channels"});
    if (channels && std::int64_t{*channels} * heads != width) {
      if (gated)
        set("/model/head_dim", *channels, {"kv-channels"});
      else
        draft_.refuse(flags_.place({"kv-channels"}), "heads of another size without --swiglu are not modelled yet");
    }
  }

  void read_positions(bool gated) {
    const std::optional<int> positions = flags_.count({"max-position-embeddings"});
    set(std::string("/model/") + plain_family(gated).positions, std::max(positions.value_or(sequence_), sequence_),
        {"max-position-embeddings", "seq-length"});
    std::string kind = flags_.text({"position-embedding-type"}).value_or("learned_absolute");
    if (flags_.on("use-rotary-position-embeddings")) kind = "rope";
    if (flags_.on("no-position-embedding") && kind == "learned_absolute") kind = "none";
    if (gated == (kind == "rope" || kind == "yarn" || kind == "mrope")) return;
    draft_.not_modelled(flags_.place({"position-embedding-type", "use-rotary-position-embeddings"}),
                        fmt::format("positions are {}: here they are {}, which is a small part of a step", kind,
                                    gated ? "rotary" : "a learned table"));
  }

  void read_vocabulary() {
    const std::optional<int> padded = flags_.count({"padded-vocab-size", "pad-vocab-size-to"});
    std::optional<int> entries = flags_.count({"vocab-size"});
    const std::optional<std::string> tokenizer = flags_.text({"tokenizer-type"});
    if (!entries && tokenizer) entries = entries_of(*tokenizer);
    if (!entries && !tokenizer && flags_.has("vocab-file")) entries = entries_of("GPT2BPETokenizer");
    if (!padded && !entries) {
      const Names names = {"tokenizer-model", "tokenizer-name-or-path", "tokenizer-type"};
      return draft_.refuse(flags_.has_any(names) ? flags_.place(names) : TextPlace(launched_.line),
                           fmt::format("how many entries the tokenizer has is in no argument; add {}",
                                       flags_.with("vocab-size", "32000")));
    }
    const std::int64_t each = std::int64_t{flags_.count({"make-vocab-size-divisible-by"}).value_or(128)} * tensor_;
    set("/model/vocab_size", padded ? *padded : (*entries + each - 1) / each * each,
        {"padded-vocab-size", "pad-vocab-size-to", "vocab-size", "tokenizer-type", "vocab-file"});
  }

  void read_biases(bool gated) {
    const bool without = flags_.on("disable-bias-linear"), of_queries = flags_.on("add-qkv-bias");
    const std::string norm = lower(flags_.text({"normalization"}).value_or("LayerNorm"));
    if (gated != (norm == "rmsnorm"))
      draft_.not_modelled(flags_.place({"normalization"}),
                          fmt::format("norms are {}: here they are {}, which is a small part of a step", norm,
                                      gated ? "RMSNorm" : "LayerNorm"));
    if (!gated) {
      if (without)
        draft_.not_modelled(flags_.place({"disable-bias-linear"}),
                            "--disable-bias-linear: biases are a small part of a step");
      return;
    }
    if (!without || of_queries) set("/model/attention_bias", true, {"add-qkv-bias"});
    if (!without) draft_.set("/model/mlp_bias", true, 0);
  }

  void read_batch() {
    set("/training/sequence_length", sequence_, {"seq-length", "encoder-seq-length"});
    // What DeepSpeed's configuration says is what its engine does.
    tell_other("ds.train-micro-batch-size-per-gpu", "micro-batch-size");
    tell_other("ds.train-batch-size", "global-batch-size");
    const std::optional<int> micro = required(kMicro, "1");
    set("/training/micro_batch_size", micro.value_or(1), kMicro);
    const std::optional<int> global = flags_.count(kGlobal);
    if (global)
      set("/training/global_batch_size", *global, kGlobal);
    else
      draft_.set("/training/gradient_accumulation_steps", 1, 0);
    const double samples =
        global ? *global : static_cast<double>(micro.value_or(1)) * launched_.gpus / (tensor_ * stages_);
    const std::optional<double> updates = flags_.number({"train-iters"}), all = flags_.number({"train-samples"});
    double tokens = (all ? *all : updates.value_or(1) * samples) * sequence_;
    if (const std::optional<double> most = flags_.number({"train-tokens"}))
      tokens = all || updates ? std::min(tokens, *most) : *most;
    set("/training/train_tokens", static_cast<std::int64_t>(std::clamp(tokens, 0.0, 1e18)),
        {"train-samples", "train-iters", "train-tokens"});
    if (!all && !updates && !flags_.has("train-tokens"))
      draft_.not_modelled(launched_.line, fmt::format("{} is not there: the training is one update long here",
                                                      flags_.written("train-iters")));
  }

  void tell_other(std::string_view configured, std::string_view argument) {
    const std::optional<double> own = flags_.number({configured}), other = flags_.number({argument});
    if (own && other && *own != *other)
      draft_.not_modelled(flags_.place({configured}),
                          fmt::format("{} is {}, and {} is {}: the engine's is taken", flags_.written(configured),
                                      shortest(*own), flags_.written(argument), shortest(*other)));
  }

  void read_precision() {
    draft_.set("/training/framework", deepspeed_ ? "deepspeed" : "megatron", launched_.line);
    const bool bf16 = flags_.on("bf16"), fp16 = flags_.on("fp16");
    const bool fp8 = flags_.on("fp8-format") || flags_.on("fp8-hybrid") || flags_.on("fp8-e4m3");
    const char* const precision = fp8 ? "fp8" : bf16 ? "bf16" : fp16 ? "fp16" : "fp32";
    const bool autocast = flags_.on("autocast") && (bf16 || fp16);
    set("/training/precision", autocast ? "fp32" : precision,
        {"autocast", "fp8-format", "fp8-hybrid", "fp8-e4m3", "bf16", "fp16"});
    if (autocast) set("/training/autocast", bf16 ? "bf16" : "fp16", {"autocast"});
    const bool in_fp32 = flags_.on("accumulate-allreduce-grads-in-fp32"), in_bf16 = flags_.on("grad-reduce-in-bf16");
    const char* const gradients = in_bf16 ? "bf16" : fp16 && !in_fp32 ? "fp16" : "fp32";
    if (!deepspeed_)
      set("/schedules/0/gradient_dtype", gradients, {"grad-reduce-in-bf16", "accumulate-allreduce-grads-in-fp32"});
    gradient_bytes_ = in_bf16 || (fp16 && !in_fp32) ? 2 : 4;
    const std::optional<double> clip = flags_.number({"clip-grad"});
    set("/training/gradient_clipping", clip.value_or(1) > 0, {"clip-grad"});
    const std::string optimizer = flags_.text({"optimizer"}).value_or("adam");
    if (optimizer != "adam")
      draft_.refuse(flags_.place({"optimizer"}),
                    fmt::format("--optimizer {}: of optimizers only AdamW is modelled", optimizer));
  }

  void read_parallel() {
    if (tensor_ > 1)
      set("/training/parallel/tensor_parallel_size", tensor_, {"tensor-model-parallel-size", "model-parallel-size"});
    const bool sequence = flags_.on("sequence-parallel"), overlap = flags_.on("tp-comm-overlap");
    if (tensor_ > 1 && sequence) set("/training/parallel/sequence_parallel", true, {"sequence-parallel"});
    if (tensor_ > 1 && sequence && overlap) set("/training/parallel/tensor_overlap", true, {"tp-comm-overlap"});
    const bool stages_near = flags_.on("use-tp-pp-dp-mapping"), plain = flags_.on("no-overlap-p2p-communication");
    const std::optional<int> each = flags_.count({"num-layers-per-virtual-pipeline-stage"}),
                             own = flags_.count({"num-virtual-stages-per-pipeline-rank"});
    chunks_ = own.value_or(each ? std::max(1, layers_ / stages_ / *each) : 1);
    if (each && layers_ % (std::int64_t{stages_} * *each) != 0)
      draft_.not_modelled(flags_.place({"num-layers-per-virtual-pipeline-stage"}),
                          fmt::format("{} blocks on {} stages are no chunks of {}: {} chunks a stage are taken",
                                      layers_, stages_, *each, chunks_));
    read_stages();
    if (stages_ < 2) return;
    set("/training/parallel/pipeline_parallel_size", stages_, {"pipeline-model-parallel-size"});
    if (stages_near) set("/training/parallel/order", "tp-cp-ep-pp-dp", {"use-tp-pp-dp-mapping"});
    if (chunks_ < 2) return;
    set("/training/parallel/virtual_pipeline_stages", chunks_,
        {"num-layers-per-virtual-pipeline-stage", "num-virtual-stages-per-pipeline-rank",
         "pipeline-model-parallel-layout"});
    if (plain) set("/training/parallel/overlap_p2p", false, {"no-overlap-p2p-communication"});
  }

  /// How many blocks each stage or chunk has, where it is said.
  void read_stages() {
    const std::optional<int> first = flags_.count({"decoder-first-pipeline-num-layers"}),
                             last = flags_.count({"decoder-last-pipeline-num-layers"});
    const bool embedding = flags_.on("account-for-embedding-in-pipeline-split"),
               loss = flags_.on("account-for-loss-in-pipeline-split");
    const std::string method = lower(flags_.text({"pp-partition-method"}).value_or(""));
    const std::optional<std::string> layout = flags_.text({"pipeline-model-parallel-layout"});
    if (stages_ < 2) return;
    std::vector<int> blocks;
    std::string_view name;
    if (layout) {
      name = "pipeline-model-parallel-layout";
      blocks = blocks_of(*layout);
      if (blocks.empty() || blocks.size() % static_cast<std::size_t>(stages_) != 0)
        return draft_.refuse(flags_.place({name}),
                             fmt::format("the layout has {} chunks, which {} stages do not share; write a multiple",
                                         blocks.size(), stages_));
      chunks_ = static_cast<int>(blocks.size()) / stages_;
    } else if (first || last) {
      name = first ? "decoder-first-pipeline-num-layers" : "decoder-last-pipeline-num-layers";
      const int others = stages_ - (first ? 1 : 0) - (last ? 1 : 0),
                left = layers_ - first.value_or(0) - last.value_or(0);
      if (others < 1 || left % others != 0)
        return draft_.refuse(
            flags_.place({name}),
            fmt::format("leaves {} blocks for {} stages, which do not share them equally", left, others));
      blocks.assign(static_cast<std::size_t>(stages_), left / others);
      if (first) blocks.front() = *first;
      if (last) blocks.back() = *last;
    } else if (embedding || loss || method.find("embedding") != std::string::npos) {
      const bool both = method.find("embedding") != std::string::npos;
      name = both        ? "pp-partition-method"
             : embedding ? "account-for-embedding-in-pipeline-split"
                         : "account-for-loss-in-pipeline-split";
      const int before = both || embedding ? 1 : 0, after = both || loss ? 1 : 0;
      const std::int64_t parts = std::int64_t{stages_} * (both ? 1 : chunks_);
      if ((layers_ + before + after) % parts != 0)
        return draft_.not_modelled(flags_.place({name}),
                                   fmt::format("{} blocks and the ends do not share {} parts equally: here blocks are "
                                               "shared as the framework does by itself",
                                               layers_, parts));
      blocks.assign(static_cast<std::size_t>(parts), static_cast<int>((layers_ + before + after) / parts));
      blocks.front() -= before;
      blocks.back() -= after;
    }
    if (!blocks.empty()) set("/training/parallel/stage_layers", blocks, {name});
  }

  /// "Et*3|(tt|)*29,m|L": blocks of each chunk.
  static std::vector<int> blocks_of(const std::string& layout) {
    std::string flat;
    for (std::size_t i = 0; i < layout.size() && flat.size() < 100'000; ++i) {
      std::string part(1, layout[i]);
      if (layout[i] == '(') {
        const std::size_t end = std::min(layout.find(')', i), layout.size());
        part = layout.substr(i + 1, end - i - 1);
        i = end;
      }
      int times = 1;
      if (i + 1 < layout.size() && layout[i + 1] == '*') {
        const std::size_t digits = i + 2, end = std::min(layout.find_first_not_of("0123456789", digits), layout.size());
        times = std::clamp(whole_number(layout.substr(digits, end - digits)).value_or(1), 0, 10'000);
        i = end - 1;
      }
      for (int k = 0; k < times && flat.size() < 100'000; ++k) flat += part;
    }
    std::vector<int> blocks(1);
    for (const char c : flat) {
      if (c == '|') blocks.push_back(0);
      if (c == 't') ++blocks.back();
    }
    return blocks;
  }

  void read_schedule() {
    const bool sharded = flags_.on("use-distributed-optimizer");
    const bool megatron_fsdp = flags_.on("use-megatron-fsdp") || flags_.on("use-custom-fsdp"),
               torch_fsdp = flags_.on("use-torch-fsdp2");
    const std::string strategy = flags_.text({"data-parallel-sharding-strategy"}).value_or("optim_grads_params");
    if (megatron_fsdp || torch_fsdp) {
      const Sharding sharding = torch_fsdp || strategy == "optim_grads_params" ? Sharding::kParameters
                                : strategy == "optim_grads"                    ? Sharding::kGradients
                                : strategy == "optim"                          ? Sharding::kOptimizer
                                                                               : Sharding::kNothing;
      set("/schedules/0/name", plain_schedule(sharding).name,
          {"use-torch-fsdp2", "data-parallel-sharding-strategy", "use-megatron-fsdp", "use-custom-fsdp"});
      if (flags_.on("torch-fsdp2-no-reshard-after-forward") && torch_fsdp)
        set("/schedules/0/reshard_after_forward", false, {"torch-fsdp2-no-reshard-after-forward"});
    } else if (deepspeed_) {
      read_stage();
    } else {
      set("/schedules/0/name", (sharded ? plain_sharded_schedule() : plain_schedule()).name,
          {"use-distributed-optimizer"});
    }
    const bool overlap = flags_.on("overlap-grad-reduce"), gathers = flags_.on("overlap-param-gather");
    const bool not_aligned = flags_.on("no-align-param-gather") || flags_.on("delay-param-gather");
    if (!deepspeed_ && !megatron_fsdp && !torch_fsdp) {
      set("/schedules/0/overlap", overlap ? "backward" : "none", {"overlap-grad-reduce"});
      if (sharded && overlap && gathers) {
        set("/schedules/0/overlap_param_gather", true, {"overlap-param-gather"});
        if (not_aligned && chunks_ > 1)
          set("/schedules/0/align_param_gather", false, {"no-align-param-gather", "delay-param-gather"});
      }
    }
    if (const std::optional<double> size = flags_.number({"bucket-cap-mb"}); size && overlap)
      set("/schedules/0/bucket_cap_mb", *size, {"bucket-cap-mb"});
    if (const std::optional<double> elements = flags_.number({"ddp-bucket-size"}); elements && overlap)
      set("/schedules/0/bucket_cap_mb", *elements * gradient_bytes_ / (1024 * 1024), {"ddp-bucket-size"});
    if (const std::optional<int> copies = flags_.count({"num-distributed-optimizer-instances"});
        copies && *copies > 1) {
      if (launched_.gpus / *copies == launched_.gpus_per_node)
        set("/schedules/0/shard_group", "node", {"num-distributed-optimizer-instances"});
      else
        draft_.not_modelled(
            flags_.place({"num-distributed-optimizer-instances"}),
            "groups of shards that are no node are not modelled: all GPUs share the optimizer's states here");
    }
    if (flags_.on("optimizer-cpu-offload")) set("/schedules/0/offload_optimizer", true, {"optimizer-cpu-offload"});
  }

  /// Megatron-DeepSpeed: what the configuration says is what runs.
  void read_stage() {
    const int stage = static_cast<int>(std::clamp(flags_.number({"zero-stage"}).value_or(0), 0.0, 3.0));
    set("/schedules/0/name", plain_schedule(static_cast<Sharding>(stage)).name, {"zero-stage"});
    // Its engine clips by the configuration, whatever the argument says.
    draft_.set("/training/gradient_clipping", false, 0);
    flags_.path({"deepspeed-config"});
    read_deepspeed(flags_, draft_);
    // In a pipeline its optimizer of bf16 shards its states at stage 0 too, and BigScience's branch does so everywhere.
    const bool bigscience = flags_.has("abort-on-unmet-fused-kernel-constraints"),
               bf16 = draft_.at("/training/precision")->text == "bf16";
    if (flags_.number({"ds.zero-optimization.stage"}).value_or(stage) != 0 || !bf16 || (stages_ < 2 && !bigscience))
      return;
    set("/schedules/0/name", plain_sharded_schedule().name, {"bf16", "ds.bf16.enabled"});
    if (bigscience) set("/schedules/0/gradient_dtype", "fp32", {"bf16", "ds.bf16.enabled"});
  }

  void read_recomputation() {
    const bool selective = flags_.on("recompute-activations"),
               all = flags_.on("checkpoint-activations") || flags_.text({"activations-checkpoint-method"}).has_value();
    const std::string granularity = flags_.text({"recompute-granularity"})
                                        .value_or(all         ? "full"
                                                  : selective ? "selective"
                                                              : "none");
    const std::optional<int> count = flags_.count({"recompute-num-layers", "checkpoint-num-layers"});
    const std::string method = flags_.text({"recompute-method"}).value_or("uniform");
    const std::string modules = flags_.words({"recompute-modules"}).value_or("core_attn");
    const bool attention = (" " + modules + " ").find(" core_attn ") != std::string::npos;
    if (granularity == "selective" && modules != "core_attn")
      draft_.not_modelled(flags_.place({"recompute-modules"}),
                          fmt::format("{} {}: of modules only core_attn is recomputed here",
                                      flags_.written("recompute-modules"), modules));
    if (granularity == "selective" && !attention)
      return set("/training/activation_recompute", "none", {"recompute-modules"});
    set("/training/activation_recompute", granularity,
        {"recompute-granularity", "checkpoint-activations", "recompute-activations"});
    if (granularity != "full" || !count) return;
    if (method == "block")
      set("/training/recompute_layers", *count, {"recompute-num-layers"});
    else if (*count > 1)
      draft_.not_modelled(flags_.place({"recompute-num-layers", "checkpoint-num-layers"}),
                          "inputs are kept every so many layers: here of each, which takes more memory");
  }

  void read_kernels() {
    draft_.set("/training/implementation", "fused", 0);
    const std::string implementation =
        flags_.text({"transformer-impl"}).value_or(deepspeed_ ? "local" : "transformer_engine");
    const std::string backend = flags_.text({"attention-backend"}).value_or("auto");
    const bool flash =
        flags_.on("use-flash-attn") || flags_.on("use-flash-attn-v2") || flags_.on("use-flash-attn-triton");
    const bool naive = backend == "unfused" || (implementation == "local" && !flash && backend == "auto");
    set("/training/attention", naive ? "naive" : "flash",
        {"attention-backend", "use-flash-attn", "use-flash-attn-v2", "use-flash-attn-triton", "transformer-impl"});
    const double hidden = flags_.number({"hidden-dropout"}).value_or(0.1),
                 attention = flags_.number({"attention-dropout"}).value_or(0.1);
    set("/training/dropout", std::max(hidden, attention), {"hidden-dropout", "attention-dropout"});
    if (hidden != attention)
      draft_.not_modelled(flags_.place({"hidden-dropout", "attention-dropout"}),
                          "dropouts differ: here both are the larger one");
  }

  const Launched& launched_;
  Draft& draft_;
  Flags& flags_;
  bool deepspeed_ = false;
  int tensor_ = 1, stages_ = 1, chunks_ = 1, layers_ = 1, sequence_ = 1, gradient_bytes_ = 4;
};

}  // namespace

void read_megatron(const Launched& launched, Flags& flags, Draft& draft) { Reader(launched, flags, draft).read(); }

std::int64_t gpus_of_a_replica(Flags& flags) {
  return std::int64_t{flags.count(kTensor).value_or(1)} *
         (flags.has("no-pipeline-parallel") ? 1 : flags.count({"pipeline-model-parallel-size"}).value_or(1));
}

}  // namespace accosim
