// What every algorithm is written with, on CPUs: one rank's buffers, its two threads and their spans. An algorithm is
// then the order in which these are used.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibration/train/communication_thread.hpp"
#include "calibration/train/flat_buffer.hpp"
#include "calibration/train/training.hpp"

namespace accocal {

/// A sum of gradients and how many micro-batches are in it.
struct GradientSum {
  FlatBuffer values;
  std::int64_t count = 0;
  double loss = 0;  ///< sum over the micro-batches

  void copy_from(const GradientSum& other);
  void set_zero();
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
  void add(const char* label, std::int64_t update, std::int64_t begin, std::int64_t end);
  /// With times since `start`.
  std::vector<TrainingSpan> spans(std::int64_t start) const;

 private:
  struct Raw {
    const char* label;
    std::int64_t update, begin, end;
  };
  TrainingSpan::Lane lane_;
  int rank_;
  bool enabled_;
  std::vector<Raw> raw_;
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

  Rank(const TrainingOptions& run_options, Workload& workload, Transport& ranks, const Observer& observer);

  const TrainingOptions& options;
  Transport& transport;
  FlatBuffer parameters;      ///< what the next micro-batch is computed on
  GradientSum gradient;       ///< where it is accumulated
  GradientSum communication;  ///< what is on the network; after a round its values are parameters
  ShardOptimizer optimizer;   ///< of this rank's shard, or of all parameters
  Shard shard;

  bool finished() const;
  /// Is the update of last_total() micro-batches that is being made the last one?
  bool last_update() const;

  // On the compute thread.
  /// Exactly so many micro-batches into `gradient`.
  void compute(int micro_batches);
  /// The micro-batches of a round: as many as the options say, checking whether the communication has ended.
  void compute_round();
  /// Starts a job on the communication thread, which runs at the same time as what follows; then call wait().
  void submit(std::function<void()> job);
  void wait();
  void run(std::function<void()> job) {
    submit(std::move(job));
    wait();
  }
  /// A span of the compute thread that moves buffers.
  void swap(const std::function<void()>& body) { compute_lane_.span("swap", update_, body); }
  /// Notes what is in the sum, before its buffer is used for the next.
  Tally tally(const GradientSum& sum) const { return {sum.count, sum.loss}; }
  /// Call it when the parameters of one more update are in use. `made` is this rank's part of it, last_total() that of
  /// all ranks. An observer is shown `seen`, or nothing where that is null.
  void end_update(const Tally& made, const FlatBuffer* seen);
  void end_update(const Tally& made) { end_update(made, &parameters); }
  /// A buffer of zeros like `parameters`.
  std::shared_ptr<FlatBuffer> new_values() const {
    return std::make_shared<FlatBuffer>(parameters.size(), options.storage);
  }

  // On the communication thread.
  /// Sum of the counts over the ranks; kept for last_total().
  std::int64_t reduce_count(std::int64_t own);
  void all_reduce(FlatBuffer& values);
  void reduce_scatter(FlatBuffer& values);
  void all_gather(FlatBuffer& values);
  /// The optimizer on this rank's part of the sum of `total` micro-batches' gradients.
  void step(const FlatBuffer& sum, std::int64_t total);
  /// And the master copy into its place in `to`, which may be `sum`.
  void step(const FlatBuffer& sum, std::int64_t total, FlatBuffer& to) {
    step(sum, total);
    publish(to);
  }
  /// The master copy into its place in `values`.
  void publish(FlatBuffer& values);
  void save_state();
  /// After an estimate, as the options say.
  void restore_state();
  template <typename Body>
  void communication_span(const char* label, Body&& body) {
    communication_lane_.span(label, update_, body);
  }

  /// Micro-batches of all ranks in the update that is ended next.
  std::int64_t last_total() const { return last_total_; }
  void set_last_total(std::int64_t total) { last_total_ = total; }
  /// Is there an observer, on any rank?
  bool observed() const { return observed_; }

  /// What this rank's own run was. Spans are relative to the common start.
  TrainingResult result();

 private:
  void micro_batch();
  void show(const FlatBuffer& values);

  Workload& workload_;
  const Observer& observer_;
  bool observed_;
  Recorder compute_lane_, communication_lane_;
  double slow_;
  std::int64_t next_micro_batch_ = 0;
  std::int64_t update_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t last_total_ = 0;
  std::int64_t estimates_ = 0;
  std::int64_t start_ = 0, last_end_ = 0;
  double waited_at_start_ = 0;
  std::vector<UpdateRecord> updates_;
  std::vector<double> loss_sums_;
  std::vector<std::int64_t> loss_counts_;
  std::vector<float> scratch_parameters_, scratch_gradient_, scratch_shard_;
  CommunicationThread thread_;  // last: its job uses the others
};

void train_diloco(Rank& rank);

}  // namespace accocal
