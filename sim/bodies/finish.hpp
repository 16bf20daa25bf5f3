// What the ranks of one model still send each other between their last gradient and the step.
#pragma once

#include <vector>

#include "models/price/price.hpp"
#include "sim/bodies/body.hpp"

namespace accosim {

/// On `lane` of the body, one after the other (megatron/core/distributed/finalize_model_grads.py):
/// - where the sequence is split, an all-reduce over the ranks that split it, of the gradients of what all of them have
///   alike: each has seen its own tokens alone;
/// - of a table that embeds on the first stage of a pipeline and is the head of the last, an all-reduce between these;
/// - where gradients are clipped, of the sum of their squares: over the ranks that have different gradients, and so
///   with a sharded optimizer over all.
/// Nothing where a rank has the whole model.
std::vector<Piece> finish_pieces(const ScheduleSpec& spec, const Costs& costs, const RankKind& kind, int lane);

}  // namespace accosim
