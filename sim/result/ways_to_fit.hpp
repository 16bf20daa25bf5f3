// What would make a schedule fit into the GPUs' memory: each way is tried on the same scenario, never guessed.
#pragma once

#include <string>
#include <vector>

#include "models/spec/spec.hpp"

namespace accosim {

struct WayToFit {
  std::string change;     ///< as a scenario writes it: "activation_recompute full", "schedule zero3"
  Bytes saves;            ///< more room on the GPU that has least; may be negative for `together`
  Bytes room;             ///< that is then left on the GPU that has least; negative: it does not fit
  double time_ratio = 1;  ///< closed form of the time per sample, over that without the change
  bool fits() const { return room >= Bytes{0}; }
};

struct WaysToFit {
  std::vector<WayToFit> alone;  ///< those that save anything; those that fit first, then by time
  /// Where none fits alone: one after the other, each with all before it, until it fits.
  std::vector<WayToFit> together;
};

/// Tries on `spec` fused attention, compiled code, recomputation, a micro-batch divided as often as it takes (with as
/// many more accumulation steps), and schedules that shard more. Leaves out what is set already, what the scenario
/// cannot have, and what saves less than 0.05 GiB. Prices memory and the schedule's closed form; plays nothing, so
/// times are without interference and for the slowest kind of rank.
WaysToFit ways_to_fit(const Scenario& scenario, const ScheduleSpec& spec);

/// In words: which ways fit, which save less, with GiB and time.
std::string in_words(const WaysToFit& ways);

/// What the scenario's recomputation saves on the GPU that has least room.
struct RecomputeGain {
  Bytes saves;
  double time_ratio = 1;  ///< as in WayToFit, over the same without recomputation
};
RecomputeGain recompute_gain(const Scenario& scenario, const ScheduleSpec& spec);

}  // namespace accosim
