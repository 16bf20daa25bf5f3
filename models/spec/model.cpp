#include "models/spec/model.hpp"

namespace accosim {

std::int64_t parameter_count(const Model& model) {
  if (model.num_hidden_layers == 0) return model.measured_parameters;
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t queries = std::int64_t{model.num_attention_heads} * model.head_dim;
  const std::int64_t keys = std::int64_t{model.num_key_value_heads} * model.head_dim;
  const std::int64_t inner = model.intermediate_size;

  const std::int64_t vectors = model.rms_norm ? 1 : 2, norm = vectors * hidden;
  std::int64_t attention = hidden * (queries + 2 * keys) + queries * hidden;
  if (model.qkv_bias) attention += queries + 2 * keys;
  if (model.attention_output_bias) attention += hidden;
  if (model.query_key_norm == QueryKeyNorm::kByHead) attention += 2 * vectors * model.head_dim;
  if (model.query_key_norm == QueryKeyNorm::kByWidth) attention += vectors * (queries + keys);
  std::int64_t mlp = (model.gated_mlp ? 3 : 2) * hidden * inner;
  if (model.mlp_bias) mlp += (model.gated_mlp ? 2 : 1) * inner + hidden;

  const std::int64_t token_table = std::int64_t{model.vocab_size} * hidden;
  const std::int64_t position_table = model.learned_positions ? model.max_position_embeddings * hidden : 0;
  const std::int64_t head = model.tie_word_embeddings ? 0 : token_table;
  return token_table + position_table + model.num_hidden_layers * (norms_of_block(model) * norm + attention + mlp) +
         norm + head;
}

int norms_of_block(const Model& model) {
  if (model.parallel_norms > 0) return model.parallel_norms;
  return model.norms == NormPlaces::kBoth ? 4 : 2;
}

}  // namespace accosim
