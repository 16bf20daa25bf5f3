// The transformer as a list of operators, each a list of kernels: what it computes, moves, holds and keeps for the
// backward pass, for one micro-batch on one GPU. Device-free; the prices turn it into seconds.
#pragma once

#include <vector>

#include "models/base/units.hpp"
#include "models/price/operator.hpp"
#include "models/spec/model.hpp"
#include "models/spec/parallel.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// The part of a model that a rank holds. Of tensors one of `tensor` equal parts. Of layers `chunks` runs of blocks:
/// chunk c of stage r is run c x stages + r of all, the first with the embedding, the last with the head.
struct ModelShare {
  int stage = 0, stages = 1;
  int chunks = 1;
  std::vector<int> blocks{};  ///< of every run; empty: equal, or the first ones have a block more
  int tensor = 1;
  bool sequence = false;
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  bool whole_experts = false;  ///< ranks that split tensors are among those that share experts, and have them whole
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  int group = 0;    ///< micro-batches that interleaved chunks take at once; 0: as many as there are stages
  int experts = 1;  ///< data ranks that have the experts of each layer between them

  bool operator==(const ModelShare&) const = default;
};
int group_of(const ModelShare& share);
ModelShare share_of_stage(const Parallel& parallel, int stage);

/// Passes over a chunk that such a rank has done forward and not yet backward, at most, where a flight has so many
/// micro-batches: all of them under GPipe; min(p - r, m) under 1F1B, PipeDream's (arXiv 2006.09503); with v chunks
/// 2 (p - r - 1) + (v - 1) g + 1, g micro-batches being a group, Megatron-LM's warm-up and one
/// (megatron/core/pipeline_parallel/schedules.py).
int passes_in_flight(const ModelShare& share, int micro_batches);

/// A micro-batch's activations between two blocks, as a rank sends them to the next stage: its part of the tokens where
/// these are split, all of them otherwise.
Bytes boundary_bytes(const Model& model, const Workload& workload, const ModelShare& share);

/// Layers [begin, end) of a model, its embedding being the first.
struct LayerRange {
  int begin = 0, end = 0;
};
/// Of each chunk of a share of a model of so many blocks. Throws std::invalid_argument where there are fewer blocks
/// than runs, or the runs' own do not add up.
std::vector<LayerRange> chunk_ranges(int blocks, const ModelShare& share);

/// Layers in forward order: the embedding, one a transformer block, then the head with the final norm and the loss.
/// The parameters of all operators add up to parameter_count(model); tied weights are counted in the embedding, whose
/// gradient is the last to be complete. What is recomputed is in the backward's kernels, and the activations that this
/// brings back are the block's workspace (of its first operator).
///
/// In a pipeline a tied table is also the head's own on the last stage.
///
/// A measured model is one layer that holds its parameters and costs nothing: its time is known.
///
/// Element sizes: matmuls and what lies between them in `compute` (fp8 matmuls still exchange 16-bit activations).
/// Under autocast each kernel has the dtype that torch.autocast's lists give it (aten/src/ATen/autocast_mode.h): matrix
/// products and their outputs are in `compute`, layer norm, softmax, pow and the loss in fp32, and all else in the
/// dtype of what it gets; so the residual stream is in the parameters' dtype. In eager code an activation is cast by a
/// kernel of its own for each consumer of another dtype; compiled and fused code casts where it computes. Parameters
/// are cast once a micro-batch, and backward mirrors forward.
///
/// Of a share the layers have what one of `tensor` ranks computes and holds of each, with the collectives over them:
/// columns of the first product of a pair are split and rows of the second, heads and the vocabulary; with `sequence`
/// also the tokens of what lies between. Layers are those of all stages.
Layers layers_of(const Model& model, const Workload& workload, const ModelShare& share = {});

/// Pieces of a chunked loss where nobody says how many: torchtune's (modules/loss, num_output_chunks). Of a fused
/// linear one: tokens / c, c the next power of two from tokens / ceil(V / h) on, as Liger has it.
inline constexpr int kLossChunks = 8;

/// Those of the share's stage alone, one chunk after the other.
Layers own_layers_of(const Model& model, const Workload& workload, const ModelShare& share);

/// What the modules of eager code register as buffers: the causal masks of transformers' gpt2 and gpt_neo, a byte for
/// each pair of positions and layer.
Bytes buffer_bytes(const Model& model, Implementation implementation);

/// Floating-point operations of one micro-batch that the model needs, forward and backward, without recomputation:
/// matrix products and attention (causal attention counted at the half it computes). For a model with untied embeddings
/// 6 x tokens x (parameters in matrices, the embedding table excluded) + 12 x heads x head_dim x attended_pairs x batch
/// summed over the blocks: three times the forward, since a backward of a product is two products. Of a share its own:
/// of split tensors an even part, without what a rank pads or copies. Of a frozen product the gradient of its weights
/// is left out.
Flops model_flops(const Model& model, const Workload& workload, const ModelShare& share = {});

/// Whether a block is among them: the one numbered `own` from 0 of a rank's blocks, chunk after chunk, and `in_chunk`
/// of its chunk. Every k-th: k, 2 k... counted from 1, as torchtitan's selective_ac_option does on each rank. A
/// fraction p: where i p + 1/2, i counted from 1, reaches another whole number, as fms-fsdp's selective_checkpointing
/// does: of 1/3 the second of each three. The first N of each chunk, as Megatron-LM's --recompute-method block does.
bool is_recomputed(const RecomputedBlocks& blocks, int own, int in_chunk);

}  // namespace accosim
