// Tokens are made on the host, as the CPU's workload makes them, and widened; the rest is DeviceGpt's.
#include "calibration/device/device_workload.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <thread>
#include <type_traits>

#include "calibration/base/random.hpp"
#include "calibration/device/device_gpt.hpp"
#include "calibration/ranks/bf16.hpp"

namespace accocal {
namespace {

template <typename Real>
Real stored(double value) {
  if constexpr (std::is_same_v<Real, Bf16>) {
    return to_bf16(static_cast<float>(value));
  } else {
    return static_cast<Real>(value);
  }
}

template <typename Real>
class GptOnDevice : public DeviceWorkload<Real> {
 public:
  GptOnDevice(const TrainingOptions& options, std::optional<Corpus> corpus)
      : corpus_(std::move(corpus)),
        shape_(shape_of(options, corpus_)),
        sequences_(options.gpt.sequences),
        held_out_(options.gpt.held_out),
        seed_(options.gpt.seed),
        gpt_(std::in_place, shape_, sequences_),
        bytes_(tokens_of(sequences_)),
        tokens_(tokens_of(sequences_)) {}

  std::size_t parameter_count() const override { return accocal::parameter_count(shape_); }
  std::vector<Real> initial_parameters() const override { return initial_values<Real>(shape_, seed_); }
  int samples_per_micro_batch() const override { return sequences_; }
  int tokens_per_sample() const override { return shape_.context; }

  void accumulate(const Real* parameters, std::int64_t micro_batch, Real* gradient, float* loss,
                  Stream& stream) override {
    if (corpus_) {
      fill_batch(corpus_->training, shape_.context, seed_, micro_batch, bytes_);
      std::ranges::copy(bytes_, tokens_.begin());
    } else {
      draw_tokens(mixed({seed_, static_cast<std::uint64_t>(micro_batch)}), shape_.vocabulary, tokens_);
    }
    gpt_->accumulate(parameters, tokens_, gradient, loss, stream);
  }

  double held_out_loss(const Real* parameters, Stream& stream) override {
    if (!corpus_) return std::numeric_limits<double>::quiet_NaN();
    // As many sequences as the CPU looks at; a micro-batch of another size than theirs makes way for single ones.
    const int all = (held_out_ + kTogether - 1) / kTogether * kTogether;
    const int batch = all % sequences_ == 0 ? sequences_ : 1;
    if (batch != sequences_) {
      stream.synchronise();
      gpt_.reset();
      gpt_.emplace(shape_, batch);
    }
    std::vector<std::uint8_t> text(tokens_of(all));
    fill_evenly(corpus_->held_out, shape_.context, text);
    const std::vector<std::int32_t> tokens(text.begin(), text.end());
    const DeviceMemory loss(sizeof(float));
    stream.set_zero(loss.data(), loss.size());
    for (int first = 0; first < all; first += batch)
      gpt_->forward(parameters, std::span(tokens).subspan(tokens_of(first), tokens_of(batch)), loss.as<float>(),
                    stream);
    float sum = 0;
    stream.copy_to_host(&sum, loss.data(), sizeof sum);
    stream.synchronise();
    return static_cast<double>(sum) * batch / all;
  }

  std::int64_t memory() const override { return gpt_->memory(); }

 private:
  static constexpr int kTogether = 8;  // held out sequences come in multiples of it, as on CPUs

  static GptShape shape_of(const TrainingOptions& options, const std::optional<Corpus>& corpus) {
    GptShape shape = options.gpt.shape;
    shape.vocabulary = corpus ? corpus->vocabulary : options.random_vocabulary;
    return shape;
  }
  std::size_t tokens_of(int sequences) const {
    return static_cast<std::size_t>(sequences) * static_cast<std::size_t>(shape_.context + 1);
  }

  std::optional<Corpus> corpus_;  // none: random tokens
  GptShape shape_;
  int sequences_, held_out_;
  std::uint64_t seed_;
  std::optional<DeviceGpt<Real>> gpt_;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace

template <typename Real>
std::vector<Real> initial_values(const GptShape& shape, std::uint64_t seed) {
  constexpr std::size_t kWorthAThread = 1 << 18;
  const std::vector<ParameterBlock> blocks = parameter_blocks(shape);
  std::vector<Real> values(parameter_count(shape));
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t parts = std::clamp<std::size_t>(values.size() / kWorthAThread, 1, cores);
  // A part of every block, since those that are constant cost nothing.
  const auto fill = [&](std::size_t part) {
    for (const ParameterBlock& block : blocks) {
      const std::size_t end = block.offset + block.size() * (part + 1) / parts;
      for (std::size_t i = block.offset + block.size() * part / parts; i < end; ++i)
        values[i] = stored<Real>(initial_value(block, seed, i));
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t part = 1; part < parts; ++part) threads.emplace_back(fill, part);
  fill(0);
  for (std::thread& thread : threads) thread.join();
  return values;
}

template <typename Real>
std::unique_ptr<DeviceWorkload<Real>> gpt_on_device(const TrainingOptions& options) {
  std::optional<Corpus> corpus;
  if (options.random_vocabulary == 0) corpus = read_corpus(options.data);
  return std::make_unique<GptOnDevice<Real>>(options, std::move(corpus));
}

template std::vector<float> initial_values<float>(const GptShape& shape, std::uint64_t seed);
template std::vector<Bf16> initial_values<Bf16>(const GptShape& shape, std::uint64_t seed);
template std::unique_ptr<DeviceWorkload<float>> gpt_on_device<float>(const TrainingOptions& options);
template std::unique_ptr<DeviceWorkload<Bf16>> gpt_on_device<Bf16>(const TrainingOptions& options);

}  // namespace accocal
