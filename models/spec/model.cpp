#include "models/spec/model.hpp"

#include <algorithm>

namespace accosim {
namespace {

std::int64_t attention_parameters(const Model& model) {
  const std::int64_t hidden = model.hidden_size, heads = model.num_attention_heads;
  const std::int64_t queries = heads * model.head_dim;
  const std::int64_t keys = std::int64_t{model.num_key_value_heads} * model.head_dim;
  const std::int64_t vectors = model.rms_norm ? 1 : 2;
  std::int64_t all = hidden * (queries + 2 * keys) + queries * hidden;
  if (const Latent& latent = model.latent; latent.key_value_rank > 0) {
    const std::int64_t narrow = latent.query_rank, rank = latent.key_value_rank;
    const std::int64_t own = heads * (model.head_dim - latent.rotary_dim + latent.value_dim);  // of keys and values
    all = narrow > 0 ? hidden * narrow + vectors * narrow + narrow * queries : hidden * queries;
    all += hidden * (rank + latent.rotary_dim) + vectors * rank + rank * own + heads * latent.value_dim * hidden;
  }
  if (model.qkv_bias) all += queries + 2 * keys;
  if (model.attention_output_bias) all += hidden;
  if (model.attention_sinks) all += heads;
  if (model.query_key_norm == QueryKeyNorm::kByHead) all += 2 * vectors * model.head_dim;
  if (model.query_key_norm == QueryKeyNorm::kByWidth) all += vectors * (queries + keys);
  return all;
}

std::int64_t mlp_parameters(const Model& model, std::int64_t inner) {
  const std::int64_t hidden = model.hidden_size, bias = (model.gated_mlp ? 2 : 1) * inner + hidden;
  return (model.gated_mlp ? 3 : 2) * hidden * inner + (model.mlp_bias ? bias : 0);
}

/// `each`: so many experts of a layer.
std::int64_t parameters_with(const Model& model, std::int64_t each) {
  if (model.num_hidden_layers == 0) return model.measured_parameters;
  const std::int64_t hidden = model.hidden_size, norm = (model.rms_norm ? 1 : 2) * hidden;
  const Experts& experts = model.experts;
  std::int64_t routed = hidden * experts.count + each * mlp_parameters(model, experts.inner_size);
  routed += (experts.router_bias ? experts.count : 0) + (experts.correction_bias ? experts.count : 0);
  if (experts.shared_inner_size > 0) routed += mlp_parameters(model, experts.shared_inner_size);
  if (experts.shared_gate) routed += hidden;

  const std::int64_t token_table = std::int64_t{model.vocab_size} * hidden;
  const std::int64_t position_table = model.learned_positions ? model.max_position_embeddings * hidden : 0;
  const std::int64_t head = model.tie_word_embeddings ? 0 : token_table;
  const std::int64_t with = std::ranges::count(experts.in_layer, true);
  return token_table + position_table +
         model.num_hidden_layers * (norms_of_block(model) * norm + attention_parameters(model)) + with * routed +
         (model.num_hidden_layers - with) * mlp_parameters(model, model.intermediate_size) + norm + head;
}

}  // namespace

std::int64_t parameter_count(const Model& model) { return parameters_with(model, model.experts.count); }

std::int64_t active_parameters(const Model& model) { return parameters_with(model, model.experts.per_token); }

bool has_experts(const Model& model, int layer) {
  return !model.experts.in_layer.empty() && model.experts.in_layer[static_cast<std::size_t>(layer)];
}

int value_dim_of(const Model& model) {
  return model.latent.key_value_rank > 0 ? model.latent.value_dim : model.head_dim;
}

int norms_of_block(const Model& model) {
  if (model.parallel_norms > 0) return model.parallel_norms;
  return model.norms == NormPlaces::kBoth ? 4 : 2;
}

}  // namespace accosim
