// What tests of algorithms write recursions with, in double and without any of the program's code, and what the
// program's ranks end with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "calibration/ranks/local_transport.hpp"
#include "calibration/train/training.hpp"
#include "models/spec/training.hpp"
#include "tests/support/workloads.hpp"

namespace accocal {

using Vector = std::vector<double>;

// Sum of the gradients of micro-batches [from, to) at x.
using Gradients = std::function<Vector(const Vector& x, std::int64_t from, std::int64_t to)>;

inline Gradients gradients_of(const Quadratic& quadratic) {
  return [quadratic](const Vector& x, std::int64_t from, std::int64_t to) {
    Vector sum(x.size());
    for (std::int64_t n = from; n < to; ++n)
      for (std::size_t i = 0; i < x.size(); ++i) sum[i] += quadratic.gradient(i, n, x[i]);
    return sum;
  };
}

inline Gradients gradients_of(const std::shared_ptr<Workload>& workload) {
  return [workload](const Vector& x, std::int64_t from, std::int64_t to) {
    const std::vector<float> at(x.begin(), x.end());
    Vector sum(x.size());
    for (std::int64_t n = from; n < to; ++n) {
      std::vector<float> gradient(x.size());
      workload->accumulate(at, n, gradient);
      for (std::size_t i = 0; i < x.size(); ++i) sum[i] += gradient[i];
    }
    return sum;
  };
}

// An optimizer as a function of the state: x' = Opt(x, mean gradient), changing the state.
struct State {
  Vector m, v;
  int t = 0;
};
using Opt = std::function<Vector(State&, const Vector& x, const Vector& sum, double count)>;

inline Opt sgd(double rate) {
  return [rate](State&, const Vector& x, const Vector& sum, double count) {
    Vector out = x;
    for (std::size_t i = 0; i < x.size(); ++i) out[i] -= rate * sum[i] / count;
    return out;
  };
}

inline Opt adamw(double rate, double b1, double b2, double epsilon, double decay) {
  return [=](State& s, const Vector& x, const Vector& sum, double count) {
    s.m.resize(x.size());
    s.v.resize(x.size());
    ++s.t;
    Vector out = x;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double g = sum[i] / count;
      s.m[i] = b1 * s.m[i] + (1 - b1) * g;
      s.v[i] = b2 * s.v[i] + (1 - b2) * g * g;
      const double m = s.m[i] / (1 - std::pow(b1, s.t)), v = s.v[i] / (1 - std::pow(b2, s.t));
      out[i] = x[i] - rate * decay * x[i] - rate * m / (std::sqrt(v) + epsilon);
    }
    return out;
  };
}

// What the program's ranks end with.
inline Vector trained(const TrainingOptions& options, int ranks, const std::function<std::unique_ptr<Workload>()>& make,
                      TrainingResult* result = nullptr) {
  Vector last;
  run_local_ranks(ranks, [&](Transport& transport) {
    const std::unique_ptr<Workload> workload = make();
    const TrainingResult own = train(options, *workload, transport, [&](const Progress& progress) {
      last.assign(progress.parameters.begin(), progress.parameters.end());
    });
    if (transport.rank() == 0 && result != nullptr) *result = own;
  });
  return last;
}

inline std::unique_ptr<Workload> quadratic() { return std::make_unique<QuadraticWorkload>(); }
inline std::unique_ptr<Workload> tiny() { return gpt_workload(tiny_gpt(), made_up_corpus()); }
inline Vector start_of(const Workload& workload) {
  const std::vector<float> parameters = workload.initial_parameters();
  return {parameters.begin(), parameters.end()};
}

inline TrainingOptions options_for(Algorithm algorithm, int updates, bool adam = false) {
  TrainingOptions options;
  options.algorithm = algorithm;
  options.accumulate = Accumulate::kFixed;
  options.updates = updates;
  options.optimizer.cosine = false;
  options.optimizer.learning_rate = adam ? 0.05 : 0.5;
  options.optimizer.kind = adam ? OptimizerKind::kAdamW : OptimizerKind::kSgd;
  return options;
}
inline const Opt kSgd = sgd(0.5);
inline const Opt kAdamW = adamw(0.05, 0.9, 0.95, 1e-8, 0.1);

inline double distance(const Vector& a, const Vector& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// Parameters of order 1 in fp32, some tens of operations: 1e-6 is rounding, and a wrong gradient is worth 1e-2.
inline constexpr double kRounding = 2e-6;

}  // namespace accocal
