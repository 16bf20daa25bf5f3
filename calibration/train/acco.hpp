// ACCO. An update is two rounds of one batch; Opt begins at the same theta[t] in both:
//   estimate  ahead[t+1] = Opt(theta[t], first[t]), beside which second[t] is computed at theta[t];
//   update    theta[t+1] = Opt(theta[t], first[t] and second[t] together), beside which first[t+1] is computed at
//             ahead[t+1]. first[0] is computed at theta[0] before the loop.
// Gradients are sums, divided by the number of micro-batches of all ranks; so one buffer serves: `gradient` is kept
// when first[t] is sent, and second[t] is added to it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "calibration/train/adamw.hpp"
#include "calibration/train/flat_buffer.hpp"
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

// ACCO whose estimate is each rank's own: made from its own half of the batch without any communication, so that of the
// two rounds only the update's has a reduce-scatter and an all-gather. The estimates differ by rank; theta does not.
//   estimate  ahead[t+1] = Est(theta[t], first_rank[t]), while second[t] is computed at theta[t];
//   update    theta[t+1] = Opt(theta[t], first[t] and second[t] together), beside which first[t+1] is computed at
//             ahead[t+1].
//
// A rank has the optimizer's states of its shard alone, so Est is a step without states. Of gradient descent it is the
// step itself, theta - lr g. Of AdamW it is what can be known of one: the share beta1 of a step is the direction of the
// step before, which every rank sees from two gathers; what a new gradient adds to it, (1 - beta1) lr g / sqrt(v),
// needs v, so the gradient is divided by its own magnitude. With g the rank's mean gradient and wd the weight decay:
//   Est = theta[t] + beta1 (theta[t] - theta[t-1]) - (1 - beta1) lr (sign g + wd theta[t]),
// theta[-1] being theta[0]. It costs one buffer of parameters as they are stored, for theta[t-1], in which the estimate
// is then made; no copy of the states is kept aside, since none are touched.

/// `before` has theta[t-1] and becomes the estimate of theta[t+1] by theta[t], `now`, and the sum of gradients `first`.
template <typename R>
void estimate_alone(R& rank, const typename R::Sum& first, const FlatBuffer& now, FlatBuffer& before) {
  std::vector<float> scratch, scratch_now, scratch_gradient;
  const std::span<const float> old = before.read(scratch), theta = now.read(scratch_now),
                               g = first.values.read(scratch_gradient);
  const OptimizerOptions& optimizer = rank.options.optimizer;
  const auto count = static_cast<float>(first.count);
  // The update is of twice the micro-batches, on every rank.
  const auto lr = static_cast<float>(rank.learning_rate(2 * first.count * rank.transport.size()));
  std::vector<float> ahead(theta.begin(), theta.end());
  if (optimizer.kind == OptimizerKind::kSgd) {
    for (std::size_t i = 0; i < ahead.size(); ++i) ahead[i] -= lr * (g[i] / count);
  } else {
    const auto beta = static_cast<float>(optimizer.adamw.beta1);
    const auto decay = static_cast<float>(optimizer.adamw.weight_decay);
    const auto sign = [](float x) { return x > 0 ? 1.0F : x < 0 ? -1.0F : 0.0F; };
    for (std::size_t i = 0; i < ahead.size(); ++i)
      ahead[i] += beta * (theta[i] - old[i]) - (1 - beta) * lr * (sign(g[i]) + decay * theta[i]);
  }
  before.write({0, ahead.size()}, ahead);
}

template <typename R>
void train_acco_alone(R& rank) {
  const std::shared_ptr<FlatBuffer> other = rank.new_values();
  begin_overlapped(rank, rank.options.keep_initial_gradient);
  other->copy_from(rank.parameters);
  if (!rank.finished())
    rank.compute_span("optimizer", [&] { estimate_alone(rank, rank.communication, rank.parameters, *other); });
  while (!rank.finished()) {
    rank.compute(rank.options.micro_batches_per_round);
    rank.swap([&] {
      std::swap(rank.parameters, *other);
      rank.communication.copy_from(rank.gradient);
      rank.gradient.set_zero();
    });
    rank.submit([&rank] { sharded_round(rank, rank.communication); });
    rank.compute_round();
    rank.wait();
    const auto made = rank.tally(rank.communication);
    rank.swap([&] { rank.parameters.copy_from(rank.communication.values); });
    rank.end_update(made);
    rank.compute_span("optimizer", [&] { estimate_alone(rank, rank.gradient, rank.parameters, *other); });
  }
}

}  // namespace accocal
