// What every algorithm is written with, on a device: as Rank in calibration/train/rank.hpp, with two streams in the
// place of two threads. Everything is given to a stream and nothing is waited for, but where the host has to decide.
#include "calibration/device/device_training.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "calibration/base/machine.hpp"
#include "calibration/device/device_history.hpp"
#include "calibration/device/device_values.hpp"
#include "calibration/device/kernels.hpp"
#include "calibration/ranks/bf16.hpp"
#include "calibration/train/algorithms.hpp"
#include "calibration/train/summary.hpp"

namespace accocal {
namespace {

/// Exact, or rounded to what is stored.
template <typename To, typename From>
void convert(To* to, const From* from, std::size_t count, Stream& stream) {
  if (count == 0) return;
  if constexpr (std::is_same_v<To, From>) {
    stream.copy_on_device(to, from, count * sizeof(To));
  } else {
    cast(to, from, count, stream);
  }
}

/// Real is float or Bf16: of what is stored and sent.
///
/// The compute stream touches `parameters` and `gradient`; the communication stream what its job names. submit() makes
/// it wait for what compute has been given before, wait() makes compute wait for the job; so only compute_round() runs
/// beside a job.
template <typename Real>
class DeviceRank {
 public:
  using Values = DeviceValues<Real>;
  using Sum = DeviceSum<Real>;
  using Lane = TrainingSpan::Lane;
  /// This rank's part of an update. Its losses are still on their way from the device.
  struct Tally {
    std::int64_t count = 0;
  };

  /// `ranks` is between the hosts, `network` between the devices; both have the same ranks. On the calling thread's
  /// device.
  DeviceRank(const TrainingOptions& run_options, DeviceWorkload<Real>& workload, DeviceTransport& network,
             Transport& ranks, const Observer& observer)
      : options(run_options),
        compute_(Stream::Priority::kLow),
        communication_(Stream::Priority::kHigh),
        parameters(workload.parameter_count(), network.size(), compute_),
        gradient(parameters.size(), network.size(), compute_),
        communication(parameters.size(), network.size(), compute_),
        workload_(workload),
        network_(network),
        ranks_(ranks),
        observer_(observer),
        shard_(traits_of(options.algorithm).sharded ? Slices(parameters.size(), network.size()).of(network.rank())
                                                    : Shard{0, parameters.size()}),
        state_(shard_.size(), options.optimizer.kind == OptimizerKind::kAdamW),
        saved_(traits_of(options.algorithm).looks_ahead ? shard_.size() : 0,
               options.optimizer.kind == OptimizerKind::kAdamW),
        unseen_(traits_of(options.algorithm).predicts ? shard_.size() * sizeof(Real) : 0),
        total_(sizeof(std::int64_t)),
        history_(network.rank(), options.record_spans) {
    const std::vector<Real> initial = workload.initial_parameters();  // equal on all ranks
    compute_.copy_to_device(parameters.data(), initial.data(), initial.size() * sizeof(Real));
    compute_.set_zero(state_.memory.data(), state_.memory.size());
    // From what is stored: in bf16 the master copy begins as rounded as the parameters.
    convert(state_.master(), parameters.data() + shard_.begin, shard_.size(), compute_);
    compute_.synchronise();
    memory_ = device_memory_used();
    show(parameters);
    start();
  }
  /// Waits for the streams, which still use what goes.
  ~DeviceRank() {
    try {
      communication_.synchronise();
      compute_.synchronise();
    } catch (const std::exception&) {  // a failed device has been told of where it failed
    }
  }
  DeviceRank(const DeviceRank&) = delete;
  DeviceRank& operator=(const DeviceRank&) = delete;

  const TrainingOptions& options;

 private:
  // Made first and destroyed last, since all else is given to them.
  Stream compute_, communication_;

 public:
  Values parameters;  ///< what the next micro-batch is computed on
  Sum gradient;       ///< where it is accumulated
  Sum communication;  ///< what is on the network; after a round its values are parameters

  bool finished() const { return options.samples > 0 ? samples_ >= options.samples : update_ >= options.updates; }

