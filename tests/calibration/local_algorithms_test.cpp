// The algorithms whose ranks make updates alone or whose gradients are late, each against its recursion as its paper or
// code writes it, here a second time in double: every rank's parameters, element by element.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "calibration/base/names.hpp"
#include "calibration/train/e3m0.hpp"
#include "tests/support/recursions.hpp"
#include "tests/support/workloads.hpp"

namespace accocal {
namespace {

constexpr double kPi = 3.141592653589793;

// A run as a test writes it.
struct Case {
  Gradients g;
  Vector start;
  std::function<std::unique_ptr<Workload>()> make;
  bool adam = false;
  int ranks = 1, micro_batches = 1, updates = 12;
  bool cosine = false;

  double rate(int u) const {
    const double peak = adam ? 0.05 : 0.5;
    return cosine ? peak * 0.5 * (1 + std::cos(kPi * u / updates)) : peak;
  }
  Opt opt(int u) const { return adam ? adamw(rate(u), 0.9, 0.95, 1e-8, 0.1) : sgd(rate(u)); }
  // Of a rank's micro-batches of its k-th round.
  Vector own(const Vector& x, int rank, std::int64_t round) const {
    Vector sum(x.size());
    for (int j = 0; j < micro_batches; ++j) {
      const std::int64_t n = (round * micro_batches + j) * ranks + rank;
      const Vector one = g(x, n, n + 1);
      for (std::size_t i = 0; i < x.size(); ++i) sum[i] += one[i];
    }
    return sum;
  }
  TrainingOptions options(Algorithm algorithm) const {
    TrainingOptions options = options_for(algorithm, updates, adam);
    set_usual(options);
    options.optimizer.cosine = cosine;
    options.micro_batches_per_round = micro_batches;
    options.gpt.shape.layers = 5;  // so many fragments may be asked for
    return options;
  }
  Vector run(const TrainingOptions& options) const { return trained(options, ranks, make); }
};

Vector mean_of_ranks(const std::vector<Vector>& x) {
  Vector mean(x.front().size());
  for (const Vector& one : x)
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += one[i] / static_cast<double>(x.size());
  return mean;
}

// Ranks that step by themselves; `meet(u, x)` after update u, counted from 1, may move them.
using Meet = std::function<void(int u, std::vector<Vector>& x)>;
Vector local(const Case& one_case, const Meet& meet) {
  std::vector<Vector> x(static_cast<std::size_t>(one_case.ranks), one_case.start);
  std::vector<State> states(x.size());
  for (int u = 0; u < one_case.updates; ++u) {
    for (std::size_t r = 0; r < x.size(); ++r)
      x[r] = one_case.opt(u)(states[r], x[r], one_case.own(x[r], static_cast<int>(r), u), one_case.micro_batches);
    meet(u + 1, x);
  }
  return mean_of_ranks(x);
}

Vector slowmo(const Case& one_case, int inner, int outer, double alpha, double beta) {
  Vector old = one_case.start, u(old.size());
  return local(one_case, [&](int made, std::vector<Vector>& x) {
    if (made % inner != 0) return;
    Vector mean = mean_of_ranks(x);
    if (made % outer == 0) {
      const double lr = one_case.rate(made - 1);
      for (std::size_t i = 0; i < mean.size(); ++i) {
        u[i] = beta * u[i] + (old[i] - mean[i]) / lr;
        mean[i] = old[i] = old[i] - alpha * lr * u[i];
      }
    }
    for (Vector& one : x) one = mean;
  });
}

Vector overlap_local_sgd(const Case& one_case, int tau, double alpha, double beta) {
  Vector z = one_case.start;  // the anchor that is in use at the next meeting
  std::vector<Vector> v(static_cast<std::size_t>(one_case.ranks), Vector(z.size()));
  return local(one_case, [&](int made, std::vector<Vector>& x) {
    if (made % tau != 0) return;
    const double lr = one_case.rate(made - 1);
    Vector next(z.size());
    for (std::size_t r = 0; r < x.size(); ++r)
      for (std::size_t i = 0; i < z.size(); ++i) {
        x[r][i] = (1 - alpha) * x[r][i] + alpha * z[i];
        v[r][i] = beta * v[r][i] + (z[i] - x[r][i]) / lr;
        next[i] += (z[i] - lr * v[r][i]) / one_case.ranks;
      }
    z = next;
  });
}

Vector co2(const Case& one_case, int tau, double alpha, double beta, double phi) {
  std::vector<Vector> z = {one_case.start};  // z[r]: where round r began
  std::vector<Vector> reached;               // the mean of what the ranks reached in round r
  Vector m(one_case.start.size());
  return local(one_case, [&](int made, std::vector<Vector>& x) {
    if (made % tau != 0) return;
    const std::size_t r = reached.size();
    Vector next = z[r];
    if (r > 0) {
      const double lr = one_case.rate(made - 1);
      double gone = 0, change = 0;
      for (std::size_t i = 0; i < m.size(); ++i) {
        gone += std::pow(z[r][i] - z[r - 1][i], 2);
        change += std::pow(z[r - 1][i] - reached[r - 1][i], 2);
      }
      const double gap = 1 + std::sqrt(gone) / std::sqrt(change);
      for (std::size_t i = 0; i < m.size(); ++i) {
        m[i] = beta * m[i] + (z[r - 1][i] - reached[r - 1][i]) / lr / gap;
        m[i] = std::min(phi, std::max(-phi, m[i]));
        next[i] -= alpha * lr * m[i];
      }
    }
    reached.push_back(mean_of_ranks(x));
    z.push_back(next);
    for (Vector& one : x) one = next;
  });
}

Vector eager_diloco(const Case& one_case, int rounds, double rate, double beta) {
  const auto ranks = static_cast<std::size_t>(one_case.ranks);
  std::vector<Vector> theta(ranks, one_case.start), u(ranks, Vector(one_case.start.size()));
  std::vector<std::vector<Vector>> own;  // by round and rank
  return local(one_case, [&](int made, std::vector<Vector>& x) {
    if (made % rounds != 0) return;
    own.emplace_back();
    for (std::size_t r = 0; r < ranks; ++r) {
      own.back().push_back(x[r]);
      for (std::size_t i = 0; i < x[r].size(); ++i) own.back()[r][i] = theta[r][i] - x[r][i];
    }
    for (std::size_t r = 0; r < ranks; ++r)
      for (std::size_t i = 0; i < x[r].size(); ++i) {
        double delta = own.back()[r][i] / one_case.ranks;
        if (own.size() > 1)
          for (std::size_t other = 0; other < ranks; ++other)
            if (other != r) delta += own[own.size() - 2][other][i] / one_case.ranks;
        u[r][i] = beta * u[r][i] + delta;
        theta[r][i] -= rate * (delta + beta * u[r][i]);
        x[r][i] = theta[r][i];
      }
  });
}

// The nearest of 0 and +-s 2^-k, k = 0 to 6.
double in_four_bits(double value, double scale) {
  double nearest = 0;
  for (int k = 0; k <= 6; ++k)
    if (const double one = std::copysign(std::ldexp(scale, -k), value);
        std::abs(one - value) < std::abs(nearest - value))
      nearest = one;
  return nearest;
}

struct Streaming {
  int rounds = 6, fragments = 2, delay = 1;
  double rate = 0.4, beta = 0.9, mixing = 0.5;
  bool small = false;
  std::function<int(std::size_t)> fragment_of;
};

Vector streaming_diloco(const Case& one_case, const Streaming& s) {
  Vector theta = one_case.start, u(theta.size());
  struct Sent {
    int fragment, due;
    Vector delta;
  };
  std::deque<Sent> sent;
  return local(one_case, [&](int made, std::vector<Vector>& x) {
    const auto take = [&] {
      for (; !sent.empty() && sent.front().due == made; sent.pop_front())
        for (std::size_t i = 0; i < theta.size(); ++i) {
          if (s.fragment_of(i) != sent.front().fragment) continue;
          const double delta = sent.front().delta[i];
          u[i] = s.beta * u[i] + delta;
          theta[i] -= s.rate * (delta + s.beta * u[i]);
          for (Vector& one : x) one[i] = s.mixing * one[i] + (1 - s.mixing) * theta[i];
        }
    };
    take();
    for (int p = 0; p < s.fragments; ++p) {
      if (made % s.rounds != (p + 1) * s.rounds / s.fragments % s.rounds) continue;
      Vector delta(theta.size());
      for (const Vector& one : x) {
        double scale = 0;
        for (std::size_t i = 0; i < theta.size(); ++i)
          if (s.fragment_of(i) == p) scale = std::max(scale, std::abs(theta[i] - one[i]));
        for (std::size_t i = 0; i < theta.size(); ++i) {
          const double own = theta[i] - one[i];
          delta[i] += (s.small ? in_four_bits(own, scale) : own) / one_case.ranks;
        }
      }
      sent.push_back({p, made + s.delay, delta});
    }
    take();
  });
}

Vector pipesgd(const Case& one_case, int delay) {
  const auto batch = [&](const Vector& x, std::int64_t b) {
    Vector sum(x.size());
    for (int r = 0; r < one_case.ranks; ++r) {
      const Vector own = one_case.own(x, r, b);
      for (std::size_t i = 0; i < x.size(); ++i) sum[i] += own[i];
    }
    return sum;
  };
  State state;
  std::vector<Vector> theta = {one_case.start};
  for (int t = 0; t < one_case.updates; ++t) {
    const Vector& at = theta[static_cast<std::size_t>(std::max(0, t - delay))];
    theta.push_back(one_case.opt(t)(state, theta.back(), batch(at, t), one_case.ranks * one_case.micro_batches));
  }
  return theta.back();
}

Vector acco_alone(const Case& one_case) {
  State state;
  Vector x = one_case.start, before = x;
  const auto ranks = static_cast<std::size_t>(one_case.ranks);
  std::vector<Vector> first;
  for (int r = 0; r < one_case.ranks; ++r) first.push_back(one_case.own(x, r, 0));
  for (int t = 0; t < one_case.updates; ++t) {
    std::vector<Vector> ahead(ranks, x);
    Vector sum(x.size());
    for (std::size_t r = 0; r < ranks; ++r) {
      const Vector second = one_case.own(x, static_cast<int>(r), 2 * t + 1);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double g = first[r][i] / one_case.micro_batches;
        if (one_case.adam)
          ahead[r][i] += 0.9 * (x[i] - before[i]) - 0.1 * one_case.rate(t) * ((g > 0) - (g < 0) + 0.1 * x[i]);
        else
          ahead[r][i] -= one_case.rate(t) * g;
        sum[i] += first[r][i] + second[i];
      }
    }
    before = x;
    x = one_case.opt(t)(state, x, sum, 2.0 * one_case.ranks * one_case.micro_batches);
    for (std::size_t r = 0; r < ranks; ++r) first[r] = one_case.own(ahead[r], static_cast<int>(r), 2 * t + 2);
  }
  return x;
}

// On quadratics with gradient descent and AdamW, one to three ranks, constant and falling learning rates; and on a GPT.
void for_each_case(const std::function<void(const Case&)>& check) {
  for (const bool adam : {false, true})
    for (const int ranks : {1, 2, 3})
      for (const int micro_batches : {1, 2}) {
        SCOPED_TRACE(testing::Message() << (adam ? "adamw " : "sgd ") << ranks << " ranks x " << micro_batches);
        check({gradients_of(Quadratic{}), start_of(*quadratic()), quadratic, adam, ranks, micro_batches, 12,
               micro_batches == 2});
      }
  SCOPED_TRACE("a GPT");
  const std::shared_ptr<Workload> workload = tiny();
  check({gradients_of(workload), start_of(*workload), tiny, false, 2, 1, 6, false});
}

TEST(LocalAlgorithms, PipeSgdsGradientsAreLate) {
  for_each_case([](const Case& one_case) {
    for (const int delay : {1, 2, 5}) {
      TrainingOptions options = one_case.options(Algorithm::kPipeSgd);
      options.delay = delay;
      EXPECT_LT(distance(one_case.run(options), pipesgd(one_case, delay)), kRounding) << delay;
    }
    // One update late is DPU, which shards the optimizer.
    EXPECT_LT(distance(one_case.run(one_case.options(Algorithm::kDpu)), pipesgd(one_case, 1)), kRounding);
    EXPECT_GT(distance(pipesgd(one_case, 1), pipesgd(one_case, 2)), 1e2 * kRounding);
  });
}

TEST(LocalAlgorithms, PipeSgdCountsWhatItApplies) {
  TrainingOptions options = options_for(Algorithm::kPipeSgd, 5);
  options.delay = 3;
  TrainingResult result;
  trained(options, 2, quadratic, &result);
  ASSERT_EQ(result.updates.size(), 5u);
  for (const UpdateRecord& update : result.updates) EXPECT_EQ(update.samples, 6);
  // Its first `delay` and one more are of theta[0], and so is the loss that the first update reports.
  const Quadratic q;
  double loss = 0;
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::size_t i = 0; i < q.size; ++i) loss += q.slope(i) * std::pow(1 - q.centre(i, n), 2) / 2 / 2;
  EXPECT_NEAR(result.updates[0].loss, loss, 1e-6);
}

