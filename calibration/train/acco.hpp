// ACCO. An update is two rounds of one batch; Opt begins at the same theta[t] in both:
//   estimate  ahead[t+1] = Opt(theta[t], first[t]), beside which second[t] is computed at theta[t];
//   update    theta[t+1] = Opt(theta[t], first[t] and second[t] together), beside which first[t+1] is computed at
//             ahead[t+1]. first[0] is computed at theta[0] before the loop.
// Gradients are sums, divided by the number of micro-batches of all ranks; so one buffer serves: `gradient` is kept
// when first[t] is sent, and second[t] is added to it.
#pragma once

#include "calibration/train/round.hpp"

namespace accocal {

template <typename R>
void train_acco(R& rank) {
  begin_overlapped(rank, rank.options.keep_initial_gradient);
  while (!rank.finished()) {
    rank.submit([&] {
      rank.save_state();
      sharded_round(rank, rank.communication);
      rank.restore_state();
    });
    rank.compute_round();
    rank.wait();
    rank.swap([&] {
      rank.parameters.copy_from(rank.communication.values);
      rank.communication.copy_from(rank.gradient);
      rank.gradient.set_zero();
    });

    rank.submit([&] { sharded_round(rank, rank.communication); });
    rank.compute_round();
    rank.wait();
    const auto made = rank.tally(rank.communication);
    rank.swap([&] {
      rank.parameters.copy_from(rank.communication.values);
      rank.communication.copy_from(rank.gradient);
    });
    rank.end_update(made);
  }
}

}  // namespace accocal
