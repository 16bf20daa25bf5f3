// What would make a schedule fit into the GPUs' memory: each way is tried on the same scenario, never guessed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/result/metrics.hpp"
#include "sim/result/way_to_fit.hpp"
#include "sim/what_if/what_if.hpp"

namespace accosim {

/// Tries on a schedule fused attention, compiled code and code fused by hand, every kind of recomputation, of all
/// blocks or of the fewest that are enough, the largest micro-batch that fits (of those that keep the samples of an
/// update, with more accumulation steps), schedules that shard more, and of its own keys shard_group,
/// reshard_after_forward, reshard_after_backward, all_reduce, sync, optimizer_sharding and gradient_as_bucket_view.
/// Leaves out what is set already, what the scenario cannot have, and what saves less than 0.05 GiB.
WaysToFit ways_to_fit(const WhatIf& asked, std::size_t schedule);

/// Of results with their ways to fit: the one that then takes least time.
struct FastestFit {
  const RunResult* result = nullptr;
  std::string change;  ///< "implementation fused, activation_recompute full"
  Seconds total_time;  ///< of all tokens, about
};
/// Nothing where no change that was tried is enough.
std::optional<FastestFit> fastest_fit(const std::vector<RunResult>& results);

/// In words: the largest micro-batch, and the best ways with GiB and time.
std::string in_words(const WaysToFit& ways);

/// The time with the scenario's recomputation over that without it, as in WayToFit, where it saves `little` at most on
/// the GPU that without it is least likely to fit. Nothing where it saves more: then nothing is played.
std::optional<double> needless_recompute(const WhatIf& what_if, std::size_t schedule, Bytes little);

}  // namespace accosim
