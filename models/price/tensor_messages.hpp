// The collectives over the ranks that split a layer's tensors, by operator: which, of how many bytes, and beside which
// product. As Megatron-LM sends them (core/tensor_parallel/layers.py; Transformer Engine's module/linear.py and
// layernorm_linear.py do the same). X: the activations of all tokens. A block sends
//              forward                        backward
//   plain      all-reduce X twice             all-reduce X twice, beside weight gradients
//   sequence   gather X twice, scatter X      gather X four times, two of them beside input gradients;
//              twice                          scatter X twice, beside weight gradients
#pragma once

#include <vector>

#include "models/base/units.hpp"
#include "models/price/operator.hpp"

namespace accosim {

/// How many ranks split each tensor, and whether, between the split products, the tokens of each sequence too.
struct SplitRanks {
  int ranks = 1;
  bool sequence = false;
};

/// Of a product whose columns are split. Its input is whole, or gathered; the ranks' gradients of the input are summed
/// while it computes that of the weights. The slice that it kept of the input is gathered again while it computes the
/// input's gradient. `input`: what is sent of the input and of its gradient; `kept`: of what it keeps.
std::vector<TensorMessage> messages_of_columns(const SplitRanks& split, Bytes input, Bytes kept);
/// Of a product whose inner size is split: the ranks' outputs are summed. The gradient of a slice of the output is
/// gathered first. `output`: what is sent.
std::vector<TensorMessage> messages_of_inner(const SplitRanks& split, Bytes output);
/// Of a table whose rows are split: each rank looks up those that it has, and the results are summed.
/// `whole_sequences`: each rank has the sum of all tokens (Megatron's reduce_scatter_embeddings is off where positions
/// are learned).
std::vector<TensorMessage> messages_of_embedding(const SplitRanks& split, Bytes output, bool whole_sequences);
/// Of a loss over logits whose vocabulary is split, in fp32: the largest of each token's, the target's, and the sum of
/// exponentials (core/tensor_parallel/cross_entropy.py).
std::vector<TensorMessage> messages_of_loss(const SplitRanks& split, double tokens);

}  // namespace accosim
