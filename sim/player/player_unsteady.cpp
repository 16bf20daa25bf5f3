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
    const int number = static_cast<int>(rank);
    Progress& progress = progress_[rank];
    progress.now = micro_batch_of(pace, graph_.ranks[rank].program, number, 0);
    progress.gpu = gpu_factor(pace, number);
    progress.slow = SlowWindows(pace.unsteady, number);
  }
}

double Player::duration_of(const Lane& lane, const Op& op, double time) {
  Progress& progress = progress_[lane.rank];
  const OpClass cls = graph_.labels[op.label].cls;
  if (cls == OpClass::kForward || cls == OpClass::kBackward) {
    const double factor = progress.gpu * (cls == OpClass::kForward ? progress.now.forward : progress.now.backward);
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
  if (label.micro_batches == 0) return;
  ++progress.micro_batches;
  const int number = static_cast<int>(rank);
  if (graph_.pace.drawn())
    progress.now = micro_batch_of(graph_.pace, graph_.ranks[rank].program, number, progress.micro_batches);
}

}  // namespace accosim
