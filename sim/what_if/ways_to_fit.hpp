// What would make a schedule fit into the GPUs' memory: each way is tried on the same scenario, never guessed.
#pragma once

#include <string>

#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/result/way_to_fit.hpp"

namespace accosim {

/// Tries on `spec` fused attention, compiled code and code fused by hand, every kind of recomputation, of all blocks or
/// of the fewest that are enough, the largest micro-batch that fits (of those that keep the samples of an update, with
/// more accumulation steps), schedules that shard more, and of its own keys shard_group, reshard_after_forward,
/// reshard_after_backward, all_reduce, sync, optimizer_sharding and gradient_as_bucket_view. Leaves out what is set
/// already, what the scenario cannot have, and what saves less than 0.05 GiB.
WaysToFit ways_to_fit(const Scenario& scenario, const ScheduleSpec& spec,
                      const Evaluations& evaluations = NetworkKind::kReference);

/// In words: the largest micro-batch, and the best ways with GiB and time.
std::string in_words(const WaysToFit& ways);

/// What the scenario's recomputation saves on the GPU that without it is least likely to fit.
struct RecomputeGain {
  Bytes saves;
  double time_ratio = 1;  ///< as in WayToFit, over the same without recomputation
};
RecomputeGain recompute_gain(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations);

}  // namespace accosim
