// Unlike GPUs that do equal work wait for the slowest; GPUs that do as much as their speed allows do not. This chooses
// the numbers of micro-batches, and their sizes, with which all of them need about the same time for an update of as
// many samples.
#pragma once

#include "sim/evaluation/evaluation.hpp"

namespace accosim {

/// Two updates count as equally large when their samples differ by at most this fraction.
inline constexpr double kEqualSamples = 0.01;
/// And as near enough to be compared per sample up to this one: whole micro-batches seldom come nearer.
inline constexpr double kNearSamples = 0.05;

struct BalanceTask {
  double samples = 0;           ///< of an update, all ranks
  int unit = 1;                 ///< numbers of micro-batches are multiples of it: 2 where a schedule has two rounds
  bool sizes = false;           ///< micro-batch sizes are chosen too, one a node group; otherwise they stay
  bool steps = true;            ///< every kind of GPU has its own number of micro-batches; otherwise all have the same
  double near = kEqualSamples;  ///< what samples may be off by, as a share
  bool larger = true;           ///< sizes may be larger than they are written, which makes the products more efficient
  int least = 1;                ///< numbers of micro-batches are no smaller
  int exactly = 0;              ///< above 0: the number of micro-batches of all
};

struct Balanced {
  Scenario scenario;  ///< with accumulation_steps of every GPU, and micro-batch sizes
  double samples = 0;
  Seconds time;             ///< that the slowest GPU computes for an update
  Seconds ideal;            ///< that all would compute for as many samples if micro-batches could be divided
  bool as_written = false;  ///< everybody's work stays in the proportion that is written
};

/// The least time a sample, among choices of about as many samples as asked for, to task.near; what is further off than
/// kEqualSamples must gain half as much. Where there is none, the nearest number of samples. Time is that of forward
/// and backward passes under `spec`; what communicates is taken to be the same for every choice. Equal GPUs do
/// equal work: those of one device that have micro-batches of one size. Where a model is split, all GPUs of a replica
/// do: its micro-batches take the time of its slowest stage, and (stages - 1) / chunks more of them fill its pipeline.
///
/// Sizes that are tried: the written ones, those up to 8, powers of two, and three times those, or where the number of
/// micro-batches is given those near each one's share of the work; as far as they fit into memory, if one sample does;
/// of many groups, one kind of group at a time. Numbers of micro-batches that are tried for given sizes: the whole
/// numbers around samples / t_k / sum(n_k b_k / t_k), t_k being the time of a micro-batch of b_k samples on each of the
/// n_k GPUs of kind k. The same scenario gives the same choice.
Balanced balanced(const Scenario& scenario, const ScheduleSpec& spec, const BalanceTask& task,
                  const Evaluations& evaluations);

}  // namespace accosim
