// DiLoCo. Every rank takes H inner steps from theta by itself, then all move along the mean of what they moved, with
// Nesterov's momentum (PyTorch's form), their inner optimizers' states left as they are:
//   delta = mean over ranks of theta - theta_rank;  u <- momentum u + delta;  theta <- theta - rate (delta + momentum
//   u).
// With H = 1, rate 1 and no momentum this is the mean of the ranks' parameters after each step.
// A rank on a device has no outer optimizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "calibration/train/algorithm_traits.hpp"
#include "calibration/train/e3m0.hpp"
#include "calibration/train/flat_buffer.hpp"
#include "calibration/train/local_updates.hpp"

namespace accocal {

/// The outer parameters and their step, element by element.
class NesterovOuter {
 public:
  NesterovOuter(std::span<const float> start, const UsualOptions& options)
      : theta(start.begin(), start.end()),
        u_(start.size()),
        momentum_(static_cast<float>(options.outer_momentum)),
        rate_(static_cast<float>(options.outer_learning_rate)) {}

  std::vector<float> theta;

  void step(std::size_t i, float delta) {
    u_[i] = momentum_ * u_[i] + delta;
    theta[i] -= rate_ * (delta + momentum_ * u_[i]);
  }

 private:
  std::vector<float> u_;
  float momentum_, rate_;
};

template <typename R>
void train_diloco(R& rank) {
  NesterovOuter outer(rank.optimizer.master(), rank.options);
  FlatBuffer& values = rank.communication.values;
  std::vector<float> scratch(values.size());
  const auto share = 1 / static_cast<float>(rank.transport.size());
  // On the communication thread; leaves the new parameters in `parameters` and in the optimizer's master copy.
  const auto meet = [&] {
    const std::span<float> own = rank.optimizer.master();
    for (std::size_t i = 0; i < own.size(); ++i) scratch[i] = outer.theta[i] - own[i];
    values.write({0, scratch.size()}, scratch);
    rank.all_reduce(values);
    rank.communication_span("outer optimizer", [&] {
      const std::span<const float> sum = values.read(scratch);
      for (std::size_t i = 0; i < own.size(); ++i) {
        outer.step(i, share * sum[i]);
        own[i] = outer.theta[i];
      }
      rank.publish(rank.parameters);
    });
  };
  while (!rank.finished()) {
    for (int inner = 1;; ++inner) {
      rank.compute(rank.options.micro_batches_per_round);
      rank.set_last_total(rank.gradient.count * rank.transport.size());
      const bool meets = inner == rank.options.inner_updates || rank.last_update();
      rank.run([&] {
        rank.step(rank.gradient.values, rank.gradient.count);
        rank.publish(rank.parameters);
        if (meets) meet();
      });
      rank.end_update(rank.tally(rank.gradient), meets ? &rank.parameters : nullptr);
      rank.gradient.set_zero();
      if (meets) break;
    }
  }
}

// DiLoCo with eager updates (Kale, Douillard and Donchev 2025): at the end of every round of inner_updates updates an
// outer step at once, along the rank's own change of now and the others' of the round before, whose all-reduce ran
// beside the round. With M ranks, own = theta - theta_rank, and Nesterov's momentum as in DiLoCo:
//   delta = own / M + (mean_before - own_before / M);  u <- momentum u + delta;  theta <- theta - rate (delta +
//   momentum u);  begin the all-reduce of own;  go on from theta.
// At the end of the first round nothing of the others has come, and delta is own / M: each change counts once. theta
// and u differ by rank, by what has not been exchanged yet.

template <typename R>
void train_eager_diloco(R& rank) {
  LocalUpdates<R> local(rank);
  NesterovOuter outer(rank.optimizer.master(), rank.options);
  std::vector<float> own(outer.theta.size()), scratch;
  const auto share = 1 / static_cast<float>(rank.transport.size());
  // Zeros until a reduction has come, as `own` is.
  FlatBuffer& values = rank.communication.values;
  local.run(rank.options.inner_updates, [&] {
    rank.wait();
    const std::span<const float> sum = values.read(scratch);
    move_replica(rank, [&](std::span<float> x) {
      for (std::size_t i = 0; i < own.size(); ++i) {
        const float others = share * (sum[i] - own[i]);
        own[i] = outer.theta[i] - x[i];
        outer.step(i, share * own[i] + others);
        x[i] = outer.theta[i];
      }
    });
    values.write({0, own.size()}, own);
    rank.submit([&rank] { rank.all_reduce(rank.communication.values); });
  });
}

// Streaming DiLoCo (Douillard et al. 2025, algorithm 2): DiLoCo fragment by fragment. Of F fragments p is sent after
// every update s with s mod H = (p + 1) H / F mod H, H being inner_updates; `delay` updates later, beside which its
// sum over the M ranks is formed, it makes its outer step from where its last one ended:
//   delta = mean over ranks of theta_p - (theta_rank)_p at s;  u <- momentum u + delta;
//   theta_p <- theta_p - rate (delta + momentum u);  (theta_rank)_p <- a (theta_rank)_p + (1 - a) theta_p,
// a the mixing; the other fragments go on untouched. theta is the same on every rank, theta_rank is not.
// With one fragment, no delay and a = 0 this is DiLoCo.
//
// Payloads: fp32, all-reduced; or e3m0, of which each rank's own change is quantised and sent to all as it is, and
// summed in fp32 in the order of the ranks.

/// Replaces each rank's values by their sum, 4 bits a value on the network. On the communication thread.
template <typename R>
void sum_in_e3m0(R& rank, std::span<float> values) {
  const std::size_t each = e3m0_words(values.size());
  std::vector<std::int64_t> packets(each * static_cast<std::size_t>(rank.transport.size()));
  const auto of = [&](int owner) { return std::span(packets).subspan(each * static_cast<std::size_t>(owner), each); };
  rank.communication_span("quantise", [&] { pack_e3m0(values, of(rank.transport.rank())); });
  rank.all_gather(buffer_of(std::span(packets)));
  rank.communication_span("dequantise", [&] {
    std::fill(values.begin(), values.end(), 0.0F);
    for (int owner = 0; owner < rank.transport.size(); ++owner) add_e3m0(of(owner), values);
  });
}

template <typename R>
class StreamingOuter {
 public:
  explicit StreamingOuter(R& rank) : rank_(rank), outer_(rank.optimizer.master(), rank.options) {
    for (int p = 0; p < rank.options.fragments; ++p) parts_.push_back(rank.fragment(p, rank.options.fragments));
  }

