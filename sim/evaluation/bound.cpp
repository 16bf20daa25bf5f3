#include "sim/evaluation/bound.hpp"

#include <algorithm>
#include <vector>

#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

/// Both passes over its first chunk.
Seconds first_chunk(const RankKind& kind) {
  Seconds passes{0};
  for (int layer = 0; layer < kind.chunk_layers.front(); ++layer) {
    const LayerTime& time = kind.times[layer];
    passes += time.forward + time.backward;
  }
  return passes;
}

}  // namespace

Seconds least_update_time(const ScheduleSpec& spec, const Costs& costs, int micro_batches) {
  const int stages = costs.parallel.pipeline;
  std::vector<Seconds> way(static_cast<std::size_t>(stages), Seconds{0}), own = way;
  for (const RankKind& kind : costs.kinds) {
    const auto stage = static_cast<std::size_t>(kind.share.stage);
    const Seconds busy = kind.steps(micro_batches) * (kind.forward + kind.backward);
    own[stage] = std::max(own[stage], busy);
    if (kind.share.stage + 1 == stages) continue;
    const Seconds chunk = first_chunk(kind);
    way[stage + 1] = way[stage + 1] > Seconds{0} ? std::min(way[stage + 1], chunk) : chunk;
  }
  const int flights = spec.pipeline_flush ? rounds_of(spec) : 0;
  Seconds least{0}, before{0};
  for (std::size_t stage = 0; stage < own.size(); ++stage) {
    before += way[stage];
    least = std::max(least, own[stage] + flights * before);
  }
  return least;
}

}  // namespace accosim
