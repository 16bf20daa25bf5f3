// The two that do one thing after the other: with g the mean gradient at theta over the whole batch,
//   theta' = Opt(theta, g).
// DDP reduces gradients to every rank, which then takes the same step; ZeRO-1 shares the step and gathers the result.
#include "calibration/algorithms/rank.hpp"

namespace accosim {

void train_ddp(Rank& rank) {
  while (!rank.finished()) {
    rank.compute(rank.options.micro_batches_per_round);
    rank.run([&] {
      const std::int64_t total = rank.reduce_count(rank.gradient.count);
      rank.all_reduce(rank.gradient.values);
      rank.step(rank.gradient.values, total);
      rank.publish(rank.parameters);
    });
    rank.end_update(rank.gradient);
    rank.gradient.set_zero();
  }
}

void synchronous_update(Rank& rank, int micro_batches) {
  rank.compute(micro_batches);
  rank.run([&] {
    const std::int64_t total = rank.reduce_count(rank.gradient.count);
    rank.reduce_scatter(rank.gradient.values);
    rank.step(rank.gradient.values, total);
    rank.publish(rank.parameters);
    rank.all_gather(rank.parameters);
  });
  rank.end_update(rank.gradient);
  rank.gradient.set_zero();
}

void train_zero1(Rank& rank) {
  while (!rank.finished()) synchronous_update(rank, rank.options.micro_batches_per_round);
}

}  // namespace accosim