TEST(LocalAlgorithms, SlowMoFollowsItsRecursion) {
  for_each_case([](const Case& one_case) {
    TrainingOptions options = one_case.options(Algorithm::kSlowMo);
    options.inner_updates = 2;
    options.outer_every = 4;
    EXPECT_LT(distance(one_case.run(options), slowmo(one_case, 2, 4, 1, 0.5)), kRounding);
    options.outer_momentum = 0.8;
    options.outer_learning_rate = 0.7;
    EXPECT_LT(distance(one_case.run(options), slowmo(one_case, 2, 4, 0.7, 0.8)), kRounding);
    EXPECT_GT(distance(slowmo(one_case, 2, 4, 1, 0.5), slowmo(one_case, 2, 4, 0.7, 0.8)), 1e2 * kRounding);
  });
}

TEST(LocalAlgorithms, OverlapLocalSgdFollowsItsRecursion) {
  for_each_case([](const Case& one_case) {
    TrainingOptions options = one_case.options(Algorithm::kOverlapLocalSgd);
    EXPECT_LT(distance(one_case.run(options), overlap_local_sgd(one_case, 2, 0.6, 0.7)), kRounding);
    options.inner_updates = 3;
    options.mixing = 0.25;
    options.outer_momentum = 0;
    EXPECT_LT(distance(one_case.run(options), overlap_local_sgd(one_case, 3, 0.25, 0)), kRounding);
  });
}

