// The two workloads. Both are used by one thread at a time.
#include "calibration/train/workload.hpp"

#include <sys/prctl.h>

#include <cerrno>
#include <cmath>
#include <ctime>
#include <limits>
#include <stdexcept>

namespace accocal {
namespace {

class GptWorkload : public Workload {
 public:
  GptWorkload(const GptWorkloadOptions& options, std::shared_ptr<const Corpus> corpus)
      : options_(with_vocabulary(options, *corpus)),
        corpus_(std::move(corpus)),
        gpt_(options_.shape, options_.sequences),
        evaluation_(options_.shape, kEvaluated),
        tokens_(tokens_of(options_.sequences)),
        held_out_(tokens_of((options_.held_out + kEvaluated - 1) / kEvaluated * kEvaluated)) {
    fill_evenly(corpus_->held_out, options_.shape.context, held_out_);
  }

  std::size_t parameter_count() const override { return accocal::parameter_count(options_.shape); }
  int samples_per_micro_batch() const override { return options_.sequences; }
  int tokens_per_sample() const override { return options_.shape.context; }

  std::vector<float> initial_parameters() const override {
    const std::vector<double> precise = accocal::initial_parameters(options_.shape, options_.seed);
    return {precise.begin(), precise.end()};
  }

  double accumulate(std::span<const float> parameters, std::int64_t micro_batch, std::span<float> gradient) override {
    fill_batch(corpus_->training, options_.shape.context, options_.seed, micro_batch, tokens_);
    return gpt_.accumulate(parameters, tokens_, gradient);
  }

  double held_out_loss(std::span<const float> parameters) override {
    const std::size_t batch = tokens_of(kEvaluated);
    const std::size_t batches = held_out_.size() / batch;
    double sum = 0;
    for (std::size_t i = 0; i < batches; ++i)
      sum += evaluation_.loss(parameters, std::span<const std::uint8_t>(held_out_).subspan(i * batch, batch));
    return sum / static_cast<double>(batches);
  }

 private:
  static GptWorkloadOptions with_vocabulary(GptWorkloadOptions options, const Corpus& corpus) {
    if (options.held_out < 1) throw std::invalid_argument("at least 1 sequence must be held out");
    options.shape.vocabulary = corpus.vocabulary;
    return options;
  }
  std::size_t tokens_of(int sequences) const {
    return static_cast<std::size_t>(sequences) * static_cast<std::size_t>(options_.shape.context + 1);
  }

  GptWorkloadOptions options_;
  std::shared_ptr<const Corpus> corpus_;
  Gpt<float> gpt_, evaluation_;
  std::vector<std::uint8_t> tokens_, held_out_;
};

class TimedWorkload : public Workload {
 public:
  TimedWorkload(Seconds duration, std::size_t parameters)
      : nanoseconds_(static_cast<std::int64_t>(std::llround(duration.value * 1e9))), parameters_(parameters) {}

  std::size_t parameter_count() const override { return parameters_; }
  std::vector<float> initial_parameters() const override { return std::vector<float>(parameters_, 0.5F); }
  int samples_per_micro_batch() const override { return 1; }
  int tokens_per_sample() const override { return 1; }
  double accumulate(std::span<const float>, std::int64_t, std::span<float>) override {
    sleep_until(monotonic_nanoseconds() + nanoseconds_);
    return std::numeric_limits<double>::quiet_NaN();
  }
  double held_out_loss(std::span<const float>) override { return std::numeric_limits<double>::quiet_NaN(); }

 private:
  std::int64_t nanoseconds_;
  std::size_t parameters_;
};

}  // namespace

std::int64_t monotonic_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

void sleep_until(std::int64_t nanoseconds) {
  prctl(PR_SET_TIMERSLACK, 1UL);  // of this thread; the usual 50 us would be added to every micro-batch
  const timespec until{static_cast<time_t>(nanoseconds / 1000000000), static_cast<long>(nanoseconds % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

std::unique_ptr<Workload> gpt_workload(const GptWorkloadOptions& options, std::shared_ptr<const Corpus> corpus) {
  return std::make_unique<GptWorkload>(options, std::move(corpus));
}

std::unique_ptr<Workload> timed_workload(Seconds duration, std::size_t parameters) {
  return std::make_unique<TimedWorkload>(duration, parameters);
}

}  // namespace accocal