  // On the compute stream.
  /// Exactly so many micro-batches into `gradient`.
  void compute(int micro_batches) {
    for (int i = 0; i < micro_batches; ++i) micro_batch();
  }
  /// The micro-batches of a round. With Accumulate::kAtLeast, the host waits for them to end before each look at
  /// whether the job is done.
  void compute_round() {
    if (options.accumulate == Accumulate::kFixed) return compute(options.micro_batches_per_round);
    int computed = 0;
    do {
      compute(options.poll_every);
      computed += options.poll_every;
      // Asked before these have ended, the question would be about a time in which they were not yet computed, and a
      // round of one micro-batch would always become one of two.
      compute_.record(computed_);
      computed_.synchronise();
    } while (computed < options.micro_batches_per_round || !job_done_.done());
  }
  /// Runs `job`, whose work goes to the communication stream at the same time as what follows; then call wait().
  template <typename Job>
  void submit(Job&& job) {
    compute_.record(given_);
    communication_.wait(given_);
    job();
    communication_.record(job_done_);
  }
  void wait() {
    history_.span(Lane::kCompute, "wait", compute_, [&] { compute_.wait(job_done_); });
  }
  template <typename Job>
  void run(Job&& job) {
    submit(job);
    wait();
  }
  template <typename Body>
  void swap(Body&& body) {
    history_.span(Lane::kCompute, "swap", compute_, body);
  }
  /// Notes what is in the sum, before its buffer is used for the next. Once per update.
  Tally tally(const Sum& sum) {
    compute_.copy_to_host(history_.loss(), sum.loss(), sizeof(float));
    return {sum.count};
  }
  /// Call it when the parameters of one more update are in use. An observer is shown `seen`, or nothing where that is
  /// null.
  void end_update(const Tally& made, const Values* seen) {
    if (options.samples > 0 || observed()) samples_ += last_total() * workload_.samples_per_micro_batch();
    history_.end_update(compute_, made.count);
    check_losses();
    ++update_;
    if (seen != nullptr) show(*seen);
  }
  void end_update(const Tally& made) { end_update(made, &parameters); }
  /// A buffer of zeros like `parameters`. Lives as long as the streams that use it.
  std::shared_ptr<Values> new_values() {
    more_values_.push_back(std::make_shared<Values>(parameters.size(), network_.size(), compute_));
    return more_values_.back();
  }

  // On the communication stream.
  /// Sum of the counts over the ranks, on the device.
  const std::int64_t* reduce_count(std::int64_t own) {
    auto* const total = total_.as<std::int64_t>();
    communication_span("count", [&] {
      std::int64_t* const sent = history_.next_count();
      *sent = own;
      communication_.copy_to_device(total, sent, sizeof own);
      network_.all_reduce({total, 1, ElementType::kInt64}, communication_);
    });
    communication_.copy_to_host(history_.total(), total, sizeof own);
    communication_.record(counted_);
    return total;
  }
  void all_reduce(Values& values) {
    communication_span("all-reduce", [&] { network_.all_reduce(values.buffer(), communication_); });
  }
  void reduce_scatter(Values& values) {
    communication_span("reduce-scatter", [&] { network_.reduce_scatter(values.padded(), communication_); });
  }
  void all_gather(Values& values) {
    communication_span("all-gather", [&] { network_.all_gather(values.padded(), communication_); });
  }
  /// The optimizer on this rank's part of the sum of *total micro-batches' gradients; the result into its place in
  /// `to`, which may be `sum`.
  void step(const Values& sum, const std::int64_t* total, Values& to) {
    step_into(sum, total, to.data() + shard_.begin);
  }
  /// The same, into the master copy alone; for weight prediction.
  void step(const Values& sum, const std::int64_t* total) { step_into(sum, total, unseen_.template as<Real>()); }
  /// The master copy into its place in `values`.
  void publish(Values& values) {
    convert(values.data() + shard_.begin, state_.master(), shard_.size(), communication_);
  }
  void save_state() {
    communication_span("save state", [&] {
      communication_.copy_on_device(saved_.memory.data(), state_.memory.data(), saved_.memory.size());
    });
    saved_.steps = state_.steps;
  }
  /// After an estimate, as the options say.
  void restore_state() {
    const bool keep = options.estimate_state == EstimateState::kKeep ||
                      (options.estimate_state == EstimateState::kReleased && estimates_ == 0);
    ++estimates_;
    const std::size_t bytes = keep ? saved_.stride * sizeof(float) : saved_.memory.size();
    communication_span("restore state",
                       [&] { communication_.copy_on_device(state_.memory.data(), saved_.memory.data(), bytes); });
    if (!keep) state_.steps = saved_.steps;
  }

  /// Is there an observer, on any rank?
  bool observed() const { return static_cast<bool>(observer_); }

  /// What this rank's own run was. Spans are relative to the common start.
  TrainingResult result() {
    history_.finish(compute_, communication_);
    network_.check();
    check_losses();
    const double took = static_cast<double>(monotonic_nanoseconds() - start_) * 1e-9;
    RankSummary own{.waited_share = (all_threads_waited() - waited_at_start_) / took};
    TrainingResult result{.ranks = ranks_.size(),
                          .tokens_per_sample = workload_.tokens_per_sample(),
                          .parameters = static_cast<std::int64_t>(parameters.size())};
    for (const DeviceHistory::Update& update : history_.updates()) {
      result.updates.push_back({update.duration, 0, update.total * workload_.samples_per_micro_batch()});
      own.loss_sums.push_back(update.loss);
      own.loss_counts.push_back(update.own_count);
    }
    result.spans = history_.spans();
    result.device.memory = memory_;
    add_all_ranks(result, std::move(own), ranks_);
    result.held_out_loss = ranks_.rank() == 0 ? workload_.held_out_loss(parameters.data(), compute_)
                                              : std::numeric_limits<double>::quiet_NaN();
    return result;
  }

