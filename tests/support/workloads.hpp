// What tests of the algorithms train: a quadratic whose gradients are known, and a small GPT on a made-up text.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "calibration/base/random.hpp"
#include "calibration/train/workload.hpp"
#include "models/spec/model.hpp"

namespace accocal {

/// Micro-batch n: the mean over i of nothing, the sum over i of a_i (x_i - c_in)^2 / 2, whose gradient is
/// a_i (x_i - c_in).
struct Quadratic {
  std::size_t size = 5;

  double slope(std::size_t i) const { return 0.25 + 0.125 * static_cast<double>(i); }
  double centre(std::size_t i, std::int64_t n) const {
    return uniform_of(mixed({i, static_cast<std::uint64_t>(n)})) - 0.5;
  }
  double gradient(std::size_t i, std::int64_t n, double x) const { return slope(i) * (x - centre(i, n)); }
};

class QuadraticWorkload : public Workload {
 public:
  explicit QuadraticWorkload(Quadratic quadratic = {}) : quadratic_(quadratic) {}
  std::size_t parameter_count() const override { return quadratic_.size; }
  std::vector<float> initial_parameters() const override { return std::vector<float>(quadratic_.size, 1); }
  int samples_per_micro_batch() const override { return 3; }
  int tokens_per_sample() const override { return 7; }
  double accumulate(std::span<const float> parameters, std::int64_t micro_batch, std::span<float> gradient) override {
    double loss = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double away = parameters[i] - quadratic_.centre(i, micro_batch);
      gradient[i] += static_cast<float>(quadratic_.slope(i) * away);
      loss += quadratic_.slope(i) * away * away / 2;
    }
    return loss;
  }
  double held_out_loss(std::span<const float>) override { return std::numeric_limits<double>::quiet_NaN(); }

 private:
  Quadratic quadratic_;
};

inline std::shared_ptr<const Corpus> made_up_corpus() {
  std::string text;
  for (std::uint64_t i = 0; i < 4000; ++i) text += static_cast<char>('a' + mixed(i / 2) % 7);
  return std::make_shared<const Corpus>(corpus_of(text));
}

inline GptWorkloadOptions tiny_gpt() {
  return GptWorkloadOptions{.shape = {1, 8, 2, 6, 0}, .sequences = 2, .held_out = 8};
}

}  // namespace accocal