TEST(LocalAlgorithms, Co2FollowsItsRecursion) {
  for_each_case([](const Case& one_case) {
    TrainingOptions options = one_case.options(Algorithm::kCo2);
    options.inner_updates = 2;
    EXPECT_LT(distance(one_case.run(options), co2(one_case, 2, 1, 0.2, 2)), kRounding);
    options.outer_momentum = 0.5;
    options.outer_clip = 0.05;
    options.outer_learning_rate = 0.5;
    EXPECT_LT(distance(one_case.run(options), co2(one_case, 2, 0.5, 0.5, 0.1)), kRounding);
    EXPECT_GT(distance(co2(one_case, 2, 0.5, 0.5, 0.1), co2(one_case, 2, 0.5, 0.5, 2)), 1e2 * kRounding);
  });
}

TEST(LocalAlgorithms, EagerDiLoCoFollowsItsRecursion) {
  for_each_case([](const Case& one_case) {
    TrainingOptions options = one_case.options(Algorithm::kEagerDiloco);
    options.inner_updates = 3;
    EXPECT_LT(distance(one_case.run(options), eager_diloco(one_case, 3, 0.7, 0.5)), kRounding);
    options.outer_momentum = 0.9;
    EXPECT_LT(distance(one_case.run(options), eager_diloco(one_case, 3, 0.7, 0.9)), kRounding);
    // Alone it has nothing to wait for: DiLoCo, whose run ends with a round here.
    if (one_case.ranks > 1 || one_case.updates % 3 != 0) return;
    TrainingOptions plain = one_case.options(Algorithm::kDiloco);
    plain.inner_updates = 3;
    EXPECT_LT(distance(one_case.run(options), one_case.run(plain)), kRounding);
  });
}

