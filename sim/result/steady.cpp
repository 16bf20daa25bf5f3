// Plays a schedule until it is steady: until its updates repeat or, where micro-batches are drawn, until their mean is
// known; and what pauses add to that.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "sim/player/player.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

// A play with more spans than this is not continued in search of a period, or of a better known mean.
constexpr std::size_t kMostSpans = 1'000'000;

void play_updates(SteadyPlay& play, const ScheduleSpec& spec, int updates, NetworkKind network) {
  play.updates = updates;
  play.folded = fold(build(spec, play.costs, play.accumulation_steps, updates));
  play.spans.clear();
  accosim::play(play.folded.graph, network, [&](const Span& span) { play.spans.push_back(span); });
  play.measured = measure(play.folded.graph, play.spans);
}

/// Few updates show the period of equal ranks; unequal ones may take many, or have none.
void play_to_a_period(SteadyPlay& play, const ScheduleSpec& spec, NetworkKind network) {
  for (const int updates : {4, 8, 32, 128, 512}) {
    if (play.spans.size() > kMostSpans) return;
    play_updates(play, spec, updates, network);
    if (play.measured.periodic) return;
  }
}

/// As many updates as it takes for the band of their mean to be narrow, or as the budget of spans allows.
void play_to_a_mean(SteadyPlay& play, const ScheduleSpec& spec, NetworkKind network) {
  constexpr int kFirst = 12;  // 9 of them count, one for each batch of the band
  constexpr double kMargin = 1.2;
  for (double updates = kFirst;;) {
    play_updates(play, spec, static_cast<int>(updates), network);
    const double band = band_of_mean(play.measured.durations);
    if (band <= kNarrowBand) return;
    const double allowed = updates * kMostSpans / static_cast<double>(play.spans.size());
    const double wanted = kMargin * updates * (band / kNarrowBand) * (band / kNarrowBand);
    const double next = std::floor(std::min(allowed, std::clamp(wanted, 2 * updates, 16 * updates)));
    if (next < 1.5 * updates) return;
    updates = next;
  }
}

Seconds end_of(const SteadyPlay& play) {
  Seconds end;
  for (const Span& span : play.spans)
    if (play.folded.graph.labels[span.label].mark == Mark::kUpdate) end = std::max(end, span.end);
  return end;
}

// Updates after a pause that count as its. Ranks that accumulate can stay out of step for ever after it where nothing
// is drawn: their rounds are then a little longer and hold as many more micro-batches, which is no loss of the pause's.
constexpr int kRecovery = 8;

/// The same pace with every micro-batch as long as the mean one: what a pause costs does not depend on which draws meet
/// it, and their differences over a long play would.
Pace mean_pace(Pace pace) {
  constexpr int kDraws = 1000;
  Unsteady& unsteady = pace.unsteady;
  if (!unsteady.lengths.full()) {
    double padded = 0;
    for (int i = 0; i < kDraws; ++i) padded += micro_batch_of(pace, 0, 0, i).padded / kDraws;
    const int mean = static_cast<int>(std::lround(padded / pace.micro_batch_size.front()));
    unsteady.lengths = {};
    unsteady.lengths.histogram = {{mean, 1}};
    pace.below = {1};
  }
  unsteady.jitter.micro_batch = 0;
  unsteady.stragglers.clear();
  return pace;
}

