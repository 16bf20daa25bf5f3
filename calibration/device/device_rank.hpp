// What every algorithm is written with, on a device: as Rank in calibration/train/rank.hpp, with two streams
// in the place of two threads. Everything is given to a stream and nothing is waited for, but where the host has to
// decide.
//
// The compute stream touches `parameters` and `gradient`; the communication stream what its job names. submit() makes
// it wait for what compute has been given before, wait() makes compute wait for the job; so only compute_round() runs
// beside a job.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "calibration/device/device.hpp"
#include "calibration/device/device_history.hpp"
#include "calibration/device/device_transport.hpp"
#include "calibration/device/device_values.hpp"
#include "calibration/device/device_workload.hpp"
#include "calibration/ranks/transport.hpp"
#include "calibration/train/training.hpp"

namespace accocal {

/// Real is float or Bf16: of what is stored and sent.
template <typename Real>
class DeviceRank {
 public:
  using Values = DeviceValues<Real>;
  using Sum = DeviceSum<Real>;
  /// This rank's part of an update. Its losses are still on their way from the device.
  struct Tally {
    std::int64_t count = 0;
  };

  /// `ranks` is between the hosts, `network` between the devices; both have the same ranks. On the calling thread's
  /// device.
  DeviceRank(const TrainingOptions& run_options, DeviceWorkload<Real>& workload, DeviceTransport& network,
             Transport& ranks, const Observer& observer);
  /// Waits for the streams, which still use what goes.
  ~DeviceRank();
  DeviceRank(const DeviceRank&) = delete;
  DeviceRank& operator=(const DeviceRank&) = delete;

  const TrainingOptions& options;

 private:
  Stream compute_, communication_;

 public:
  Values parameters;  ///< what the next micro-batch is computed on
  Sum gradient;       ///< where it is accumulated
  Sum communication;  ///< what is on the network; after a round its values are parameters

  bool finished() const { return options.samples > 0 ? samples_ >= options.samples : update_ >= options.updates; }

  // On the compute stream.
  /// Exactly so many micro-batches into `gradient`.
  void compute(int micro_batches);
  /// The micro-batches of a round. With Accumulate::kAtLeast, the host waits for them to end before each look at
  /// whether the job is done.
  void compute_round();
  /// Runs `job`, whose work goes to the communication stream at the same time as what follows; then call wait().
  template <typename Job>
  void submit(Job&& job) {
    compute_.record(given_);
    communication_.wait(given_);
    job();
    communication_.record(job_done_);
  }
  void wait();
  template <typename Job>
  void run(Job&& job) {
    submit(job);
    wait();
  }
  template <typename Body>
  void swap(Body&& body) {
    history_.span(TrainingSpan::Lane::kCompute, "swap", compute_, body);
  }
  /// Notes what is in the sum, before its buffer is used for the next. Once per update.
  Tally tally(const Sum& sum);
  /// Call it when the parameters of one more update are in use. An observer is shown `seen`, or nothing where that is
  /// null.
  void end_update(const Tally& made, const Values* seen);
  void end_update(const Tally& made) { end_update(made, &parameters); }
  /// A buffer of zeros like `parameters`. Lives as long as the streams that use it.
  std::shared_ptr<Values> new_values() {
    more_values_.push_back(std::make_shared<Values>(parameters.size(), network_.size(), compute_));
    return more_values_.back();
  }

  // On the communication stream.
  /// Sum of the counts over the ranks, on the device.
  const std::int64_t* reduce_count(std::int64_t own);
  void all_reduce(Values& values);
  void reduce_scatter(Values& values);
  void all_gather(Values& values);
  /// The optimizer on this rank's part of the sum of *total micro-batches' gradients; the result into its place in
  /// `to`, which may be `sum`.
  void step(const Values& sum, const std::int64_t* total, Values& to);
  /// The same, into the master copy alone; for weight prediction.
  void step(const Values& sum, const std::int64_t* total);
  /// The master copy into its place in `values`.
  void publish(Values& values);
  void save_state();
  /// After an estimate, as the options say.
  void restore_state();

  /// Is there an observer, on any rank?
  bool observed() const { return static_cast<bool>(observer_); }

  /// What this rank's own run was. Spans are relative to the common start.
  TrainingResult result();

 private:
  // The optimizer's state of the shard: master copy, first and second moments, equally long, one after the other.
  struct State {
    State(std::size_t count, bool moments);
    float* master() const { return memory.as<float>(); }
    float* m() const { return memory.as<float>() + stride; }
    float* v() const { return memory.as<float>() + 2 * stride; }

    std::size_t stride;  ///< elements
    DeviceMemory memory;
    std::int64_t steps = 0;
  };

  void start();
  void micro_batch();
  void step_into(const Values& sum, const std::int64_t* total, Real* to);
  float learning_rate();
  /// Micro-batches of all ranks in the last reduce_count(); waits for it.
  std::int64_t last_total();
  void show(const Values& values);
  /// Checks the losses of the updates that were read since the last call; throws Diverged.
  void check_losses();
  template <typename Body>
  void communication_span(const char* label, Body&& body) {
    history_.span(TrainingSpan::Lane::kCommunication, label, communication_, body);
  }

  DeviceWorkload<Real>& workload_;
  DeviceTransport& network_;
  Transport& ranks_;
  const Observer& observer_;
  Shard shard_;
  State state_, saved_;
  std::vector<std::shared_ptr<Values>> more_values_;
  DeviceMemory unseen_;  ///< where a step writes that nobody reads
  DeviceMemory total_;   ///< one number
  Event given_, job_done_, counted_, computed_;
  DeviceHistory history_;
  std::int64_t next_micro_batch_ = 0;
  std::int64_t update_ = 0;
  std::size_t checked_ = 0;
  std::int64_t samples_ = 0;  ///< counted only where it is asked for
  std::int64_t estimates_ = 0;
  std::int64_t memory_ = 0;
  std::int64_t start_ = 0;
  double waited_at_start_ = 0;
};

extern template class DeviceRank<float>;
extern template class DeviceRank<Bf16>;

}  // namespace accocal
