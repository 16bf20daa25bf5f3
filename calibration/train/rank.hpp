// What every algorithm is written with, on CPUs: one rank's buffers, its two threads and their spans. An algorithm is
// then the order in which these are used.
//
// Which thread touches what: the compute thread everything outside a job, the communication thread what its job names;
// submit() and wait() order the two. Beside a job run compute_round(), on `parameters` and `gradient`, and what an
// algorithm says, on buffers that no job names.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "calibration/base/denormals.hpp"
#include "calibration/base/machine.hpp"
#include "calibration/base/names.hpp"
#include "calibration/train/communication_thread.hpp"
#include "calibration/train/flat_buffer.hpp"
#include "calibration/train/summary.hpp"
#include "calibration/train/training.hpp"

namespace accocal {

/// A sum of gradients and how many micro-batches are in it.
struct GradientSum {
  FlatBuffer values;
  std::int64_t count = 0;
  double loss = 0;  ///< sum over the micro-batches

  void copy_from(const GradientSum& other) {
    values.copy_from(other.values);
    count = other.count;
    loss = other.loss;
  }
  void set_zero() {
    values.set_zero();
    count = 0;
    loss = 0;
  }
};

/// Spans of one thread; each lane is written by one thread only.
class Recorder {
 public:
  Recorder(TrainingSpan::Lane lane, int rank, bool enabled) : lane_(lane), rank_(rank), enabled_(enabled) {}
  /// Runs `body` as a span.
  template <typename Body>
  void span(const char* label, std::int64_t update, Body&& body) {
    const std::int64_t begin = monotonic_nanoseconds();
    body();
    add(label, update, begin, monotonic_nanoseconds());
  }
  void add(const char* label, std::int64_t update, std::int64_t begin, std::int64_t end) {
    const auto since_start = [this](std::int64_t at) { return Seconds{static_cast<double>(at - start_) * 1e-9}; };
    if (enabled_ && spans_.size() < kMostSpans / 2)
      spans_.push_back({rank_, lane_, label, since_start(begin), since_start(end), update});
  }
  /// What the times of spans are since.
  void start(std::int64_t at) { start_ = at; }
  const std::vector<TrainingSpan>& spans() const { return spans_; }

 private:
  TrainingSpan::Lane lane_;
  int rank_;
  bool enabled_;
  std::int64_t start_ = 0;
  std::vector<TrainingSpan> spans_;
};

class Rank {
 public:
  // Type names that the algorithms use; a rank on a device has its own.
  using Values = FlatBuffer;
  using Sum = GradientSum;
  /// This rank's part of an update.
  struct Tally {
    std::int64_t count = 0;
    double loss = 0;
  };

  Rank(const TrainingOptions& run_options, Workload& workload, Transport& ranks, const Observer& observer)
      : options(run_options),
        transport(ranks),
        parameters(workload.parameter_count(), run_options.storage),
        gradient{FlatBuffer(parameters.size(), run_options.storage)},
        communication{FlatBuffer(parameters.size(), run_options.storage)},
        optimizer(run_options.optimizer, {}),
        shard(traits_of(options.algorithm).sharded ? shard_of(parameters.size(), transport.rank(), transport.size())
                                                   : Shard{0, parameters.size()}),
        workload_(workload),
        observer_(observer),
        compute_lane_(TrainingSpan::Lane::kCompute, ranks.rank(), run_options.record_spans),
        communication_lane_(TrainingSpan::Lane::kCommunication, ranks.rank(), run_options.record_spans),
        slow_(run_options.slow.contains(ranks.rank()) ? run_options.slow.at(ranks.rank()) : 1) {
    flush_denormals();
    parameters.write({0, parameters.size()}, workload.initial_parameters());
    transport.broadcast(parameters.buffer(), 0);
    // From what is stored: in bf16 the master copy begins as rounded as the parameters.
    optimizer = {options.optimizer, parameters.read(shard, scratch_shard_)};
    show(parameters);
    transport.barrier();
    waited_at_start_ = all_threads_waited();
    start_ = monotonic_nanoseconds();
    transport.broadcast(buffer_of(std::span(&start_, 1)), 0);
    last_end_ = start_;
    compute_lane_.start(start_);
    communication_lane_.start(start_);
  }

  const TrainingOptions& options;
  Transport& transport;
  FlatBuffer parameters;      ///< what the next micro-batch is computed on
  GradientSum gradient;       ///< where it is accumulated
  GradientSum communication;  ///< what is on the network; after a round its values are parameters
  ShardOptimizer optimizer;   ///< of this rank's shard, or of all parameters
  Shard shard;

  bool finished() const { return options.samples > 0 ? samples_ >= options.samples : update_ >= options.updates; }
  /// Is the update of last_total() micro-batches that is being made the last one?
  bool last_update() const {
    return options.samples > 0 ? samples_ + samples_of(last_total_) >= options.samples : update_ + 1 >= options.updates;
  }

