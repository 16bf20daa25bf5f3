// Each algorithm on streams against the same algorithm on threads, with the same micro-batches; whatever the order in
// which the streams' work is taken, as long as their events allow it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "calibration/base/random.hpp"
#include "calibration/device/device_history.hpp"
#include "calibration/device/device_training.hpp"
#include "calibration/device/device_values.hpp"
#include "calibration/device/kernels.hpp"
#include "calibration/ranks/local_transport.hpp"
#include "tests/device/reals.hpp"
#include "tests/on_host/on_host.hpp"
#include "tests/support/thrown.hpp"

namespace accocal {
namespace {

using Vector = std::vector<float>;

// Slices of 64: of 3 ranks the last one's is shorter than it is stored, and not as the first ones'.
constexpr std::size_t kSize = 151;
constexpr std::int64_t kCentres = 16;
constexpr int kSamples = 3;

// Micro-batch n: the sum over i of (x_i - c_in)^2 / 2, whose gradient is x - c_n. Its loss is told as 1 + n mod 16.
float centre(std::int64_t n, std::size_t i) {
  return static_cast<float>(uniform_of(mixed({static_cast<std::uint64_t>(n % kCentres), i}))) - 0.5F;
}
float loss_of(std::int64_t n) { return static_cast<float>(1 + n % kCentres); }

// On CPUs, with the two additions that the device makes.
class QuadraticOnHost : public Workload {
 public:
  std::size_t parameter_count() const override { return kSize; }
  std::vector<float> initial_parameters() const override { return Vector(kSize, 1); }
  int samples_per_micro_batch() const override { return kSamples; }
  int tokens_per_sample() const override { return 7; }
  double accumulate(std::span<const float> parameters, std::int64_t n, std::span<float> gradient) override {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      gradient[i] += parameters[i];
      gradient[i] += -centre(n, i);
    }
    return loss_of(n);
  }
  double held_out_loss(std::span<const float> parameters) override { return parameters[0]; }
};

template <typename Real>
class QuadraticOnDevice : public DeviceWorkload<Real> {
 public:
  QuadraticOnDevice() : centres_(kCentres * kSize * sizeof(Real)), losses_(kCentres * sizeof(float)) {
    std::vector<Real> minus;
    for (std::int64_t n = 0; n < kCentres; ++n) {
      for (std::size_t i = 0; i < kSize; ++i) minus.push_back(real_of<Real>(-centre(n, i)));
      set_loss(n, loss_of(n));
    }
    Stream stream;
    stream.copy_to_device(centres_.data(), minus.data(), centres_.size());
    stream.synchronise();
  }

  std::size_t parameter_count() const override { return kSize; }
  std::vector<Real> initial_parameters() const override { return std::vector<Real>(kSize, real_of<Real>(1)); }
  int samples_per_micro_batch() const override { return kSamples; }
  int tokens_per_sample() const override { return 7; }
  void accumulate(const Real* parameters, std::int64_t n, Real* gradient, float* loss, Stream& stream) override {
    if (n == fails_at) throw std::runtime_error("a bit has flipped");
    add(gradient, parameters, kSize, stream);
    add(gradient, centres_.as<Real>() + static_cast<std::size_t>(n % kCentres) * kSize, kSize, stream);
    add(loss, losses_.as<float>() + n % kCentres, 1, stream);
  }
  void set_loss(std::int64_t n, float loss) {
    Stream stream;
    stream.copy_to_device(losses_.as<float>() + n, &loss, sizeof loss);
    stream.synchronise();
  }
  double held_out_loss(const Real* parameters, Stream& stream) override {
    Real first{};
    stream.copy_to_host(&first, parameters, sizeof first);
    stream.synchronise();
    return double_of(first);
  }

  std::int64_t fails_at = -1;

