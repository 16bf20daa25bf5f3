// What is ranked by: how long a sample takes, in a play, at least, or from plays of few micro-batches at the batch that
// is asked for; and how likely all fits. And the same work as many times, of which a batch is made where GPUs do unlike
// numbers of micro-batches.
#pragma once

#include <utility>

#include "models/base/units.hpp"
#include "models/price/fit_verdict.hpp"
#include "models/price/price.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/evaluation/steady.hpp"

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

/// Seconds a sample.
double time_per_sample(const SteadyPlay& play);
/// The same without a play: no play at the batch that is asked for takes less (least_update_time()).
double least_time_per_sample(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations);
/// Of the kind of rank that is least likely to fit.
Fit least_fit(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations);

/// Greatest common divisor of what the GPUs do for an update: all can do that part of it.
int common_steps(const Scenario& scenario);

/// What is kept of plays that are only ranked by: of long ones as much as of those that are shown, so that both are
/// one.
Keep kept_to_rank(const Scenario& scenario, const ScheduleSpec& spec);

/// Seconds of an update in which every GPU does n times its part of common_steps(), and its samples.
std::pair<double, double> replayed_at(const Scenario& scenario, const ScheduleSpec& spec, int n,
                                      const Evaluations& evaluations, Keep keep = Keep::kLastUpdate);

/// Seconds a sample at the batch that is asked for, of what is not drawn: of a schedule that does as many micro-batches
/// as it is told, from plays of few of them.
double estimated_time_per_sample(const Scenario& asked, const ScheduleSpec& asked_spec, const Evaluations& evaluations);

}  // namespace accosim
