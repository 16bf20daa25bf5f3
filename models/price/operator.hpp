// What the transformer's operators and layers are: what each computes, moves, holds and keeps for the backward pass,
// for one micro-batch on one GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/shared.hpp"
#include "models/base/units.hpp"
#include "models/collectives/ring.hpp"
#include "models/price/kernel.hpp"
#include "models/spec/device.hpp"
#include "models/spec/training.hpp"

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

/// What a collective of a layer runs beside: nothing, which then waits for it; or a GEMM of its operator's backward
/// pass, that of the input's gradient or that of the weights'.
enum class Beside : std::uint8_t { kNothing, kInputGradient, kWeightGradient };

/// A collective of a layer over the ranks that split its tensors, or that have its experts between them. `bytes`: of
/// the full buffer.
struct TensorMessage {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes bytes{};
  bool backward = false;
  Beside beside = Beside::kNothing;
  bool of_experts = false;
  bool counted = false;  ///< the host waits for counts before it
  int receivers = 0;     ///< of a row, where the exchange is no collective of NCCL's; `bytes` then has each row once

  bool operator==(const TensorMessage&) const = default;
};

struct Operator {
  std::string name{};
  OperatorClass cls = OperatorClass::kMemory;
  AttentionPart attention = AttentionPart::kNone;
  std::vector<Kernel> forward{}, backward{};  ///< the kernels; the four sums below are theirs
  Flops forward_flops{}, backward_flops{};
  Bytes forward_bytes{}, backward_bytes{};  ///< moved to and from device memory
  int forward_kernels = 1, backward_kernels = 1;
  double parameters = 0;  ///< that a rank holds
  double frozen = 0;      ///< elements beside them that are not trained, in
  Bytes frozen_bytes{};   ///< so many bytes
  double alike = 0;       ///< of these, what all ranks that split the layer hold: norms, biases behind a sum
  std::vector<TensorMessage> messages{};  ///< forward, backward, then those that recomputation repeats
  std::vector<double> tensors{};  ///< their elements, a tensor each, in the order in which a module registers them
  bool of_experts = false;        ///< its parameters are those of the rank's own experts
  bool beside_all = false;      ///< its kernels run with those of the layer's other operators: a cast or a sum for each
  bool before_the_sum = false;  ///< the block's last product, or the sum with the stream that alone reads it
  Bytes activations{};          ///< kept from forward to backward
  Bytes workspace{};            ///< further memory that is live only while its backward runs

  bool operator==(const Operator&) const = default;
};

enum class LayerKind : std::uint8_t {
  kEmbedding,
  kBlock,
  kHead,      ///< final norm, head and loss
  kMeasured,  ///< all of a measured model
};
template <>
inline constexpr const char* kNames<LayerKind>[] = {"embedding", "block", "head", "measured"};

struct Layer {
  LayerKind kind = LayerKind::kBlock;
  std::vector<Operator> operators;

  bool operator==(const Layer&) const = default;
};

/// One after the other; equal ones may share a value.
using Layers = std::vector<Shared<Layer>>;

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
  Loss loss = Loss::kWhole;
  int loss_chunks = 0;  ///< 0: as many as usual
  Lora lora{};
  ExpertsImplementation experts_implementation = ExpertsImplementation::kGroupedMm;  ///< of eager code
  double expert_imbalance = 1;  ///< rows of the rank with most of a layer's over the mean of those that share experts
  /// Of sequences that are packed into rows and attend to themselves alone: how long, and how many. Empty: whole rows.
  std::vector<SequenceLengths::Bar> documents{};

  bool operator==(const Workload&) const = default;
};

/// (query, key) pairs of one sequence that a causal mask with a local window leaves: the area under min(x, window), so
/// that full causal attention (window 0) is exactly half of the square: s^2 / 2, or w s - w^2 / 2.
double attended_pairs(int sequence_length, int window);
/// The same of a row of the workload, of whose tokens each has its document's share.
double attended_pairs(const Workload& workload, int window);

}  // namespace accosim
