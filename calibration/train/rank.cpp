// Which thread touches what: the compute thread everything outside a job, the communication thread what its job names;
// submit() and wait() order the two. Only compute_round() runs beside a job, on `parameters` and `gradient`.
#include "calibration/train/rank.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "calibration/base/denormals.hpp"
#include "calibration/base/machine.hpp"
#include "calibration/train/summary.hpp"

namespace accocal {
namespace {

FlatBuffer initial_buffer(const TrainingOptions& options, const Workload& workload) {
  FlatBuffer buffer(workload.parameter_count(), options.storage);
  buffer.write({0, buffer.size()}, workload.initial_parameters());
  return buffer;
}

// From what is stored: in bf16 the master copy begins as rounded as the parameters.
ShardOptimizer initial_optimizer(const TrainingOptions& options, const FlatBuffer& parameters, Shard shard) {
  std::vector<float> scratch;
  return {options.optimizer, parameters.read(shard, scratch)};
}

}  // namespace

void GradientSum::copy_from(const GradientSum& other) {
  values.copy_from(other.values);
  count = other.count;
  loss = other.loss;
}

void GradientSum::set_zero() {
  values.set_zero();
  count = 0;
  loss = 0;
}

void Recorder::add(const char* label, std::int64_t update, std::int64_t begin, std::int64_t end) {
  if (enabled_ && raw_.size() < kMostSpans / 2) raw_.push_back({label, update, begin, end});
}

std::vector<TrainingSpan> Recorder::spans(std::int64_t start) const {
  std::vector<TrainingSpan> spans;
  spans.reserve(raw_.size());
  for (const Raw& raw : raw_) {
    spans.push_back({rank_, lane_, raw.label, Seconds{static_cast<double>(raw.begin - start) * 1e-9},
                     Seconds{static_cast<double>(raw.end - start) * 1e-9}, raw.update});
  }
  return spans;
}

Rank::Rank(const TrainingOptions& run_options, Workload& workload, Transport& ranks, const Observer& observer)
    : options(run_options),
      transport(ranks),
      parameters(initial_buffer(run_options, workload)),
      gradient{FlatBuffer(parameters.size(), run_options.storage)},
      communication{FlatBuffer(parameters.size(), run_options.storage)},
      optimizer(run_options.optimizer, {}),
      workload_(workload),
      observer_(observer),
      observed_(static_cast<bool>(observer)),
      compute_lane_(TrainingSpan::Lane::kCompute, ranks.rank(), run_options.record_spans),
      communication_lane_(TrainingSpan::Lane::kCommunication, ranks.rank(), run_options.record_spans),
      slow_(run_options.slow.contains(ranks.rank()) ? run_options.slow.at(ranks.rank()) : 1) {
  flush_denormals();
  shard = traits_of(options.algorithm).sharded ? shard_of(parameters.size(), transport.rank(), transport.size())
                                               : Shard{0, parameters.size()};
  transport.broadcast(parameters.buffer(), 0);
  optimizer = initial_optimizer(options, parameters, shard);
  show(parameters);
  transport.barrier();
  waited_at_start_ = all_threads_waited();
  start_ = monotonic_nanoseconds();
  transport.broadcast(buffer_of(std::span(&start_, 1)), 0);
  last_end_ = start_;
}

bool Rank::finished() const { return options.samples > 0 ? samples_ >= options.samples : update_ >= options.updates; }

bool Rank::last_update() const {
  return options.samples > 0 ? samples_ + last_total_ * workload_.samples_per_micro_batch() >= options.samples
                             : update_ + 1 >= options.updates;
}

void Rank::micro_batch() {
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

void Rank::compute(int micro_batches) {
  for (int i = 0; i < micro_batches; ++i) micro_batch();
}

void Rank::compute_round() {
  if (options.accumulate == Accumulate::kFixed) return compute(options.micro_batches_per_round);
  int computed = 0;
  do {
    compute(options.poll_every);
    computed += options.poll_every;
  } while (computed < options.micro_batches_per_round || !thread_.done());
}

void Rank::submit(std::function<void()> job) { thread_.submit(std::move(job)); }

void Rank::wait() {
  if (thread_.done()) return thread_.wait();
  compute_lane_.span("wait", update_, [&] { thread_.wait(); });
}

std::int64_t Rank::reduce_count(std::int64_t own) {
  communication_span("count", [&] { transport.all_reduce(buffer_of(std::span(&own, 1))); });
  last_total_ = own;
  return own;
}

void Rank::all_reduce(FlatBuffer& values) {
  communication_span("all-reduce", [&] { transport.all_reduce(values.buffer()); });
}

void Rank::reduce_scatter(FlatBuffer& values) {
  communication_span("reduce-scatter", [&] { transport.reduce_scatter(values.buffer()); });
}

void Rank::all_gather(FlatBuffer& values) {
  communication_span("all-gather", [&] { transport.all_gather(values.buffer()); });
}

void Rank::step(const FlatBuffer& sum, std::int64_t total) {
  communication_span("optimizer", [&] {
    const bool by_samples = options.samples > 0;
    const auto all = static_cast<double>(by_samples ? options.samples : options.updates);
    const auto done = static_cast<double>(by_samples ? samples_ : update_);
    const auto one = static_cast<double>(by_samples ? total * workload_.samples_per_micro_batch() : 1);
    optimizer.step(learning_rate_at(options.optimizer, done / all, one / all), 1 / static_cast<double>(total),
                   sum.read(shard, scratch_shard_));
  });
}

void Rank::publish(FlatBuffer& values) { values.write(shard, optimizer.master()); }

void Rank::save_state() {
  communication_span("save state", [&] { optimizer.save(); });
}

void Rank::restore_state() {
  const bool keep = options.estimate_state == EstimateState::kKeep ||
                    (options.estimate_state == EstimateState::kReleased && estimates_ == 0);
  ++estimates_;
  communication_span("restore state", [&] {
    optimizer.restore(keep ? ShardOptimizer::Restore::kParameters : ShardOptimizer::Restore::kAll);
  });
}

void Rank::show(const FlatBuffer& values) {
  if (observer_ && transport.rank() == 0) observer_({update_, samples_, values.read(scratch_parameters_)});
}

void Rank::end_update(const Tally& made, const FlatBuffer* seen) {
  if (!options.timed && made.count > 0) check_loss(made.loss, update_ + 1, options);
  const std::int64_t now = monotonic_nanoseconds();
  const std::int64_t samples = last_total_ * workload_.samples_per_micro_batch();
  updates_.push_back({Seconds{static_cast<double>(now - last_end_) * 1e-9}, 0, samples});
  loss_sums_.push_back(made.loss);
  loss_counts_.push_back(made.count);
  last_end_ = now;
  samples_ += samples;
  ++update_;
  if (seen != nullptr) show(*seen);
}

TrainingResult Rank::result() {
  TrainingResult result;
  result.ranks = transport.size();
  result.tokens_per_sample = workload_.tokens_per_sample();
  result.parameters = static_cast<std::int64_t>(parameters.size());
  result.updates = std::move(updates_);
  const double waited = all_threads_waited() - waited_at_start_;
  add_all_ranks(
      result,
      {waited / (static_cast<double>(last_end_ - start_) * 1e-9), std::move(loss_sums_), std::move(loss_counts_)},
      transport);
  result.held_out_loss = transport.rank() == 0 ? workload_.held_out_loss(parameters.read(scratch_parameters_))
                                               : std::numeric_limits<double>::quiet_NaN();
  result.spans = compute_lane_.spans(start_);
  const std::vector<TrainingSpan> others = communication_lane_.spans(start_);
  result.spans.insert(result.spans.end(), others.begin(), others.end());
  return result;
}

}  // namespace accocal