 private:
  DeviceMemory centres_, losses_;
};

struct Trained {
  std::vector<Vector> seen;  ///< parameters before the first update and after each
  TrainingResult result;     ///< of rank 0
};

Observer keep(Trained& run) {
  return [&run](const Progress& progress) {
    run.seen.emplace_back(progress.parameters.begin(), progress.parameters.end());
  };
}

Trained on_threads(const TrainingOptions& options, int ranks) {
  Trained run;
  run_local_ranks(ranks, [&](Transport& transport) {
    QuadraticOnHost workload;
    TrainingResult result = train(options, workload, transport, keep(run));
    if (transport.rank() == 0) run.result = std::move(result);
  });
  return run;
}

// `observed`: an observer sees all parameters, but waits for every update, which hides what the host does when it runs
// ahead of the device; the held-out loss tells the first of the last parameters without.
template <typename Real>
Trained on_streams(const TrainingOptions& options, int ranks, bool observed, std::uint64_t seed = 1,
                   const std::function<void(QuadraticOnDevice<Real>&)>& change = {}) {
  set_interleaving(seed);
  Trained run;
  run_local_ranks(ranks, [&](Transport& transport) {
    use_device(device_is_played() ? 0 : transport.rank());
    const std::unique_ptr<DeviceTransport> network = ranks == 1 ? alone_transport() : nccl_transport(transport);
    QuadraticOnDevice<Real> workload;
    if (change) change(workload);
    TrainingResult result =
        train_by_streams<Real>(options, workload, *network, transport, observed ? keep(run) : Observer{});
    if (transport.rank() == 0) run.result = std::move(result);
  });
  return run;
}

// Threads can be ranks of NCCL only on devices of their own.
std::vector<int> possible_ranks() {
  std::vector<int> ranks = {1, 2, 3, 4};  // the fourth owns no parameters
  if (!device_is_played()) std::erase_if(ranks, [](int n) { return n > device_count(); });
  if (ranks.empty()) throw std::runtime_error(why_no_device());
  return ranks;
}

TrainingOptions options_for(Algorithm algorithm, int updates, bool adam) {
  TrainingOptions options;
  options.algorithm = algorithm;
  options.accumulate = Accumulate::kFixed;
  options.updates = updates;
  options.optimizer.cosine = false;
  options.optimizer.learning_rate = adam ? 0.05 : 0.4;
  options.optimizer.kind = adam ? OptimizerKind::kAdamW : OptimizerKind::kSgd;
  return options;
}

constexpr Algorithm kAlgorithms[] = {Algorithm::kDdp, Algorithm::kZero1, Algorithm::kDpu, Algorithm::kWp,
                                     Algorithm::kAcco};

double distance(const Vector& a, const Vector& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return most;
}

// Equal parameters give equal gradient sums, bit for bit. The optimizers differ by the rounding of some ten operations
// on a step of at most 0.4 (10 x 2^-24 x 0.4 = 2.4e-7) and of the parameter itself (2^-24), an update, and what is off
// does not grow, since the quadratic pulls it back: 12 updates, 3.6e-6. A wrong schedule is worth 1e-2 (below).
constexpr double kRounding = 4e-6;

void expect_like_threads(const TrainingOptions& options, int ranks) {
  SCOPED_TRACE(testing::Message() << name_of(options.algorithm) << ", " << ranks << " ranks");
  const Trained threads = on_threads(options, ranks);
  const Trained streams = on_streams<float>(options, ranks, true);
  ASSERT_EQ(streams.seen.size(), threads.seen.size());
  for (std::size_t i = 0; i < threads.seen.size(); ++i)
    EXPECT_LT(distance(streams.seen[i], threads.seen[i]), kRounding) << "after update " << i;
  ASSERT_EQ(streams.result.updates.size(), threads.result.updates.size());
  for (std::size_t i = 0; i < threads.result.updates.size(); ++i) {
    EXPECT_EQ(streams.result.updates[i].samples, threads.result.updates[i].samples);
    // Small whole numbers: the sums are exact in either precision.
    EXPECT_EQ(streams.result.updates[i].loss, threads.result.updates[i].loss);
  }
  EXPECT_EQ(streams.result.parameters, threads.result.parameters);
  EXPECT_EQ(streams.result.tokens_per_sample, 7);
  EXPECT_EQ(static_cast<float>(streams.result.held_out_loss), streams.seen.back()[0]);
}

TEST(DeviceRank, FollowsTheAlgorithmsOnThreads) {
  for (const Algorithm algorithm : kAlgorithms) {
    for (const int ranks : possible_ranks()) {
      for (const bool adam : {false, true}) {
        TrainingOptions options = options_for(algorithm, 12, adam);
        options.micro_batches_per_round = adam ? 1 : 2;
        expect_like_threads(options, ranks);
      }
    }
  }
}

TEST(DeviceRank, SharesInWholeLines) {
  // ceil(151 / 3) = 51, in lines of 64; ceil(151 / 2) = 76, so 128; and of 8 ranks five have nothing.
  const auto expect = [](int ranks, int rank, std::size_t begin, std::size_t end) {
    const Shard shard = Slices(151, ranks).of(rank);
    EXPECT_EQ(shard.begin, begin);
    EXPECT_EQ(shard.end, end);
  };
  expect(1, 0, 0, 151);
  expect(2, 0, 0, 128);
  expect(2, 1, 128, 151);
  expect(3, 1, 64, 128);
  expect(3, 2, 128, 151);
  expect(8, 2, 128, 151);
  expect(8, 3, 151, 151);
  Stream stream;
  EXPECT_EQ(DeviceValues<float>(151, 2, stream).padded().count, 256U);
  stream.synchronise();
}

TEST(DeviceRank, TheToleranceTellsAlgorithmsApart) {
  const auto last = [](Algorithm algorithm) { return on_threads(options_for(algorithm, 12, false), 2).seen.back(); };
  EXPECT_GT(distance(last(Algorithm::kDpu), last(Algorithm::kDdp)), 1e3 * kRounding);
  EXPECT_GT(distance(last(Algorithm::kWp), last(Algorithm::kDpu)), 1e3 * kRounding);
  EXPECT_GT(distance(last(Algorithm::kAcco), last(Algorithm::kDdp)), 1e3 * kRounding);
}

TEST(DeviceRank, HasTheirOptions) {
  const int ranks = possible_ranks().back();
  for (const EstimateState state : {EstimateState::kRollback, EstimateState::kKeep, EstimateState::kReleased}) {
    for (const Algorithm algorithm : {Algorithm::kAcco, Algorithm::kWp}) {
      TrainingOptions options = options_for(algorithm, 8, true);
      options.estimate_state = state;
      expect_like_threads(options, ranks);
    }
  }
  TrainingOptions dropped = options_for(Algorithm::kAcco, 4, false);
  dropped.keep_initial_gradient = false;
  expect_like_threads(dropped, ranks);
  for (const Algorithm algorithm : {Algorithm::kDpu, Algorithm::kWp, Algorithm::kAcco}) {
    for (const std::int64_t warmup : {2, 5}) {
      TrainingOptions warm = options_for(algorithm, 5, true);
      warm.warmup_updates = warmup;
      expect_like_threads(warm, ranks);
    }
  }
}

TEST(DeviceRank, FollowsTheLearningRatesSchedule) {
  for (const Algorithm algorithm : kAlgorithms) {
    TrainingOptions options = options_for(algorithm, 10, false);
    options.optimizer.cosine = true;
    options.optimizer.warmup = 0.35;
    expect_like_threads(options, possible_ranks().back());
    // By samples the size of a step is known to the device first.
    options.samples = 100;
    expect_like_threads(options, possible_ranks().back());
  }
}

TEST(DeviceRank, RunsFarAheadOfTheDevice) {
  // Three times as many updates as are in flight at most: every pinned place is used again and again.
  constexpr int kUpdates = 3 * static_cast<int>(DeviceHistory::kMostAhead) + 5;
  for (const Algorithm algorithm : {Algorithm::kZero1, Algorithm::kAcco}) {
    const TrainingOptions options = options_for(algorithm, kUpdates, false);
    const Trained threads = on_threads(options, 1), streams = on_streams<float>(options, 1, false);
    ASSERT_EQ(streams.result.updates.size(), static_cast<std::size_t>(kUpdates));
    for (std::size_t i = 0; i < kUpdates; ++i) {
      EXPECT_EQ(streams.result.updates[i].loss, threads.result.updates[i].loss);
      EXPECT_EQ(streams.result.updates[i].samples, threads.result.updates[i].samples);
      EXPECT_GT(streams.result.updates[i].duration.value, 0);
    }
    EXPECT_NEAR(streams.result.held_out_loss, threads.result.held_out_loss, kRounding);
  }
}

template <typename Real>
void expect_same_bits(const TrainingOptions& options, int ranks) {
  const Trained first = on_streams<Real>(options, ranks, false, 1);
  const Trained watched = on_streams<Real>(options, ranks, true, 2);
  EXPECT_EQ(first.result.held_out_loss, watched.result.held_out_loss);
  for (std::uint64_t seed = 3; seed < 15; ++seed) {
    const Trained other = on_streams<Real>(options, ranks, seed % 2 == 0, seed);
    SCOPED_TRACE(testing::Message() << name_of(options.algorithm) << ", seed " << seed);
    EXPECT_EQ(other.result.held_out_loss, first.result.held_out_loss);
    if (seed % 2 == 0) {
      EXPECT_EQ(other.seen, watched.seen);
    }
    ASSERT_EQ(other.result.updates.size(), first.result.updates.size());
    for (std::size_t i = 0; i < first.result.updates.size(); ++i) {
      EXPECT_EQ(other.result.updates[i].loss, first.result.updates[i].loss);
      EXPECT_EQ(other.result.updates[i].samples, first.result.updates[i].samples);
    }
  }
}

TEST(DeviceRank, GivesTheSameBitsInEveryOrderThatItsEventsAllow) {
  for (const Algorithm algorithm : kAlgorithms) {
    TrainingOptions options = options_for(algorithm, 5, true);
    options.warmup_updates = 1;
    expect_same_bits<float>(options, possible_ranks().back());
    expect_same_bits<Bf16>(options, 1);
  }
  if (possible_ranks().size() > 1) expect_same_bits<Bf16>(options_for(Algorithm::kAcco, 5, true), 2);
}

TEST(DeviceRank, StoresBf16AndKeepsAMasterCopy) {
  // Steps of 4e-3 beside parameters that are stored to 2^-8: only a copy in fp32 can add them up. As on threads, but
  // for the gradient, which is rounded after each of two additions there and after one here: 2^-9 of it.
  TrainingOptions options = options_for(Algorithm::kAcco, 40, false);
  options.optimizer.learning_rate = 4e-3;
  const Vector precise = on_threads(options, 1).seen.back();
  const Trained rounded = on_streams<Bf16>(options, 1, true);
  EXPECT_GT(distance(precise, rounded.seen.front()), 0.03);
  EXPECT_LT(distance(rounded.seen.back(), precise), 0x1p-7);
}

TEST(DeviceRank, GoesOnUntilCommunicationHasEnded) {
  for (const Algorithm algorithm : {Algorithm::kDpu, Algorithm::kWp, Algorithm::kAcco}) {
    for (const int ranks : possible_ranks()) {
      TrainingOptions options = options_for(algorithm, 6, true);
      options.accumulate = Accumulate::kAtLeast;
      options.micro_batches_per_round = 2;
      options.poll_every = 3;
      const auto equal_losses = [](QuadraticOnDevice<float>& workload) {
        for (std::int64_t n = 0; n < kCentres; ++n) workload.set_loss(n, 1);
      };
      const TrainingResult result = on_streams<float>(options, ranks, false, 7, equal_losses).result;
      const std::vector<UpdateRecord>& updates = result.updates;
      SCOPED_TRACE(testing::Message() << name_of(algorithm) << ", " << ranks << " ranks");
      std::int64_t computed = 0, counted = 0;
      for (const TrainingSpan& span : result.spans) computed += span.label == "micro-batch" ? 1 : 0;
      ASSERT_EQ(updates.size(), 6U);
      const int rounds = algorithm == Algorithm::kAcco ? 2 : 1;
      for (std::size_t i = 0; i < updates.size(); ++i) {
        // Two at first; then groups of three.
        const std::int64_t made = updates[i].samples / kSamples;
        EXPECT_EQ(updates[i].samples % kSamples, 0);
        EXPECT_GE(made, i == 0 ? ranks * (2 + 3 * (rounds - 1)) : ranks * 3 * rounds);
        if (i > 0) {
          EXPECT_EQ(made % 3, 0);
        }
        counted += made;
        // Each loss is 1: their mean is 1 only where exactly those that were computed are counted.
        EXPECT_EQ(updates[i].loss, 1);
      }
      // What was computed beside the last round is in no update.
      EXPECT_GE(computed, counted + 3 * ranks);
      EXPECT_EQ((computed - counted) % 3, 0);
    }
  }
}

using Spans = std::vector<TrainingSpan>;
constexpr auto kCompute = TrainingSpan::Lane::kCompute;
constexpr auto kCommunication = TrainingSpan::Lane::kCommunication;

Spans lane_of(const TrainingResult& result, int rank, TrainingSpan::Lane lane) {
  return matching(result.spans, [&](const TrainingSpan& span) { return span.rank == rank && span.lane == lane; });
}

// Do any micro-batch and any part of the communication of one rank overlap?
bool computes_while_communicating(const TrainingResult& result) {
  for (const TrainingSpan& a : result.spans)
    for (const TrainingSpan& b : result.spans)
      if (a.rank == b.rank && a.label == "micro-batch" && b.lane == kCommunication && a.begin < b.end &&
          b.begin < a.end)
        return true;
  return false;
}

std::vector<std::string> communication_of(Algorithm algorithm) {
  std::vector<std::string> round = {"count", "reduce-scatter", "optimizer", "all-gather"};
  switch (algorithm) {
    case Algorithm::kDdp: return {"count", "all-reduce", "optimizer"};
    case Algorithm::kWp:
      return {"count", "reduce-scatter", "optimizer", "save state", "optimizer", "restore state", "all-gather"};
    case Algorithm::kAcco: {
      std::vector<std::string> both = {"save state"};
      both.insert(both.end(), round.begin(), round.end());
      both.emplace_back("restore state");
      both.insert(both.end(), round.begin(), round.end());
      return both;
    }
    default: return round;
  }
}

TEST(DeviceRank, TellsWhatItDidWhen) {
  // Times are told to 1 ns and added up from events: of the played clock, which ticks once a microsecond, or of a
  // device that resolves half of one.
  const Seconds slack{device_is_played() ? 5e-9 : 2e-6};
  for (const Algorithm algorithm : kAlgorithms) {
    const int ranks = possible_ranks().back();
    TrainingOptions options = options_for(algorithm, 6, true);
    options.micro_batches_per_round = 3;
    const TrainingResult result = on_streams<float>(options, ranks, false, 5).result;
    SCOPED_TRACE(name_of(algorithm));
    Seconds run;
    for (const UpdateRecord& update : result.updates) {
      EXPECT_GT(update.duration, Seconds{0});
      run += update.duration;
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const Spans compute = lane_of(result, rank, kCompute), communication = lane_of(result, rank, kCommunication);
      ASSERT_FALSE(compute.empty());
      ASSERT_FALSE(communication.empty());
      EXPECT_EQ(std::ranges::count_if(compute, [](const auto& s) { return s.label == "wait"; }),
                6 * (algorithm == Algorithm::kAcco ? 2 : 1) + (algorithm == Algorithm::kWp ? 1 : 0));
      for (const Spans* lane : {&compute, &communication}) {
        EXPECT_GE(lane->front().begin, Seconds{0});
        for (std::size_t i = 0; i < lane->size(); ++i) {
          const TrainingSpan& span = (*lane)[i];
          EXPECT_LE(span.begin, span.end);
          if (rank == 0 && span.update < 6) {
            EXPECT_LE(span.end - compute.front().begin, run + slack);
          }
          if (i == 0) continue;
          // A stream does one thing after the other.
          EXPECT_GE(span.begin, (*lane)[i - 1].end - slack);
          EXPECT_GE(span.update, (*lane)[i - 1].update);
        }
      }
      std::vector<std::string> labels;
      for (const TrainingSpan& span : communication)
        if (span.update == 3) labels.push_back(span.label);
      EXPECT_EQ(labels, communication_of(algorithm));
    }
    // A quadratic's micro-batch is over too soon to be beside anything on a real device.
    const bool overlapped =
        algorithm == Algorithm::kDpu || algorithm == Algorithm::kWp || algorithm == Algorithm::kAcco;
    if (device_is_played() || !overlapped) {
      EXPECT_EQ(computes_while_communicating(result), overlapped);
    }
  }
}

TEST(DeviceRank, KeepsNoSpansUnlessAsked) {
  TrainingOptions options = options_for(Algorithm::kAcco, 3, true);
  options.record_spans = false;
  EXPECT_TRUE(on_streams<float>(options, 1, false).result.spans.empty());
}

TEST(DeviceRank, FailureOfOneRankEndsTheRun) {
  for (const int ranks : possible_ranks()) {
    for (const Algorithm algorithm : {Algorithm::kDdp, Algorithm::kAcco}) {
      if (!device_is_played() && ranks > 1) continue;
      const std::string what = thrown_by<std::runtime_error>([&] {
        on_streams<float>(options_for(algorithm, 50, false), ranks, false, 3,
                          [](QuadraticOnDevice<float>& workload) { workload.fails_at = 7; });
      });
      // The others notice that it is gone while it still waits for its streams; whose words come first is the threads'.
      EXPECT_TRUE(what == "a bit has flipped" || (ranks > 1 && what == "another rank is gone")) << what;
    }
  }
}

TEST(DeviceRank, ALossThatIsNoNumberEndsTheRunWithItsUpdate) {
  // The first micro-batch of the third update, long before the run's end and longer before the host reads it.
  TrainingOptions options = options_for(Algorithm::kDdp, 500, false);
  const std::int64_t first = 2 * options.micro_batches_per_round;
  try {
    on_streams<float>(options, 1, false, 3, [&](QuadraticOnDevice<float>& workload) {
      workload.set_loss(first, std::numeric_limits<float>::quiet_NaN());
    });
    FAIL() << "no failure";
  } catch (const Diverged& error) {
    EXPECT_EQ(error.update, 3) << error.what();
  }
}

}  // namespace
}  // namespace accocal
