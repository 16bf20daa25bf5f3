// Each family has its own key names and its own rules for biases, norms and positions; here they become one Model.
#include "models/hf_config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/text.hpp"

namespace accosim {
namespace {

// So generous that no model meets them, so tight that parameter counts fit 63 bits and lists of layers fit the memory.
constexpr int kMaxLayers = 10'000;
constexpr int kMaxHidden = 1 << 20;
constexpr int kMaxInner = 1 << 23;
constexpr int kMaxVocabulary = 100'000'000;
constexpr int kMaxHeadDim = 1 << 16;
constexpr std::int64_t kMaxProjection = 1 << 23;

/// An integer that may be absent or null.
int optional_integer(ObjectReader& config, const char* key, int most, int fallback) {
  const JsonValue* member = config.find(key);
  if (member != nullptr && member->kind == JsonKind::kNull) {
    config.value().set(key, json_number(fallback, default_origin()));
  }
  return config.integer(key, 1, most, fallback);
}

/// The names of transformers' ACT2FN that differ in cost; the others are spellings of these.
Activation read_activation(ObjectReader& config, const char* key, const char* usual) {
  const std::string name = config.one_of(
      key, {"gelu_new", "gelu", "relu", "silu", "swish", "gelu_fast", "gelu_pytorch_tanh", "gelu_python"}, usual);
  if (name == "gelu_new" || name == "gelu_fast") return Activation::kGeluNew;
  if (name == "relu") return Activation::kRelu;
  return name == "silu" || name == "swish" ? Activation::kSilu : Activation::kGelu;
}

/// Divides the hidden size among the heads, or says that it cannot.
int divided_head_dim(ObjectReader& config, const Model& model, const char* hidden_key, const char* heads_key) {
  if (!config.good(hidden_key) || !config.good(heads_key)) return 1;
  if (model.hidden_size % model.num_attention_heads == 0) return model.hidden_size / model.num_attention_heads;
  config.fail(heads_key, fmt::format("is {}, which does not divide {} = {}; write a divisor of it",
                                     model.num_attention_heads, hidden_key, model.hidden_size));
  return 1;
}

void read_gpt2(ObjectReader& config, Model& model) {
  model.num_hidden_layers = config.integer("n_layer", 1, kMaxLayers);
  model.hidden_size = config.integer("n_embd", 1, kMaxHidden);
  model.num_attention_heads = config.integer("n_head", 1, kMaxHidden);
  model.num_key_value_heads = model.num_attention_heads;
  model.head_dim = divided_head_dim(config, model, "n_embd", "n_head");
  model.intermediate_size = optional_integer(config, "n_inner", kMaxInner, 4 * model.hidden_size);
  model.vocab_size = config.integer("vocab_size", 1, kMaxVocabulary);
  model.max_position_embeddings = config.integer("n_positions", 1, kMaxInteger);
  model.learned_positions = true;
  model.activation = read_activation(config, "activation_function", "gelu_new");
  model.causal = config.boolean("causal", true);
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = true;
  model.tie_word_embeddings = config.boolean("tie_word_embeddings", true);
  model.attention_window.assign(static_cast<std::size_t>(model.num_hidden_layers), 0);
}

/// attention_types is a list of [pattern, times]: [[["global", "local"], 12]] is global, local, global... 24 layers.
void read_attention_types(ObjectReader& config, Model& model, int window) {
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
  if (windows.size() != layers && config.good("num_layers")) {
    config.fail(key, fmt::format("describes {} layers and num_layers is {}; make them agree",
                                 windows.size() > layers ? "more" : std::to_string(windows.size()), layers));
  }
  model.attention_window = std::move(windows);
}

void read_gpt_neo(ObjectReader& config, Model& model) {
  model.num_hidden_layers = config.integer("num_layers", 1, kMaxLayers);
  model.hidden_size = config.integer("hidden_size", 1, kMaxHidden);
  model.num_attention_heads = config.integer("num_heads", 1, kMaxHidden);
  model.num_key_value_heads = model.num_attention_heads;
  model.head_dim = divided_head_dim(config, model, "hidden_size", "num_heads");
  model.intermediate_size = optional_integer(config, "intermediate_size", kMaxInner, 4 * model.hidden_size);
  model.vocab_size = config.integer("vocab_size", 1, kMaxVocabulary);
  model.max_position_embeddings = config.integer("max_position_embeddings", 1, kMaxInteger);
  model.learned_positions = true;
  model.activation = read_activation(config, "activation_function", "gelu_new");
  model.attention_output_bias = model.mlp_bias = true;  // the projections of queries, keys and values have none
  model.tie_word_embeddings = config.boolean("tie_word_embeddings", true);
  read_attention_types(config, model, config.integer("window_size", 1, kMaxInteger, 256));
}

void read_opt(ObjectReader& config, Model& model) {
  model.num_hidden_layers = config.integer("num_hidden_layers", 1, kMaxLayers);
  model.hidden_size = config.integer("hidden_size", 1, kMaxHidden);
  model.num_attention_heads = config.integer("num_attention_heads", 1, kMaxHidden);
  model.num_key_value_heads = model.num_attention_heads;
  model.head_dim = divided_head_dim(config, model, "hidden_size", "num_attention_heads");
  const int embedded = optional_integer(config, "word_embed_proj_dim", kMaxHidden, model.hidden_size);
  if (config.good("hidden_size") && embedded != model.hidden_size)
    config.fail("word_embed_proj_dim", fmt::format("embeddings of another width than hidden_size = {} are not modelled "
                                                   "yet; name a model without",
                                                   model.hidden_size));
  model.intermediate_size = config.integer("ffn_dim", 1, kMaxInner);
  model.vocab_size = config.integer("vocab_size", 1, kMaxVocabulary);
  model.max_position_embeddings = config.integer("max_position_embeddings", 1, kMaxInteger - 2) + 2;  // its offset
  model.learned_positions = true;
  model.activation = read_activation(config, "activation_function", "relu");
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = config.boolean("enable_bias", true);
  model.tie_word_embeddings = config.boolean("tie_word_embeddings", true);
  model.attention_window.assign(static_cast<std::size_t>(model.num_hidden_layers), 0);
}

void read_llama(ObjectReader& config, Model& model) {
  model.num_hidden_layers = config.integer("num_hidden_layers", 1, kMaxLayers);
  model.hidden_size = config.integer("hidden_size", 1, kMaxHidden);
  model.num_attention_heads = config.integer("num_attention_heads", 1, kMaxHidden);
  model.num_key_value_heads = optional_integer(config, "num_key_value_heads", kMaxHidden, model.num_attention_heads);
  const bool head_counts = config.good("num_attention_heads") && config.good("num_key_value_heads");
  if (head_counts && model.num_attention_heads % model.num_key_value_heads != 0) {
    config.fail("num_key_value_heads", fmt::format("is {}, which does not divide num_attention_heads = {}; write a "
                                                   "divisor of it",
                                                   model.num_key_value_heads, model.num_attention_heads));
  }
  const JsonValue* head_dim = config.find("head_dim");
  const bool own_head_dim = head_dim != nullptr && head_dim->kind != JsonKind::kNull;
  const int divided = own_head_dim ? 1 : divided_head_dim(config, model, "hidden_size", "num_attention_heads");
  model.head_dim = optional_integer(config, "head_dim", kMaxHeadDim, divided);
  if (std::int64_t{model.num_attention_heads} * model.head_dim > kMaxProjection) {
    config.fail("head_dim", fmt::format("times num_attention_heads is more than {}; write a head dimension such as 128",
                                        kMaxProjection));
  }
  model.intermediate_size = config.integer("intermediate_size", 1, kMaxInner);
  model.vocab_size = config.integer("vocab_size", 1, kMaxVocabulary);
  model.max_position_embeddings = config.integer("max_position_embeddings", 1, kMaxInteger);
  model.gated_mlp = model.rms_norm = true;
  model.activation = read_activation(config, "hidden_act", "silu");
  model.qkv_bias = model.attention_output_bias = config.boolean("attention_bias", false);
  model.mlp_bias = config.boolean("mlp_bias", false);
  model.tie_word_embeddings = config.boolean("tie_word_embeddings", false);
  const bool sliding = model.family == "mistral";
  model.attention_window.assign(static_cast<std::size_t>(model.num_hidden_layers),
                                sliding ? optional_integer(config, "sliding_window", kMaxInteger, kMaxInteger) : 0);
}

/// A key of a config that makes another model of it than its family's, at another price.
struct Unmodelled {
  const char* key;  ///< or the beginning of one, where it ends in "_"
  const char* what;
  double harmless = 0;  ///< a number up to which it changes nothing
};
constexpr const char* kExperts = "mixture-of-experts models are";
constexpr const char* kLatent = "multi-head latent attention is";
constexpr const char* kParts = "models with an encoder of their own are";
constexpr Unmodelled kUnmodelled[] = {
    {"num_local_experts", kExperts, 1},
    {"num_experts", kExperts, 1},
    {"n_routed_experts", kExperts, 1},
    {"n_shared_experts", kExperts},
    {"num_experts_per_tok", kExperts, 1},
    {"num_experts_per_token", kExperts, 1},
    {"moe_", kExperts, 1},
    {"q_lora_rank", kLatent},
    {"kv_lora_rank", kLatent},
    {"qk_rope_head_dim", kLatent},
    {"qk_nope_head_dim", kLatent},
    {"v_head_dim", kLatent},
    {"num_nextn_predict_layers", "multi-token prediction is"},
    {"quantization_config", "quantised weights are"},
    {"vision_config", kParts},
    {"audio_config", kParts},
    {"is_encoder_decoder", kParts},
    {"add_cross_attention", "cross-attention is"},
    {"reorder_and_upcast_attn", "attention's scores in fp32 are"},
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
/// the first key is told.
void refuse_unmodelled(ObjectReader& config) {
  std::vector<std::string> told;
  for (const Unmodelled& entry : kUnmodelled) {
    if (std::find(told.begin(), told.end(), entry.what) != told.end()) continue;
    for (const JsonMember& member : config.value().members) {
      if (!matches(entry, member.key)) continue;
      const std::string value = switched_on(member.value, entry.harmless);
      if (value.empty()) continue;
      config.fail(member.key, fmt::format("{} not modelled yet ({}: {}); name a model without", entry.what,
                                          printable(member.key), value));
      told.emplace_back(entry.what);
      break;
    }
  }
}

}  // namespace

std::optional<Model> read_model(JsonValue& value, const std::string& pointer, Diagnostics& diagnostics) {
  ObjectReader config(value, pointer, diagnostics);
  if (!config.good()) return std::nullopt;
  refuse_unmodelled(config);
  if (!config.good()) return std::nullopt;
  Model model;
  // No nearest name: what is one letter away may be another architecture, at another price.
  model.family = config.one_of("model_type", {"gpt2", "gpt_neo", "opt", "llama", "mistral", "measured"}, "",
                               [](const std::string&) { return std::string(); });
  if (!config.good()) return std::nullopt;
  model.name = config.text("name", model.family);
  if (model.family == "measured") {
    constexpr double kMostParameters = 1e15;
    model.measured_parameters = static_cast<std::int64_t>(config.number("parameters", Range{1, kMostParameters}));
    model.micro_batch_time = config.seconds("micro_batch_time");
    config.finish();
  }
  if (model.family == "gpt2") read_gpt2(config, model);
  if (model.family == "gpt_neo") read_gpt_neo(config, model);
  if (model.family == "opt") read_opt(config, model);
  if (model.family == "llama" || model.family == "mistral") read_llama(config, model);
  config.drop_unknown();
  if (!config.good()) return std::nullopt;
  return model;
}

}  // namespace accosim
