#include "sim/result/pauses.hpp"

#include <cmath>
#include <numeric>

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

}  // namespace

PlacedPause placed(const Pause& pause, const Costs& costs, std::int64_t after_update) {
  PlacedPause placed{pause.name, pause.ranks, after_update, {}};
  for (std::size_t k = 0; k < costs.kinds.size(); ++k) {
    const RankKind& kind = costs.kinds[k];
    const double passes = std::ceil(pause.sequences / kind.workload.micro_batch_size);
    Seconds lasts = pause.duration;
    if (passes > 0) lasts = passes * mean_forward(costs.pace, static_cast<int>(k)) * kind.forward;
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
