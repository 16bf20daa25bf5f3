// Operators of attention that only some families have: multi-head latent attention (DeepSeek-V2, arXiv 2405.04434,
// section 2.1), and sinks.
#pragma once

#include <vector>

#include "models/price/operators.hpp"
#include "models/spec/model.hpp"

namespace accosim {

/// From the normalised stream to queries, keys and values of all heads, with rotary positions. Of ranks that split
/// heads each has the products down to the narrow vectors whole, of its own tokens, and its heads' columns of those up
/// from them, before which the narrow vectors are gathered (Megatron-LM's core/transformer/multi_latent_attention.py).
void add_latent_projections(const Model& model, const Sizes& z, std::vector<Operator>& ops);

/// A parameter for each head, which only the softmax reads.
Operator attention_sinks(const Sizes& z);

}  // namespace accosim
