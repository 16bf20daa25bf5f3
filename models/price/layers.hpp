// The transformer as a list of operators, each a list of kernels: what it computes, moves, holds and keeps for the
// backward pass, for one micro-batch on one GPU. Device-free; the prices turn it into seconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/price/kernel.hpp"
#include "models/spec/spec.hpp"

namespace accosim {

enum class OperatorClass : std::uint8_t {
  kGemm,       ///< matrix products, and what is done to their biases
  kAttention,  ///< fused attention
  kMemory,     ///< elementwise, norms, softmax, embedding, casts: bytes against the achieved bandwidth
};

/// Operators between q, k, v and the attention's output, which selective recomputation runs again, by what they keep.
enum class AttentionPart : std::uint8_t {
  kNone,
  kProducts,  ///< keeps q, k or v
  kScores,    ///< keeps sequence x sequence elements per head
};

struct Operator {
  std::string name;
  OperatorClass cls = OperatorClass::kMemory;
  AttentionPart attention = AttentionPart::kNone;
  std::vector<Kernel> forward, backward;  ///< the kernels; the four sums below are theirs
  Flops forward_flops, backward_flops;
  Bytes forward_bytes, backward_bytes;  ///< moved to and from device memory
  int forward_kernels = 1, backward_kernels = 1;
  double parameters = 0;
  std::vector<double> tensors;  ///< their elements, a tensor each, in the order in which a module registers them
  bool beside_all = false;      ///< its kernels run with those of the layer's other operators: a cast or a sum for each
  bool before_the_sum = false;  ///< the block's last product, or the sum with the stream that alone reads it
  Bytes activations;            ///< kept from forward to backward
  Bytes workspace;              ///< further memory that is live only while its backward runs

  bool operator==(const Operator&) const = default;
};

enum class LayerKind : std::uint8_t {
  kEmbedding,
  kBlock,
  kHead,      ///< final norm, head and loss
  kMeasured,  ///< all of a measured model
};
/// "embedding", "block", "head", "measured".
const char* name_of(LayerKind kind);

struct Layer {
  LayerKind kind = LayerKind::kBlock;
  std::vector<Operator> operators;
};

/// What the operators depend on besides the model.
struct Workload {
  int micro_batch_size = 1;
  int sequence_length = 0;
  Dtype compute = Dtype::kBf16;          ///< of matmuls and of the activations between operators
  Dtype parameter_dtype = Dtype::kBf16;  ///< of the stored parameters; casts appear where it differs from `compute`
  Dtype gradient_dtype = Dtype::kBf16;
  Attention attention = Attention::kFlash;
  Recompute recompute = Recompute::kNone;
  Implementation implementation = Implementation::kEager;
  double dropout = 0;
  bool autocast = false;  ///< `compute` is torch.autocast's, whatever the parameters' dtype
  RecomputedBlocks recomputed_blocks{};

  bool operator==(const Workload&) const = default;
};

/// Layers in forward order: the embedding, one a transformer block, then the head with the final norm and the loss.
/// The parameters of all operators add up to parameter_count(model); tied weights are counted in the embedding, whose
/// gradient is the last to be complete. What is recomputed is in the backward's kernels, and the activations that this
/// brings back are the block's workspace (of its first operator).
///
/// A measured model is one layer that holds its parameters and costs nothing: its time is known.
///
/// Element sizes: matmuls and what lies between them in `compute` (fp8 matmuls still exchange 16-bit activations).
/// Under autocast each kernel has the dtype that torch.autocast's lists give it (aten/src/ATen/autocast_mode.h): matrix
/// products and their outputs are in `compute`, layer norm, softmax, pow and the loss in fp32, and all else in the
/// dtype of what it gets; so the residual stream is in the parameters' dtype. In eager code an activation is cast by a
/// kernel of its own for each consumer of another dtype; compiled and fused code casts where it computes. Parameters
/// are cast once a micro-batch, and backward mirrors forward.
std::vector<Layer> layers_of(const Model& model, const Workload& workload);

/// What the modules of eager code register as buffers: the causal masks of transformers' gpt2 and gpt_neo, a byte for
/// each pair of positions and layer.
Bytes buffer_bytes(const Model& model, Implementation implementation);

/// Floating-point operations of one micro-batch that the model needs, forward and backward, without recomputation:
/// matrix products and attention (causal attention counted at the half it computes). For a model with untied embeddings
/// 6 x tokens x (parameters in matrices, the embedding table excluded) + 12 x heads x head_dim x attended_pairs x batch
/// summed over the blocks: three times the forward, since a backward of a product is two products.
Flops model_flops(const Model& model, const Workload& workload);

/// (query, key) pairs of one sequence that a causal mask with a local window leaves: the area under min(x, window), so
/// that full causal attention (window 0) is exactly half of the square: s^2 / 2, or w s - w^2 / 2.
double attended_pairs(int sequence_length, int window);

/// Whether the block numbered `index` from 0 is among them. Every k-th: k, 2 k... counted from 1, as torchtitan's
/// selective_ac_option does. A fraction p: where i p + 1/2, i counted from 1, reaches another whole number, as
/// fms-fsdp's selective_checkpointing does: of 1/3 the second of each three.
bool is_recomputed(const RecomputedBlocks& blocks, int index);

}  // namespace accosim
