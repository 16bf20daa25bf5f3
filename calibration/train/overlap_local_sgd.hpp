// Overlap-Local-SGD (Wang, Liang and Joshi 2020), in the order of the released code's average(). Every inner_updates
// updates, with z the anchor, v its momentum, a the mixing, M ranks and lr the inner learning rate of that update:
//   wait for the reduction of z that began a round ago;  x <- (1 - a) x + a z;
//   v <- momentum v + (z - x) / lr;  z <- (z - lr v) / M;  begin the sum of z over the ranks;  go on from x.
// The first anchor is the start, for which nothing is waited. The ranks never become equal. z is on the network for the
// whole of a round; v is in fp32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "calibration/train/local_updates.hpp"

namespace accocal {

template <typename R>
void train_overlap_local_sgd(R& rank) {
  LocalUpdates<R> local(rank);
  FlatBuffer& anchor = rank.communication.values;
  rank.publish(anchor);
  std::vector<float> v(anchor.size()), scratch, next(anchor.size());
  const auto mixing = static_cast<float>(rank.options.mixing);
  const auto momentum = static_cast<float>(rank.options.outer_momentum);
  const auto share = 1 / static_cast<float>(rank.transport.size());
  local.run(rank.options.inner_updates, [&] {
    rank.wait();
    const std::span<const float> z = anchor.read(scratch);
    move_replica(rank, [&](std::span<float> x) {
      const float lr = local.rate();
      for (std::size_t i = 0; i < v.size(); ++i) {
        x[i] = (1 - mixing) * x[i] + mixing * z[i];
        v[i] = momentum * v[i] + (z[i] - x[i]) / lr;
        next[i] = share * (z[i] - lr * v[i]);
      }
    });
    anchor.write({0, next.size()}, next);
    rank.submit([&rank] { rank.all_reduce(rank.communication.values); });
  });
}

}  // namespace accocal