// Of a quadratic: slices, as shard_of() has them.
int slice_of(std::size_t i, int fragments) {
  const Quadratic q;
  const std::size_t slice = (q.size + static_cast<std::size_t>(fragments) - 1) / static_cast<std::size_t>(fragments);
  return static_cast<int>(i / slice);
}

// Of a GPT, by the names of its blocks.
std::vector<int> fragments_of(const GptShape& shape, int fragments) {
  std::vector<int> result;
  for (const ParameterBlock& block : parameter_blocks(shape)) {
    int fragment = 0;
    if (block.name.rfind("layer", 0) == 0) fragment = std::stoi(block.name.substr(5)) % fragments;
    if (block.name.rfind("norm", 0) == 0) fragment = fragments - 1;
    result.insert(result.end(), block.size(), fragment);
  }
  return result;
}

TEST(LocalAlgorithms, StreamingDiLoCoFollowsItsRecursion) {
  for_each_case([](const Case& one_case) {
    if (one_case.make()->tokens_per_sample() != quadratic()->tokens_per_sample()) return;  // the GPT is below
    for (const int delay : {0, 1, 4})
      for (const int fragments : {1, 2, 5})
        for (const bool small : {false, true}) {
          SCOPED_TRACE(testing::Message() << delay << " late, " << fragments << " fragments, small " << small);
          TrainingOptions options = one_case.options(Algorithm::kStreamingDiloco);
          options.inner_updates = 5;
          options.delay = delay;
          options.fragments = fragments;
          options.payload = small ? Payload::kE3m0 : Payload::kFloat32;
          const Streaming s{5,   fragments, delay, 0.4,
                            0.9, 0.5,       small, [&](std::size_t i) { return slice_of(i, fragments); }};
          EXPECT_LT(distance(one_case.run(options), streaming_diloco(one_case, s)), kRounding);
        }
  });
}

