// DiLoCo with eager updates (Kale, Douillard and Donchev 2025): at the end of every round of inner_updates updates an
// outer step at once, along the rank's own change of now and the others' of the round before, whose all-reduce ran
// beside the round. With M ranks, own = theta - theta_rank, and Nesterov's momentum as in DiLoCo:
//   delta = own / M + (mean_before - own_before / M);  u <- momentum u + delta;  theta <- theta - rate (delta +
//   momentum u);  begin the all-reduce of own;  go on from theta.
// At the end of the first round nothing of the others has come, and delta is own / M: each change counts once. theta
// and u differ by rank, by what has not been exchanged yet.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "calibration/train/local_updates.hpp"

namespace accocal {

template <typename R>
void train_eager_diloco(R& rank) {
  LocalUpdates<R> local(rank);
  const std::span<const float> start = rank.optimizer.master();
  std::vector<float> theta(start.begin(), start.end()), u(theta.size()), own(theta.size()), scratch;
  const auto momentum = static_cast<float>(rank.options.outer_momentum);
  const auto rate = static_cast<float>(rank.options.outer_learning_rate);
  const auto share = 1 / static_cast<float>(rank.transport.size());
  // Zeros until a reduction has come, as `own` is.
  FlatBuffer& values = rank.communication.values;
  local.run(rank.options.inner_updates, [&] {
    rank.wait();
    const std::span<const float> sum = values.read(scratch);
    move_replica(rank, [&](std::span<float> x) {
      for (std::size_t i = 0; i < theta.size(); ++i) {
        const float others = share * (sum[i] - own[i]);
        own[i] = theta[i] - x[i];
        const float delta = share * own[i] + others;
        u[i] = momentum * u[i] + delta;
        theta[i] -= rate * (delta + momentum * u[i]);
        x[i] = theta[i];
      }
    });
    values.write({0, own.size()}, own);
    rank.submit([&rank] { rank.all_reduce(rank.communication.values); });
  });
}

}  // namespace accocal
