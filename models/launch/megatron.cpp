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

class Reader : LaunchReader {
 public:
  Reader(const Launched& launched, Flags& flags, Draft& draft) : LaunchReader(launched, flags, draft) {
    deepspeed_ = flags_.has("deepspeed") || flags_.has("deepspeed-config") || flags_.has("zero-stage");
    // Names that Megatron-LM has no more.
    old_ = !deepspeed_ && flags_.has_any({"DDP-impl", "activations-checkpoint-method", "checkpoint-activations"});
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
    flags_.sort_unread();
  }

 private:
  std::optional<int> required(Names names, const char* example) {
    if (!flags_.has_any(names)) {
      const std::string_view name =
          *std::ranges::find_if(names, [](std::string_view each) { return !each.starts_with(kDeepspeedKeys); });
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
    const int inner = flags_.count({"ffn-hidden-size"}).value_or(gated ? width * 8 / 3 / 64 * 64 : 4 * width);
    const ModelFamily& family = family_of_blocks(gated);
    const auto key = [](const char* name) { return std::string("/model/") + name; };
    set("/model/model_type", family.name, {"swiglu", "quick-geglu"});
    set("/model/name", fmt::format("{} of {} layers, {} wide", gated ? "gated transformer" : "GPT", layers, width),
        {"num-layers"});
    set(key(family.layers), layers, {"num-layers"});
    set(key(family.hidden_size), width, {"hidden-size"});
    set(key(family.heads), heads, {"num-attention-heads"});
    set(key(family.inner_size), inner, {"ffn-hidden-size"});
    if (family.experts.count != nullptr) read_experts(family, inner);
    if (family.latent)
      read_latent();
    else
      read_heads(gated, width, heads);
    read_positions(gated, family);
    read_vocabulary();
    const bool untied = flags_.on("untie-embeddings-and-output-weights");
    set("/model/tie_word_embeddings", !untied, {"untie-embeddings-and-output-weights"});
    read_biases(gated, family);
    if (squared) draft_.set("/model/activation_function", "relu", flags_.place({"squared-relu"}));
    flags_.on("openai-gelu");
  }

  /// By its experts and its attention, the layers with experts being read.
  const ModelFamily& family_of_blocks(bool gated) {
    const int experts = flags_.count({"num-experts"}).value_or(1);
    const bool latent = flags_.on("multi-latent-attention"), normed = flags_.on("qk-layernorm");
    const auto lacks = [&](std::string_view name, const char* what) {
      refuse({name}, fmt::format("{} {}", flags_.written(name), what));
    };
    if (experts < 2) {
      if (latent) lacks("multi-latent-attention", "without experts is not modelled yet; give --model FILE");
      if (normed) not_modelled({"qk-layernorm"}, "--qk-layernorm: two small norms a block");
      return plain_family(gated);
    }
    if (deepspeed_) lacks("num-experts", "of Megatron-DeepSpeed is not read yet; give --model FILE");
    if (!gated) lacks("num-experts", "without --swiglu is not modelled yet; give --model FILE");
    // "([0]*3+[1]*58)" says it of each layer, and a number of which the first of so many has experts.
    const std::string every = flags_.words({"moe-layer-freq"}).value_or("1");
    const std::optional<int> number = whole_number(every);
    std::string pattern = number ? "" : repeated(every);
    std::erase_if(pattern, [](char c) { return c == '+' || c == ',' || c == ' '; });
    for (int i = 0; number && *number > 0 && i < std::min(layers_, 10'000); ++i)
      pattern += i % *number == 0 ? '1' : '0';
    if (pattern.size() != static_cast<std::size_t>(layers_) || pattern.find_first_not_of("01") != std::string::npos)
      refuse({"moe-layer-freq"}, fmt::format("{} is {}, which is no list of {} layers; write 1, or '([0]*1+[1]*{})'",
                                             flags_.written("moe-layer-freq"), every, layers_, layers_ - 1));
    for (std::size_t i = 0; i < pattern.size(); ++i)
      if (pattern[i] == '0') dense_.push_back(static_cast<int>(i));
    if (!flags_.on("moe-grouped-gemm"))
      draft_.not_modelled(launched_.line, "experts one after another: here their products are one kernel");
    const bool shared = flags_.number({"moe-shared-expert-intermediate-size"}).value_or(0) > 0;
    return expert_family(latent, shared, normed || !dense_.empty());
  }

  void read_experts(const ModelFamily& family, int inner) {
    const auto key = [](const char* name) { return std::string("/model/") + name; };
    const ExpertKeys& keys = family.experts;
    const int own = flags_.count({"moe-ffn-hidden-size"}).value_or(inner);
    set(key(keys.count), flags_.count({"num-experts"}).value_or(1), {"num-experts"});
    set(key("num_experts_per_tok"), flags_.count({"moe-router-topk"}).value_or(2), {"moe-router-topk"});
    set(key(keys.inner_size != nullptr ? keys.inner_size : family.inner_size), own, {"moe-ffn-hidden-size"});
    const Names of_shared = {"moe-shared-expert-intermediate-size"};
    const int shared = flags_.count(of_shared).value_or(0);
    if (keys.shared_count != nullptr) {
      if (shared % own != 0) refuse(of_shared, fmt::format("{} is no multiple of {}", shared, own));
      set(key(keys.shared_count), shared / own, of_shared);
      const bool first = dense_.empty() || dense_.back() + 1 == static_cast<int>(dense_.size());
      if (!first) refuse({"moe-layer-freq"}, "of latent attention only the first layers may have no experts");
      set(key(keys.first_dense), static_cast<int>(dense_.size()), {"moe-layer-freq"});
    } else if (keys.shared_inner_size != nullptr) {
      set(key(keys.shared_inner_size), shared, of_shared);
    }
    if (keys.dense_layers != nullptr && !dense_.empty()) set(key(keys.dense_layers), dense_, {"moe-layer-freq"});
    flags_.on("moe-router-enable-expert-bias");  // an element an expert
  }

  void read_latent() {
    struct Size {
      const char *flag, *key;
      int usual;
    };
    for (const auto& [flag, key, usual] : {Size{"kv-lora-rank", "kv_lora_rank", 32},
                                           {"qk-head-dim", "qk_nope_head_dim", 128},
                                           {"qk-pos-emb-head-dim", "qk_rope_head_dim", 64},
                                           {"v-head-dim", "v_head_dim", 128}})
      set(std::string("/model/") + key, flags_.count({flag}).value_or(usual), {flag});
    const std::optional<int> rank = flags_.count({"q-lora-rank"});
    set("/model/q_lora_rank", rank ? JsonValue(*rank) : JsonValue(), {"q-lora-rank"});
  }

  void read_heads(bool gated, int width, int heads) {
    const bool grouped = flags_.on("group-query-attention");
    const std::optional<int> own = flags_.count({"num-query-groups", "num-key-value-heads"});
    const int key_value = grouped || flags_.has("num-key-value-heads") ? own.value_or(1) : heads;
    if (gated)
      set("/model/num_key_value_heads", key_value, {"num-query-groups", "num-key-value-heads"});
    else if (key_value != heads)
      refuse({"num-query-groups", "num-key-value-heads"},
             "grouped queries without --swiglu are not modelled yet; give a launch line with it");
    const std::optional<int> channels = flags_.count({"kv-channels"});
    if (channels && std::int64_t{*channels} * heads != width) {
      if (gated)
        set("/model/head_dim", *channels, {"kv-channels"});
      else
        refuse({"kv-channels"}, "heads of another size without --swiglu are not modelled yet");
    }
  }

  void read_positions(bool gated, const ModelFamily& family) {
    const std::optional<int> positions = flags_.count({"max-position-embeddings"});
    set(std::string("/model/") + family.positions, std::max(positions.value_or(sequence_), sequence_),
        {"max-position-embeddings", "seq-length"});
    std::string kind = flags_.text({"position-embedding-type"}).value_or("learned_absolute");
    if (flags_.on("use-rotary-position-embeddings")) kind = "rope";
    if (flags_.on("no-position-embedding") && kind == "learned_absolute") kind = "none";
    if (gated == (kind == "rope" || kind == "yarn" || kind == "mrope")) return;
    not_modelled({"position-embedding-type", "use-rotary-position-embeddings"},
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

  void read_biases(bool gated, const ModelFamily& family) {
    const bool without = flags_.on("disable-bias-linear"), of_queries = flags_.on("add-qkv-bias");
    const std::string norm = lower(flags_.text({"normalization"}).value_or("LayerNorm"));
    if (gated != (norm == "rmsnorm"))
      not_modelled({"normalization"}, fmt::format("norms are {}: here they are {}, which is a small part of a step",
                                                  norm, gated ? "RMSNorm" : "LayerNorm"));
    if (!gated) {
      if (without) not_modelled({"disable-bias-linear"}, "--disable-bias-linear: biases are a small part of a step");
      return;
    }
    if (family.experts.count != nullptr) {
      if (!without || of_queries != family.qkv_bias.usual)
        not_modelled({"add-qkv-bias"}, "biases are others here, which is a small part of a step");
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
      not_modelled({configured},
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
      refuse({"optimizer"}, fmt::format("--optimizer {}: of optimizers only AdamW is modelled", optimizer));
  }

  void read_expert_ranks() {
    const Names of_split = {"expert-tensor-parallel-size"}, of_type = {"moe-token-dispatcher-type"},
                of_kernels = {"moe-flex-dispatcher-backend", "moe-enable-deepep"},
                of_overlap = {"overlap-moe-expert-parallel-comm"};
    const int ranks = flags_.count({"expert-model-parallel-size"}).value_or(1);
    const int split = flags_.count(of_split).value_or(tensor_);
    const std::string type = flags_.text(of_type).value_or("allgather");
    const bool flex = type == "flex" || flags_.on("moe-enable-deepep"), overlap = flags_.on(*of_overlap.begin());
    const std::string kernels = flags_.text({*of_kernels.begin()}).value_or("deepep");
    if (ranks == 1) return;
    const std::string parallel = "/training/parallel/";
    set(parallel + "expert_parallel_size", ranks, {"expert-model-parallel-size"});
    if (split == 1 && tensor_ > 1) set(parallel + "expert_tensor_parallel_size", 1, of_split);
    if (split != 1 && split != tensor_)
      not_modelled(of_split,
                   fmt::format("experts' tensors split over {}: here over {}, as all others", split, tensor_));
    if (flex && split > 1)
      not_modelled(of_type, fmt::format("{} beside experts that are split: priced as alltoall", kernels));
    else if (flex)
      set(parallel + "expert_dispatcher", kernels, of_kernels);
    else if (type == "allgather")
      set(parallel + "expert_dispatcher", type, of_type);
    if (overlap) set(parallel + "expert_overlap", true, of_overlap);
  }

  void read_parallel() {
    if (tensor_ > 1)
      set("/training/parallel/tensor_parallel_size", tensor_, {"tensor-model-parallel-size", "model-parallel-size"});
    const bool sequence = flags_.on("sequence-parallel"), overlap = flags_.on("tp-comm-overlap");
    if (tensor_ > 1 && sequence) set("/training/parallel/sequence_parallel", true, {"sequence-parallel"});
    if (tensor_ > 1 && sequence && overlap) set("/training/parallel/tensor_overlap", true, {"tp-comm-overlap"});
    read_expert_ranks();
    const bool whole = flags_.on("no-scatter-gather-tensors-in-pipeline");
    const bool stages_near = flags_.on("use-tp-pp-dp-mapping"), plain = flags_.on("no-overlap-p2p-communication");
    const std::optional<int> each = flags_.count({"num-layers-per-virtual-pipeline-stage"}),
                             own = flags_.count({"num-virtual-stages-per-pipeline-rank"});
    chunks_ = own.value_or(each ? std::max(1, layers_ / stages_ / *each) : 1);
    if (each && layers_ % (std::int64_t{stages_} * *each) != 0)
      not_modelled({"num-layers-per-virtual-pipeline-stage"},
                   fmt::format("{} blocks on {} stages are no chunks of {}: {} chunks a stage are taken", layers_,
                               stages_, *each, chunks_));
    read_stages();
    if (stages_ < 2) return;
    set("/training/parallel/pipeline_parallel_size", stages_, {"pipeline-model-parallel-size"});
    if (old_ && tensor_ > 1 && !sequence && !whole)
      set("/training/parallel/scatter_gather_p2p", true, {"no-scatter-gather-tensors-in-pipeline"});
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
        return refuse({name}, fmt::format("the layout has {} chunks, which {} stages do not share; write a multiple",
                                          blocks.size(), stages_));
      chunks_ = static_cast<int>(blocks.size()) / stages_;
    } else if (first || last) {
      name = first ? "decoder-first-pipeline-num-layers" : "decoder-last-pipeline-num-layers";
      const int others = stages_ - (first ? 1 : 0) - (last ? 1 : 0),
                left = layers_ - first.value_or(0) - last.value_or(0);
      if (others < 1 || left % others != 0)
        return refuse({name},
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
        return not_modelled({name}, fmt::format("{} blocks and the ends do not share {} parts equally: here blocks are "
                                                "shared as the framework does by itself",
                                                layers_, parts));
      blocks.assign(static_cast<std::size_t>(parts), static_cast<int>((layers_ + before + after) / parts));
      blocks.front() -= before;
      blocks.back() -= after;
    }
    if (!blocks.empty()) set("/training/parallel/stage_layers", blocks, {name});
  }

  /// "(tt|)*2t" is "tt|tt|t", and "[0]*2" is "00".
  static std::string repeated(std::string_view text, int nested = 0) {
    constexpr int kMost = 10'000, kDeepest = 20;
    std::string flat;
    for (std::size_t i = 0; i < text.size() && flat.size() < 10 * kMost; ++i) {
      std::string part(1, text[i]);
      if (text[i] == '(' || text[i] == '[') {
        std::size_t end = i;
        for (int open = 0; end < text.size(); ++end)
          if ((open += text[end] == '(' || text[end] == '[' ? 1 : text[end] == ')' || text[end] == ']' ? -1 : 0) == 0)
            break;
        part = nested < kDeepest ? repeated(text.substr(i + 1, end - i - 1), nested + 1) : "";
        i = end;
      }
      int times = 1;
      if (i + 1 < text.size() && text[i + 1] == '*') {
        const std::size_t digits = i + 2, end = std::min(text.find_first_not_of("0123456789", digits), text.size());
        times = std::clamp(whole_number(text.substr(digits, end - digits)).value_or(1), 0, kMost);
        i = end - 1;
      }
      for (int k = 0; k < times && flat.size() < 10 * kMost; ++k) flat += part;
    }
    return flat;
  }
  /// "Et*3|(tt|)*29,m|L": blocks of each chunk.
  static std::vector<int> blocks_of(const std::string& layout) {
    std::vector<int> blocks(1);
    for (const char c : repeated(layout)) {
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
    if (flags_.text({"DDP-impl"}).value_or("local") == "torch") {
      set("/schedules/0/overlap", "backward", {"DDP-impl"});
      set("/schedules/0/bucket_cap_mb", 25, {"DDP-impl"});
      set("/schedules/0/first_bucket_mb", 1, {"DDP-impl"});
    }
    if (const std::optional<double> size = flags_.number({"bucket-cap-mb"}); size && overlap)
      set("/schedules/0/bucket_cap_mb", *size, {"bucket-cap-mb"});
    if (const std::optional<double> elements = flags_.number({"ddp-bucket-size"}); elements && overlap)
      set("/schedules/0/bucket_cap_mb", *elements * gradient_bytes_ / (1024 * 1024), {"ddp-bucket-size"});
    if (const std::optional<int> copies = flags_.count({"num-distributed-optimizer-instances"});
        copies && *copies > 1) {
      if (launched_.gpus / stages_ / *copies == launched_.gpus_per_node)
        set("/schedules/0/shard_group", "node", {"num-distributed-optimizer-instances"});
      else
        not_modelled({"num-distributed-optimizer-instances"},
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
    read_deepspeed(flags_, launched_.gpus_per_node, draft_);
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
      not_modelled({"recompute-modules"}, fmt::format("{} {}: of modules only core_attn is recomputed here",
                                                      flags_.written("recompute-modules"), modules));
    if (granularity == "selective" && !attention)
      return set("/training/activation_recompute", "none", {"recompute-modules"});
    set("/training/activation_recompute", granularity,
        {"recompute-granularity", "checkpoint-activations", "recompute-activations"});
    if (granularity != "full" || !count) return;
    if (method == "block")
      set("/training/recompute_layers", *count, {"recompute-num-layers"});
    else if (*count > 1)
      not_modelled({"recompute-num-layers", "checkpoint-num-layers"},
                   "inputs are kept every so many layers: here of each, which takes more memory");
  }

  void read_kernels() {
    draft_.set("/training/implementation", "fused", 0);
    const std::string implementation =
        flags_.text({"transformer-impl"}).value_or(deepspeed_ || old_ ? "local" : "transformer_engine");
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
      not_modelled({"hidden-dropout", "attention-dropout"}, "dropouts differ: here both are the larger one");
  }

  bool deepspeed_ = false, old_ = false;
  std::vector<int> dense_{};  ///< layers without experts
  int tensor_ = 1, stages_ = 1, chunks_ = 1, layers_ = 1, sequence_ = 1, gradient_bytes_ = 4;
};

}  // namespace

void read_megatron(const Launched& launched, Flags& flags, Draft& draft) { Reader(launched, flags, draft).read(); }

std::int64_t gpus_of_a_replica(Flags& flags) {
  return std::int64_t{flags.count(kTensor).value_or(1)} *
         (flags.has("no-pipeline-parallel") ? 1 : flags.count({"pipeline-model-parallel-size"}).value_or(1));
}

}  // namespace accosim
