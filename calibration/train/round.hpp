// Algorithms whose ranks all make the same updates, each from one round's gradients, at once or late; and what these
// and others share, written with a rank's functions. Algorithms are written once, for ranks on CPUs (rank.hpp) and on
// GPUs (calibration/device/device_training.cpp); R is either. Jobs go to the communication thread on CPUs, to the
// communication stream on GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

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

// The two that do one thing after the other: with g the mean gradient at theta over the whole batch,
//   theta' = Opt(theta, g).
// DDP reduces gradients to every rank, which then takes the same step; ZeRO-1 shares the step and gathers the result.

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

// Delayed parameter update, and weight prediction, which is the same with a guess at where the parameters will be. With
// g[t] the mean gradient that is reduced in round t (g[0] at theta[0]):
//   DPU  theta[t+1] = Opt(theta[t], g[t]), beside which g[t+1] is computed at theta[t];
//   WP   theta[t+1] = Opt(theta[t], g[t]) and ahead[t+1] = Opt(theta[t+1], g[t]), beside which g[t+1] is computed at
//        ahead[t], ahead[0] being theta[0].

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

// PipeSGD (Li et al. 2018): DDP whose gradients are reduced beside the computation of later ones and applied d updates
// late, the whole optimizer on every rank. With g(b) the mean gradient of batch b:
//   theta[t+1] = Opt(theta[t], g(t)), g(t) computed at theta[t - d], and for t < d at theta[0].
// So the first d batches are computed before the loop, and the last d that are computed go into no update and are not
// counted. The reductions are on one lane in order: d > 1 hides jitter and latency, never bandwidth.
// With d = 1 its updates are DPU's.

template <typename R>
void train_pipesgd(R& rank) {
  using Sum = typename R::Sum;
  const auto delay = static_cast<std::size_t>(rank.options.delay);
  const int micro_batches = rank.options.micro_batches_per_round;
  // What is on the network, d sums; shared with the jobs.
  const auto flying = std::make_shared<std::vector<Sum>>();
  for (std::size_t i = 0; i < delay; ++i) flying->push_back(rank.new_sum());
  std::vector<std::int64_t> jobs(delay);
  const auto send = [&](std::size_t slot) {
    rank.swap([&] {
      (*flying)[slot].copy_from(rank.gradient);
      rank.gradient.set_zero();
    });
    jobs[slot] = rank.submit([&rank, flying, slot] { rank.all_reduce((*flying)[slot].values); });
  };
  for (std::size_t slot = 0; slot < delay; ++slot) {
    rank.compute(micro_batches);
    send(slot);
  }
  for (std::size_t slot = 0; !rank.finished(); slot = (slot + 1) % delay) {
    rank.compute(micro_batches);
    rank.wait(jobs[slot]);
    Sum& sum = (*flying)[slot];
    const auto total = sum.count * rank.transport.size();
    rank.set_last_total(total);
    rank.step_here(sum.values, total, rank.parameters);
    rank.end_update(rank.tally(sum));
    send(slot);
  }
  rank.wait();
}

}  // namespace accocal
