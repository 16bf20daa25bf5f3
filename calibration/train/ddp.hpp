// The two that do one thing after the other: with g the mean gradient at theta over the whole batch,
//   theta' = Opt(theta, g).
// DDP reduces gradients to every rank, which then takes the same step; ZeRO-1 shares the step and gathers the result.
#pragma once

#include "calibration/train/round.hpp"

namespace accocal {

template <typename R>
void train_ddp(R& rank) {
  while (!rank.finished()) {
    rank.compute(rank.options.micro_batches_per_round);
    rank.run([&] {
      const auto total = rank.reduce_count(rank.gradient.count);
      rank.all_reduce(rank.gradient.values);
      rank.step(rank.gradient.values, total, rank.parameters);
    });
    rank.end_update(rank.tally(rank.gradient));
    rank.gradient.set_zero();
  }
}

template <typename R>
void train_zero1(R& rank) {
  while (!rank.finished()) synchronous_update(rank, rank.options.micro_batches_per_round);
}

}  // namespace accocal
