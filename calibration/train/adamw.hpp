// The optimizer of the real training step over a shard of the parameters: AdamW in fp32 on a master copy, plain
// gradient descent where equations are to be checked, and the learning rate's schedule.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace accocal {

struct AdamW {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;  ///< decoupled, and on every parameter, as in the code released with the paper
};

/// One step, the `step`-th from 1 on, on equally long spans. With g = scale x gradient and lr the learning rate:
///   w <- (1 - lr weight_decay) w;  m <- beta1 m + (1 - beta1) g;  v <- beta2 v + (1 - beta2) g^2
///   w <- w - lr / (1 - beta1^step) m / (sqrt(v / (1 - beta2^step)) + epsilon)
/// (Loshchilov and Hutter 2019, algorithm 2, in PyTorch's order and form: decay first, times the learning rate.)
void adamw_step(const AdamW& options, double learning_rate, std::int64_t step, double scale,
                std::span<const float> gradient, std::span<float> master, std::span<float> m, std::span<float> v);

/// w <- w - learning_rate scale gradient.
void sgd_step(double learning_rate, double scale, std::span<const float> gradient, std::span<float> master);

enum class OptimizerKind : std::uint8_t { kAdamW, kSgd };

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdamW;
  AdamW adamw{};
  double learning_rate = 1e-3;
  bool cosine = true;  ///< down to 0 at the end; else constant
  double warmup = 0;   ///< share of the training over which the rate rises linearly from 0
};

/// `progress` is the share of the training that is done before the step, 0 to 1:
///   rate progress / warmup in the warm-up, then rate (1 + cos(pi (progress - warmup) / (1 - warmup))) / 2.
/// The first step of a warm-up takes `first`, the share that one step is, so that it is not lost.
double learning_rate_at(const OptimizerOptions& options, double progress, double first);

/// The state of the optimizer for the elements that a rank owns.
class ShardOptimizer {
 public:
  ShardOptimizer(const OptimizerOptions& options, std::span<const float> parameters);

  /// Steps along the mean gradient, scale x gradient.
  void step(double learning_rate, double scale, std::span<const float> gradient);
  std::span<const float> master() const { return state_.master; }
  /// To move it by something else than a step; the moments stay.
  std::span<float> master() { return state_.master; }
  std::int64_t steps() const { return state_.steps; }

  /// What is kept aside while a step is only tried: master copy, moments and the number of steps.
  void save();
  enum class Restore : std::uint8_t {
    kAll,        ///< as if the step had not been
    kParameters  ///< the master copy alone; the moments keep what the step added
  };
  void restore(Restore what);

 private:
  struct State {
    std::vector<float> master, m, v;
    std::int64_t steps = 0;
  };

  OptimizerOptions options_;
  State state_, saved_;
};

}  // namespace accocal
