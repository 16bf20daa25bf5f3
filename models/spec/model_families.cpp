// The rows. What a family has as most others is not said again.
#include "models/spec/model_families.hpp"

#include <algorithm>
#include <stdexcept>

namespace accosim {
namespace {

constexpr ModelFamily kGpt2{.name = "gpt2",
                            .accocal = true,
                            .layers = "n_layer",
                            .hidden_size = "n_embd",
                            .heads = "n_head",
                            .inner_size = "n_inner",
                            .positions = "n_positions",
                            .causal = "causal",
                            .inner_size_of_hidden = 4,
                            .one_qkv_matrix = true,
                            .softmax = EagerSoftmax::kAsStored,
                            .mask_buffers = true};

constexpr ModelFamily kGptNeo{.name = "gpt_neo",
                              .layers = "num_layers",
                              .heads = "num_heads",
                              .qkv_bias = {nullptr, false},
                              .inner_size_of_hidden = 4,
                              .windows = WindowRule::kByLayer,
                              .fp32_scores = true,
                              .mask_buffers = true};

constexpr ModelFamily kOpt{.name = "opt",
                           .embedding_width = "word_embed_proj_dim",
                           .inner_size = "ffn_dim",
                           .qkv_bias = {"enable_bias", true},
                           .attention_output_bias = {"enable_bias", true},
                           .mlp_bias = {"enable_bias", true},
                           .usual_activation = "relu",
                           .more_positions = 2,
                           .softmax = EagerSoftmax::kClamped};

constexpr ModelFamily kLlama{.name = "llama",
                             .key_value_heads = "num_key_value_heads",
                             .head_dim = "head_dim",
                             .activation = "hidden_act",
                             .qkv_bias = {"attention_bias", false},
                             .attention_output_bias = {"attention_bias", false},
                             .mlp_bias = {"mlp_bias", false},
                             .usual_activation = "silu",
                             .usually_tied = false,
                             .learned_positions = false,
                             .gated_mlp = true,
                             .rms_norm = true};

/// The rows below are of what transformers' configuration_*.py and modeling_*.py of the family have that the family
/// behind them has not.
template <class Change>
constexpr ModelFamily as(ModelFamily family, const char* name, Change change) {
  family.name = name;
  change(family);
  return family;
}

constexpr ModelFamily kMistral = as(kLlama, "mistral", [](ModelFamily& f) {
  f.beside_images = "mistral3";
  f.qkv_bias = f.attention_output_bias = f.mlp_bias = {};
  f.windows = WindowRule::kSliding;
  f.sliding = {.usual = 4096};
  f.usual = {32, 4096, 32, 14336, 32000, 8, 0, 131072};
});

constexpr ModelFamily kQwen2 = as(kLlama, "qwen2", [](ModelFamily& f) {
  f.qkv_bias = {nullptr, true};
  f.attention_output_bias = f.mlp_bias = {};
  f.windows = WindowRule::kSliding;
  f.sliding = {.usual = 4096, .switched = true};
  f.usual.key_value_heads = 32;
});

constexpr ModelFamily kQwen3 = as(kQwen2, "qwen3", [](ModelFamily& f) {
  f.qkv_bias = f.attention_output_bias = {"attention_bias", false};
  f.query_key_norm = QueryKeyNorm::kByHead;
  f.usual.head_dim = 128;
});

constexpr ModelFamily kSmolLm3 = as(kQwen2, "smollm3", [](ModelFamily& f) {
  f.qkv_bias = f.attention_output_bias = {"attention_bias", false};
  f.mlp_bias = {"mlp_bias", false};
  f.usually_tied = true;
  f.usual.key_value_heads = 4;
});

// hidden_act is what its first configs said and its code did not heed.
constexpr ModelFamily kGemma = as(kLlama, "gemma", [](ModelFamily& f) {
  f.activation = "hidden_activation";
  f.mlp_bias = {};
  f.unread = " hidden_act ";
  f.usual_activation = "gelu_pytorch_tanh";
  f.usually_tied = true;
  f.scaled_embeddings = true;
  f.usual = {.key_value_heads = 16, .head_dim = 256};
});

constexpr ModelFamily kGemma2 = as(kGemma, "gemma2", [](ModelFamily& f) {
  f.norms = NormPlaces::kBoth;
  f.soft_caps = true;
  f.windows = WindowRule::kSliding;
  f.sliding = {.usual = 4096, .full_every = 2};
  f.usual.key_value_heads = 4;
});

constexpr ModelFamily kGemma3 = as(kGemma2, "gemma3_text", [](ModelFamily& f) {
  f.beside_images = "gemma3";
  f.soft_caps = false;
  f.query_key_norm = QueryKeyNorm::kByHead;
  f.sliding.full_every = 6;
  f.usual = {26, 2304, 8, 9216, 262208, 4, 256, 131072};
});

constexpr ModelFamily kPhi3 = as(kLlama, "phi3", [](ModelFamily& f) {
  f.rotary_share = "partial_rotary_factor";
  f.qkv_bias = f.attention_output_bias = f.mlp_bias = {};
  f.windows = WindowRule::kSliding;
  f.one_qkv_matrix = f.one_gate_up_matrix = true;
});

constexpr ModelFamily kOlmo2 = as(kLlama, "olmo2", [](ModelFamily& f) {
  f.mlp_bias = {};
  f.norms = NormPlaces::kAfter;
  f.query_key_norm = QueryKeyNorm::kByWidth;
});

constexpr ModelFamily kOlmo3 = as(kOlmo2, "olmo3", [](ModelFamily& f) {
  f.windows = WindowRule::kSliding;
  f.sliding = {.usual = 4096, .full_every = 4};
});

// A multiplier each of the table's rows, of both branches and of the logits; that of attention takes the scale's place.
constexpr ModelFamily kGranite =
    as(kLlama, "granite", [](ModelFamily& f) { f.scaled_embeddings = f.scaled_branches = f.scaled_logits = true; });

// Its norms have a weight and no bias, and so have those of queries and keys, for each head its own.
constexpr ModelFamily kCohere = as(kLlama, "cohere", [](ModelFamily& f) {
  f.mlp_bias = {};
  f.parallel = {nullptr, true};
  f.usually_tied = true;
  f.query_key_norm = QueryKeyNorm::kByWidth;
  f.with_query_key_norm = {"use_qk_norm", false};
  f.scaled_logits = true;
});

constexpr ModelFamily kCohere2 = as(kCohere, "cohere2", [](ModelFamily& f) {
  f.query_key_norm = QueryKeyNorm::kNone;
  f.windows = WindowRule::kSliding;
  f.sliding = {.usual = 4096, .full_every = 4};
});

// Not in transformers: modeling_internlm2.py beside the weights.
constexpr ModelFamily kInternLm2 = as(kLlama, "internlm2", [](ModelFamily& f) {
  f.qkv_bias = f.attention_output_bias = {"bias", true};
  f.mlp_bias = {};
  f.one_qkv_matrix = true;
});

constexpr ModelFamily kNemotron = as(kLlama, "nemotron", [](ModelFamily& f) {
  f.rotary_share = "partial_rotary_factor";
  f.usual_activation = "relu2";
  f.usual_rotary_share = 0.5;
  f.gated_mlp = f.rms_norm = false;
});

constexpr ModelFamily kStarCoder2 = as(kLlama, "starcoder2", [](ModelFamily& f) {
  f.qkv_bias = f.attention_output_bias = f.mlp_bias = {"use_bias", true};
  f.usual_activation = "gelu_pytorch_tanh";
  f.usually_tied = true;
  f.gated_mlp = f.rms_norm = false;
  f.windows = WindowRule::kSliding;
  f.usual.key_value_heads = 2;
});

constexpr ModelFamily kGptNeoX{.name = "gpt_neox",
                               .activation = "hidden_act",
                               .rotary_share = "rotary_pct",
                               .qkv_bias = {"attention_bias", true},
                               .attention_output_bias = {"attention_bias", true},
                               .parallel = {"use_parallel_residual", true},
                               .usual_activation = "gelu",
                               .usually_tied = false,
                               .usual_rotary_share = 0.25,
                               .learned_positions = false,
                               .parallel_norms = 2,
                               .one_qkv_matrix = true};

// The 7B has one key-value head and one norm; what came after it has `newer`, with key-value heads and two norms.
constexpr ModelFamily kFalcon{.name = "falcon",
                              .key_value_heads = "num_kv_heads",
                              .inner_size = "ffn_hidden_size",
                              .activation = "activation",
                              .qkv_bias = {"bias", false},
                              .attention_output_bias = {"bias", false},
                              .mlp_bias = {"bias", false},
                              .single_key_value = {"multi_query", true},
                              .parallel = {"parallel_attn", true},
                              .newer = "new_decoder_architecture",
                              .inner_size_of_hidden = 4,
                              .usual_activation = "gelu",
                              .usual = {.positions = 2048},
                              .learned_positions = false,
                              .one_qkv_matrix = true};

// Of experts: how the router scales its scores, which groups it chooses from, its auxiliary losses.
constexpr const char* kRouterWords =
    " aux_loss_alpha clip_qkv ep_size experts_per_token initial_context_length n_group norm_topk_prob "
    "num_nextn_predict_layers "
    "pad_token_id routed_scaling_factor router_aux_loss_coef router_jitter_noise scoring_func seq_aux swiglu_limit "
    "topk_group topk_method ";

constexpr ModelFamily kMixtral = as(kMistral, "mixtral", [](ModelFamily& f) {
  f.beside_images = nullptr;
  f.unread = kRouterWords;
  f.sliding = {};
  f.experts.count = "num_local_experts";
});

constexpr ModelFamily kQwen3Moe = as(kQwen3, "qwen3_moe", [](ModelFamily& f) {
  f.unread = kRouterWords;
  f.usual = {.key_value_heads = 4};
  f.experts = {.count = "num_experts",
               .inner_size = "moe_intermediate_size",
               .dense_layers = "mlp_only_layers",
               .every = "decoder_sparse_step"};
});

constexpr ModelFamily kQwen2Moe = as(kQwen2, "qwen2_moe", [](ModelFamily& f) {
  f.unread = kRouterWords;
  f.usual.key_value_heads = 16;
  f.experts = kQwen3Moe.experts;
  f.experts.shared_inner_size = "shared_expert_intermediate_size";
  f.experts.shared_gate = true;
});

constexpr ModelFamily kOlmoe = as(kLlama, "olmoe", [](ModelFamily& f) {
  f.head_dim = nullptr;
  f.mlp_bias = {};
  f.query_key_norm = QueryKeyNorm::kByWidth;
  f.unread = kRouterWords;
  f.experts.count = "num_experts";
});

constexpr ModelFamily kGptOss = as(kLlama, "gpt_oss", [](ModelFamily& f) {
  f.qkv_bias = f.attention_output_bias = {"attention_bias", true};
  f.mlp_bias = {nullptr, true};
  f.unread = kRouterWords;
  f.usual = {.key_value_heads = 8, .head_dim = 64};
  f.windows = WindowRule::kSliding;
  f.sliding = {.usual = 128, .full_every = 2};
  f.attention_sinks = f.released_narrow = true;
  f.experts = {.count = "num_local_experts", .router_bias = true};
});

// Every head has keys and values of its own, whatever num_key_value_heads says.
constexpr ModelFamily kDeepSeek2 = as(kLlama, "deepseek_v2", [](ModelFamily& f) {
  f.head_dim = nullptr;
  f.qkv_bias = f.attention_output_bias = f.mlp_bias = {};
  f.unread = kRouterWords;
  f.latent = true;
  f.experts = {.count = "n_routed_experts",
               .inner_size = "moe_intermediate_size",
               .shared_count = "n_shared_experts",
               .first_dense = "first_k_dense_replace",
               .every = "moe_layer_freq"};
});

constexpr ModelFamily kDeepSeek3 = as(kDeepSeek2, "deepseek_v3", [](ModelFamily& f) {
  f.released_narrow = true;
  f.experts.correction_bias = true;
});

constexpr ModelFamily kKimi2 = as(kDeepSeek3, "kimi_k2", [](ModelFamily&) {});

constexpr ModelFamily kMeasured{.name = "measured", .measured = true};

constexpr ModelFamily kFamilies[] = {kGpt2,      kGptNeo,  kOpt,      kLlama,     kMistral,  kQwen2,      kQwen3,
                                     kSmolLm3,   kGemma,   kGemma2,   kGemma3,    kPhi3,     kOlmo2,      kOlmo3,
                                     kGranite,   kCohere,  kCohere2,  kInternLm2, kNemotron, kStarCoder2, kGptNeoX,
                                     kFalcon,    kMixtral, kQwen2Moe, kQwen3Moe,  kOlmoe,    kGptOss,     kDeepSeek2,
                                     kDeepSeek3, kKimi2,   kMeasured};

template <class Wanted>
const ModelFamily& row_with(const std::string& what, Wanted wanted) {
  const ModelFamily* const row = std::find_if(std::begin(kFamilies), std::end(kFamilies), wanted);
  if (row == std::end(kFamilies)) throw std::logic_error("no family of models " + what);
  return *row;
}

}  // namespace

std::vector<std::string> family_names() { return mapped<std::string>(kFamilies, &ModelFamily::name); }

const ModelFamily& family_of(const std::string& name) {
  return row_with("is called \"" + name + "\"", [&](const ModelFamily& row) { return row.name == name; });
}

const ModelFamily& family_of(const Model& model) { return family_of(model.family); }

const ModelFamily* family_beside_images(const std::string& model_type) {
  const auto row = std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const ModelFamily& each) {
    return each.beside_images != nullptr && model_type == each.beside_images;
  });
  return row == std::end(kFamilies) ? nullptr : &*row;
}

int positions_of(const Model& model) { return model.max_position_embeddings - family_of(model).more_positions; }

const ModelFamily& plain_family(bool gated) {
  return row_with("is plain", [&](const ModelFamily& row) {
    return !row.measured && row.gated_mlp == gated && row.windows == WindowRule::kFull;
  });
}

const ModelFamily& expert_family(bool latent, bool shared, bool listed) {
  return row_with("has such experts", [&](const ModelFamily& row) {
    const ExpertKeys& keys = row.experts;
    const bool plain = !row.attention_sinks && row.query_key_norm != QueryKeyNorm::kByWidth;
    const bool same =
        (keys.shared_inner_size != nullptr) == shared && (shared || listed == (keys.dense_layers != nullptr));
    return keys.count != nullptr && row.latent == latent && (latent || (plain && same));
  });
}

const ModelFamily& measured_family() {
  return row_with("is measured", [](const ModelFamily& row) { return row.measured; });
}

const ModelFamily& accocal_family() {
  return row_with("is accocal's", [](const ModelFamily& row) { return row.accocal; });
}

}  // namespace accosim
