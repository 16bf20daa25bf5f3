// Each algorithm against its recursion as the literature writes it, written here a second time in double and without
// any of the program's code; and the laws that hold between the algorithms.
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/base/names.hpp"
#include "calibration/train/training.hpp"
#include "models/base/errors.hpp"
#include "tests/support/recursions.hpp"
#include "tests/support/thrown.hpp"
#include "tests/support/workloads.hpp"

namespace accocal {
namespace {

Vector plus(Vector a, const Vector& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// The recursions. `h` micro-batches of all ranks a round.
Vector ddp(const Gradients& g, const Opt& opt, Vector x, std::int64_t h, int updates) {
  State s;
  for (int t = 0; t < updates; ++t) x = opt(s, x, g(x, t * h, (t + 1) * h), static_cast<double>(h));
  return x;
}

Vector dpu(const Gradients& g, const Opt& opt, Vector x, std::int64_t h, int updates, int warmup = 0) {
  State s;
  const auto n = static_cast<double>(h);
  for (int t = 0; t < warmup; ++t) x = opt(s, x, g(x, t * h, (t + 1) * h), n);
  Vector last = g(x, warmup * h, (warmup + 1) * h);
  for (int t = warmup; t < updates; ++t) {
    const Vector next = g(x, (t + 1) * h, (t + 2) * h);
    x = opt(s, x, last, n);
    last = next;
  }
  return x;
}

Vector wp(const Gradients& g, const Opt& opt, Vector x, std::int64_t h, int updates) {
  State s;
  const auto n = static_cast<double>(h);
  Vector last = g(x, 0, h), ahead = x;
  for (int t = 0; t < updates; ++t) {
    const Vector next = g(ahead, (t + 1) * h, (t + 2) * h);
    x = opt(s, x, last, n);
    State tried = s;
    ahead = opt(tried, x, last, n);
    last = next;
  }
  return x;
}

Vector acco(const Gradients& g, const Opt& opt, Vector x, std::int64_t h, int updates,
            EstimateState kept = EstimateState::kRollback, bool initial = true) {
  State s;
  const auto n = static_cast<double>(h);
  Vector first = g(x, 0, h);
  for (int t = 0; t < updates; ++t) {
    const Vector second = g(x, (2 * t + 1) * h, (2 * t + 2) * h);
    State tried = s;
    const Vector ahead = opt(tried, x, first, n);
    if (kept == EstimateState::kKeep || (kept == EstimateState::kReleased && t == 0)) s = tried;
    const bool both = t > 0 || initial;
    x = opt(s, x, both ? plus(first, second) : second, both ? 2 * n : n);
    first = g(ahead, (2 * t + 2) * h, (2 * t + 3) * h);
  }
  return x;
}

TEST(Algorithms, FollowTheirRecursionsOnAQuadratic) {
  const Gradients g = gradients_of(Quadratic{});
  const Vector x = start_of(*quadratic());
  for (const bool adam : {false, true}) {
    const Opt& opt = adam ? kAdamW : kSgd;
    for (const int ranks : {1, 2, 3}) {
      for (const int micro_batches : {1, 2}) {
        const std::int64_t h = ranks * micro_batches;
        const auto run = [&](Algorithm algorithm) {
          TrainingOptions options = options_for(algorithm, 12, adam);
          options.micro_batches_per_round = micro_batches;
          return trained(options, ranks, quadratic);
        };
        SCOPED_TRACE(testing::Message() << (adam ? "adamw " : "sgd ") << ranks << " ranks x " << micro_batches);
        EXPECT_LT(distance(run(Algorithm::kDdp), ddp(g, opt, x, h, 12)), kRounding);
        EXPECT_LT(distance(run(Algorithm::kZero1), ddp(g, opt, x, h, 12)), kRounding);
        EXPECT_LT(distance(run(Algorithm::kDpu), dpu(g, opt, x, h, 12)), kRounding);
        EXPECT_LT(distance(run(Algorithm::kWp), wp(g, opt, x, h, 12)), kRounding);
        EXPECT_LT(distance(run(Algorithm::kAcco), acco(g, opt, x, h, 12)), kRounding);
      }
    }
  }
  // They are not each other's: the tolerance tells them apart.
  EXPECT_GT(distance(dpu(g, kSgd, x, 2, 12), ddp(g, kSgd, x, 2, 12)), 1e3 * kRounding);
  EXPECT_GT(distance(wp(g, kSgd, x, 2, 12), dpu(g, kSgd, x, 2, 12)), 1e3 * kRounding);
  EXPECT_GT(distance(acco(g, kSgd, x, 2, 12), ddp(g, kSgd, x, 4, 12)), 1e3 * kRounding);
}

TEST(Algorithms, FollowTheirRecursionsOnAGpt) {
  const std::shared_ptr<Workload> workload = tiny();
  const Gradients g = gradients_of(workload);
  const Vector x = start_of(*workload);
  for (const int ranks : {1, 2}) {
    const auto run = [&](Algorithm algorithm) { return trained(options_for(algorithm, 6), ranks, tiny); };
    EXPECT_LT(distance(run(Algorithm::kDdp), ddp(g, kSgd, x, ranks, 6)), kRounding);
    EXPECT_LT(distance(run(Algorithm::kDpu), dpu(g, kSgd, x, ranks, 6)), kRounding);
    EXPECT_LT(distance(run(Algorithm::kWp), wp(g, kSgd, x, ranks, 6)), kRounding);
    EXPECT_LT(distance(run(Algorithm::kAcco), acco(g, kSgd, x, ranks, 6)), kRounding);
    EXPECT_GT(distance(acco(g, kSgd, x, ranks, 6), ddp(g, kSgd, x, 2 * ranks, 6)), 1e2 * kRounding);
  }
}

TEST(Algorithms, RanksTogetherAreOneRankWithAllTheirMicroBatches) {
  // The same micro-batches in another order of summation: rounding apart.
  for (const Algorithm algorithm :
       {Algorithm::kDdp, Algorithm::kZero1, Algorithm::kDpu, Algorithm::kWp, Algorithm::kAcco}) {
    TrainingOptions alone = options_for(algorithm, 8, true);
    alone.micro_batches_per_round = 6;
    TrainingOptions together = alone;
    together.micro_batches_per_round = 2;
    EXPECT_LT(distance(trained(alone, 1, quadratic), trained(together, 3, quadratic)), kRounding) << name_of(algorithm);
  }
}

TEST(Algorithms, Zero1IsDdpToTheLastBit) {
  // Sums in the order of the ranks and an optimizer element by element: nothing is rounded differently.
  for (const ElementType storage : {ElementType::kFloat32, ElementType::kBf16}) {
    TrainingOptions options = options_for(Algorithm::kDdp, 5, true);
    options.storage = storage;
    const Vector whole = trained(options, 3, tiny);
    options.algorithm = Algorithm::kZero1;
    EXPECT_EQ(trained(options, 3, tiny), whole);
  }
}

TEST(Algorithms, EstimateStateIsRolledBackOrKept) {
  const Gradients g = gradients_of(Quadratic{});
  const Vector x = start_of(*quadratic());
  Vector ends;
  for (const EstimateState state : {EstimateState::kRollback, EstimateState::kKeep, EstimateState::kReleased}) {
    TrainingOptions options = options_for(Algorithm::kAcco, 10, true);
    options.estimate_state = state;
    const Vector end = trained(options, 2, quadratic);
    EXPECT_LT(distance(end, acco(g, kAdamW, x, 2, 10, state)), kRounding) << name_of(state);
    ends.push_back(end[0]);
  }
  EXPECT_GT(std::abs(ends[0] - ends[1]), 1e3 * kRounding);
  EXPECT_GT(std::abs(ends[0] - ends[2]), 1e2 * kRounding);
}

TEST(Algorithms, InitialGradientIsKeptOrDropped) {
  const Gradients g = gradients_of(Quadratic{});
  const Vector x = start_of(*quadratic());
  TrainingOptions options = options_for(Algorithm::kAcco, 4);
  options.keep_initial_gradient = false;
  const Vector dropped = acco(g, kSgd, x, 2, 4, EstimateState::kRollback, false);
  EXPECT_LT(distance(trained(options, 2, quadratic), dropped), kRounding);
  EXPECT_GT(distance(acco(g, kSgd, x, 2, 4), dropped), 1e3 * kRounding);
}

TEST(Algorithms, WarmUpIsSynchronous) {
  const Gradients g = gradients_of(Quadratic{});
  const Vector x = start_of(*quadratic());
  TrainingOptions options = options_for(Algorithm::kDpu, 7);
  options.warmup_updates = 3;
  EXPECT_LT(distance(trained(options, 2, quadratic), dpu(g, kSgd, x, 2, 7, 3)), kRounding);
  options.warmup_updates = 7;
  EXPECT_LT(distance(trained(options, 2, quadratic), ddp(g, kSgd, x, 2, 7)), kRounding);
  // ACCO's synchronous updates are of two rounds' micro-batches, so that the batch stays the same.
  options.algorithm = Algorithm::kAcco;
  EXPECT_LT(distance(trained(options, 2, quadratic), ddp(g, kSgd, x, 4, 7)), kRounding);
}

TEST(DiLoCo, OneInnerStepAndAPlainOuterOneIsTheMeanOfTheRanks) {
  // With gradient descent the mean of steps is the step along the mean: DDP.
  const Gradients g = gradients_of(Quadratic{});
  const Vector x = start_of(*quadratic());
  TrainingOptions options = options_for(Algorithm::kDiloco, 9);
  options.inner_updates = 1;
  options.outer_learning_rate = 1;
  options.outer_momentum = 0;
  EXPECT_LT(distance(trained(options, 3, quadratic), ddp(g, kSgd, x, 3, 9)), kRounding);
}

TEST(DiLoCo, OuterStepsByItsRecursion) {
  // 2 ranks, 3 inner steps of AdamW with states that last, 8 updates: outer steps after 3, 6 and, as the run ends, 8.
  const Gradients g = gradients_of(Quadratic{});
  Vector theta = start_of(*quadratic());
  Vector momentum(theta.size());
  std::vector<State> states(2);
  int update = 0;
  while (update < 8) {
    const int steps = std::min(3, 8 - update);
    Vector mean(theta.size());
    for (int rank = 0; rank < 2; ++rank) {
      Vector x = theta;
      for (int inner = 0; inner < steps; ++inner) {
        const std::int64_t n = (update + inner) * 2 + rank;
        x = kAdamW(states[static_cast<std::size_t>(rank)], x, g(x, n, n + 1), 1);
      }
      for (std::size_t i = 0; i < x.size(); ++i) mean[i] += (theta[i] - x[i]) / 2;
    }
    for (std::size_t i = 0; i < theta.size(); ++i) {
      momentum[i] = 0.9 * momentum[i] + mean[i];
      theta[i] -= 0.7 * (mean[i] + 0.9 * momentum[i]);
    }
    update += steps;
  }
  TrainingOptions options = options_for(Algorithm::kDiloco, 8, true);
  options.inner_updates = 3;
  EXPECT_LT(distance(trained(options, 2, quadratic), theta), kRounding);
}

TEST(Algorithms, Bf16StoresWhatItCan) {
  // The master copy keeps what bf16 would round away: parameters near 1 are stored to 2^-8, a step is 1e-3 of them.
  const Gradients g = gradients_of(Quadratic{});
  const Vector x = start_of(*quadratic());
  TrainingOptions options = options_for(Algorithm::kAcco, 40);
  options.optimizer.learning_rate = 4e-3;
  options.storage = ElementType::kBf16;
  const Vector rounded = trained(options, 2, quadratic);
  const Vector precise = acco(g, sgd(4e-3), x, 2, 40);
  EXPECT_GT(distance(precise, x), 0.03);
  EXPECT_LT(distance(rounded, precise), 0x1p-8);
  for (const double value : rounded) EXPECT_EQ(value, std::ldexp(std::round(std::ldexp(value, 8)), -8));
}

TEST(Training, CountsUpdatesSamplesAndLosses) {
  // An update of ACCO: 2 rounds x 2 ranks x 2 micro-batches of 3 samples. The first loss is the mean over its eight
  // micro-batches, all at the start.
  TrainingOptions options = options_for(Algorithm::kAcco, 3);
  options.micro_batches_per_round = 2;
  TrainingResult result;
  trained(options, 2, quadratic, &result);
  ASSERT_EQ(result.updates.size(), 3u);
  for (const UpdateRecord& update : result.updates) EXPECT_EQ(update.samples, 24);
  const Quadratic q;
  double loss = 0;
  for (std::int64_t n = 0; n < 8; ++n)
    for (std::size_t i = 0; i < q.size; ++i) loss += q.slope(i) * std::pow(1 - q.centre(i, n), 2) / 2 / 8;
  EXPECT_NEAR(result.updates[0].loss, loss, 1e-6);
  // Until 50 samples: the third update passes them.
  options.samples = 50;
  trained(options, 2, quadratic, &result);
  EXPECT_EQ(result.updates.size(), 3u);
}

bool overlap(const TrainingSpan& a, const TrainingSpan& b) { return a.begin < b.end && b.begin < a.end; }

// Do any micro-batch and any collective of one rank overlap?
bool computes_while_communicating(const TrainingResult& result) {
  for (const TrainingSpan& a : result.spans)
    for (const TrainingSpan& b : result.spans)
      if (a.rank == b.rank && a.label == "micro-batch" && b.lane == TrainingSpan::Lane::kCommunication && overlap(a, b))
        return true;
  return false;
}

TEST(Training, OnlyOverlappedAlgorithmsComputeWhileCommunicating) {
  TrainingOptions options = options_for(Algorithm::kAcco, 3);
  options.timed = true;
  options.parameters = 1000;
  options.compute_time = Seconds{2e-3};
  const auto make = [&] { return make_workload(options); };
  for (const Algorithm algorithm :
       {Algorithm::kDdp, Algorithm::kZero1, Algorithm::kDiloco, Algorithm::kDpu, Algorithm::kWp, Algorithm::kAcco}) {
    options.algorithm = algorithm;
    const bool overlapped =
        algorithm == Algorithm::kDpu || algorithm == Algorithm::kWp || algorithm == Algorithm::kAcco;
    // On a busy machine the communication may get no processor until the computation is done; not every time.
    constexpr int kTries = 20;
    TrainingResult result;
    bool both = false;
    for (int i = 0; i < (overlapped ? kTries : 1) && !both; ++i) {
      trained(options, 2, make, &result);
      both = computes_while_communicating(result);
    }
    EXPECT_EQ(both, overlapped) << name_of(algorithm);
    for (const TrainingSpan& span : result.spans) EXPECT_LE(span.begin, span.end);
  }
}

TEST(Training, FastRanksGoOnWhileASlowOneComputes) {
  TrainingOptions options = options_for(Algorithm::kAcco, 5);
  options.accumulate = Accumulate::kAtLeast;
  options.timed = true;
  options.parameters = 100;
  options.compute_time = Seconds{1e-3};
  options.slow[1] = 8;
  TrainingResult result;
  trained(
      options, 2, [&] { return make_workload(options); }, &result);
  int fast = 0, slow = 0;
  for (const TrainingSpan& span : result.spans) {
    if (span.label == "micro-batch") ++(span.rank == 0 ? fast : slow);
  }
  // The slow one's 11 rounds of 8 ms or more leave the other room for some 8 each; on a busy machine, for fewer.
  EXPECT_GE(slow, 11);
  EXPECT_GT(fast, slow);
  for (const UpdateRecord& update : result.updates) EXPECT_GE(update.samples, 4);
}

TEST(Training, LooksOnlyAfterAGroup) {
  TrainingOptions options = options_for(Algorithm::kDpu, 4);
  options.accumulate = Accumulate::kAtLeast;
  options.micro_batches_per_round = 2;
  options.poll_every = 3;
  TrainingResult result;
  trained(options, 1, quadratic, &result);
  // 2 micro-batches before the first round, then multiples of 3; a sample count is 3 a micro-batch.
  EXPECT_EQ(result.updates[0].samples, 6);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_GE(result.updates[i].samples, 9);
    EXPECT_EQ(result.updates[i].samples % 9, 0);
  }
}

class Failing : public QuadraticWorkload {
 public:
  double accumulate(std::span<const float> parameters, std::int64_t micro_batch, std::span<float> gradient) override {
    if (micro_batch == 7) throw std::runtime_error("a bit has flipped");
    return QuadraticWorkload::accumulate(parameters, micro_batch, gradient);
  }
};

TEST(Training, FailureOfOneRankEndsTheRun) {
  for (const Algorithm algorithm : {Algorithm::kDdp, Algorithm::kAcco, Algorithm::kDiloco}) {
    const auto fails = [&] { trained(options_for(algorithm, 50), 3, [] { return std::make_unique<Failing>(); }); };
    EXPECT_EQ(thrown_by<std::runtime_error>(fails), "a bit has flipped");
  }
}

TEST(Training, BadOptionsSayWhatToWrite) {
  TrainingOptions options;
  options.slow[4] = 2;
  EXPECT_THROW(check_options(options, 4), BadInput);
  options.slow = {{3, 0.5}};
  EXPECT_THROW(check_options(options, 4), BadInput);
  options.slow.clear();
  check_options(options, 4);
  options.gpt.shape.heads = 5;
  EXPECT_THROW(check_options(options, 4), BadInput);
}

}  // namespace
}  // namespace accocal
