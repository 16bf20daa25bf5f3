// What the algorithms share whose ranks make updates by themselves and meet now and then. Each rank has a replica, the
// whole of its optimizer and of its parameters; the inner optimizers' states are left as they are where they meet.
//
// What an observer is shown, and what a run ends with, is the mean of the ranks' parameters: no rank's own is more the
// result than another's.
//
// On CPUs only. Elements that a meeting moves are moved on the compute thread, as is the optimizer's step, since the
// communication thread may have something on the network.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "calibration/train/flat_buffer.hpp"

namespace accocal {

/// On the communication thread: `values` becomes its mean over the ranks.
template <typename R>
void average(R& rank, FlatBuffer& values) {
  rank.all_reduce(values);
  std::vector<float> scratch;
  const std::span<const float> sum = values.read(scratch);
  std::vector<float> mean(sum.begin(), sum.end());
  const auto share = 1 / static_cast<float>(rank.transport.size());
  for (float& value : mean) value *= share;
  values.write({0, mean.size()}, mean);
}

/// The updates that a rank makes alone.
template <typename R>
class LocalUpdates {
 public:
  explicit LocalUpdates(R& rank) : rank_(rank), seen_(rank.observed() ? rank.new_values() : nullptr) {}

  /// The whole run, of rounds of so many updates, at whose ends `meet` does what the ranks do together. Its result:
  /// all ranks' parameters become their mean.
  template <typename Meet>
  void run(int round, Meet&& meet) {
    while (!rank_.finished()) {
      make();
      if (ends_round(round)) meet();
      end();
    }
    rank_.run([&] { average(rank_, rank_.parameters); });
  }

  /// Does a round of so many updates end here?
  bool ends_round(int updates) const { return made_ % updates == 0; }
  std::int64_t made() const { return made_; }

  /// The inner learning rate of the last update, which outer steps divide by what it moved; never so small that this
  /// overflows.
  float rate() const {
    constexpr double kLeast = 1e-6;  // of its peak; a cosine ends at 0
    return static_cast<float>(std::max(rate_, kLeast * rank_.options.optimizer.learning_rate));
  }

 private:
  /// One more: theta_rank <- Opt(theta_rank, the rank's own mean gradient).
  void make() {
    rank_.compute(rank_.options.micro_batches_per_round);
    rank_.set_last_total(rank_.gradient.count * rank_.transport.size());
    rank_.step_here(rank_.gradient.values, rank_.gradient.count, rank_.parameters);
    rate_ = rank_.learning_rate(rank_.last_total());
    ++made_;
  }

  /// It is done, with whatever the ranks' meeting has changed.
  void end() {
    const auto tally = rank_.tally(rank_.gradient);
    rank_.gradient.set_zero();
    if (rank_.observes_this())
      rank_.run([&] {
        seen_->copy_from(rank_.parameters);
        average(rank_, *seen_);
      });
    rank_.end_update(tally, seen_.get());
  }

  R& rank_;
  std::shared_ptr<FlatBuffer> seen_;
  std::int64_t made_ = 0;
  double rate_ = 0;
};

/// The parameters that a local algorithm's rank goes on from, the optimizer's and those that it computes on, after
/// `move(master)` has changed the former.
template <typename R, typename Move>
void move_replica(R& rank, Move&& move) {
  rank.compute_span("outer optimizer", [&] {
    move(rank.optimizer.master());
    rank.publish(rank.parameters);
  });
}

}  // namespace accocal