/// One pause in the middle of a play, beside the same play without it, both at the mean pace.
PauseCost cost_of(const SteadyPlay& steady, const ScheduleSpec& spec, const Pause& pause, NetworkKind network) {
  const int before = std::clamp(steady.updates / 2, 4, 32), updates = before + kRecovery;
  SteadyPlay with{steady.accumulation_steps, steady.costs, {}, {}, {}, 0, {}};
  with.costs.pace = mean_pace(steady.costs.pace);
  with.costs.pace.pauses = {placed(pause, steady.costs, before)};
  SteadyPlay without = with;  // folded alike, with a pause that takes no time
  for (Seconds& lasts : without.costs.pace.pauses.front().lasts) lasts = Seconds{0};
  play_updates(with, spec, updates, network);
  play_updates(without, spec, updates, network);

  PauseCost cost;
  cost.name = pause.name;
  const PlacedPause& made = with.costs.pace.pauses.front();
  for (std::size_t rank = 0; rank < with.costs.kind_of.size(); ++rank)
    if (made.ranks.empty() || std::binary_search(made.ranks.begin(), made.ranks.end(), static_cast<int>(rank)))
      cost.lasts = std::max(cost.lasts, made.lasts[static_cast<std::size_t>(with.costs.kind_of[rank])]);
  cost.time = end_of(with) - end_of(without);
  for (const int of : with.folded.class_of) {
    const auto rank = static_cast<std::size_t>(of);
    const std::int64_t more =
        with.measured.ranks[rank].last_micro_batch - without.measured.ranks[rank].last_micro_batch;
    cost.micro_batches.push_back(static_cast<double>(more));
  }
  return cost;
}

/// A pause's cost, spread over the updates between two of them.
void add_cost(SteadyPlay& play, const PauseCost& cost) {
  Measured& measured = play.measured;
  const Seconds before = measured.update_time;
  measured.update_time += 1 / cost.every_updates * cost.time;
  std::vector<double> more(measured.ranks.size());
  for (std::size_t rank = 0; rank < cost.micro_batches.size(); ++rank) {
    const auto of = static_cast<std::size_t>(play.folded.class_of[rank]);
    more[of] += cost.micro_batches[rank] / cost.every_updates / play.folded.graph.ranks[of].multiplicity;
  }
  for (std::size_t r = 0; r < more.size(); ++r) {
    RankMeasure& rank = measured.ranks[r];
    const double grown = 1 + more[r] / rank.micro_batches_per_update;
    // What is done more is forward and backward, as most of what is done anyhow.
    rank.idle_fraction = std::max(0.0, 1 - (1 - rank.idle_fraction) * grown * (before / measured.update_time));
    rank.micro_batches_per_update *= grown;
    rank.micro_batches_per_round *= grown;
  }
}

void add_pauses(SteadyPlay& play, const ScheduleSpec& spec, const std::vector<Pause>& pauses, NetworkKind network) {
  const Seconds update = play.measured.update_time;
  double micro_batches = 0;
  for (std::size_t r = 0; r < play.measured.ranks.size(); ++r)
    micro_batches += play.folded.graph.ranks[r].multiplicity * play.measured.ranks[r].micro_batches_per_update;
  for (const Pause& pause : pauses) {
    PauseCost cost = cost_of(play, spec, pause, network);
    const double between = updates_between(pause, cost, update, micro_batches);
    cost.every_updates = std::max(1.0, between);
    cost.crowded = between < 1 || cost.lasts > cost.every_updates * update + cost.time;
    play.pauses.push_back(cost);
  }
  for (const PauseCost& cost : play.pauses) add_cost(play, cost);
}

}  // namespace

SteadyPlay play_steady(const Scenario& scenario, const ScheduleSpec& spec, int accumulation_steps,
                       NetworkKind network) {
  SteadyPlay play;
  play.accumulation_steps = accumulation_steps;
  play.costs = price(scenario, spec);
  if (scenario.training.unsteady.varies())
    play_to_a_mean(play, spec, network);
  else
    play_to_a_period(play, spec, network);
  add_pauses(play, spec, scenario.training.unsteady.pauses, network);
  return play;
}

std::vector<PauseResult> pause_results(const SteadyPlay& play) {
  std::vector<PauseResult> results;
  for (const PauseCost& cost : play.pauses) {
    const double more = std::accumulate(cost.micro_batches.begin(), cost.micro_batches.end(), 0.0);
    results.push_back({cost.name, cost.lasts, cost.time, more, cost.every_updates, cost.crowded});
  }
  return results;
}

}  // namespace accosim
