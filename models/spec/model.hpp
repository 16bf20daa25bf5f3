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

/// A decoder-only transformer, in the terms of a Hugging Face config.json.
struct Model {
  std::string name;
  std::string family;  ///< a row of model_families.hpp; a measured model has no layers, and only the last members
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
  bool tie_word_embeddings = false;
  Activation activation = Activation::kGelu;
  bool causal = true;                 ///< a decoder; an encoder such as BERT attends to all tokens
  std::vector<int> attention_window;  ///< one a layer: the window of local attention in tokens, 0 for full causal
  std::int64_t measured_parameters = 0;
  Seconds micro_batch_time{};                         ///< forward and backward, as somebody measured them
  std::map<double, Seconds> shorter_micro_batches{};  ///< the same by tokens of the micro-batch, fewer than its usual
  /// Keys of its config that nothing here reads and that may matter, with what to write in their place.
  std::map<std::string, std::string> unread{};

  bool operator==(const Model&) const = default;
};

/// Number of parameters, exact.
std::int64_t parameter_count(const Model& model);
/// Norms as wide as the residual stream that each block has.
int norms_of_block(const Model& model);

}  // namespace accosim
