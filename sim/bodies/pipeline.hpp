// The body of a stage of a pipeline: passes over its chunks of the model in the order that a schedule has for them, and
// what it sends to its neighbours and receives from them. A schedule is a table; one builder makes bodies of all.
#pragma once

#include <vector>

#include "models/price/price.hpp"
#include "sim/bodies/body.hpp"

namespace accosim {

/// A pass of a micro-batch over a chunk.
struct TablePass {
  bool forward = true;
  int chunk = 0;
  int micro_batch = 0;
  /// To the pass before it: where exchanges are waited for, both have one.
  bool joined = false;

  bool operator==(const TablePass&) const = default;
};

/// What a stage does for so many micro-batches, in order. A whole flight is `warm_up` forward passes, then pairs of one
/// forward and one backward pass, then backward passes.
/// - GPipe (arXiv 1811.06965): all forward, then all backward, in the same order of micro-batches.
/// - 1F1B: min(p - r - 1, m) in the warm-up (megatron/core/pipeline_parallel/schedules.py,
///   forward_backward_pipelining_without_interleaving).
/// - interleaved: micro-batches in groups of p, each group through one chunk after the other, backward through the last
///   chunk first; min(m v, 2 (p - r - 1) + (v - 1) p) in the warm-up (the same file,
///   forward_backward_pipelining_with_interleaving). Precondition: p divides m.
struct PipelineTable {
  std::vector<TablePass> passes{};
  int warm_up = 0;
};
PipelineTable pipeline_table(const ModelShare& share, int micro_batches);

/// The stage's body, for flights of at least so many micro-batches. What is periodic of a table is the body's round, so
/// that longer flights have more of them: one micro-batch under 1F1B, p under the interleaved schedule. Under GPipe,
/// and where the flight is too short, all of it is `open`, and no longer one can be written.
///
/// A forward pass waits for the activations that the stage before sends, a backward pass for the gradients of the next;
/// the first has no stage before it, nor the last one behind it, but the last stage's chunk c goes on in chunk c + 1 of
/// the first. A message begins when both stages have come to it.
/// - Without `overlap_messages` what a pass has made is sent, and what the next one needs is received, when it has
///   ended; and the next one waits for both (Megatron-LM's batched exchange, p2p_communication.py, which synchronises
///   after each). Joined passes have one exchange: were there one between them, neighbours of an interleaved pipeline
///   would wait for each other for ever.
/// - With it a pass waits for what it needs alone, whose receive is posted while the pass before it runs (that of the
///   first pass behind the rounds when these have ended); what was made is sent meanwhile.
Body pipeline_body(const RankKind& kind, const Ranks& copies, const Parallel& parallel, int micro_batches);

}  // namespace accosim
