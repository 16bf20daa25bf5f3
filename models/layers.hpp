// The transformer as a list of operators: what each computes, moves, holds and keeps for the backward pass, for one
// micro-batch on one GPU. Device-free; the prices turn it into seconds.
#pragma once

#include <string>
#include <vector>

#include "models/spec.hpp"
#include "models/units.hpp"

namespace accosim {

enum class OperatorClass : std::uint8_t {
  kGemm,       ///< a matrix product: FLOPs against the achieved GEMM rate
  kAttention,  ///< fused attention: FLOPs against the achieved attention rate
  kMemory,     ///< elementwise, norms, softmax, embedding, casts: bytes against the achieved bandwidth
};

struct Operator {
  std::string name;
  OperatorClass cls = OperatorClass::kMemory;
  Flops forward_flops, backward_flops;
  Bytes forward_bytes, backward_bytes;  ///< moved to and from device memory
  int forward_kernels = 1, backward_kernels = 1;
  double parameters = 0;
  Bytes activations;  ///< kept from forward to backward
};

struct Layer {
  std::string name;
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
};

/// Layers in forward order: the embedding, one a transformer block, then the head with the final norm and the loss.
/// The backward FLOPs and bytes include recomputation where asked for.
std::vector<Layer> layers_of(const Model& model, const Workload& workload);

/// Floating-point operations of one micro-batch that the model needs, forward and backward, without recomputation:
/// matrix products and attention (causal attention counted at the half it computes).
Flops model_flops(const Model& model, const Workload& workload);

}  // namespace accosim
