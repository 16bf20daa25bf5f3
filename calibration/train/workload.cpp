// The two workloads. Both are used by one thread at a time.
#include "calibration/train/workload.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "models/base/draws.hpp"

namespace accocal {
namespace {

class GptWorkload : public Workload {
 public:
  GptWorkload(const GptWorkloadOptions& options, std::shared_ptr<const Corpus> corpus)
      : options_(with_vocabulary(options, *corpus)),
        corpus_(std::move(corpus)),
        evaluation_(options_.shape, kEvaluated),
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

  std::vector<Shard> fragment(int number, int fragments) const override {
    const GptBlocks blocks(options_.shape);
    const int layers = options_.shape.layers;
    std::vector<Shard> parts;
    if (number == 0) parts.push_back({0, blocks.of(0, kNorm1Gain).offset});
    for (int layer = number; layer < layers; layer += fragments)
      parts.push_back({blocks.of(layer, kNorm1Gain).offset, blocks.of(layer + 1, kNorm1Gain).offset});
    if (number + 1 == fragments) parts.push_back({blocks.of(layers, kNorm1Gain).offset, blocks.count()});
    return parts;
  }

  double accumulate(std::span<const float> parameters, std::int64_t micro_batch, std::span<float> gradient) override {
    const int length = length_of(micro_batch);
    const auto found = gpts_.try_emplace(length, options_.shape, options_.sequences, length).first;
    tokens_.resize(static_cast<std::size_t>(options_.sequences) * static_cast<std::size_t>(length + 1));
    fill_batch(corpus_->training, length, options_.seed, micro_batch, tokens_);
    return found->second.accumulate(parameters, tokens_, gradient);
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
  /// The longest of the micro-batch's sequences.
  int length_of(std::int64_t micro_batch) const {
    if (options_.lengths.empty()) return options_.shape.context;
    int longest = 0;
    for (int i = 0; i < options_.sequences; ++i) {
      const auto number = static_cast<std::uint64_t>(micro_batch * options_.sequences + i);
      const double drawn = accosim::uniform_draw(options_.seed, accosim::Stream::kLength, 0, number);
      const auto bar = static_cast<std::ptrdiff_t>(accosim::index_at(shares_, drawn));
      longest = std::max(longest, std::next(options_.lengths.begin(), bar)->first);
    }
    return longest;
  }
  std::size_t tokens_of(int sequences) const {
    return static_cast<std::size_t>(sequences) * static_cast<std::size_t>(options_.shape.context + 1);
  }

  static std::vector<double> shares_of(const std::map<int, double>& lengths) {
    std::vector<double> weights;
    for (const auto& [length, weight] : lengths) weights.push_back(weight);
    return accosim::cumulative_shares(weights);
  }

  GptWorkloadOptions options_;
  std::vector<double> shares_ = shares_of(options_.lengths);  // by length, of it and shorter ones
  std::shared_ptr<const Corpus> corpus_;
  std::map<int, Gpt<float>> gpts_;  // by length of the sequences
  Gpt<float> evaluation_;
  std::vector<std::uint8_t> tokens_, held_out_;
};

class TimedWorkload : public Workload {
 public:
  TimedWorkload(Seconds duration, std::size_t parameters, double jitter, std::uint64_t seed)
      : nanoseconds_(duration.value * 1e9), parameters_(parameters), jitter_(jitter), seed_(seed) {}

  std::size_t parameter_count() const override { return parameters_; }
  std::vector<float> initial_parameters() const override { return std::vector<float>(parameters_, 0.5F); }
  int samples_per_micro_batch() const override { return 1; }
  int tokens_per_sample() const override { return 1; }
  double accumulate(std::span<const float>, std::int64_t micro_batch, std::span<float>) override {
    const std::int64_t now = monotonic_nanoseconds();
    sleep_until(now + std::llround(factor_of(micro_batch) * nanoseconds_));
    return std::numeric_limits<double>::quiet_NaN();
  }
  double held_out_loss(std::span<const float>) override { return std::numeric_limits<double>::quiet_NaN(); }

 private:
  double factor_of(std::int64_t micro_batch) const {
    if (jitter_ == 0) return 1;
    const double u =
        accosim::uniform_draw(seed_, accosim::Stream::kMicroBatch, 0, static_cast<std::uint64_t>(micro_batch));
    return accosim::lognormal_quantile(jitter_, u);
  }

  double nanoseconds_;
  std::size_t parameters_;
  double jitter_;
  std::uint64_t seed_;
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

std::unique_ptr<Workload> timed_workload(Seconds duration, std::size_t parameters, double jitter, std::uint64_t seed) {
  return std::make_unique<TimedWorkload>(duration, parameters, jitter, seed);
}

}  // namespace accocal
