// From a scenario to results: prices a schedule, plays it until it is steady, measures it, and compares.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "models/price/costs.hpp"
#include "models/spec/spec.hpp"
#include "models/spec/trace.hpp"
#include "sim/network/network.hpp"
#include "sim/player/fold.hpp"
#include "sim/result/measure.hpp"
#include "sim/result/metrics.hpp"
#include "sim/result/pauses.hpp"

namespace accosim {

/// A play that has been continued until its updates repeat, or long enough to average.
struct SteadyPlay {
  int accumulation_steps = 1;  ///< asked for
  Costs costs;
  Folded folded;
  std::vector<Span> spans;  ///< of the folded ranks: those that were asked for
  Measured measured;        ///< with the pauses' costs in its times and micro-batches, where there are any
  int updates = 0;          ///< played
  std::vector<PauseCost> pauses;
  double spells = std::numeric_limits<double>::infinity();  ///< of stragglers, expected in the updates that count
};

/// Where micro-batches are drawn, a play goes on until half of the 80 % band of the mean update is below this share of
/// it, or until it has a million spans.
inline constexpr double kNarrowBand = 0.01;
/// And until it holds so many spells of stragglers: what they cost is then known to about 1 / sqrt(30) of itself.
inline constexpr double kSpellsPlayed = 30;

/// What all ranks have done in the steady updates, per update.
struct Worked {
  double tokens = 0;  ///< of sequences
  double padded = 0;  ///< with their padding
  Flops model_flops, hardware_flops;
};
Worked worked_per_update(const SteadyPlay& play);

std::vector<PauseResult> pause_results(const SteadyPlay& play);

/// `accumulation_steps` micro-batches per update of each rank whose node group has none of its own; ACCO does half of
/// them a round.
SteadyPlay play_steady(const Scenario& scenario, const ScheduleSpec& spec, int accumulation_steps, NetworkKind network,
                       Keep keep = Keep::kLastUpdate);

/// The same play anew, so many updates long and measured over its own steady ones; pauses' costs are left out.
void play_updates(SteadyPlay& play, const ScheduleSpec& spec, int updates, NetworkKind network, Keep keep);

/// Sequences between two updates, of all ranks.
double samples_per_update(const SteadyPlay& play);

/// Seconds per sample of a schedule at `samples` per update. Between two numbers of micro-batches that it can do, the
/// update time is interpolated: it is affine where communication is not hidden. Absent where it cannot do so few: it
/// accumulates more by itself, or ranks do at least one micro-batch each.
std::optional<double> time_per_sample(const Scenario& scenario, const ScheduleSpec& spec, double samples,
                                      NetworkKind network);

/// Whether warnings and ways to fit into memory are looked for: each way is tried, which takes as long as the play.
enum class Advice : std::uint8_t { kGiven, kNone };

/// All metrics of one schedule but those that compare, and its costs.
RunResult run_schedule(const Scenario& scenario, const ScheduleSpec& spec, NetworkKind network,
                       Advice advice = Advice::kGiven);

/// The schedules of `chosen` (indices in scenario.schedules), compared with the scenario's baseline.
std::vector<RunResult> compare(const Scenario& scenario, const std::vector<int>& chosen, NetworkKind network,
                               Advice advice = Advice::kGiven);

/// `updates` updates of a schedule with every rank by itself, for a trace. Flows that nothing tells apart are one.
EventGraph graph_for_trace(const Scenario& scenario, const ScheduleSpec& spec, int updates);
/// The same at costs that are known, with the pauses of that schedule's result, in the training's order: each when so
/// many updates have ended.
EventGraph graph_for_trace(const Costs& costs, const ScheduleSpec& spec, int accumulation_steps, int updates,
                           const std::vector<PauseResult>& pauses = {});
/// The same with every flow by itself, to ask what each link carries.
EventGraph graph_of_all_flows(const Costs& costs, const ScheduleSpec& spec, int accumulation_steps, int updates,
                              const std::vector<PauseResult>& pauses);

}  // namespace accosim
