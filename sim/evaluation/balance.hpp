// Unlike GPUs that do equal work wait for the slowest; GPUs that do as much as their speed allows do not. This chooses
// the numbers of micro-batches, and their sizes, with which all of them need about the same time for an update of as
// many samples.
#pragma once

#include <vector>

#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "sim/evaluation/evaluation.hpp"

namespace accosim {

/// Two updates count as equally large when their samples differ by at most this fraction.
inline constexpr double kEqualSamples = 0.01;

struct BalanceTask {
  double samples = 0;  ///< of an update, all ranks
  int unit = 1;        ///< numbers of micro-batches are multiples of it: 2 where a schedule has two rounds
  bool sizes = false;  ///< micro-batch sizes are chosen too, one a node group; otherwise they stay
  bool steps = true;   ///< every kind of GPU has its own number of micro-batches; otherwise all have the same
};

struct Balanced {
  Scenario scenario;  ///< with accumulation_steps of every GPU, and micro-batch sizes
  double samples = 0;
  Seconds time;             ///< that the slowest GPU computes for an update
  Seconds ideal;            ///< that all would compute for as many samples if micro-batches could be divided
  bool as_written = false;  ///< everybody's work stays in the proportion that is written
};

/// The least time a sample, among choices of as many samples as asked for, to kEqualSamples; where there is none, the
/// nearest number of samples. Time is that of forward and backward passes under `timed_by`; what communicates is taken
/// to be the same for every choice.
///
/// Sizes that are tried: the group's own, powers of two, and three times those, as far as they fit into memory under
/// every schedule of `must_fit` under which one sample does; of many groups, one group at a time. Numbers of
/// micro-batches that are tried for given sizes: the whole numbers around samples / t_k / sum(n_k b_k / t_k), t_k being
/// the time of a micro-batch of b_k samples on each of the n_k GPUs of kind k. The same scenario gives the same choice.
Balanced balanced(const Scenario& scenario, const ScheduleSpec& timed_by, const std::vector<ScheduleSpec>& must_fit,
                  const BalanceTask& task, const Evaluations& evaluations);

/// What is the fastest, as `timed_by` plays it, of: what balanced() chooses with the sizes as written, with chosen
/// sizes (where task.sizes), and everybody's work as written, in as many updates as it takes for the samples. One that
/// does not fit into memory is taken only where none does; one of another number of samples (to kEqualSamples) only
/// where none is of as many. So no balance is worse than none, whatever communication costs.
Balanced fastest_balance(const Scenario& scenario, const ScheduleSpec& timed_by,
                         const std::vector<ScheduleSpec>& must_fit, const BalanceTask& task,
                         const Evaluations& evaluations);

/// What training.balance speed asks for: the scenario with sizes and numbers of micro-batches chosen for this schedule,
/// timed without contention, at the samples that the training asks for.
Scenario divided_by_speed(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations);

}  // namespace accosim
