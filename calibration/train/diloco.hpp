// DiLoCo. Every rank takes H inner steps from theta by itself, then all move along the mean of what they moved, with
// Nesterov's momentum (PyTorch's form), their inner optimizers' states left as they are:
//   delta = mean over ranks of theta - theta_rank;  u <- momentum u + delta;  theta <- theta - rate (delta + momentum
//   u).
// With H = 1, rate 1 and no momentum this is the mean of the ranks' parameters after each step.
// A rank on a device has no outer optimizer.
#pragma once

#include <span>
#include <vector>

#include "calibration/train/flat_buffer.hpp"

namespace accocal {

template <typename R>
class DilocoOuter {
 public:
  explicit DilocoOuter(R& rank) : rank_(rank), theta_(rank.optimizer.master().begin(), rank.optimizer.master().end()) {
    momentum_.resize(theta_.size());
  }

  /// On the communication thread; leaves the new parameters in `parameters` and in the optimizer's master copy.
  void step() {
    FlatBuffer& values = rank_.communication.values;
    scratch_.resize(theta_.size());
    const std::span<const float> own = rank_.optimizer.master();
    for (std::size_t i = 0; i < theta_.size(); ++i) scratch_[i] = theta_[i] - own[i];
    values.write({0, theta_.size()}, scratch_);
    rank_.all_reduce(values);
    rank_.communication_span("outer optimizer", [&] { move(values); });
  }

 private:
  void move(const FlatBuffer& sum) {
    const std::span<const float> delta = sum.read(scratch_);
    const auto share = 1 / static_cast<float>(rank_.transport.size());
    const auto rate = static_cast<float>(rank_.options.outer_learning_rate);
    const auto momentum = static_cast<float>(rank_.options.outer_momentum);
    for (std::size_t i = 0; i < theta_.size(); ++i) {
      const float mean = share * delta[i];
      momentum_[i] = momentum * momentum_[i] + mean;
      theta_[i] -= rate * (mean + momentum * momentum_[i]);
    }
    rank_.optimizer.set_master(theta_);
    rank_.publish(rank_.parameters);
  }

  R& rank_;
  std::vector<float> theta_, momentum_, scratch_;
};

template <typename R>
void train_diloco(R& rank) {
  DilocoOuter<R> outer(rank);
  while (!rank.finished()) {
    for (int inner = 1;; ++inner) {
      rank.compute(rank.options.micro_batches_per_round);
      rank.set_last_total(rank.gradient.count * rank.transport.size());
      rank.run([&] {
        rank.step(rank.gradient.values, rank.gradient.count);
        rank.publish(rank.parameters);
        if (inner == rank.options.inner_updates || rank.last_update()) outer.step();
      });
      const bool outer_done = inner == rank.options.inner_updates || rank.last_update();
      rank.end_update(rank.tally(rank.gradient), outer_done ? &rank.parameters : nullptr);
      rank.gradient.set_zero();
      if (outer_done) break;
    }
  }
}

}  // namespace accocal
