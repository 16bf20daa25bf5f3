// What pauses of some ranks (evaluation, checkpoints) cost: each is played once, beside the same play without it, and
// its cost spread over the updates from one to the next. So it is exact where a pause is over before the next comes,
// however rare it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/price/price.hpp"

namespace accosim {

struct PauseCost {
  std::string name;
  Seconds lasts{};                      ///< on the slowest of its ranks
  Seconds time{};                       ///< by which one pause delays the updates
  std::vector<double> micro_batches{};  ///< by rank: those that are done more for one pause, while others wait
  double every_updates = 1;             ///< updates from one to the next
  bool crowded = false;  ///< they come more than once an update, or before the last is over: as if they did not

  /// Micro-batches that all ranks together do more for one pause. Never less than 0: where no rank gains by it, what
  /// remains is that the pausing ones do fewer.
  double done_meanwhile() const;
};

/// The ranks that take part in it, ascending; empty: all. Those that it names or, where it evaluates and no rank has
/// whole parameters (zero3), all that share theirs.
std::vector<int> ranks_in(const Pause& pause, const ScheduleSpec& spec, const Costs& costs);

/// The pause as a play makes it, after so many marked updates. Evaluation is forward passes on ceil(sequences /
/// micro_batch_size) micro-batches, at the mean time of drawn ones, with zero3's gathers.
PlacedPause placed(const Pause& pause, const ScheduleSpec& spec, const Costs& costs, std::int64_t after_update);

/// Updates from one pause to the next, given the time and the micro-batches (of all ranks) of an update
/// without pauses: every_updates; (every_gradients - what one pause adds) / micro_batches; (every - cost) / update.
double updates_between(const Pause& pause, const PauseCost& cost, Seconds update, double micro_batches);

}  // namespace accosim
