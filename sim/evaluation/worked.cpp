// What ranks have done in the steady updates: tokens with and without their padding, and floating-point operations.
#include "sim/evaluation/steady.hpp"

namespace accosim {
namespace {

/// Of one rank, in the steady updates, with the micro-batches of its replica.
Worked worked_by(const Pace& pace, int kind, int replica, const RankMeasure& measure) {
  Worked all;
  for (std::int64_t i = measure.first_micro_batch; i < measure.last_micro_batch; ++i) {
    const MicroBatch drawn = micro_batch_of(pace, kind, replica, i);
    all.tokens += drawn.tokens;
    all.padded += drawn.padded;
    all.model_flops += drawn.model_flops;
    all.hardware_flops += drawn.hardware_flops;
  }
  return all;
}

}  // namespace

Worked worked_per_update(const SteadyPlay& play) {
  const EventGraph& graph = play.folded.graph;
  const Pace& pace = graph.pace;
  Worked all;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    const RankMeasure& measure = play.measured.ranks[r];
    const int kind = graph.ranks[r].program, replica = replica_of(graph, r);
    // Where nothing is drawn one micro-batch is as any other.
    const std::int64_t counted = measure.last_micro_batch - measure.first_micro_batch;
    const bool each = pace.unsteady.varies() && counted > 0;
    const MicroBatch one = micro_batch_of(pace, kind, replica, 0);
    const Worked worked = each ? worked_by(pace, kind, replica, measure)
                               : Worked{one.tokens, one.padded, one.model_flops, one.hardware_flops};
    const double count =
        graph.ranks[r].multiplicity * measure.micro_batches_per_update / (each ? static_cast<double>(counted) : 1);
    all.tokens += count * worked.tokens;
    all.padded += count * worked.padded;
    all.model_flops += count * worked.model_flops;
    all.hardware_flops += count * worked.hardware_flops;
  }
  // The ranks of a model replica work on the same tokens, each on its part of the model.
  const int together = model_ranks_of(play.costs->layout);
  all.tokens /= together;
  all.padded /= together;
  return all;
}

double samples_per_update(const SteadyPlay& play) {
  double samples = 0;
  const EventGraph& graph = play.folded.graph;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r)
    samples += graph.ranks[r].multiplicity * play.measured.ranks[r].micro_batches_per_update *
               graph.programs[graph.ranks[r].program].micro_batch_size;
  return samples / model_ranks_of(play.costs->layout);
}

}  // namespace accosim
