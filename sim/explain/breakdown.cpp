#include "sim/explain/breakdown.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "sim/explain/played_spans.hpp"
#include "sim/explain/split_costs.hpp"

namespace accosim {
namespace {

/// What a rank did.
struct RankTime {
  std::array<Stretches, kTimeUses> doing;
  std::vector<CountedTimes> counted;
};

TimeUse use_of(OpClass cls) {
  switch (cls) {
    case OpClass::kForward:
    case OpClass::kBackward: return TimeUse::kComputation;
    case OpClass::kOptimizer: return TimeUse::kOptimizer;
    case OpClass::kCopy: return TimeUse::kCopies;
    case OpClass::kOffload:
    case OpClass::kCommunication: return TimeUse::kExposedCommunication;
    case OpClass::kPause: return TimeUse::kPauses;
    case OpClass::kHost:
    case OpClass::kCounted:
    case OpClass::kMark: break;
  }
  return TimeUse::kHost;
}

/// Repetitions of a loop's body, one use after the other: the body is busy throughout, so only the sums matter.
class Bodies {
 public:
  explicit Bodies(RankTime& rank) : rank_(rank) {}
  void add(const Span& span, TimeUse use) {
    const bool goes_on = span.repeat > 1 && repeat_ == span.repeat && last_op_ + 1 == span.op;
    if (!goes_on) at_ = span.begin.value;
    const double lasts = static_cast<double>(span.repeat) * (span.end - span.begin).value;
    rank_.doing[static_cast<std::size_t>(use)].emplace_back(at_, at_ + lasts);
    at_ += lasts;
    repeat_ = span.repeat;
    last_op_ = span.op;
  }

 private:
  RankTime& rank_;
  double at_ = 0;
  std::int64_t repeat_ = 0;
  std::int32_t last_op_ = -2;
};

std::vector<RankTime> times_of(const SteadyPlay& play) {
  const EventGraph& graph = play.folded.graph;
  std::vector<RankTime> ranks(graph.ranks.size());
  std::vector<std::vector<Bodies>> bodies;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    bodies.emplace_back(graph.programs[graph.ranks[r].program].lanes.size(), Bodies(ranks[r]));
  for (const Span& span : play.spans) {
    RankTime& rank = ranks[span.rank];
    const Label& label = graph.labels[span.label];
    if (label.cls == OpClass::kCounted)
      rank.counted.push_back(counted_of(span));
    else if (label.mark == Mark::kNone)
      bodies[span.rank][span.lane].add(span, use_of(label.cls));
  }
  return ranks;
}

/// Seconds of each use from `from` to `to`, the first of those that go on at once; what nothing fills is waiting.
std::array<double, kTimeUses> parts_between(const RankTime& rank, double from, double to) {
  std::array<double, kTimeUses> parts{};
  Stretches so_far;
  double before = 0;
  for (const TimeUse use :
       {TimeUse::kComputation, TimeUse::kOptimizer, TimeUse::kCopies, TimeUse::kHost, TimeUse::kExposedCommunication}) {
    const Stretches& more = rank.doing[static_cast<std::size_t>(use)];
    so_far.insert(so_far.end(), more.begin(), more.end());
    so_far = merged(std::move(so_far), from, to);
    parts[static_cast<std::size_t>(use)] = length(so_far) - before;
    before = length(so_far);
  }
  parts[static_cast<std::size_t>(TimeUse::kWaiting)] = to - from - before;
  return parts;
}

/// The same of so many updates, those from `from` to `to`, per update.
std::array<double, kTimeUses> parts_of(const RankTime& rank, double from, double to, double updates) {
  std::array<double, kTimeUses> parts = parts_between(rank, from, to);
  for (const CountedTimes& counted : rank.counted) {
    if (counted.from < from || counted.to > to) continue;
    const std::array<double, kTimeUses> once = parts_between(rank, counted.from, counted.to);
    for (std::size_t use = 0; use < parts.size(); ++use) parts[use] += counted.times * once[use];
    // What is counted left its time empty.
    parts[static_cast<std::size_t>(TimeUse::kWaiting)] -= counted.times * (counted.to - counted.from);
  }
  for (double& part : parts) part /= updates;
  return parts;
}

/// Of what the ranks of a pipeline are idle: all but what the first stage waits outside of the flights.
Seconds bubble_in(const SteadyPlay& play, Seconds idle) {
  const std::optional<SplitCosts> costs = play.costs->parallel.pipeline > 1 ? split_costs(play) : std::nullopt;
  if (!costs) return Seconds{};
  const auto outside = std::ranges::find(costs->tail_parts, kWaitingForRanks, &std::pair<std::string, Seconds>::first);
  return outside == costs->tail_parts.end() ? idle : idle - std::min(idle, outside->second);
}

}  // namespace

UpdateBreakdown breakdown_of(const SteadyPlay& play, const RunResult& result) {
  UpdateBreakdown breakdown{
      result.label, result.update_time, result.update_time_low, result.update_time_high, result.batch_inflation, {}};
  const std::vector<RankTime> ranks = times_of(play);
  const std::vector<std::vector<double>> ends = update_ends(play);
  const EventGraph& graph = play.folded.graph;
  const double updates = (play.measured.last - play.measured.first) * graph.updates_per_mark;
  Seconds meanwhile, paused;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const double share = 1.0 * graph.ranks[r].multiplicity / play.costs->ranks();
    const std::array<double, kTimeUses> parts =
        parts_of(ranks[r], ends[r][play.measured.first], ends[r][play.measured.last], updates);
    for (std::size_t use = 0; use < parts.size(); ++use) breakdown.parts[use] += Seconds{share * parts[use]};
    // Ranks that accumulate while others pause compute more than this play, which is without pauses.
    const RankMeasure& measure = play.measured.ranks[r];
    const double played = static_cast<double>(measure.last_micro_batch - measure.first_micro_batch) / updates;
    constexpr auto kIdle = static_cast<std::ptrdiff_t>(TimeUse::kExposedCommunication);
    const double busy = std::accumulate(parts.begin(), parts.begin() + kIdle, 0.0);
    meanwhile += Seconds{share * busy * (measure.micro_batches_per_update / played - 1)};
  }
  Seconds& waiting = breakdown.parts[static_cast<std::size_t>(TimeUse::kWaiting)];
  const Seconds bubble = bubble_in(play, waiting);
  breakdown.parts[static_cast<std::size_t>(TimeUse::kBubble)] = bubble;
  waiting -= bubble;
  for (const PauseCost& pause : play.pauses) paused += 1 / pause.every_updates * pause.time;
  meanwhile = std::min(meanwhile, paused);
  breakdown.parts[static_cast<std::size_t>(TimeUse::kComputation)] += meanwhile;
  breakdown.parts[static_cast<std::size_t>(TimeUse::kPauses)] += paused - meanwhile;
  return breakdown;
}

std::vector<UpdateBreakdown> breakdowns_of(const Scenario& scenario, const std::vector<int>& indices,
                                           const std::vector<RunResult>& results, const Evaluations& evaluations) {
  std::vector<UpdateBreakdown> breakdowns;
  for (std::size_t i = 0; i < indices.size(); ++i)
    breakdowns.push_back(
        breakdown_of(*evaluations.play(scenario, scenario.schedules[indices[i]], Keep::kAll), results[i]));
  return breakdowns;
}

}  // namespace accosim