TEST(LocalAlgorithms, StreamingDiLoCoOnAGpt) {
  GptWorkloadOptions gpt = tiny_gpt();
  gpt.shape.layers = 3;
  const auto make = [&] { return gpt_workload(gpt, made_up_corpus()); };
  const std::shared_ptr<Workload> workload = make();
  gpt.shape.vocabulary = made_up_corpus()->vocabulary;
  const std::vector<int> fragment_of = fragments_of(gpt.shape, 2);
  const Case one_case{gradients_of(workload), start_of(*workload), make, false, 2, 1, 9, false};
  TrainingOptions options = one_case.options(Algorithm::kStreamingDiloco);
  options.inner_updates = 4;
  options.mixing = 0.25;
  EXPECT_LT(
      distance(one_case.run(options), streaming_diloco(one_case, {4, 2, 1, 0.4, 0.9, 0.25, false,
                                                                  [&](std::size_t i) { return fragment_of[i]; }})),
      kRounding);
}

TEST(LocalAlgorithms, AWholeFragmentAtOnceIsDiLoCo) {
  const Case one_case{gradients_of(Quadratic{}), start_of(*quadratic()), quadratic, true, 3, 1, 12, false};
  TrainingOptions options = one_case.options(Algorithm::kStreamingDiloco);
  options.inner_updates = 4;
  options.fragments = 1;
  options.delay = 0;
  options.mixing = 0;
  TrainingOptions plain = one_case.options(Algorithm::kDiloco);
  plain.inner_updates = 4;
  plain.outer_learning_rate = 0.4;
  EXPECT_LT(distance(one_case.run(options), one_case.run(plain)), kRounding);
}

