// The operators of a transformer, each with the kernels of an implementation: eager PyTorch as Hugging Face writes it,
// torch.compile, or the merged kernels of Megatron and Apex. For layers_of(); others use models/price/layers.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "models/price/operator.hpp"
#include "models/price/tensor_messages.hpp"
#include "models/spec/model.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// Sizes that every operator needs, so that the formulas read as in a paper. Heads, the inner size and the vocabulary
/// are those of one of the ranks that split them.
struct Sizes {
  double tokens;      ///< of the micro-batch
  double own_tokens;  ///< of these, those that a rank has between split products: all, or its share of the sequence
  double batch, seq;  ///< sequences, tokens a sequence
  double hidden, heads, head_dim, query, key_value, ffn, vocab;
  double value_dim;  ///< of a head
  Bytes act;         ///< an activation between matmuls
  Bytes stream;      ///< an element of the residual stream
  Bytes param;       ///< a stored parameter
  Bytes grad;        ///< a stored gradient
  bool autocast;     ///< torch.autocast is on
  bool cast;         ///< and stored parameters are wider than the matmuls
  bool bf16;         ///< the matmuls are in bf16
  bool dropout;      ///< its probability is above 0
  bool fp8;          ///< the GEMMs of the blocks run in fp8; everything else is in 16 bits
  bool flash_3;      ///< fused attention is FlashAttention 3
  Lora lora;         ///< frozen products, and which of them have adapters
  bool repeated;     ///< whether the keys and values of grouped-query attention are copied for every head
  SplitRanks split;
  int expert_ranks = 1;  ///< that have the experts of a layer between them
  int expert_split = 1;  ///< and that split each of these
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  Implementation implementation;
};
/// Of one of `ranks` that split heads, inner size and vocabulary among them; with fewer key-value heads than ranks each
/// has a copy of one. Megatron pads the vocabulary to a multiple of 128 times the ranks (training/vocab_utils.py),
/// others give a rank a row more.
Sizes sizes_of(const Model& model, const Workload& workload, int ranks = 1, bool sequence = false);

/// Adds the kernels up into the operator's flops, bytes and launches.
void add_up(Operator& op);

/// Of kernels that move memory. `kept`: for the backward pass.
Operator memory_op(const char* name, std::vector<Kernel> forward, std::vector<Kernel> backward, Bytes kept = {});
/// 16 bits read for the largest value; read, and written in 8. In one pass: read, written twice, once transposed.
Kernel fp8_cast(double elements, bool fused);
double norm_parameters(const Model& model);
/// What is trained of the operator is not, and has no gradient.
void freeze(Operator& op, const Sizes& z);
/// Keeps its input; eager RMSNorm keeps the input's fp32 copy and the normalised tensor instead.
Operator norm(const char* name, const Model& model, const Sizes& z);
/// The same behind attention or MLP: of a product's output, and before the sum with the stream.
Operator branch_norm(const char* name, const Model& model, const Sizes& z);
/// Two norms, of the heads' vectors or of all of a token's together; a rank has those of its heads.
Operator query_key_norm(const Model& model, const Sizes& z);
/// What ranks that split a product split of it: its columns, so that each needs the whole input and has its own part of
/// the output; or its inner size, so that each has its own part of the input and the outputs are summed.
enum class Split : std::uint8_t { kColumns, kInner };
/// An element of what a norm, or the activation of an MLP, writes.
Bytes norm_output(const Model& model, const Sizes& z);
Bytes activation_output(const Model& model, const Sizes& z);
/// GEMMs that share one input (tokens x in, `element` each), with `outs` columns each. Backward: dX = dY W' and
/// dW = X' dY. `bias` is the number of its elements. Keeps its input, cast for each GEMM where it is wider. In fp8 each
/// operand is scaled and cast first: torchao reads it for its largest value, casts it, and transposes what a GEMM needs
/// in the other order; merged code (Transformer Engine, delayed scaling) casts and transposes in one pass. Sizes are of
/// one rank. Frozen (LoRA): no dW, and no input is kept but for adapters; weights in four bits are widened by a kernel
/// before each GEMM. Where the sequence is split too, of an input that is gathered it keeps its own slice alone; the
/// whole is its workspace. A bias behind a sum is added after it, by every rank.
Operator product(const char* name, const Sizes& z, Split split, double in, const std::vector<double>& outs, double bias,
                 Bytes element, bool adapted = false);
/// LoRA's beside a product of so many columns `outs` that have one: x A and that B for each, scaled and added to the
/// product's output; backward the gradients of A, of B and of x. Keeps x and x A. Of ranks that split the product each
/// has its columns of B and all of A, or its rows of A and all of B; the message that joins x A, rank / in of the
/// product's own, is left out.
Operator adapters(const char* name, const Sizes& z, Split split, double in, const std::vector<double>& outs);
/// stream + dropout(branch); backward adds the gradients of the two paths. Keeps dropout's mask, a byte an element.
Operator residual(const char* name, const Sizes& z);
/// Of a part of each head where that is what the model turns.
Operator rotary(const Model& model, const Sizes& z);
/// A product with a constant, as a kernel of its own.
Operator scaled(const char* name, double elements, Bytes element);
/// cap x tanh(x / cap), elementwise.
Operator soft_cap(const char* name, const Sizes& z, double elements, Bytes element);
Operator activation(const Model& model, const Sizes& z);
Operator repeat_key_value(const Sizes& z);
/// `window` 0: none.
Operator flash_attention(const Model& model, const Workload& workload, const Sizes& z, int window);
/// Scores, softmax, dropout and context, on all sequence x sequence pairs, though the mask hides half of them.
void add_naive_attention(const Model& model, const Sizes& z, std::vector<Operator>& ops);
/// What torch.autocast does with the parameters of the GEMMs of a layer: casts them from their stored dtype to that of
/// the matmuls, keeps the copies until the backward pass, and casts their gradients back, which frozen ones have not.
Operator autocast(const Sizes& z, double parameters, int tensors, double frozen = 0);
/// Adds each weight gradient, which its kernel writes as a tensor of its own, to the stored one: reads both, writes the
/// stored one. Merged implementations accumulate the matrices' gradients in the GEMM itself.
Operator accumulate(const Sizes& z, double matrices, double vectors, int matrix_tensors, int vector_tensors);
/// The operator with its GEMMs in 16 bits, even where those of the blocks run in fp8.
Operator in_16_bits(Operator op, const Sizes& z);
Operator cross_entropy(const Sizes& z);
Operator embedding_dropout(const Sizes& z);

}  // namespace accosim