  // On the compute thread.
  /// Exactly so many micro-batches into `gradient`.
  void compute(int micro_batches) {
    for (int i = 0; i < micro_batches; ++i) micro_batch();
  }
  /// The micro-batches of a round: as many as the options say, checking whether the communication has ended.
  void compute_round() {
    if (options.accumulate == Accumulate::kFixed) return compute(options.micro_batches_per_round);
    int computed = 0;
    do {
      compute(options.poll_every);
      computed += options.poll_every;
    } while (computed < options.micro_batches_per_round || !thread_.done());
  }
  /// Puts a job on the communication thread, behind those before, which runs at the same time as what follows; then
  /// call wait(). A job may outlive the algorithm's function where computation fails: it owns what it names besides
  /// the rank.
  std::int64_t submit(std::function<void()> job) {
    return thread_.submit([this, update = update_, body = std::move(job)] {
      job_update_ = update;
      body();
    });
  }
  /// For all jobs, or for that one and those before it.
  void wait() { wait(thread_.last()); }
  void wait(std::int64_t job) {
    if (thread_.done(job)) return thread_.wait(job);
    compute_lane_.span("wait", update_, [&] { thread_.wait(job); });
  }
  void run(std::function<void()> job) { wait(submit(std::move(job))); }
  /// A span of the compute thread that moves buffers.
  template <typename Body>
  void swap(Body&& body) {
    compute_lane_.span("swap", update_, body);
  }
  template <typename Body>
  void compute_span(const char* label, Body&& body) {
    compute_lane_.span(label, update_, body);
  }
  /// The optimizer along the sum of `total` micro-batches' gradients, and the result into `to`: a rank alone with the
  /// whole of it. A job may run beside it.
  void step_here(const FlatBuffer& sum, std::int64_t total, FlatBuffer& to) {
    compute_span("optimizer", [&] {
      move_along(sum, total);
      publish(to);
    });
  }
  /// Notes what is in the sum, before its buffer is used for the next.
  Tally tally(const GradientSum& sum) const { return {sum.count, sum.loss}; }
  /// Call it when the parameters of one more update are in use. `made` is this rank's part of it, last_total() that of
  /// all ranks. An observer is shown `seen`, or nothing where that is null.
  void end_update(const Tally& made, const FlatBuffer* seen) {
    if (!options.timed && made.count > 0) check_loss(made.loss, update_ + 1, options);
    const std::int64_t now = monotonic_nanoseconds();
    const std::int64_t samples = samples_of(last_total_);
    updates_.push_back({Seconds{static_cast<double>(now - last_end_) * 1e-9}, 0, samples});
    summary_.loss_sums.push_back(made.loss);
    summary_.loss_counts.push_back(made.count);
    last_end_ = now;
    const bool look = observes_this();
    samples_ += samples;
    ++update_;
    if (seen != nullptr && look) show(*seen);
  }
  void end_update(const Tally& made) { end_update(made, &parameters); }
  /// A buffer of zeros like `parameters`.
  std::shared_ptr<FlatBuffer> new_values() const {
    return std::make_shared<FlatBuffer>(parameters.size(), options.storage);
  }
  GradientSum new_sum() const { return {FlatBuffer(parameters.size(), options.storage)}; }
  /// Which elements are in the fragment, of so many.
  std::vector<Shard> fragment(int number, int fragments) const { return workload_.fragment(number, fragments); }
  /// Of the update that is being made; `total`: its micro-batches on all ranks.
  double learning_rate(std::int64_t total) const {
    const bool by_samples = options.samples > 0;
    const auto all = static_cast<double>(by_samples ? options.samples : options.updates);
    const auto done = static_cast<double>(by_samples ? samples_ : update_);
    const auto one = static_cast<double>(by_samples ? samples_of(total) : 1);
    return learning_rate_at(options.optimizer, done / all, one / all);
  }

