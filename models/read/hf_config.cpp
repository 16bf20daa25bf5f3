// Each family has its own key names and its own rules for biases, norms and positions (model_families.hpp); here they
// become one Model.
#include "models/read/hf_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base/text.hpp"
#include "models/read/other_words.hpp"
#include "models/read/parts.hpp"
#include "models/spec/model_families.hpp"
#include "models/spec/not_modelled.hpp"

namespace accosim {
namespace {

/// With a blank before and behind each.
constexpr std::string_view kWithoutEffect =
    " "
    "architectures attention_layers attention_multiplier auto_map bos_token cache_implementation "
    "classifier_dropout description do_layer_norm_before do_sample dtype embedding_multiplier eos_token "
    "finetuning_task full_attn_mod id2label init_std initializer_factor initializer_range interpolate_factor "
    "is_decoder label2id layer_norm_elementwise_affine length_penalty license logit_scale logits_scaling "
    "max_length max_new_tokens max_window_layers min_length mlp_type model_max_length n_ctx n_special "
    "no_rope_layer_interval no_rope_layers norm_type num_beam_groups num_beams num_labels num_return_sequences "
    "original_max_position_embeddings pad_token partial_rotary_factor prefix pretraining_tp problem_type "
    "query_pre_attn_scalar repetition_penalty residual_multiplier return_dict return_dict_in_generate "
    "rotary_emb_base rotary_pct scale_attn_by_inverse_layer_idx scale_attn_weights sep_token "
    "sliding_window_pattern tags task_specific_params temperature tokenizer_class top_k top_p torch_dtype "
    "torchscript transformers.js_config transformers_version typical_p unk_token use_bfloat16 use_cache ";
constexpr std::string_view kBegins[] = {"_",         "output_",         "rope_",   "summary_",
                                        "suppress_", "begin_suppress_", "forced_", "unsloth"};
constexpr std::string_view kEnds[] = {"_token_id", "_token_ids", "_epsilon", "_eps", "_version", "_name_or_path"};

using Role = const char* ModelFamily::*;

/// What programs have that are no family here.
constexpr std::pair<const char*, Role> kOthers[] = {{"n_layers", &ModelFamily::layers},
                                                    {"d_model", &ModelFamily::hidden_size},
                                                    {"dim", &ModelFamily::hidden_size},
                                                    {"embed_dim", &ModelFamily::hidden_size},
                                                    {"n_heads", &ModelFamily::heads},
                                                    {"n_kv_heads", &ModelFamily::key_value_heads},
                                                    {"num_query_groups", &ModelFamily::key_value_heads},
                                                    {"ffn_hidden_size", &ModelFamily::inner_size},
                                                    {"d_ff", &ModelFamily::inner_size},
                                                    {"kv_channels", &ModelFamily::head_dim},
                                                    {"padded_vocab_size", &ModelFamily::vocabulary},
                                                    {"max_sequence_length", &ModelFamily::positions},
                                                    {"seq_length", &ModelFamily::positions}};

/// Whether a key says nothing about the time and the memory of a training step: names, tokens, how weights begin, how
/// text is generated, by how much something is scaled.
bool is_without_effect(const ModelFamily& family, const std::string& key) {
  const auto any = [](const auto& list, const auto& matches) {
    return std::any_of(std::begin(list), std::end(list), matches);
  };
  const auto lists = [&](std::string_view keys) { return keys.find(" " + key + " ") != std::string_view::npos; };
  return lists(kWithoutEffect) || lists(family.unread) ||
         any(kBegins, [&](std::string_view each) { return key.starts_with(each); }) ||
         any(kEnds, [&](std::string_view each) { return key.ends_with(each); });
}

/// Of keys that no model here reads, by what others write: what the family's config has for it, and where dropout and
/// kernels are said.
std::map<std::string, std::string> config_words(const ModelFamily& family) {
  std::map<std::string, std::string> words;
  const auto add = [&](const char* theirs, Role role) {
    if (theirs != nullptr && family.*role != nullptr && std::string_view(theirs) != family.*role)
      words.emplace(theirs, fmt::format("here it is \"{}\"", family.*role));
  };
  for (const Role role : {&ModelFamily::layers, &ModelFamily::hidden_size, &ModelFamily::heads,
                          &ModelFamily::key_value_heads, &ModelFamily::head_dim, &ModelFamily::inner_size,
                          &ModelFamily::vocabulary, &ModelFamily::positions, &ModelFamily::activation})
    for (const std::string& name : family_names()) add(family_of(name).*role, role);
  for (const auto& [theirs, role] : kOthers) add(theirs, role);
  for (const char* const key :
       {"attention_dropout", "hidden_dropout", "dropout", "attn_pdrop", "resid_pdrop", "embd_pdrop", "resid_dropout",
        "embed_dropout", "activation_dropout", "residual_dropout", "embedding_dropout"})
    words.emplace(key, "dropout is the training's: --set /training/dropout=0.1");
  words.emplace("gradient_checkpointing", "recomputation is the training's: --set /training/activation_recompute=full");
  for (const char* const key : {"attn_implementation", "use_flash_attn", "flash_attn", "use_flash_attention"})
    words.emplace(key, "attention is the training's: --set /training/attention=flash");
  return words;
}

// So generous that no model meets them, so tight that parameter counts fit 63 bits and lists of layers fit the memory.
constexpr int kMaxLayers = 10'000;
constexpr int kMaxHidden = 1 << 20;
constexpr int kMaxInner = 1 << 23;
constexpr int kMaxVocabulary = 100'000'000;
constexpr int kMaxHeadDim = 1 << 16;
constexpr std::int64_t kMaxProjection = 1 << 23;
constexpr std::int64_t kMaxExperts = 1 << 26;  ///< of all experts' inner sizes

/// An integer that may be null, which `null` stands for, or absent.
int optional_integer(ObjectReader& config, const char* key, int most, int null, int absent) {
  const JsonValue* member = config.find(key);
  if (member != nullptr && member->kind == JsonKind::kNull)
    config.value().set(key, json_number(null, default_origin()));
  return config.integer(key, 1, most, absent);
}
int optional_integer(ObjectReader& config, const char* key, int most, int fallback) {
  return optional_integer(config, key, most, fallback, fallback);
}

bool is_null(ObjectReader& config, const char* key) {
  const JsonValue* const member = config.find(key);
  return member != nullptr && member->kind == JsonKind::kNull;
}

bool read_switch(ObjectReader& config, const Switch& rule) {
  return rule.key == nullptr ? rule.usual : config.boolean(rule.key, rule.usual);
}

/// The names of transformers' ACT2FN, and what they cost as.
constexpr std::pair<const char*, Activation> kActivations[] = {{"gelu_new", Activation::kGeluNew},
                                                               {"gelu", Activation::kGelu},
                                                               {"relu", Activation::kRelu},
                                                               {"silu", Activation::kSilu},
                                                               {"swish", Activation::kSilu},
                                                               {"gelu_fast", Activation::kGeluNew},
                                                               {"gelu_pytorch_tanh", Activation::kGelu},
                                                               {"gelu_python", Activation::kGelu},
                                                               {"relu2", Activation::kReluSquared}};

Activation read_activation(ObjectReader& config, const char* key, const char* usual) {
  if (is_null(config, key)) config.value().set(key, json_text(usual, default_origin()));
  std::vector<std::string> names;
  for (const auto& [name, activation] : kActivations) names.emplace_back(name);
  const std::string name = config.one_of(key, names, usual);
  return std::find_if(std::begin(kActivations), std::end(kActivations),
                      [&](const auto& each) { return name == each.first; })
      ->second;
}

/// Divides the hidden size among the heads, or says that it cannot.
int divided_head_dim(ObjectReader& config, const ModelFamily& family, const Model& model) {
  if (!config.good(family.hidden_size) || !config.good(family.heads)) return 1;
  if (model.hidden_size % model.num_attention_heads == 0) return model.hidden_size / model.num_attention_heads;
  config.fail(family.heads, fmt::format("is {}, which does not divide {} = {}; write a divisor of it",
                                        model.num_attention_heads, family.hidden_size, model.hidden_size));
  return 1;
}

int read_key_value_heads(ObjectReader& config, const ModelFamily& family, const Model& model, bool newer) {
  if (!newer && read_switch(config, family.single_key_value)) return 1;
  if (family.key_value_heads == nullptr) return model.num_attention_heads;
  const int all = model.num_attention_heads, usual = family.usual.key_value_heads;
  const int heads = optional_integer(config, family.key_value_heads, kMaxHidden, all, usual > 0 ? usual : all);
  const bool good = config.good(family.heads) && config.good(family.key_value_heads);
  if (good && model.num_attention_heads % heads != 0) {
    config.fail(family.key_value_heads, fmt::format("is {}, which does not divide {} = {}; write a divisor of it",
                                                    heads, family.heads, model.num_attention_heads));
  }
  return heads;
}

/// Its sizes have no defaults: a config without them is of another attention.
Latent read_latent(ObjectReader& config) {
  Latent latent;
  const char* const query = "q_lora_rank";
  latent.query_rank = is_null(config, query) ? 0 : config.integer(query, 1, kMaxHidden, 1536);
  latent.key_value_rank = config.integer("kv_lora_rank", 1, kMaxHidden);
  latent.rotary_dim = config.integer("qk_rope_head_dim", 1, kMaxHeadDim);
  latent.value_dim = config.integer("v_head_dim", 1, kMaxHeadDim);
  if (config.boolean("attention_bias", false))
    config.fail("attention_bias", "biases of latent attention are not modelled yet; name a model without");
  return latent;
}

int read_head_dim(ObjectReader& config, const ModelFamily& family, const Model& model) {
  if (family.latent) {
    const int head_dim = config.integer("qk_nope_head_dim", 1, kMaxHeadDim) + model.latent.rotary_dim;
    const std::int64_t widest = std::max(head_dim, model.latent.value_dim);
    if (model.num_attention_heads * widest > kMaxProjection)
      config.fail(family.heads, fmt::format("times the widest of a head's vectors, {}, is more than {}; write fewer",
                                            widest, kMaxProjection));
    return head_dim;
  }
  if (family.head_dim == nullptr) return divided_head_dim(config, family, model);
  const JsonValue* own = config.find(family.head_dim);
  const bool said = own != nullptr && own->kind != JsonKind::kNull;
  const int usual = family.usual.head_dim,
            divided = said || usual > 0 ? usual : divided_head_dim(config, family, model);
  const int head_dim = optional_integer(config, family.head_dim, kMaxHeadDim, divided);
  if (std::int64_t{model.num_attention_heads} * head_dim > kMaxProjection) {
    config.fail(family.head_dim, fmt::format("times {} is more than {}; write a head dimension such as 128",
                                             family.heads, kMaxProjection));
  }
  return head_dim;
}

void refuse_other_embedding_width(ObjectReader& config, const ModelFamily& family, const Model& model) {
  if (family.embedding_width == nullptr) return;
  const int width = optional_integer(config, family.embedding_width, kMaxHidden, model.hidden_size);
  if (!config.good(family.hidden_size) || width == model.hidden_size) return;
  config.fail(family.embedding_width,
              fmt::format("embeddings of another width than {} = {} are not modelled yet; name a model without",
                          family.hidden_size, model.hidden_size));
}

/// A size that a `text_config` leaves out where it is usual.
int read_size(ObjectReader& config, const char* key, int most, int usual, bool of_text) {
  return of_text && usual > 0 ? config.integer(key, 1, most, usual) : config.integer(key, 1, most);
}

/// `newer`: the family's switch of that name is on.
void read_sizes(ObjectReader& config, const ModelFamily& family, bool of_text, bool newer, Model& model) {
  const UsualSizes& usual = family.usual;
  model.num_hidden_layers = read_size(config, family.layers, kMaxLayers, usual.layers, of_text);
  model.hidden_size = read_size(config, family.hidden_size, kMaxHidden, usual.hidden_size, of_text);
  model.num_attention_heads = read_size(config, family.heads, kMaxHidden, usual.heads, of_text);
  model.num_key_value_heads = read_key_value_heads(config, family, model, newer);
  if (family.latent) {
    model.num_key_value_heads = model.num_attention_heads;
    model.latent = read_latent(config);
  }
  model.head_dim = read_head_dim(config, family, model);
  refuse_other_embedding_width(config, family, model);
  const int usual_inner = family.inner_size_of_hidden * model.hidden_size;
  model.intermediate_size = usual_inner > 0
                                ? optional_integer(config, family.inner_size, kMaxInner, usual_inner)
                                : read_size(config, family.inner_size, kMaxInner, usual.inner_size, of_text);
  model.vocab_size = read_size(config, family.vocabulary, kMaxVocabulary, usual.vocabulary, of_text);
  const int more = family.more_positions, most = kMaxInteger - more;
  model.max_position_embeddings = read_size(config, family.positions, most, usual.positions, true) + more;
}

/// attention_types is a list of [pattern, times]: [[["global", "local"], 12]] is global, local, global... 24 layers.
void read_attention_types(ObjectReader& config, const ModelFamily& family, Model& model, int window) {
  const char* const key = "attention_types";
  const char* const form = "write [[[\"global\", \"local\"], N]], N times the pattern being the number of layers";
  const JsonValue* types = config.find(key);
  if (types == nullptr) return config.fail(key, std::string("missing; ") + form);
  if (types->kind != JsonKind::kArray) return config.fail(key, std::string("is no list; ") + form);
  const auto layers = static_cast<std::size_t>(model.num_hidden_layers);
  std::vector<int> windows;
  for (const JsonValue& item : types->elements) {
    const bool pair = item.kind == JsonKind::kArray && item.elements.size() == 2 &&
                      item.elements[0].kind == JsonKind::kArray && item.elements[1].kind == JsonKind::kNumber;
    if (!pair) return config.fail(key, std::string("holds something that is no [pattern, times]; ") + form);
    const std::vector<JsonValue>& pattern = item.elements[0].elements;
    for (double times = 0; times < item.elements[1].number && windows.size() <= layers; ++times) {
      if (pattern.empty()) return config.fail(key, std::string("holds an empty pattern; ") + form);
      for (const JsonValue& type : pattern) {
        const bool local = type.kind == JsonKind::kText && type.text == "local";
        const bool global = type.kind == JsonKind::kText && type.text == "global";
        if (!local && !global) return config.fail(key, "holds a type that is neither \"global\" nor \"local\"");
        windows.push_back(local ? window : 0);
      }
    }
  }
  if (windows.size() != layers && config.good(family.layers)) {
    const std::string described = windows.size() > layers ? "more" : std::to_string(windows.size());
    config.fail(key,
                fmt::format("describes {} layers and {} is {}; make them agree", described, family.layers, layers));
  }
  model.attention_window = std::move(windows);
}

/// Whether each layer has a window, as a list of its own says; empty without one.
std::vector<bool> read_layer_types(ObjectReader& config, const ModelFamily& family, const Model& model) {
  const char* const key = "layer_types";
  if (!config.has(key) || is_null(config, key)) return {};
  std::vector<bool> windows;
  for (const JsonValue* each : config.list(key, 1, kMaxLayers)) {
    const bool full = each->text == "full_attention", sliding = each->text == "sliding_attention";
    if (!full && !sliding) {
      const std::string shown = each->kind == JsonKind::kText ? in_quotes(each->text, 40) : noun_of(each->kind);
      config.fail(key,
                  fmt::format("has {}; of layers \"full_attention\" and \"sliding_attention\" are modelled", shown));
      return {};
    }
    windows.push_back(sliding);
  }
  const auto layers = static_cast<std::size_t>(model.num_hidden_layers);
  if (!windows.empty() && windows.size() != layers && config.good(family.layers))
    config.fail(key, fmt::format("describes {} layers and {} is {}; make them agree, or leave it out", windows.size(),
                                 family.layers, layers));
  return windows;
}

/// Of `sliding_window` null there is no window.
int read_sliding_window(ObjectReader& config, const SlidingRule& rule) {
  const char* const key = "sliding_window";
  if (is_null(config, key) || (rule.usual == 0 && !config.has(key))) return 0;
  return rule.usual > 0 ? config.integer(key, 1, kMaxInteger, rule.usual) : config.integer(key, 1, kMaxInteger);
}

void read_sliding(ObjectReader& config, const ModelFamily& family, Model& model) {
  const SlidingRule& rule = family.sliding;
  const std::vector<bool> listed = read_layer_types(config, family, model);
  const bool on = !rule.switched || config.boolean("use_sliding_window", false);
  for (const char* const key : {"sliding_window", "max_window_layers"}) config.find(key);  // read, though switched off
  const int window = on ? read_sliding_window(config, rule) : 0;
  const int first = rule.switched && on ? config.integer("max_window_layers", 0, kMaxInteger, 28) : 0;
  const int every = rule.full_every == 0 ? 0
                    : !listed.empty()    ? 1
                                         : config.integer("sliding_window_pattern", 1, kMaxInteger, rule.full_every);
  if (window == 0) return;
  for (int i = 0; i < model.num_hidden_layers; ++i) {
    const bool full = i < first || (every > 0 && (i + 1) % every == 0);
    const bool sliding = listed.empty() ? !full : listed[std::min(listed.size() - 1, static_cast<std::size_t>(i))];
    model.attention_window.push_back(sliding ? window : 0);
  }
}

void read_windows(ObjectReader& config, const ModelFamily& family, Model& model) {
  switch (family.windows) {
    case WindowRule::kFull: break;
    case WindowRule::kByLayer:
      return read_attention_types(config, family, model, config.integer("window_size", 1, kMaxInteger, 256));
    case WindowRule::kSliding: read_sliding(config, family, model);
  }
  model.attention_window.resize(static_cast<std::size_t>(model.num_hidden_layers), 0);
}

/// Layers that the family's list of dense ones does not name, behind its first dense ones.
std::vector<bool> read_expert_layers(ObjectReader& config, const ExpertKeys& keys, int layers) {
  std::vector<bool> with(static_cast<std::size_t>(layers), true);
  const int first = keys.first_dense != nullptr ? config.integer(keys.first_dense, 0, kMaxLayers, 0) : 0;
  std::fill_n(with.begin(), std::min(first, layers), false);
  if (keys.every != nullptr && config.integer(keys.every, 1, kMaxLayers, 1) > 1)
    config.fail(keys.every, "experts in some of the layers are not modelled yet but for 1; name a model with 1");
  if (keys.dense_layers == nullptr || !config.has(keys.dense_layers) || is_null(config, keys.dense_layers)) return with;
  for (const JsonValue* each : config.list(keys.dense_layers, 0, kMaxLayers)) {
    const double layer = each->kind == JsonKind::kNumber ? each->number : -1;
    if (layer < 0 || layer >= layers || layer != static_cast<int>(layer))
      config.fail(keys.dense_layers, fmt::format("names a layer that is none; layers are 0 to {}", layers - 1));
    else
      with[static_cast<std::size_t>(layer)] = false;
  }
  return with;
}

void read_experts(ObjectReader& config, const ModelFamily& family, Model& model) {
  constexpr int kMostExperts = 1 << 16;
  const ExpertKeys& keys = family.experts;
  const char* const per_token = "num_experts_per_tok";
  if (keys.count == nullptr) return;
  Experts& experts = model.experts;
  experts.count = config.integer(keys.count, 1, kMostExperts);
  experts.per_token = config.integer(per_token, 1, kMostExperts);
  if (config.good(keys.count) && config.good(per_token) && experts.per_token > experts.count)
    config.fail(per_token,
                fmt::format("is {}, and there are {} = {}; write fewer", experts.per_token, keys.count, experts.count));
  experts.inner_size =
      keys.inner_size != nullptr ? config.integer(keys.inner_size, 1, kMaxInner) : model.intermediate_size;
  if (std::int64_t{experts.count} * experts.inner_size > kMaxExperts)
    config.fail(keys.count, fmt::format("times their inner size is more than {}; write fewer", kMaxExperts));
  if (keys.shared_count != nullptr) {
    const int shared = is_null(config, keys.shared_count) ? 0 : config.integer(keys.shared_count, 0, kMostExperts, 0);
    if (std::int64_t{shared} * experts.inner_size > kMaxInner)
      config.fail(keys.shared_count, fmt::format("times {} is more than {}", keys.inner_size, kMaxInner));
    else
      experts.shared_inner_size = shared * experts.inner_size;
  }
  if (keys.shared_inner_size != nullptr)
    experts.shared_inner_size = config.integer(keys.shared_inner_size, 1, kMaxInner);
  experts.shared_gate = keys.shared_gate;
  experts.router_bias = keys.router_bias;
  experts.correction_bias = keys.correction_bias;
  experts.in_layer = read_expert_layers(config, keys, model.num_hidden_layers);
}

void read_block(ObjectReader& config, const ModelFamily& family, bool newer, Model& model) {
  model.norms = family.norms;
  if (read_switch(config, family.parallel)) {
    const int usual = newer ? 2 : family.parallel_norms;
    model.parallel_norms = newer ? optional_integer(config, "num_ln_in_parallel_attn", 2, usual) : usual;
  }
  if (family.query_key_norm != QueryKeyNorm::kNone && read_switch(config, family.with_query_key_norm))
    model.query_key_norm = family.query_key_norm;
  if (family.rotary_share != nullptr)
    model.rotary_share = config.number(family.rotary_share, Range{0, 1, true}, family.usual_rotary_share);
  const auto capped = [&](const char* key) { return family.soft_caps && !is_null(config, key); };
  model.capped_scores = capped("attn_logit_softcapping");
  model.capped_logits = capped("final_logit_softcapping");
  model.scaled_embeddings = family.scaled_embeddings;
  model.scaled_branches = family.scaled_branches;
  model.scaled_logits = family.scaled_logits;
}

/// `of_text`: it is the text_config of a config of images too.
void read_transformer(ObjectReader& config, const ModelFamily& family, bool of_text, Model& model) {
  const bool newer = family.newer != nullptr && config.boolean(family.newer, false);
  read_sizes(config, family, of_text, newer, model);
  model.learned_positions = family.learned_positions;
  model.gated_mlp = family.gated_mlp;
  model.rms_norm = family.rms_norm;
  model.activation = read_activation(config, family.activation, family.usual_activation);
  if (family.causal != nullptr) model.causal = config.boolean(family.causal, true);
  model.qkv_bias = read_switch(config, family.qkv_bias);
  model.attention_output_bias = read_switch(config, family.attention_output_bias);
  model.mlp_bias = read_switch(config, family.mlp_bias);
  model.tie_word_embeddings = config.boolean("tie_word_embeddings", family.usually_tied);
  model.attention_sinks = family.attention_sinks;
  read_block(config, family, newer, model);
  read_experts(config, family, model);
  read_windows(config, family, model);
}

void read_measured(ObjectReader& config, Model& model) {
  constexpr double kMostParameters = 1e15;
  model.measured_parameters = static_cast<std::int64_t>(config.number("parameters", Range{1, kMostParameters}));
  model.micro_batch_time = config.seconds("micro_batch_time");
  read_part(config, "shorter_micro_batches", [&](ObjectReader& times) {
    for (const std::string& key : keys_of(times.value())) {
      const int tokens = whole_number(key).value_or(0);
      if (tokens < 1)
        config.fail("shorter_micro_batches", in_quotes(key, 50) + " is no number of tokens; write {\"128\": \"2 ms\"}");
      model.shorter_micro_batches[tokens] = times.seconds(key);
    }
  });
  config.finish();
}

/// A key of a config that makes another model of it than its family's, at another price.
struct Unmodelled {
  const char* key;  ///< or the beginning of one, where it ends in "_"
  const char* what;
  double harmless = 0;  ///< a number up to which it changes nothing
};
constexpr const char* kLora = "LoRA belongs to the training (\"lora\"), and here it is";
constexpr Unmodelled kUnmodelled[] = {
    {"num_local_experts", lacking::kExperts, 1},
    {"num_experts", lacking::kExperts, 1},
    {"n_routed_experts", lacking::kExperts, 1},
    {"n_shared_experts", lacking::kExperts},
    {"num_experts_per_tok", lacking::kExperts, 1},
    {"num_experts_per_token", lacking::kExperts, 1},
    {"moe_", lacking::kExperts, 1},
    {"q_lora_rank", lacking::kLatent},
    {"kv_lora_rank", lacking::kLatent},
    {"qk_rope_head_dim", lacking::kLatent},
    {"qk_nope_head_dim", lacking::kLatent},
    {"v_head_dim", lacking::kLatent},
    {"num_nextn_predict_layers", lacking::kNextTokens},
    {"lora_", kLora},
    {"use_lora", kLora},
    {"use_dora", kLora},
    {"use_peft", lacking::kAdapters},
    {"peft_", lacking::kAdapters},
    {"adapter", lacking::kAdapters},
    {"adapters", lacking::kAdapters},
    {"adapter_", lacking::kAdapters},
    {"quantization", lacking::kQuantised},
    {"quantization_", lacking::kQuantised},
    {"quant_method", lacking::kQuantised},
    {"load_in_4bit", lacking::kQuantised},
    {"load_in_8bit", lacking::kQuantised},
    {"bnb_", lacking::kQuantised},
    {"gptq_", lacking::kQuantised},
    {"awq_", lacking::kQuantised},
    {"vision_config", lacking::kEncoders},
    {"audio_config", lacking::kEncoders},
    {"is_encoder_decoder", lacking::kEncoders},
    {"add_cross_attention", "cross-attention is"},
    {"reorder_and_upcast_attn", "attention's scores in fp32 are"},
    {"alibi", "positions by ALiBi are"},
};

bool matches(const Unmodelled& entry, const std::string& key) {
  const std::string wanted = entry.key;
  return wanted.back() == '_' ? key.rfind(wanted, 0) == 0 : key == wanted;
}

/// What a value that switches something on looks like in a message; empty when it switches nothing on.
std::string switched_on(const JsonValue& value, double harmless) {
  switch (value.kind) {
    case JsonKind::kNull: return {};
    case JsonKind::kBool: return value.boolean ? "true" : "";
    case JsonKind::kNumber: return value.number > harmless ? printable(value.text, 40) : "";
    case JsonKind::kText: return value.text.empty() ? "" : in_quotes(value.text);
    case JsonKind::kArray: return value.elements.empty() ? "" : "[...]";
    case JsonKind::kObject: return value.members.empty() ? "" : "{...}";
  }
  return {};
}

/// Whatever the family: what would otherwise be dropped in silence, and the model priced as another one. Of each kind
/// the first key is told, or of all together where nothing else can be told of the family.
void refuse_unmodelled(ObjectReader& config, const ModelFamily* known) {
  std::vector<std::string> told;
  if (known != nullptr && known->experts.count != nullptr)
    told.insert(told.end(), {lacking::kExperts, lacking::kNextTokens});
  if (known != nullptr && known->latent) told.emplace_back(lacking::kLatent);
  if (known != nullptr && known->released_narrow) told.emplace_back(lacking::kQuantised);
  for (const Unmodelled& entry : kUnmodelled) {
    if (std::ranges::find(told, entry.what) != told.end()) continue;
    for (const JsonMember& member : config.value().members) {
      if (!matches(entry, member.key)) continue;
      const std::string value = switched_on(member.value, entry.harmless);
      if (value.empty()) continue;
      config.fail(member.key, fmt::format("{} not modelled yet ({}: {}); name a model without", entry.what,
                                          printable(member.key), value));
      if (known == nullptr) return;
      told.emplace_back(entry.what);
      break;
    }
  }
}

/// A family that is no row is refused in one line: why, and the nearest that can be had.
void check_family(ObjectReader& config) {
  const JsonValue* const type = config.find("model_type");
  const std::vector<std::string> names = family_names();
  const std::string written = type != nullptr && type->kind == JsonKind::kText ? type->text : names.front();
  const bool known = std::ranges::find(names, written) != names.end();
  if (const std::string lacking = known ? "" : lacking_family(written); !lacking.empty())
    return config.fail("model_type", fmt::format("{} is not modelled yet: {}", in_quotes(written), lacking));
  refuse_unmodelled(config, known ? &family_of(written) : nullptr);
}

/// A config of text and images becomes that of its text, if a family has such ones.
bool take_text(JsonValue& config) {
  const JsonValue *const type = config.find("model_type"), *const text = config.find("text_config");
  const ModelFamily* const family = type != nullptr ? family_beside_images(type->text) : nullptr;
  if (family == nullptr || text == nullptr || text->kind != JsonKind::kObject) return false;
  if (const JsonValue* const own = text->find("model_type"); own != nullptr && own->text != family->name) return false;
  JsonValue taken = *text;
  taken.set("model_type", json_text(family->name, type->origin));
  for (const char* const key : {"name", "tie_word_embeddings"})
    if (const JsonValue* const own = config.find(key); own != nullptr && taken.find(key) == nullptr)
      taken.set(key, *own);
  config = std::move(taken);
  return true;
}

/// Whether --set or an axis has put it there, and not a config that lists for other programs what it will.
bool is_set(const JsonMember& member, const JsonValue& config) {
  const JsonOrigin& origin = member.value.origin;
  return origin.line == 0 && origin.source && *origin.source != "default" && text_of(origin) != text_of(config.origin);
}

/// A key that is set by hand and read by nobody is a mistake; of a config's own those are kept that may matter.
void finish_config(ObjectReader& config, const ModelFamily& family, Model& model) {
  const std::map<std::string, std::string> words = config_words(family);
  config.finish(words, [&](const JsonMember& member) {
    if (is_without_effect(family, member.key)) return true;
    if (is_set(member, config.value())) return false;
    if (switched_on(member.value, 0).empty()) return true;
    const auto word = words.find(member.key);
    model.unread.emplace(member.key, word == words.end() ? "" : word->second);
    return true;
  });
  config.drop_unknown();
}

}  // namespace

std::optional<Model> read_model(JsonValue& value, const std::string& pointer, Diagnostics& diagnostics) {
  const bool of_text = value.kind == JsonKind::kObject && take_text(value);
  ObjectReader config(value, pointer, diagnostics);
  if (config.good()) check_family(config);
  if (!config.good()) return std::nullopt;
  Model model;
  // No nearest name: what is one letter away may be another architecture, at another price.
  model.family = config.one_of("model_type", family_names(), "", [](const std::string&) { return std::string(); });
  if (!config.good()) return std::nullopt;
  model.name = config.text("name", model.family);
  const ModelFamily& family = family_of(model);
  if (family.measured)
    read_measured(config, model);
  else
    read_transformer(config, family, of_text, model);
  if (!family.measured) finish_config(config, family, model);
  if (of_text)
    model.unread.emplace("vision_config", "the encoder of images costs nothing here: this is the model of its text");
  if (!config.good()) return std::nullopt;
  return model;
}

JsonValue accocal_config(const AccocalConfig& sizes) {
  const ModelFamily& family = accocal_family();
  return json_object({{"model_type", family.name},
                      {family.layers, sizes.layers},
                      {family.hidden_size, sizes.width},
                      {family.heads, sizes.heads},
                      {family.positions, sizes.context},
                      {family.vocabulary, sizes.vocabulary}});
}

}  // namespace accosim
