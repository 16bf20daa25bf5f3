// The operators of a transformer, each with the kernels of an implementation: eager PyTorch as Hugging Face writes it,
// torch.compile, or the merged kernels of Megatron and Apex. For layers_of(); others use models/price/layers.hpp.
#pragma once

#include <vector>

#include "models/price/layers.hpp"

namespace accosim {

/// Sizes that every operator needs, so that the formulas read as in a paper.
struct Sizes {
  double tokens;      ///< of the micro-batch
  double batch, seq;  ///< sequences, tokens a sequence
  double hidden, heads, head_dim, query, key_value, ffn, vocab;
  Bytes act;      ///< an activation between matmuls
  Bytes stream;   ///< an element of the residual stream
  Bytes param;    ///< a stored parameter
  Bytes grad;     ///< a stored gradient
  bool cast;      ///< autocast: stored parameters are wider than the matmuls
  bool dropout;   ///< its probability is above 0
  bool fp8;       ///< the products of the blocks are; what else there is has 16 bits
  bool repeated;  ///< keys and values of grouped queries are copied to every head before attention
  Implementation implementation;
};
Sizes sizes_of(const Model& model, const Workload& workload);

/// Adds the kernels up into the operator's flops, bytes and launches.
void add_up(Operator& op);

double norm_parameters(const Model& model);
/// Keeps its input, and in eager RMSNorm the fp32 copy and the normalised tensor.
Operator norm(const char* name, const Model& model, const Sizes& z);
/// Products that share one input (tokens x in), with `outs` columns each. dX = dY W' and dW = X' dY in the backward
/// pass. `bias` is the number of its elements. Keeps its input. In fp8 each operand is scaled and cast before: torchao
/// reads it for its largest value, casts it, and transposes what a product needs in the other order; merged code
/// (Transformer Engine, delayed scaling) casts and transposes in one pass.
Operator product(const char* name, const Sizes& z, double in, const std::vector<double>& outs, double bias);
/// stream + dropout(branch); backward adds the gradients of the two paths. Keeps dropout's mask, a byte an element.
Operator residual(const char* name, const Sizes& z);
Operator rotary(const Sizes& z);
Operator activation(const Model& model, const Sizes& z);
Operator repeat_key_value(const Sizes& z);
/// `window` 0: none.
Operator flash_attention(const Model& model, const Sizes& z, int window);
/// Scores, softmax, dropout and context: the whole square, half of it masked away.
void add_naive_attention(const Model& model, const Sizes& z, std::vector<Operator>& ops);
/// What torch.autocast does around the products of a layer: the matrices are read in their dtype and written in the
/// matmuls' (and that copy stays until the backward pass), their gradients come back the same way; so do the `inputs`
/// that arrive in the stream's dtype.
Operator autocast(const Sizes& z, double matrices, double inputs, int tensors);
/// Every weight gradient leaves its kernel as a tensor of its own and is added to the stored one: read it, read and
/// write the stored one. Merged implementations add matrices' in the product itself.
Operator accumulate(const Sizes& z, double matrices, double vectors, int matrix_tensors, int vector_tensors);
/// Its products stay in 16 bits where the blocks' are in fp8.
Operator in_16_bits(Operator op, const Sizes& z);
Operator cross_entropy(const Sizes& z);
Operator embedding_dropout(const Sizes& z);

}  // namespace accosim
