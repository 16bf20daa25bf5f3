// From one schedule to another, a change at a time: how much of a gain comes from which change. Each rung is a schedule
// that could be run, played as any other.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/evaluation/evaluation.hpp"
#include "sim/result/tuned_rows.hpp"

namespace accosim {

struct Rung {
  std::string change;  ///< from the rung before: "no_sync: one gradient sync per step"; of the first its label
  ScheduleSpec spec;
  Seconds update_time{};
  double samples_per_update = 0;
  double tokens_per_second = 0;
  double times = 1;    ///< tokens per second over those of the rung before
  double speedup = 1;  ///< and over those of the first
  /// The same at as many samples an update as the last rung has. What a rung loses that reduces after every micro-batch
  /// is what it loses at the work asked for. Absent where this rung, or the one it is over, cannot be played at so few.
  std::optional<double> times_same_batch{}, speedup_same_batch{};
  /// Of an identity of the schedules: this rung is never more times as fast at the same batch as the rung `most_over`,
  /// a serial ZeRO-1. 0: there is none.
  double most_same_batch = 0;
  std::size_t most_over = 0;
};

struct Ladder {
  std::string from, to;     ///< labels
  std::vector<Rung> rungs;  ///< at least two; the last is `to` as it is written
};

/// Whether all speedups are known at the same batch. What shows one speedup of each rung shows that then, and else the
/// one per token.
bool known_at_same_batch(const Ladder& ladder);
/// The one to show: over the first rung (1 of the first itself), and over the rung before.
double shown_speedup(const Ladder& ladder, std::size_t rung);
double shown_times(const Ladder& ladder, std::size_t rung);

/// The changes that lead from one to the other, in this order, those left out that change nothing: gradients reduced
/// once an update; dtypes of gradients and parameters; no broadcast of buffers, and gradients as views of the buckets;
/// the optimizer of DDP shared out or not; buckets sent beside the backward pass; a sharded optimizer with one
/// reduce-scatter and one all-gather (ZeRO-1); its parameters beside the next forward pass; what is left. On the way
/// from a synchronous schedule to another lies the best synchronous one, where it has been added. times and
/// times_same_batch multiply to the last speedups.
Ladder ladder(const Scenario& scenario, const ScheduleSpec& from, const ScheduleSpec& to,
              const Evaluations& evaluations, const Tuned& tuned = {});

/// The specs and changes alone, for tests and for those who play them otherwise.
std::vector<Rung> rungs_between(const Scenario& scenario, const ScheduleSpec& from, const ScheduleSpec& to,
                                const Tuned& tuned = {});

}  // namespace accosim
