#include "sim/what_if/ways_to_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/spec/model_families.hpp"
#include "sim/evaluation/per_sample.hpp"
#include "sim/knobs/settings.hpp"
#include "sim/what_if/changes.hpp"

namespace accosim {
namespace {

constexpr Bytes kWorthSaying{0.05 * 0x1p30};
constexpr std::size_t kMostSaid = 4;  ///< ways of a kind, in words

struct Need {
  std::vector<KindMemory> kinds;
  std::size_t least = 0;  ///< the kind that is least likely to fit

  Bytes memory() const { return kinds[least].parts.total(); }
  Bytes room() const { return kinds[least].capacity - memory(); }
  const Fit& fit() const { return kinds[least].fit; }
};

Need need_of(const Trial& trial, const Evaluations& evaluations) {
  const int steps = trial.scenario.training.gradient_accumulation_steps;
  Need need{memory_by_kind(evaluations.costs(trial.scenario, trial.spec()), trial.spec(), steps)};
  need.least = static_cast<std::size_t>(&least_likely(need.kinds) - need.kinds.data());
  return need;
}

Fits surely_fits(const WhatIf& what_if, std::size_t schedule) {
  return [=](const std::vector<std::string>& set) {
    const std::optional<Trial> trial = what_if.with(schedule, set);
    return trial && need_of(*trial, what_if.evaluations()).fit().verdict == FitVerdict::kFits;
  };
}

void play(WayToFit& way, const Trial& with, const Trial& without, const Evaluations& evaluations) {
  const auto time = [&](const Trial& trial) {
    return time_per_sample(*evaluations.play(trial.scenario, trial.spec()));
  };
  way.time_ratio = time(with) / time(without);
  way.estimated = false;
}

/// Of a split model, whose plays are long, by its passes alone where the schedule stays as it is.
void time(WayToFit& way, const Trial& with, const Trial& without, const Evaluations& evaluations) {
  way.estimated = model_ranks_of(without.scenario.training.parallel) > 1 && with.spec() == without.spec();
  if (way.estimated)
    way.time_ratio = least_time_per_sample(with.scenario, with.spec(), evaluations) /
                     least_time_per_sample(without.scenario, without.spec(), evaluations);
  else
    play(way, with, without, evaluations);
}

/// Where the work is divided by speed, micro-batches follow from that.
bool has_own_micro_batches(const ScheduleSpec& spec) { return spec.balance == Balance::kNone; }

/// Of a measured model neither the activations nor the kernels are known.
std::vector<Change> changes_alone(const Trial& now, const Fits& surely_fits) {
  std::vector<Change> changes;
  if (!family_of(now.scenario.model).measured) {
    changes = {fuse_attention,
               implement(Implementation::kCompiled),
               recompute(Recompute::kSelective),
               recompute(Recompute::kSelectiveOp),
               recompute(Recompute::kFullEarlyStop),
               recompute(Recompute::kFull),
               recompute_some(surely_fits)};
    // Fused blocks are Megatron-LM's own code.
    if (now.scenario.training.framework == Framework::kMegatron) changes.push_back(implement(Implementation::kFused));
    if (has_own_micro_batches(now.spec())) changes.push_back(divide_micro_batch(surely_fits));
  }
  for (Change& change : schedule_keys()) changes.push_back(std::move(change));
  // Synchronous schedules that shard something.
  for (const ScheduleTraits& traits : schedules())
    if (traits.sharding != Sharding::kNothing && !traits.delayed && !traits.local) changes.push_back(schedule(traits));
  return changes;
}

/// Least loss of time first; the most sharded schedule last, for it is another training.
std::vector<Change> changes_together(const ScheduleSpec& spec, const Fits& surely_fits) {
  std::vector<Change> changes = {fuse_attention, implement(Implementation::kCompiled)};
  if (has_own_micro_batches(spec)) changes.push_back(divide_micro_batch(surely_fits));
  changes.push_back(recompute(Recompute::kFull));
  for (Change& change : schedule_keys()) changes.push_back(std::move(change));
  for (const ScheduleTraits& traits : schedules())
    if (traits.sharding == Sharding::kParameters) changes.push_back(schedule(traits));
  return changes;
}

std::string described(const WayToFit& way) {
  return fmt::format("{} ({:.1f} GiB less, {}{:.2f} x the time)", way.change, way.saves.value / 0x1p30,
                     way.estimated ? "about " : "", way.time_ratio);
}

/// The first few of a verdict, and how many more there are; empty: there is none.
std::string list_of(const std::vector<WayToFit>& ways, FitVerdict verdict) {
  std::string text;
  std::size_t found = 0;
  for (const WayToFit& way : ways) {
    if (way.fit.verdict != verdict || ++found > kMostSaid) continue;
    text += (text.empty() ? "" : "; ") + described(way);
  }
  return found > kMostSaid ? fmt::format("{}; and {} more", text, found - kMostSaid) : text;
}

std::string changes_of(const std::vector<WayToFit>& together) {
  std::string all;
  for (const WayToFit& way : together) all += (all.empty() ? "" : ", ") + way.change;
  return all;
}

std::string together_in_words(const std::vector<WayToFit>& together) {
  const std::string all = changes_of(together);
  const WayToFit& last = together.back();
  if (last.fits()) return fmt::format("together these do: {} ({:.2f} x the time)", all, last.time_ratio);
  if (last.fit.verdict == FitVerdict::kTight)
    return fmt::format("together ({}) it fits with a probability of {:.0f} %", all, 100 * last.fit.probability);
  return fmt::format("together ({}) they still lack {:.1f} GiB: take more GPUs, or GPUs with more memory", all,
                     -last.room.value / 0x1p30);
}

/// How much less the GPU holds that was least likely to fit.
Bytes saved(const Need& before, const Need& then) {
  const KindMemory& least = before.kinds[before.least];
  if (then.kinds.size() == before.kinds.size()) return before.memory() - then.kinds[before.least].parts.total();
  const auto is_it = [&](const KindMemory& kind) {
    return kind.device == least.device &&
           (least.stages.empty() || std::ranges::binary_search(kind.stages, least.stages.front()));
  };
  return before.memory() - std::ranges::find_if(then.kinds, is_it)->parts.total();  // kinds that hold as much are one
}

WayToFit way_of(const Alternative& change, const Need& before, const Need& then) {
  return {change.text, change.set, then.memory(), then.room(), saved(before, then), then.fit()};
}

std::vector<WayToFit> tried_together(const WhatIf& what_if, const Trial& now, const Need& before) {
  const Evaluations& evaluations = what_if.evaluations();
  std::vector<WayToFit> together;
  Trial trial = now;
  Bytes room = before.room();
  for (const Change& change_of : changes_together(now.spec(), surely_fits(what_if, now.index))) {
    const std::optional<Alternative> change = change_of(trial);
    if (!change) continue;
    std::optional<Trial> then = what_if.with(now.index, joined(trial.set, change->set));
    if (!then) continue;
    WayToFit way = way_of(*change, before, need_of(*then, evaluations));
    if (way.room < room + kWorthSaying) continue;
    time(way, *then, now, evaluations);
    if (way.fits()) play(way, *then, now, evaluations);
    together.push_back(way);
    if (way.fits()) break;
    trial = std::move(*then);
    room = way.room;
  }
  return together;
}

void sort_by_verdict(std::vector<WayToFit>& ways) {
  std::ranges::stable_sort(ways, [](const WayToFit& a, const WayToFit& b) {
    return std::pair(a.fit.verdict, a.time_ratio) < std::pair(b.fit.verdict, b.time_ratio);
  });
}

/// What is named first has been played: of what is estimated another may turn out to be faster.
void play_first(std::vector<WayToFit>& ways, const WhatIf& what_if, const Trial& now) {
  constexpr int kMostPlays = 3;
  for (int plays = 0; plays < kMostPlays && !ways.empty() && ways.front().fits() && ways.front().estimated; ++plays) {
    play(ways.front(), *what_if.with(now.index, ways.front().set), now, what_if.evaluations());
    sort_by_verdict(ways);
  }
}

/// The one with which it fits, after those before it; nullptr where there is none.
const WayToFit* last_way(const WaysToFit& ways) {
  const WayToFit* const last = !ways.together.empty() ? &ways.together.back()
                               : ways.alone.empty()   ? nullptr
                                                      : &ways.alone.front();
  return last != nullptr && last->fits() ? last : nullptr;
}

}  // namespace

std::optional<FastestFit> fastest_fit(const std::vector<RunResult>& results) {
  std::optional<FastestFit> fastest;
  for (const RunResult& result : results) {
    const WayToFit* const last = last_way(result.ways_to_fit);
    if (last == nullptr) continue;
    const Seconds time = last->time_ratio * result.total_time;
    if (fastest && time >= fastest->total_time) continue;
    const std::string changes = changes_of(result.ways_to_fit.together);
    fastest = FastestFit{&result, changes.empty() ? last->change : changes, time};
  }
  return fastest;
}

WaysToFit ways_to_fit(const WhatIf& asked, std::size_t schedule) {
  const WhatIf what_if = asked.on(NetworkKind::kReference);
  const Evaluations& evaluations = what_if.evaluations();
  const Trial now = what_if.now(schedule);
  const Need before = need_of(now, evaluations);
  WaysToFit ways;
  for (const Change& change_of : changes_alone(now, surely_fits(what_if, schedule))) {
    const std::optional<Alternative> change = change_of(now);
    if (!change) continue;
    const std::optional<Trial> then = what_if.with(schedule, change->set);
    if (!then) continue;
    WayToFit way = way_of(*change, before, need_of(*then, evaluations));
    if (way.saves < kWorthSaying) continue;
    time(way, *then, now, evaluations);
    ways.alone.push_back(way);
  }
  sort_by_verdict(ways.alone);
  play_first(ways.alone, what_if, now);
  if (family_of(now.scenario.model).measured) return ways;
  if (has_own_micro_batches(now.spec()))
    ways.largest_micro_batch = largest_micro_batch(now, surely_fits(what_if, schedule));
  if (ways.alone.empty() || !ways.alone.front().fits()) ways.together = tried_together(what_if, now, before);
  return ways;
}

std::string in_words(const WaysToFit& ways) {
  if (ways.alone.empty()) return "nothing that accosim can try saves memory: take more GPUs, or GPUs with more memory";
  std::string text;
  if (ways.largest_micro_batch > 0)
    text = fmt::format("the largest micro_batch_size that fits is {}; ", ways.largest_micro_batch);
  const std::string fitting = list_of(ways.alone, FitVerdict::kFits), tight = list_of(ways.alone, FitVerdict::kTight),
                    others = list_of(ways.alone, FitVerdict::kDoesNotFit);
  text += fitting.empty() ? "none of these alone makes it surely fit" : "any of these makes it fit: " + fitting;
  if (!tight.empty()) text += fitting.empty() ? ": these are tight: " + tight : "; tight then: " + tight;
  if (!others.empty()) text += (fitting.empty() && tight.empty() ? ": " : "; not enough alone: ") + others;
  if (!ways.together.empty()) text += "; " + together_in_words(ways.together);
  return text;
}

std::optional<double> needless_recompute(const WhatIf& what_if, std::size_t schedule, Bytes little) {
  const Evaluations evaluations = what_if.evaluations().on(NetworkKind::kReference);
  const Trial with = what_if.now(schedule);
  const std::optional<Trial> without =
      what_if.with(schedule, recompute_settings(with.scenario.training, Recompute::kNone, RecomputedBlocks{}));
  if (!without || saved(need_of(*without, evaluations), need_of(with, evaluations)) > little) return std::nullopt;
  WayToFit way;
  time(way, with, *without, evaluations);
  return way.time_ratio;
}

}  // namespace accosim
