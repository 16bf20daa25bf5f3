#include "sim/evaluation/pauses.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/spec/schedule_traits.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

/// Of drawn micro-batches, over a full one: the first thousand of rank 0.
double mean_forward(const Pace& pace, int kind) {
  constexpr int kDraws = 1000;
  if (!pace.drawn()) return 1;
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) sum += micro_batch_of(pace, kind, 0, i).forward / kDraws;
  return sum;
}

bool evaluates_together(const Pause& pause, const ScheduleSpec& spec) {
  return pause.sequences > 0 && sharding_of(spec) == Sharding::kParameters;
}

/// A forward pass on a mean micro-batch, with the gathers of sharded parameters.
Seconds evaluation_pass(const ScheduleSpec& spec, const Costs& costs, int kind, bool together) {
  RankKind mean = costs.kinds[kind];
  const double factor = mean_forward(costs.pace, kind);
  if (!together) return factor * mean.forward;
  for (LayerTime& layer : mean.times) layer.forward = factor * layer.forward;
  return zero3_forward_time({{spec, costs, mean}, body_of(spec, costs, mean, 1)});
}

}  // namespace

double PauseCost::done_meanwhile() const {
  return std::max(0.0, std::accumulate(micro_batches.begin(), micro_batches.end(), 0.0));
}

std::vector<int> ranks_in(const Pause& pause, const ScheduleSpec& spec, const Costs& costs) {
  if (pause.ranks.empty() || !evaluates_together(pause, spec)) return pause.ranks;
  std::vector<int> ranks;  // whose shards are gathered
  for (const int named : pause.ranks)
    if (!std::ranges::binary_search(ranks, named)) {
      const std::vector<int> members = members_of(costs.layout, {kIsland}, named);
      ranks.insert(ranks.end(), members.begin(), members.end());
      std::ranges::sort(ranks);
    }
  return ranks;
}

PlacedPause placed(const Pause& pause, const ScheduleSpec& spec, const Costs& costs, std::int64_t after_update) {
  const bool together = evaluates_together(pause, spec);
  PlacedPause placed{pause.name, ranks_in(pause, spec, costs), after_update, {}};
  for (std::size_t k = 0; k < costs.kinds.size(); ++k) {
    const double passes = std::ceil(pause.sequences / costs.kinds[k].workload.micro_batch_size);
    Seconds lasts = pause.duration;
    if (passes > 0) lasts = passes * evaluation_pass(spec, costs, static_cast<int>(k), together);
    if (pause.bytes > Bytes{0}) lasts = pause.bytes / pause.bandwidth;
    placed.lasts.push_back(lasts);
  }
  return placed;
}

double updates_between(const Pause& pause, const PauseCost& cost, Seconds update, double micro_batches) {
  const double more = std::accumulate(cost.micro_batches.begin(), cost.micro_batches.end(), 0.0);
  if (pause.every_updates > 0) return pause.every_updates;
  if (pause.every_gradients > 0) return (pause.every_gradients - more) / micro_batches;
  return (pause.every - cost.time) / update;
}

}  // namespace accosim