  // On the communication thread.
  /// Sum of the counts over the ranks; kept for last_total().
  std::int64_t reduce_count(std::int64_t own) {
    communication_span("count", [&] { transport.all_reduce(buffer_of(std::span(&own, 1))); });
    last_total_ = own;
    return own;
  }
  void all_reduce(FlatBuffer& values) { all_reduce(values.buffer()); }
  void all_reduce(Buffer values) {
    communication_span("all-reduce", [&] { transport.all_reduce(values); });
  }
  void reduce_scatter(FlatBuffer& values) {
    communication_span("reduce-scatter", [&] { transport.reduce_scatter(values.buffer()); });
  }
  void all_gather(FlatBuffer& values) { all_gather(values.buffer()); }
  void all_gather(Buffer values) {
    communication_span("all-gather", [&] { transport.all_gather(values); });
  }
  /// The optimizer on this rank's part of the sum of `total` micro-batches' gradients.
  void step(const FlatBuffer& sum, std::int64_t total) {
    communication_span("optimizer", [&] { move_along(sum, total); });
  }
  /// And the master copy into its place in `to`, which may be `sum`.
  void step(const FlatBuffer& sum, std::int64_t total, FlatBuffer& to) {
    step(sum, total);
    publish(to);
  }
  /// The master copy into its place in `values`.
  void publish(FlatBuffer& values) { values.write(shard, optimizer.master()); }
  void save_state() {
    communication_span("save state", [&] { optimizer.save(); });
  }
  /// After an estimate, as the options say.
  void restore_state() {
    const bool keep = options.estimate_state == EstimateState::kKeep ||
                      (options.estimate_state == EstimateState::kReleased && estimates_ == 0);
    ++estimates_;
    communication_span("restore state", [&] {
      optimizer.restore(keep ? ShardOptimizer::Restore::kParameters : ShardOptimizer::Restore::kAll);
    });
  }
  template <typename Body>
  void communication_span(const char* label, Body&& body) {
    communication_lane_.span(label, job_update_, body);
  }

  /// Micro-batches of all ranks in the update that is ended next.
  std::int64_t last_total() const { return last_total_; }
  void set_last_total(std::int64_t total) { last_total_ = total; }
  /// Is there an observer, on any rank?
  bool observed() const { return static_cast<bool>(observer_); }
  /// And does it look at the update that is being made?
  bool observes_this() const { return observed() && ((update_ + 1) % options.observe_every == 0 || last_update()); }

  /// What this rank's own run was. Spans are relative to the common start.
  TrainingResult result() {
    TrainingResult result{.ranks = transport.size(),
                          .tokens_per_sample = workload_.tokens_per_sample(),
                          .parameters = static_cast<std::int64_t>(parameters.size()),
                          .updates = std::move(updates_)};
    const double waited = all_threads_waited() - waited_at_start_;
    summary_.waited_share = waited / (static_cast<double>(last_end_ - start_) * 1e-9);
    add_all_ranks(result, std::move(summary_), transport);
    result.held_out_loss = transport.rank() == 0 ? workload_.held_out_loss(parameters.read(scratch_parameters_))
                                                 : std::numeric_limits<double>::quiet_NaN();
    result.spans = compute_lane_.spans();
    const std::vector<TrainingSpan>& others = communication_lane_.spans();
    result.spans.insert(result.spans.end(), others.begin(), others.end());
    return result;
  }

 private:
  void move_along(const FlatBuffer& sum, std::int64_t total) {
    optimizer.step(learning_rate(total), 1 / static_cast<double>(total), sum.read(shard, scratch_shard_));
  }
  void micro_batch() {
    const std::int64_t begin = monotonic_nanoseconds();
    // Numbered so that the ranks together go through what one rank would.
    const std::int64_t number = next_micro_batch_++ * transport.size() + transport.rank();
    const std::span<const float> at = parameters.read(scratch_parameters_);
    if (options.storage == ElementType::kFloat32) {
      gradient.loss += workload_.accumulate(at, number, gradient.values.floats());
    } else {
      scratch_gradient_.assign(parameters.size(), 0);
      gradient.loss += workload_.accumulate(at, number, scratch_gradient_);
      gradient.values.add(scratch_gradient_);
    }
    ++gradient.count;
    if (slow_ > 1)
      sleep_until(begin + static_cast<std::int64_t>(slow_ * static_cast<double>(monotonic_nanoseconds() - begin)));
    compute_lane_.add("micro-batch", update_, begin, monotonic_nanoseconds());
  }
  std::int64_t samples_of(std::int64_t micro_batches) const {
    return micro_batches * workload_.samples_per_micro_batch();
  }
  void show(const FlatBuffer& values) {
    if (observer_ && transport.rank() == 0) observer_({update_, samples_, values.read(scratch_parameters_)});
  }

  Workload& workload_;
  const Observer& observer_;
  Recorder compute_lane_, communication_lane_;
  double slow_;
  std::int64_t next_micro_batch_ = 0;
  std::int64_t update_ = 0;
  std::int64_t job_update_ = 0;  // in which the job that runs was given; of the communication thread
  std::int64_t samples_ = 0;
  std::int64_t last_total_ = 0;
  std::int64_t estimates_ = 0;
  std::int64_t start_ = 0, last_end_ = 0;
  double waited_at_start_ = 0;
  std::vector<UpdateRecord> updates_;
  RankSummary summary_;
  std::vector<float> scratch_parameters_, scratch_gradient_, scratch_shard_;
  CommunicationThread thread_;  // last: its job uses the others
};

}  // namespace accocal