  /// After the `made`-th update: takes what is due and sends what is its turn.
  void meet(std::int64_t made) {
    const std::int64_t rounds = rank_.options.inner_updates, count = rank_.options.fragments;
    take_due(made);
    for (std::int64_t p = 0; p < count; ++p)
      if (made % rounds == (p + 1) * rounds / count % rounds) send(static_cast<std::size_t>(p), made);
    take_due(made);
  }

 private:
  struct Flight {
    std::size_t fragment = 0;
    std::int64_t due = 0;  ///< after which update it is taken
    std::int64_t job = 0;
    std::shared_ptr<std::vector<float>> values;  ///< of the fragment: the own change, then the sum
  };

  /// Calls `each(place in the flat buffers, place in the fragment)`.
  template <typename Each>
  void for_each_of(std::size_t fragment, Each&& each) const {
    std::size_t k = 0;
    for (const Shard& part : parts_[fragment])
      for (std::size_t i = part.begin; i < part.end; ++i) each(i, k++);
  }

  void send(std::size_t fragment, std::int64_t made) {
    const auto values = std::make_shared<std::vector<float>>();
    const std::span<const float> own = rank_.optimizer.master();
    rank_.compute_span("swap", [&] {
      for_each_of(fragment, [&](std::size_t i, std::size_t) { values->push_back(outer_.theta[i] - own[i]); });
    });
    const bool small = rank_.options.payload == Payload::kE3m0;
    const std::int64_t job = rank_.submit([&rank = rank_, values, small] {
      if (small)
        sum_in_e3m0(rank, std::span(*values));
      else
        rank.all_reduce(buffer_of(std::span(*values)));
    });
    flights_.push_back({fragment, made + rank_.options.delay, job, values});
  }

  void take_due(std::int64_t made) {
    for (; !flights_.empty() && flights_.front().due <= made; flights_.pop_front()) {
      rank_.wait(flights_.front().job);
      move_replica(rank_, [&](std::span<float> x) { step(flights_.front(), x); });
    }
  }

  void step(const Flight& flight, std::span<float> x) {
    const auto share = 1 / static_cast<float>(rank_.transport.size());
    const auto mixing = static_cast<float>(rank_.options.mixing);
    for_each_of(flight.fragment, [&](std::size_t i, std::size_t k) {
      outer_.step(i, share * (*flight.values)[k]);
      x[i] = mixing * x[i] + (1 - mixing) * outer_.theta[i];
    });
  }

  R& rank_;
  NesterovOuter outer_;
  std::vector<std::vector<Shard>> parts_;  // a fragment's elements
  std::deque<Flight> flights_;             // in the order in which they were sent
};

template <typename R>
void train_streaming_diloco(R& rank) {
  LocalUpdates<R> local(rank);
  StreamingOuter<R> outer(rank);
  local.run(1, [&] { outer.meet(local.made()); });
}

}  // namespace accocal
