// What several algorithms share, written with a rank's functions. Algorithms are written once, for ranks on CPUs
// (rank.hpp) and on GPUs (calibration/device/device_training.cpp); R is either. Jobs go to the communication thread on
// CPUs, to the communication stream on GPUs.
#pragma once

#include <cstdint>

#include "calibration/train/algorithm_traits.hpp"

namespace accocal {

/// The round of a sharded algorithm, on the communication lane: `sum` becomes the parameters after a step along it.
template <typename R>
void sharded_round(R& rank, typename R::Sum& sum) {
  const auto total = rank.reduce_count(sum.count);
  rank.reduce_scatter(sum.values);
  rank.step(sum.values, total, sum.values);
  rank.all_gather(sum.values);
}

/// One synchronous update, sharded.
template <typename R>
void synchronous_update(R& rank, int micro_batches) {
  rank.compute(micro_batches);
  rank.run([&] {
    const auto total = rank.reduce_count(rank.gradient.count);
    rank.reduce_scatter(rank.gradient.values);
    rank.step(rank.gradient.values, total, rank.parameters);
    rank.all_gather(rank.parameters);
  });
  rank.end_update(rank.tally(rank.gradient));
  rank.gradient.set_zero();
}

/// Everything before the loop of an algorithm that computes beside communication: warm-up, and the gradient of a first
/// round in the communication buffer, and in `gradient` too where it is kept.
template <typename R>
void begin_overlapped(R& rank, bool keep_gradient) {
  const int round = rank.options.micro_batches_per_round, rounds = traits_of(rank.options.algorithm).rounds;
  for (std::int64_t i = 0; i < rank.options.warmup_updates && !rank.finished(); ++i)
    synchronous_update(rank, rounds * round);
  if (rank.finished()) return;
  rank.compute(round);
  rank.swap([&] {
    rank.communication.copy_from(rank.gradient);
    if (!keep_gradient) rank.gradient.set_zero();
  });
}

}  // namespace accocal
