#include "sim/result/ways_to_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "models/price/costs.hpp"
#include "models/spec/check_schedules.hpp"
#include "models/spec/model_families.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/result/changes.hpp"
#include "sim/result/resident.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

constexpr Bytes kWorthSaying{0.05 * 0x1p30};
constexpr std::size_t kMostSaid = 4;  ///< ways of a kind, in words

struct Need {
  std::vector<KindMemory> kinds;
  std::size_t least = 0;  ///< the kind that is least likely to fit
  Seconds time;           ///< per sample of a rank: the closed form, for the slowest kind of rank

  Bytes memory() const { return kinds[least].parts.total(); }
  Bytes room() const { return kinds[least].capacity - memory(); }
  const Fit& fit() const { return kinds[least].fit; }
};

Need need_of(const Trial& trial) {
  const int steps = trial.scenario.training.gradient_accumulation_steps;
  const Costs costs = price(trial.scenario, trial.spec);
  Need need{memory_by_kind(costs, trial.spec, steps), 0, Seconds{0}};
  need.least = static_cast<std::size_t>(&least_likely(need.kinds) - need.kinds.data());
  for (const RankKind& kind : costs.kinds) {
    const ScheduleInput input{trial.spec, costs, kind, kind.steps(steps), 1};
    const double samples = closed_form_micro_batches(input) * kind.workload.micro_batch_size;
    need.time = std::max(need.time, closed_form(input) / samples);
  }
  return need;
}

bool surely_fits(const Trial& trial) { return need_of(trial).fit().verdict == FitVerdict::kFits; }

/// Synchronous schedules that shard something.
std::vector<Change> sharded_schedules() {
  std::vector<Change> changes;
  for (const ScheduleTraits& traits : schedules())
    if (traits.sharding != Sharding::kNothing && !traits.delayed && !traits.local) changes.push_back(schedule(traits));
  return changes;
}

/// A schedule that waits in every micro-batch is refused where GPUs do different numbers of them.
bool loads(const Trial& trial) { return has_equal_steps(trial.spec, trial.scenario.cluster, trial.scenario.training); }

void append(std::vector<Change>& changes, std::vector<Change> more) {
  for (Change& change : more) changes.push_back(std::move(change));
}

/// Of a measured model neither the activations nor the kernels are known.
std::vector<Change> changes_alone(bool measured) {
  std::vector<Change> changes;
  if (!measured)
    changes = {fuse_attention,
               implement(Implementation::kCompiled),
               implement(Implementation::kFused),
               recompute(Recompute::kSelective),
               recompute(Recompute::kSelectiveOp),
               recompute(Recompute::kFullEarlyStop),
               recompute(Recompute::kFull),
               recompute_some(surely_fits),
               divide_micro_batch(surely_fits)};
  append(changes, schedule_keys());
  append(changes, sharded_schedules());
  return changes;
}

/// Least loss of time first; the most sharded schedule last, for it is another training.
std::vector<Change> changes_together() {
  std::vector<Change> changes = {fuse_attention, implement(Implementation::kCompiled), divide_micro_batch(surely_fits),
                                 recompute(Recompute::kFull)};
  append(changes, schedule_keys());
  for (const ScheduleTraits& traits : schedules())
    if (traits.sharding == Sharding::kParameters) changes.push_back(schedule(traits));
  return changes;
}

std::string described(const WayToFit& way) {
  return fmt::format("{} ({:.1f} GiB less, {:.2f} x the time)", way.change, way.saves.value / 0x1p30, way.time_ratio);
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

std::string together_in_words(const std::vector<WayToFit>& together) {
  std::string all;
  for (const WayToFit& way : together) all += (all.empty() ? "" : ", ") + way.change;
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
  const auto same = std::find_if(then.kinds.begin(), then.kinds.end(),
                                 [&](const KindMemory& kind) { return kind.device == least.device; });
  return before.memory() - same->parts.total();  // kinds that hold as much are one
}

WayToFit way_of(const Changed& changed, const Need& before) {
  const Need then = need_of(changed.trial);
  return {changed.name,        changed.set, then.memory(),          then.room(),
          saved(before, then), then.fit(),  then.time / before.time};
}

std::vector<WayToFit> tried_together(const Trial& now, const Need& before) {
  std::vector<WayToFit> together;
  Trial trial = now;
  Bytes room = before.room();
  for (const Change& change : changes_together()) {
    const std::optional<Changed> changed = change(trial);
    if (!changed || !loads(changed->trial)) continue;
    const WayToFit way = way_of(*changed, before);
    if (way.room < room + kWorthSaying) continue;
    together.push_back(way);
    if (way.fits()) break;
    trial = changed->trial;
    room = way.room;
  }
  return together;
}

}  // namespace

WaysToFit ways_to_fit(const Scenario& scenario, const ScheduleSpec& spec) {
  const Trial now{scenario, spec};
  const bool measured = family_of(scenario.model).measured;
  const Need before = need_of(now);
  WaysToFit ways;
  for (const Change& change : changes_alone(measured)) {
    const std::optional<Changed> changed = change(now);
    if (!changed || !loads(changed->trial)) continue;
    const WayToFit way = way_of(*changed, before);
    if (way.saves >= kWorthSaying) ways.alone.push_back(way);
  }
  std::stable_sort(ways.alone.begin(), ways.alone.end(), [](const WayToFit& a, const WayToFit& b) {
    return std::pair(a.fit.verdict, a.time_ratio) < std::pair(b.fit.verdict, b.time_ratio);
  });
  if (measured) return ways;
  ways.largest_micro_batch = largest_micro_batch(now, surely_fits);
  if (ways.alone.empty() || !ways.alone.front().fits()) ways.together = tried_together(now, before);
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

RecomputeGain recompute_gain(const Scenario& scenario, const ScheduleSpec& spec) {
  Trial trial{scenario, spec};
  const Need with = need_of(trial);
  trial.scenario.training.activation_recompute = Recompute::kNone;
  const Need without = need_of(trial);
  return {saved(without, with), with.time / without.time};
}

}  // namespace accosim