 private:
  // The optimizer's state of the shard: master copy, first and second moments, equally long, one after the other.
  struct State {
    // A multiple of 64 floats, so that all three are aligned.
    State(std::size_t count, bool moments)
        : stride((count + 63) / 64 * 64), memory(stride * sizeof(float) * (moments ? 3 : 1)) {}
    float* master() const { return memory.as<float>(); }
    float* m() const { return memory.as<float>() + stride; }
    float* v() const { return memory.as<float>() + 2 * stride; }

    std::size_t stride;  ///< elements
    DeviceMemory memory;
    std::int64_t steps = 0;
  };

  void start() {
    ranks_.barrier();
    waited_at_start_ = all_threads_waited();
    start_ = monotonic_nanoseconds();
    std::int64_t common = start_;
    ranks_.broadcast(buffer_of(std::span(&common, 1)), 0);
    compute_.record(given_);
    given_.synchronise();
    start_ = monotonic_nanoseconds();
    history_.start(compute_, Seconds{static_cast<double>(start_ - common) * 1e-9});
  }
  void micro_batch() {
    // Numbered so that the ranks together go through what one rank would.
    const std::int64_t number = next_micro_batch_++ * network_.size() + network_.rank();
    history_.span(Lane::kCompute, "micro-batch", compute_, [&] {
      workload_.accumulate(parameters.data(), number, gradient.values.data(), gradient.loss(), compute_);
    });
    ++gradient.count;
  }
  void step_into(const Values& sum, const std::int64_t* total, Real* to) {
    ++state_.steps;
    const float rate = learning_rate();
    communication_span("optimizer", [&] {
      if (shard_.size() == 0) return;
      const Real* const own = sum.data() + shard_.begin;
      if (options.optimizer.kind == OptimizerKind::kSgd) {
        sgd(state_.master(), to, own, total, rate, shard_.size(), communication_);
        return;
      }
      const AdamW& adam = options.optimizer.adamw;
      const auto n = static_cast<double>(state_.steps);
      const DeviceAdamW with = {rate,
                                static_cast<float>(adam.beta1),
                                static_cast<float>(adam.beta2),
                                static_cast<float>(adam.epsilon),
                                static_cast<float>(adam.weight_decay),
                                static_cast<float>(1 - std::pow(adam.beta1, n)),
                                static_cast<float>(1 - std::pow(adam.beta2, n))};
      adamw(state_.master(), state_.m(), state_.v(), to, own, total, with, shard_.size(), communication_);
    });
  }
  float learning_rate() {
    const bool by_samples = options.samples > 0;
    const auto all = static_cast<double>(by_samples ? options.samples : options.updates);
    const double done = static_cast<double>(by_samples ? samples_ : update_) / all;
    double one = 1;
    // Only the warm-up asks how large this step is; the host waits for the count then.
    if (by_samples && done < options.optimizer.warmup)
      one = static_cast<double>(last_total() * workload_.samples_per_micro_batch());
    return static_cast<float>(learning_rate_at(options.optimizer, done, one / all));
  }
  /// Micro-batches of all ranks in the last reduce_count(); waits for it.
  std::int64_t last_total() {
    counted_.synchronise();
    return *history_.total();
  }
  void show(const Values& values) {
    if (!observer_ || ranks_.rank() != 0) return;
    std::vector<Real> stored(values.size());
    compute_.copy_to_host(stored.data(), values.data(), stored.size() * sizeof(Real));
    compute_.synchronise();
    if constexpr (std::is_same_v<Real, float>) {
      observer_({update_, samples_, stored});
    } else {
      observer_({update_, samples_, mapped<float>(stored, [](const Real value) { return to_float(value); })});
    }
  }
  /// Checks the losses of the updates that were read since the last call; throws Diverged.
  void check_losses() {
    const std::vector<DeviceHistory::Update>& updates = history_.updates();
    for (; checked_ < updates.size(); ++checked_)
      check_loss(updates[checked_].loss, static_cast<std::int64_t>(checked_) + 1, options);
  }
  template <typename Body>
  void communication_span(const char* label, Body&& body) {
    history_.span(Lane::kCommunication, label, communication_, body);
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

}  // namespace

template <typename Real>
TrainingResult train_by_streams(const TrainingOptions& options, DeviceWorkload<Real>& workload,
                                DeviceTransport& network, Transport& ranks, const Observer& observer) {
  TrainingResult result;
  {
    DeviceRank<Real> rank(options, workload, network, ranks, observer);
    try {
      run_algorithm(rank);
      result = rank.result();
    } catch (...) {
      network.abandon();
      throw;
    }
  }
  if (options.record_spans) gather_spans(result, ranks);
  return result;
}

template TrainingResult train_by_streams<float>(const TrainingOptions&, DeviceWorkload<float>&, DeviceTransport&,
                                                Transport&, const Observer&);
template TrainingResult train_by_streams<Bf16>(const TrainingOptions&, DeviceWorkload<Bf16>&, DeviceTransport&,
                                               Transport&, const Observer&);

}  // namespace accocal
