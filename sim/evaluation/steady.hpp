// Plays a schedule until it is steady: until its updates repeat or, where micro-batches are drawn, until their mean is
// known; and what pauses add to that.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "models/base/shared.hpp"
#include "models/price/price.hpp"
#include "models/spec/trace.hpp"
#include "sim/evaluation/measure.hpp"
#include "sim/evaluation/pauses.hpp"
#include "sim/network/network.hpp"
#include "sim/player/fold.hpp"
#include "sim/schedules/few_replicas.hpp"

namespace accosim {

/// A play that has been continued until its updates repeat, or long enough to average.
struct SteadyPlay {
  int accumulation_steps = 1;  ///< asked for
  Shared<Costs> costs{};       ///< as they were priced, without the pauses that plays place
  Folded folded{};
  std::vector<Span> spans{};  ///< of the folded ranks: those that were asked for
  Measured measured{};        ///< with the pauses' costs in its times and micro-batches, where there are any
  int updates = 0;            ///< played
  std::vector<PauseCost> pauses{};
  double spells = std::numeric_limits<double>::infinity();  ///< of stragglers, expected in the updates that count
  /// Of an update in lockstep, where any disturbance ends that (kDisturbance) and the play is a disturbed one.
  std::optional<Seconds> lockstep{};
};

/// Ranks of pipelines that share adapters can meet on them at every update, in a steady state that no machine keeps:
/// any disturbance ends it, sooner or later. So what is delayed or local, in pipelines that wait for each other's
/// messages, on at most kMostDisturbed GPUs (more take minutes, as all ranks then differ), is played with this share of
/// a micro-batch's time drawn, too; where that moves the update by more than kMoved, it is the play. A smaller jitter
/// is played as this one: it needs longer to tell the same.
inline constexpr int kMostDisturbed = 128;
inline constexpr double kDisturbance = 1e-4, kMoved = 0.01;

/// What was folded of a few ranks, for all.
Folded among_all(Folded folded, const FewReplicas& few);

/// Where micro-batches are drawn, a play goes on until half of the 80 % band of the mean update is below this share of
/// it, or until it has a million spans.
inline constexpr double kNarrowBand = 0.01;
/// And until it holds so many spells of stragglers: what they cost is then known to about 1 / sqrt(30) of itself.
inline constexpr double kSpellsPlayed = 30;

/// `accumulation_steps` micro-batches per update of each rank whose node group has none of its own; ACCO does half of
/// them a round.
SteadyPlay play_steady(const Shared<Costs>& costs, const ScheduleSpec& spec, int accumulation_steps,
                       NetworkKind network, Keep keep = Keep::kLastUpdate);
/// The same at the scenario's price().
SteadyPlay play_steady(const Scenario& scenario, const ScheduleSpec& spec, int accumulation_steps, NetworkKind network,
                       Keep keep = Keep::kLastUpdate);

/// The same play anew, so many updates long and measured over its own steady ones; pauses' costs are left out.
void play_updates(SteadyPlay& play, const ScheduleSpec& spec, int updates, NetworkKind network, Keep keep);

/// What all ranks have done in the steady updates, per update.
struct Worked {
  double tokens = 0;  ///< of sequences
  double padded = 0;  ///< with their padding
  Flops model_flops, hardware_flops;
};
Worked worked_per_update(const SteadyPlay& play);

/// Sequences between two updates, of all ranks.
double samples_per_update(const SteadyPlay& play);

}  // namespace accosim
