#include "models/price/stage_speed.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace accosim {
namespace {

/// What a stage takes for a micro-batch: of each of its blocks, and besides.
struct StagePace {
  double block = 0, besides = 0;
};

StagePace pace_of(const RankKind& kind) {
  double blocks = 0, others = 0;
  int count = 0;
  for (std::size_t l = 0; l < kind.layers->size(); ++l) {
    const bool block = (*kind.layers)[l].kind == LayerKind::kBlock;
    (block ? blocks : others) += (kind.times[l].forward + kind.times[l].backward).value;
    if (block) ++count;
  }
  // What split tensors wait for is in the kind's passes, as good as all of it in blocks.
  const double waits = (kind.forward + kind.backward).value - blocks - others;
  return {(blocks + waits) / count, others};
}

}  // namespace

std::vector<int> blocks_by_speed(const Costs& costs) {
  const Parallel& parallel = costs.parallel;
  const auto stages = static_cast<std::size_t>(parallel.pipeline), chunks = static_cast<std::size_t>(parallel.chunks);
  std::vector<StagePace> paces(stages);
  for (const RankKind& kind : costs.kinds) {
    StagePace& pace = paces[static_cast<std::size_t>(kind.share.stage)];
    const StagePace own = pace_of(kind);  // of unlike replicas the slowest is waited for
    pace = {std::max(pace.block, own.block), std::max(pace.besides, own.besides)};
  }
  int left = std::accumulate(parallel.blocks.begin(), parallel.blocks.end(), 0) - parallel.pipeline * parallel.chunks;
  std::vector<int> own(stages, parallel.chunks);
  const auto with_another = [&](std::size_t stage) {
    return (own[stage] + 1) * paces[stage].block + paces[stage].besides;
  };
  for (; left > 0; --left) {
    std::size_t next = 0;
    for (std::size_t stage = 1; stage < stages; ++stage)
      if (with_another(stage) < with_another(next)) next = stage;
    ++own[next];
  }
  std::vector<int> blocks(stages * chunks);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const std::vector<int> shared = equal_blocks(own[stage], parallel.chunks);
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) blocks[chunk * stages + stage] = shared[chunk];
  }
  return blocks;
}

}  // namespace accosim