TEST(LocalAlgorithms, EveryElementIsInOneFragment) {
  GptWorkloadOptions gpt = tiny_gpt();
  gpt.shape.layers = 5;
  const std::unique_ptr<Workload> workload = gpt_workload(gpt, made_up_corpus());
  gpt.shape.vocabulary = made_up_corpus()->vocabulary;
  for (int fragments = 1; fragments <= 5; ++fragments) {
    const std::vector<int> expected = fragments_of(gpt.shape, fragments);
    std::vector<int> found(workload->parameter_count(), -1);
    for (int p = 0; p < fragments; ++p)
      for (const Shard& part : workload->fragment(p, fragments))
        for (std::size_t i = part.begin; i < part.end; ++i) {
          EXPECT_EQ(found[i], -1);
          found[i] = p;
        }
    EXPECT_EQ(found, expected) << fragments;
  }
}

TEST(LocalAlgorithms, FourBitsAreTheNearestOfFifteenNumbers) {
  std::vector<float> values;
  for (std::uint64_t i = 0; i < 1000; ++i)
    values.push_back(static_cast<float>(std::exp(8 * uniform_of(mixed({i, 3})) - 8) * (i % 2 == 0 ? 3 : -3)));
  values[17] = 0;
  const double scale = largest<double>(values, [](const float value) { return std::abs(double{value}); });
  std::vector<std::int64_t> words(e3m0_words(values.size()));
  pack_e3m0(values, words);
  std::vector<float> sum(values.size(), 1);
  add_e3m0(words, sum);
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(sum[i], 1 + in_four_bits(values[i], scale), 1e-6) << values[i];
  EXPECT_EQ(words.size(), 1u + 63);
  // Nothing but zeros.
  const std::array<float, 3> zeros{};
  std::array<std::int64_t, 2> packet{1, 1};
  pack_e3m0(zeros, packet);
  std::array<float, 3> out{};
  add_e3m0(packet, out);
  EXPECT_EQ(out, zeros);
}

TEST(LocalAlgorithms, AccosEstimateMayBeEachRanksOwn) {
  for_each_case([](const Case& one_case) {
    TrainingOptions options = one_case.options(Algorithm::kAcco);
    options.local_estimate = true;
    EXPECT_LT(distance(one_case.run(options), acco_alone(one_case)), kRounding);
    // One rank's own estimate by gradient descent is the gathered one.
    if (one_case.ranks > 1 || one_case.adam) return;
    options.local_estimate = false;
    EXPECT_LT(distance(one_case.run(options), acco_alone(one_case)), kRounding);
  });
}

TEST(LocalAlgorithms, ALearningRateOfNothingMovesNothing) {
  // A cosine ends at 0, and outer steps divide by the inner rate.
  for (const Algorithm algorithm : {Algorithm::kSlowMo, Algorithm::kOverlapLocalSgd, Algorithm::kCo2}) {
    TrainingOptions options = options_for(algorithm, 40, true);
    set_usual(options);
    options.inner_updates = 2;
    options.outer_every = 4;
    options.optimizer.cosine = true;
    options.optimizer.warmup = 0.1;
    options.samples = 40 * 6 - 1;
    for (const double value : trained(options, 2, quadratic)) EXPECT_TRUE(std::isfinite(value)) << name_of(algorithm);
  }
}

TEST(Algorithms, SameOptionsGiveTheSameBits) {
  for (const ElementType storage : {ElementType::kFloat32, ElementType::kBf16})
    for (const bool alone : {false, true})
      for (const AlgorithmTraits& row : algorithms()) {
        if (alone && !row.takes("--estimate")) continue;
        TrainingOptions options = options_for(row.algorithm, 6, true);
        set_usual(options);
        options.inner_updates = 3;
        options.outer_every = 6;
        options.fragments = 1;
        options.local_estimate = alone;
        options.payload = Payload::kE3m0;
        options.storage = storage;
        TrainingResult first, second;
        EXPECT_EQ(trained(options, 3, tiny, &first), trained(options, 3, tiny, &second)) << row.name;
        EXPECT_EQ(first.held_out_loss, second.held_out_loss) << row.name;
        EXPECT_TRUE(std::isfinite(first.held_out_loss)) << row.name;
      }
}

}  // namespace
}  // namespace accocal
