// Local updates whose ranks average what they reached, and what they do with the mean: SlowMo, Overlap-Local-SGD, CO2.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "calibration/train/local_updates.hpp"

namespace accocal {

// SlowMo (Wang et al. 2020) over local updates, as in fairscale: every inner_updates updates the ranks average their
// parameters; every outer_every updates, in the place of that, a slow momentum step along what the average has moved:
//   u <- momentum u + (x_old - mean) / lr;  x_old <- x_old - rate lr u;  every rank goes on from x_old,
// with lr the inner learning rate of that update. Both block. Every rank keeps x_old and u in fp32.

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

// Overlap-Local-SGD (Wang, Liang and Joshi 2020), in the order of the released code's average(). Every inner_updates
// updates, with z the anchor, v its momentum, a the mixing, M ranks and lr the inner learning rate of that update:
//   wait for the reduction of z that began a round ago;  x <- (1 - a) x + a z;
//   v <- momentum v + (z - x) / lr;  z <- (z - lr v) / M;  begin the sum of z over the ranks;  go on from x.
// The first anchor is the start, for which nothing is waited. The ranks never become equal. z is on the network for the
// whole of a round; v is in fp32.

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

// CO2 (Sun et al. 2024) as its paper has it: every inner_updates updates the outer parameters move along a change that
// is one round old, and the all-reduce of the parameters just reached runs beside the next round. At the end of round
// r, which began at z[r] on every rank and whose ranks reached x, when the mean a of what they reached in round r - 1
// has come, with lr the inner learning rate of that update:
//   change = z[r-1] - a;  gap = 1 + |z[r] - z[r-1]| / |change|;
//   m <- clip(momentum m + change / (lr gap));  z[r+1] = z[r] - rate lr m;  begin the all-reduce of x;  go on from
//   z[r+1].
// Nothing has come at the end of the first round: z[1] = z[0], so that each round's change counts once and one round
// late, as gradients do in PipeSGD.
//
// That the change is divided by a gap of at least 1 and that m is clipped is the paper's; which gap and which bound is
// said in no text that we could read: the gap is how far the outer parameters have gone since the change began, counted
// in such changes (Euclidean norms; the form of Barkai et al. 2020), the bound is outer_clip times what inner_updates
// steps of AdamW move an element in one direction at most, in the units of m.

template <typename R>
void train_co2(R& rank) {
  LocalUpdates<R> local(rank);
  const std::span<const float> start = rank.optimizer.master();
  std::vector<float> now(start.begin(), start.end());  // where the round that ends began; then where the next begins
  std::vector<float> before = now;                     // where the round began whose result is on the network
  std::vector<float> m(now.size()), scratch;
  const auto share = 1 / static_cast<float>(rank.transport.size());
  const auto momentum = static_cast<float>(rank.options.outer_momentum);
  const auto rate = static_cast<float>(rank.options.outer_learning_rate);
  const auto bound = static_cast<float>(rank.options.outer_clip * rank.options.inner_updates);
  const auto step = [&](std::span<const float> sum, float lr) {
    double gone = 0, change = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      gone += std::pow(now[i] - before[i], 2);
      change += std::pow(before[i] - share * sum[i], 2);
    }
    const auto gap = static_cast<float>(change > 0 ? 1 + std::sqrt(gone / change) : 1);
    for (std::size_t i = 0; i < now.size(); ++i) {
      m[i] = std::clamp(momentum * m[i] + (before[i] - share * sum[i]) / (lr * gap), -bound, bound);
      before[i] = now[i];
      now[i] -= rate * lr * m[i];
    }
  };
  FlatBuffer& values = rank.communication.values;
  local.run(rank.options.inner_updates, [&] {
    rank.wait();
    const bool first = local.made() == rank.options.inner_updates;
    move_replica(rank, [&](std::span<float> x) {
      if (!first) step(values.read(scratch), local.rate());
      rank.publish(values);
      std::copy(now.begin(), now.end(), x.begin());
    });
    rank.submit([&rank] { rank.all_reduce(rank.communication.values); });
  });
}

}  // namespace accocal
