// Micro-batches that are not alike and pauses: what an op takes by the graph's pace instead of its duration.
#include <algorithm>

#include "sim/player/player_state.hpp"

namespace accosim {

void Player::prepare_ranks() {
  const Pace& pace = graph_.pace;
  unsteady_ = pace.drawn() || !pace.pauses.empty();
  if (!unsteady_) return;
  progress_.resize(graph_.ranks.size());
  if (!pace.drawn()) return;
  for (std::size_t rank = 0; rank < progress_.size(); ++rank) {
    const int number = number_of(graph_, rank);
    if (is_slowest_of(graph_.ranks[rank].replica)) continue;  // the speeds of GPUs are in the draws
    Progress& progress = progress_[rank];
    progress.gpu = gpu_factor(pace, number);
    progress.slow = SlowWindows(pace.unsteady, number);
  }
}

const MicroBatch& Player::drawn_of(std::uint32_t rank, const Op& op) {
  static const MicroBatch kPriced;
  if (!graph_.pace.drawn()) return kPriced;
  Progress& progress = progress_[rank];
  if (op.pass >= progress.passes.size()) progress.passes.resize(op.pass + std::size_t{1});
  const std::int64_t number = progress.passes[op.pass];
  Progress::Drawn& drawn = progress.drawn[static_cast<std::size_t>(number) % progress.drawn.size()];
  if (drawn.number != number)
    drawn = {number, micro_batch_of(graph_.pace, graph_.ranks[rank].program, replica_of(graph_, rank), number)};
  return drawn.micro_batch;
}

double Player::duration_of(const Lane& lane, const Op& op, double time) {
  Progress& progress = progress_[lane.rank];
  const OpClass cls = graph_.labels[op.label].cls;
  if (cls == OpClass::kForward || cls == OpClass::kBackward) {
    const MicroBatch& drawn = drawn_of(lane.rank, op);
    const double factor = progress.gpu * (cls == OpClass::kForward ? drawn.forward : drawn.backward);
    const Seconds begin{time};
    return (progress.slow.end_of(begin, factor * op.duration) - begin).value;
  }
  if (cls != OpClass::kPause) return op.duration.value;
  Seconds lasts;
  const int rank = static_cast<int>(lane.rank);
  for (const PlacedPause& pause : graph_.pace.pauses) {
    const bool mine = pause.ranks.empty() || std::binary_search(pause.ranks.begin(), pause.ranks.end(), rank);
    if (mine && pause.after_update == progress.updates) lasts += pause.lasts[graph_.ranks[lane.rank].program];
  }
  return lasts.value;
}

void Player::note_end(std::uint32_t rank, const Op& op) {
  const Label& label = graph_.labels[op.label];
  Progress& progress = progress_[rank];
  if (label.mark == Mark::kUpdate) ++progress.updates;
  if (op.ends_pass && op.pass < progress.passes.size()) ++progress.passes[op.pass];
}

}  // namespace accosim
