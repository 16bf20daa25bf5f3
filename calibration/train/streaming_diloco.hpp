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
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "calibration/train/algorithm_traits.hpp"
#include "calibration/train/e3m0.hpp"
#include "calibration/train/local_updates.hpp"

namespace accocal {

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
  explicit StreamingOuter(R& rank) : rank_(rank), momentum_(rank.optimizer.master().size()) {
    const std::span<const float> start = rank.optimizer.master();
    theta_.assign(start.begin(), start.end());
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
      for_each_of(fragment, [&](std::size_t i, std::size_t) { values->push_back(theta_[i] - own[i]); });
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
    const auto momentum = static_cast<float>(rank_.options.outer_momentum);
    const auto rate = static_cast<float>(rank_.options.outer_learning_rate);
    const auto mixing = static_cast<float>(rank_.options.mixing);
    for_each_of(flight.fragment, [&](std::size_t i, std::size_t k) {
      const float delta = share * (*flight.values)[k];
      momentum_[i] = momentum * momentum_[i] + delta;
      theta_[i] -= rate * (delta + momentum * momentum_[i]);
      x[i] = mixing * x[i] + (1 - mixing) * theta_[i];
    });
  }

  R& rank_;
  std::vector<float> theta_, momentum_;
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
