// A model, in the terms of a Hugging Face config.json. Plain values; whatever the loader returns is valid, so nothing
// later checks it again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"

namespace accosim {

enum class Activation : std::uint8_t { kGelu, kGeluNew, kRelu, kReluSquared, kSilu };
template <>
inline constexpr const char* kNames<Activation>[] = {"gelu", "gelu_new", "relu", "relu2", "silu"};

/// Where a block normalises: what goes into attention and MLP, what comes out of them, or both.
enum class NormPlaces : std::uint8_t { kBefore, kAfter, kBoth };

/// Norms of queries and keys: none; one vector as wide as a head for all of them; a vector as wide as all heads.
enum class QueryKeyNorm : std::uint8_t { kNone, kByHead, kByWidth };

/// Routed experts, each an MLP, in the place of a block's MLP.
struct Experts {
  int count = 0;              ///< 0: every block has an MLP
  int per_token = 0;          ///< to which a token goes
  int inner_size = 0;         ///< of each
  int shared_inner_size = 0;  ///< of the MLP beside them that every token passes; 0: there is none
  bool shared_gate = false;   ///< that one is scaled by the sigmoid of a product with one column
  bool router_bias = false;
  bool correction_bias = false;  ///< an element an expert, added to choose alone, and not trained by a gradient
  std::vector<bool> in_layer{};  ///< one a layer: whether it has experts, or an MLP

  bool operator==(const Experts&) const = default;
};

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): queries and keys with values pass a narrow vector of a
/// token, with a norm, of which each head has its own; the rotary part of the keys is one for all heads.
struct Latent {
  int query_rank = 0;      ///< 0: queries do not
  int key_value_rank = 0;  ///< 0: attention as usual
  int rotary_dim = 0;      ///< of a head's elements, with those that rotary positions do not turn the head_dim
  int value_dim = 0;       ///< of a head's value

  bool operator==(const Latent&) const = default;
};

/// A decoder-only transformer, in the terms of a Hugging Face config.json.
struct Model {
  std::string name{};
  std::string family{};  ///< a row of model_families.hpp; a measured model has no layers, and only the last members
  int num_hidden_layers = 0;
  int hidden_size = 0;
  int num_attention_heads = 0;
  int num_key_value_heads = 0;
  int head_dim = 0;
  int intermediate_size = 0;
  int vocab_size = 0;
  int max_position_embeddings = 0;
  bool learned_positions = false;  ///< a table of position embeddings, or rotary
  bool gated_mlp = false;          ///< three matrices in the MLP, or two
  bool rms_norm = false;           ///< one vector a norm, or two (weight and bias)
  NormPlaces norms = NormPlaces::kBefore;
  QueryKeyNorm query_key_norm = QueryKeyNorm::kNone;
  int parallel_norms = 0;   ///< attention and MLP side by side behind so many norms; 0: one after the other
  double rotary_share = 1;  ///< of a head's elements those that rotary positions turn
  bool capped_scores = false, capped_logits = false;                               ///< softly, by a tanh
  bool scaled_embeddings = false, scaled_branches = false, scaled_logits = false;  ///< by a constant
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool mlp_bias = false;
  bool attention_sinks = false;  ///< an element a head beside its scores
  bool tie_word_embeddings = false;
  Activation activation = Activation::kGelu;
  bool causal = true;                   ///< a decoder; an encoder such as BERT attends to all tokens
  std::vector<int> attention_window{};  ///< one a layer: the window of local attention in tokens, 0 for full causal
  Experts experts{};
  Latent latent{};
  std::int64_t measured_parameters = 0;
  Seconds micro_batch_time{};                         ///< forward and backward, as somebody measured them
  std::map<double, Seconds> shorter_micro_batches{};  ///< the same by tokens of the micro-batch, fewer than its usual
  /// Keys of its config that nothing here reads and that may matter, with what to write in their place.
  std::map<std::string, std::string> unread{};

  bool operator==(const Model&) const = default;
};

/// Number of parameters, exact.
std::int64_t parameter_count(const Model& model);
/// Of these, those that a token passes: all but the experts that it does not go to.
std::int64_t active_parameters(const Model& model);
/// Whether that layer, from 0 on, has experts in the place of its MLP.
bool has_experts(const Model& model, int layer);
int value_dim_of(const Model& model);
/// Norms as wide as the residual stream that each block has.
int norms_of_block(const Model& model);

}  // namespace accosim
