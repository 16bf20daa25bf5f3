// A schedule fits where it fits on every kind of rank, so the kind that is least likely to fit speaks for all.
#include "sim/evaluation/resident.hpp"

#include <algorithm>
#include <utility>

namespace accosim {

namespace {

/// A message each way that arrives and one that leaves, and of those that arrive what their slices are gathered into. A
/// gathered sequence is its product's workspace.
Bytes stage_buffers(const RankKind& kind) {
  return kind.share.stages > 1 ? 4 * kind.message + 2 * kind.gathered : Bytes{0};
}

/// One over the data ranks, one over those that split tensors, one each way along the pipeline, one of a whole model
/// replica, over which norms are summed, one of all ranks, whose barriers begin the run (Megatron-LM's
/// megatron/training/initialize.py, DeepSpeed's runtime/engine.py), one of both ends of a pipeline that share a table
/// (Megatron-LM's core/parallel_state.py, the embedding group), one of those that have experts between them and one of
/// those that have the same.
int communicators_of(const RankKind& kind) {
  const bool splits = kind.share.tensor > 1, piped = kind.share.stages > 1, data = kind.ranks * kind.replicas > 1;
  return std::max(1, (data ? 1 : 0) + (splits ? 1 : 0) + (piped ? 2 : 0) + (splits || piped ? 2 : 0) +
                         (kind.shared_table > 0 ? 1 : 0) + (kind.share.experts > 1 ? 2 : 0));
}

}  // namespace

MemoryParts memory_of(const RankKind& kind, const ScheduleSpec& spec, int accumulation_steps) {
  MemoryInput input{spec,
                    kind.layers,
                    kind.device,
                    kind.shards,
                    kind.steps(accumulation_steps),
                    kind.tied_embeddings,
                    kind.workload.implementation == Implementation::kAccocal,
                    kind.replicas,
                    kind.ranks};
  if (kind.share.stages > 1) {
    input.chunk_layers = kind.chunk_layers;
    input.in_flight = passes_in_flight(kind.share, input.accumulation_steps);
  }
  input.stage_buffers = stage_buffers(kind);
  input.communicators = communicators_of(kind);
  input.experts = kind.share.experts;
  input.narrow_gradients = kind.narrow_gradients;
  input.older_parameters = !spec.pipeline_flush && kind.share.stage + 1 < kind.share.stages;
  return resident_memory(input);
}

std::vector<KindMemory> memory_by_kind(const Costs& costs, const ScheduleSpec& spec, int accumulation_steps) {
  std::vector<KindMemory> kinds;
  for (std::size_t i = 0; i < costs.kinds.size(); ++i) {
    const RankKind& kind = costs.kinds[i];
    const auto ranks = std::ranges::count(costs.kind_of, static_cast<int>(i));
    MemoryParts parts = memory_of(kind, spec, accumulation_steps);
    auto same = std::ranges::find_if(kinds, [&](const KindMemory& other) {
      return other.device == kind.device.name && other.capacity == kind.device.memory &&
             other.parts.total() == parts.total();
    });
    if (same == kinds.end()) {
      const Fit fit = fit_of(parts, kind.device.memory);
      kinds.push_back({kind.device.name, 0, std::move(parts), kind.device.memory, fit});
      same = kinds.end() - 1;
    }
    same->ranks += static_cast<int>(ranks);
    if (kind.share.stages == 1) continue;
    const auto place = std::lower_bound(same->stages.begin(), same->stages.end(), kind.share.stage);
    if (place == same->stages.end() || *place != kind.share.stage) same->stages.insert(place, kind.share.stage);
  }
  return kinds;
}

const KindMemory& least_likely(const std::vector<KindMemory>& kinds) {
  return *std::ranges::min_element(kinds, [](const KindMemory& a, const KindMemory& b) {
    return spreads_of_room(a.parts, a.capacity) < spreads_of_room(b.parts, b.capacity);
  });
}

}  // namespace accosim
