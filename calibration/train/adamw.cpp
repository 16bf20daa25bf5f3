// Element by element, so that every shard gives what the whole would; Eigen only for the vector instructions.
#include "calibration/train/adamw.hpp"

#include <Eigen/Core>
#include <cmath>
#include <stdexcept>

namespace accocal {
namespace {

using Values = Eigen::Map<Eigen::ArrayXf>;

Values values_of(std::span<float> span) { return {span.data(), static_cast<Eigen::Index>(span.size())}; }
Eigen::Map<const Eigen::ArrayXf> values_of(std::span<const float> span) {
  return {span.data(), static_cast<Eigen::Index>(span.size())};
}

}  // namespace

void adamw_step(const AdamW& options, double learning_rate, std::int64_t step, double scale,
                std::span<const float> gradient, std::span<float> master, std::span<float> m, std::span<float> v) {
  const std::size_t count = master.size();
  if (gradient.size() != count || m.size() != count || v.size() != count)
    throw std::invalid_argument("the spans of an optimizer step have equal lengths");
  const auto n = static_cast<double>(step);
  const auto factor = static_cast<float>(scale);
  const auto beta1 = static_cast<float>(options.beta1), beta2 = static_cast<float>(options.beta2);
  const auto rest1 = static_cast<float>(1 - options.beta1), rest2 = static_cast<float>(1 - options.beta2);
  const auto kept = static_cast<float>(1 - learning_rate * options.weight_decay);
  const auto rate = static_cast<float>(learning_rate / (1 - std::pow(options.beta1, n)));
  const auto correction = static_cast<float>(1 / std::sqrt(1 - std::pow(options.beta2, n)));
  const auto epsilon = static_cast<float>(options.epsilon);
  const auto g = values_of(gradient);
  Values w = values_of(master), first = values_of(m), second = values_of(v);
  first = beta1 * first + rest1 * (factor * g);
  second = beta2 * second + rest2 * (factor * g).square();
  w = kept * w - rate * first / (second.sqrt() * correction + epsilon);
}

void sgd_step(double learning_rate, double scale, std::span<const float> gradient, std::span<float> master) {
  if (gradient.size() != master.size())
    throw std::invalid_argument("the spans of an optimizer step have equal lengths");
  const auto factor = static_cast<float>(scale);
  const auto rate = static_cast<float>(learning_rate);
  values_of(master) -= rate * (factor * values_of(gradient));
}

double learning_rate_at(const OptimizerOptions& options, double progress, double first) {
  if (progress < options.warmup) return options.learning_rate * std::fmin(1, (progress + first) / options.warmup);
  if (!options.cosine || options.warmup >= 1) return options.learning_rate;
  const double done = std::fmin(1, (progress - options.warmup) / (1 - options.warmup));
  return options.learning_rate * 0.5 * (1 + std::cos(3.141592653589793 * done));
}

ShardOptimizer::ShardOptimizer(const OptimizerOptions& options, std::span<const float> parameters) : options_(options) {
  state_.master.assign(parameters.begin(), parameters.end());
  if (options.kind == OptimizerKind::kAdamW) {
    state_.m.resize(parameters.size());
    state_.v.resize(parameters.size());
  }
}

void ShardOptimizer::step(double learning_rate, double scale, std::span<const float> gradient) {
  ++state_.steps;
  if (options_.kind == OptimizerKind::kSgd) {
    sgd_step(learning_rate, scale, gradient, state_.master);
  } else {
    adamw_step(options_.adamw, learning_rate, state_.steps, scale, gradient, state_.master, state_.m, state_.v);
  }
}

void ShardOptimizer::save() { saved_ = state_; }

void ShardOptimizer::restore(Restore what) {
  if (what == Restore::kAll) {
    state_ = saved_;
  } else {
    state_.master = saved_.master;
  }
}

}  // namespace accocal
