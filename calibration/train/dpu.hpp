// Delayed parameter update, and weight prediction, which is the same with a guess at where the parameters will be. With
// g[t] the mean gradient that is reduced in round t (g[0] at theta[0]):
//   DPU  theta[t+1] = Opt(theta[t], g[t]), beside which g[t+1] is computed at theta[t];
//   WP   theta[t+1] = Opt(theta[t], g[t]) and ahead[t+1] = Opt(theta[t+1], g[t]), beside which g[t+1] is computed at
//        ahead[t], ahead[0] being theta[0].
#pragma once

#include <memory>

#include "calibration/train/round.hpp"

namespace accocal {

/// Takes the round's result into use, and moves the gradient that was accumulated meanwhile to the communication
/// buffer.
template <typename R>
typename R::Tally swap_delayed(R& rank) {
  const auto made = rank.tally(rank.communication);
  rank.swap([&] {
    rank.parameters.copy_from(rank.communication.values);
    rank.communication.copy_from(rank.gradient);
    rank.gradient.set_zero();
  });
  return made;
}

template <typename R>
void train_dpu(R& rank) {
  begin_overlapped(rank, false);
  while (!rank.finished()) {
    rank.submit([&] { sharded_round(rank, rank.communication); });
    rank.compute_round();
    rank.wait();
    rank.end_update(swap_delayed(rank));
  }
}

template <typename R>
void train_wp(R& rank) {
  // Shared with the job, which may still run when computation fails.
  const std::shared_ptr<typename R::Values> seen = rank.observed() ? rank.new_values() : nullptr;
  begin_overlapped(rank, false);
  while (!rank.finished()) {
    rank.submit([&rank, seen] {
      auto& values = rank.communication.values;
      const auto total = rank.reduce_count(rank.communication.count);
      rank.reduce_scatter(values);
      rank.step(values, total);
      rank.save_state();
      rank.step(values, total, values);
      rank.restore_state();
      rank.all_gather(values);
      if (seen) {
        rank.publish(*seen);
        rank.all_gather(*seen);
      }
    });
    rank.compute_round();
    rank.wait();
    rank.end_update(swap_delayed(rank), seen.get());
  }
  rank.run([&] {
    rank.publish(rank.parameters);
    rank.all_gather(rank.parameters);
  });
}

}  // namespace accocal
