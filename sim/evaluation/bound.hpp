// What an update takes at least, in closed form: by it candidates are ranked, and only those are played that may win.
#pragma once

#include "models/base/units.hpp"
#include "models/price/price.hpp"

namespace accosim {

/// Of an update of so many micro-batches, none of them drawn: no play takes less.
///
/// A stage does its passes one after the other, each with the collectives of split tensors that nothing hides. Before
/// its first one that micro-batch has passed all stages before it, and after its last one it goes back through them;
/// and the first stage begins no other flight before that. So of stage r, with n flights an update (0 without a flush),
///
///     micro-batches x (F_r + B_r) + n x sum over q < r of (f_q + b_q)
///
/// where f and b are the passes over a stage's first chunk alone. What messages, reductions, the optimizer and others
/// that are waited for add is left out. The largest of all stages is the bound; of a serial step it is what it
/// computes.
Seconds least_update_time(const ScheduleSpec& spec, const Costs& costs, int micro_batches);

}  // namespace accosim
