// SlowMo (Wang et al. 2020) over local updates, as in fairscale: every inner_updates updates the ranks average their
// parameters; every outer_every updates, in the place of that, a slow momentum step along what the average has moved:
//   u <- momentum u + (x_old - mean) / lr;  x_old <- x_old - rate lr u;  every rank goes on from x_old,
// with lr the inner learning rate of that update. Both block. Every rank keeps x_old and u in fp32.
#pragma once

#include <span>
#include <vector>

#include "calibration/train/local_updates.hpp"

namespace accocal {

template <typename R>
void train_slowmo(R& rank) {
  LocalUpdates<R> local(rank);
  const std::span<const float> start = rank.optimizer.master();
  std::vector<float> old(start.begin(), start.end()), u(old.size()), scratch;
  const auto momentum = static_cast<float>(rank.options.outer_momentum);
  const auto outer_rate = static_cast<float>(rank.options.outer_learning_rate);
  FlatBuffer& values = rank.communication.values;
  local.run(rank.options.inner_updates, [&] {  // of which outer_every is a multiple
    const bool outer = local.ends_round(rank.options.outer_every);
    rank.publish(values);
    rank.run([&] { average(rank, values); });
    const std::span<const float> mean = values.read(scratch);
    move_replica(rank, [&](std::span<float> master) {
      if (outer) {
        const float lr = local.rate();
        for (std::size_t i = 0; i < old.size(); ++i) {
          u[i] = momentum * u[i] + (old[i] - mean[i]) / lr;
          old[i] -= outer_rate * lr * u[i];
        }
      }
      const std::span<const float> next = outer ? std::span<const float>(old) : mean;
      std::copy(next.begin(), next.end(), master.begin());
    });
  });
}

}  // namespace accocal
