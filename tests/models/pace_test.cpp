// Are micro-batches drawn as the training says: as long as their longest sequence, as late as the jitter, as slow as a
// GPU is at that time?
#include "models/price/pace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/base/draws.hpp"
#include "models/price/layer_time.hpp"
#include "models/price/price.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

/// Of one kind of rank whose times grow with the tokens: twice as long forward, four times backward.
Pace pace_of(const Unsteady& unsteady, int sequences = 4, int sequence_length = 512) {
  Pace pace{.unsteady = unsteady,
            .below = cumulative_shares(unsteady.lengths.weights()),
            .sequence_length = sequence_length,
            .micro_batch_size = {sequences}};
  const Flops full{1e12};
  pace.lengths = {{{sequence_length / 2, 0.5, 0.25, 0.5 * full, 0.5 * full}, {sequence_length, 1, 1, full, full}}};
  return pace;
}

TEST(Pace, WithoutDrawsEveryMicroBatchIsFull) {
  const MicroBatch one = micro_batch_of(pace_of({}), 0, 3, 7);
  EXPECT_EQ(one.forward, 1);
  EXPECT_EQ(one.backward, 1);
  EXPECT_EQ(one.tokens, 4 * 512);
  EXPECT_EQ(one.padded, 4 * 512);
  EXPECT_EQ(one.model_flops.value, 1e12);
}

TEST(Pace, TheTimeOfAMicroBatchIsThatOfItsPaddedLength) {
  // One length: 384 tokens, halfway between 256 and 512. Forward (0.5 + 1) / 2, backward (0.25 + 1) / 2.
  Unsteady unsteady{.lengths = {.histogram = {{384, 1}}}};
  const MicroBatch one = micro_batch_of(pace_of(unsteady), 0, 0, 0);
  EXPECT_DOUBLE_EQ(one.forward, 0.75);
  EXPECT_DOUBLE_EQ(one.backward, 0.625);
  EXPECT_EQ(one.tokens, 4 * 384);
  EXPECT_EQ(one.padded, 4 * 384);
  EXPECT_DOUBLE_EQ(one.hardware_flops.value, 0.75e12);
  // To a multiple of 250 that is 500; to the whole length 512, of which 384 are tokens.
  unsteady.lengths.multiple = 250;
  EXPECT_EQ(micro_batch_of(pace_of(unsteady), 0, 0, 0).padded, 4 * 500);
  unsteady.lengths.multiple = 300;  // 600, but never above the sequence_length
  EXPECT_EQ(micro_batch_of(pace_of(unsteady), 0, 0, 0).padded, 4 * 512);
  unsteady.lengths.padding = Padding::kSequenceLength;
  const MicroBatch padded = micro_batch_of(pace_of(unsteady), 0, 0, 0);
  EXPECT_EQ(padded.forward, 1);
  EXPECT_EQ(padded.tokens, 4 * 384);
  EXPECT_DOUBLE_EQ(padded.model_flops.value, 0.75e12);
  EXPECT_EQ(padded.hardware_flops.value, 1e12);
}

TEST(Pace, TheShareOfSequencesThatAreCutIsKnown) {
  SequenceLengths lengths;
  EXPECT_EQ(share_cut(lengths, 512), 0);
  lengths.histogram = {{100, 1}, {512, 1}, {513, 2}};
  EXPECT_DOUBLE_EQ(share_cut(lengths, 512), 0.5);
  EXPECT_DOUBLE_EQ(share_cut(lengths, 64), 1);
  // Of a lognormal with mean m and cv 1, ln X is normal with variance ln 2 and mean ln m - ln 2 / 2: the median is
  // m / sqrt(2), above which one half is.
  lengths.histogram.clear();
  lengths.mean = 512 * std::sqrt(2);
  lengths.cv = 1;
  EXPECT_NEAR(share_cut(lengths, 512), 0.5, 1e-6);
  lengths.cv = 0;
  EXPECT_EQ(share_cut(lengths, 512), 1);
  EXPECT_EQ(share_cut(lengths, 1024), 0);
}

TEST(Pace, TheTokensOfAMeanSequenceAreThoseAfterTheCut) {
  SequenceLengths lengths;
  EXPECT_EQ(mean_length(lengths, 512), 512) << "nothing is said of lengths";
  lengths.histogram = {{100, 1}, {512, 1}, {600, 2}};
  EXPECT_DOUBLE_EQ(mean_length(lengths, 512), (100 + 3 * 512) / 4.0);
  // Of a lognormal the mean of its quantiles, each cut: the middles of a million equal shares.
  lengths.histogram.clear();
  for (const double mean : {200.0, 512.0, 1500.0})
    for (const double cv : {0.3, 1.0}) {
      lengths.mean = mean;
      lengths.cv = cv;
      constexpr int kShares = 1'000'000;
      double sum = 0;
      for (int i = 0; i < kShares; ++i) sum += std::min(512.0, mean * lognormal_quantile(cv, (i + 0.5) / kShares));
      EXPECT_NEAR(mean_length(lengths, 512) / (sum / kShares), 1, 1e-5) << mean << " " << cv;
    }
  lengths.cv = 0;
  EXPECT_EQ(mean_length(lengths, 512), 512) << "all are longer";
  lengths.padding = Padding::kPacked;
  lengths.mean = 100;
  EXPECT_EQ(mean_length(lengths, 512), 512) << "rows are full";
}

TEST(Pace, PackedRowsAreFull) {
  Unsteady unsteady{.lengths = {.histogram = {{100, 1}, {300, 2}}, .padding = Padding::kPacked}};
  EXPECT_FALSE(unsteady.drawn());
  EXPECT_EQ(micro_batch_of(pace_of(unsteady), 0, 0, 0).tokens, 4 * 512);
}

/// The sum over lengths l of padded(l) (F(l)^b - F(l-)^b), F the distribution of the lengths, b the sequences.
double mean_padded_length(const SequenceLengths& lengths, int sequence_length, int sequences) {
  double all = 0, below = 0, mean = 0;
  for (const auto& bar : lengths.histogram) all += bar.weight;
  for (const auto& bar : lengths.histogram) {
    const double up_to = below + bar.weight / all;
    const int padded = (bar.tokens + lengths.multiple - 1) / lengths.multiple * lengths.multiple;
    mean += std::min(padded, sequence_length) * (std::pow(up_to, sequences) - std::pow(below, sequences));
    below = up_to;
  }
  return mean;
}

TEST(Pace, TheMeanPaddedLengthIsThatOfTheLongestOfTheMicroBatch) {
  // Of b draws from 100 (a half) and 200, the longest is 100 with probability 2^-b: the mean is 200 - 100 / 2^b.
  SequenceLengths two{.histogram = {{100, 3}, {200, 3}}};
  EXPECT_DOUBLE_EQ(mean_padded_length(two, 512, 1), 150);
  EXPECT_DOUBLE_EQ(mean_padded_length(two, 512, 4), 193.75);
  EXPECT_DOUBLE_EQ(mean_padded_length(two, 150, 1), 125);  // cut

  Random random(3);
  for (int trial = 0; trial < 10; ++trial) {
    Unsteady unsteady{.seed = static_cast<std::uint64_t>(trial)};
    int tokens = 0;
    for (int bar = random.integer(1, 12); bar > 0; --bar) {
      tokens += random.integer(1, 60);
      unsteady.lengths.histogram.push_back({tokens, random.uniform(0.1, 2)});
    }
    unsteady.lengths.multiple = random.integer(1, 16);
    const int sequences = random.integer(1, 9);
    const Pace pace = pace_of(unsteady, sequences);
    constexpr int kDraws = 4000;
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double padded = micro_batch_of(pace, 0, i % 3, i / 3).padded / sequences;
      sum += padded;
      squares += padded * padded;
    }
    const double mean = sum / kDraws, error = std::sqrt(std::max(0.0, squares / kDraws - mean * mean) / kDraws);
    EXPECT_NEAR(mean, mean_padded_length(unsteady.lengths, 512, sequences), 3.5 * error + 1e-9) << trial;
  }
}

TEST(Pace, JitterHasMeanOneAndTheSpreadThatWasGiven) {
  for (const Distribution distribution :
       {Distribution::kLognormal, Distribution::kNormal, Distribution::kExponential}) {
    const Pace pace = pace_of(Unsteady{.jitter = {0.2, 0, distribution}});
    constexpr int kDraws = 20'000;
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double factor = micro_batch_of(pace, 0, i % 7, i / 7).forward;
      EXPECT_GT(factor, 0);
      sum += factor;
      squares += factor * factor;
    }
    // Standard errors: of the mean 0.2 / sqrt(n) = 0.0014; of the deviation at most sqrt(2) times that for an
    // exponential one.
    const double mean = sum / kDraws;
    EXPECT_NEAR(mean, 1, 4 * 0.0014) << name_of(distribution);
    EXPECT_NEAR(std::sqrt(squares / kDraws - mean * mean), 0.2, 4 * 0.002) << name_of(distribution);
  }
}

TEST(Pace, AGpuKeepsItsFactor) {
  const Pace pace = pace_of(Unsteady{.jitter = {.gpu = 0.1}});
  double sum = 0;
  constexpr int kGpus = 10'000;
  for (int rank = 0; rank < kGpus; ++rank) sum += gpu_factor(pace, rank);
  EXPECT_NEAR(sum / kGpus, 1, 4 * 0.1 / 100);
  EXPECT_NE(gpu_factor(pace, 0), gpu_factor(pace, 1));
}

TEST(Pace, AnOpIsStretchedOnlyWhereItsGpuIsSlow) {
  // Slow by 3 for 2 s, then fast for a long time: a window [a, a + 2] with 0 < a. Work of d seconds that begins at 0
  // ends at d before a; after it, at a + 3 (d - a) while d - a < 2/3; and what is longer has lost 4/3 s.
  Unsteady unsteady{.stragglers = {{Seconds{1e6}, Seconds{2}, 3}}};
  const auto first = [&](std::uint64_t seed) {  // the begin of the first window, from its draw
    return 1e6 * exponential_quantile((uniform_draw(seed, Stream::kSlowFirst, 5, 0) - 2 / (1e6 + 2)) * (1e6 + 2) / 1e6);
  };
  const double a = first(unsteady.seed);
  ASSERT_GT(a, 10);
  const auto end = [&](double begin, double duration) {
    SlowWindows windows(unsteady, 5);
    return windows.end_of(Seconds{begin}, Seconds{duration}).value;
  };
  EXPECT_NEAR(end(0, a / 2), a / 2, 1e-9 * a);
  EXPECT_NEAR(end(a - 1, 1.5), a + 1.5, 1e-9 * a);
  EXPECT_NEAR(end(a - 1, 5), a + 4 + 4.0 / 3, 1e-9 * a);
  EXPECT_NEAR(end(a + 0.5, 0.25), a + 1.25, 1e-9 * a);
}

TEST(Pace, AGpuIsSlowForItsShareOfTheTime) {
  // Mean time between 3 s, each lasting 1 s: a quarter of the time, from the very begin. 400 GPUs over 100 s hold
  // 10,000 windows. In 100 s a GPU does 75 s of work where it is fast, and 25 / 2 where it is slow.
  Unsteady unsteady{.stragglers = {{Seconds{3}, Seconds{1}, 2}}};
  double done = 0, early = 0;
  constexpr int kGpus = 400;
  for (int rank = 0; rank < kGpus; ++rank) {
    SlowWindows windows(unsteady, rank);
    double now = 0;
    int steps = 0;
    while (now < 100) {
      now = windows.end_of(Seconds{now}, Seconds{0.1}).value;
      ++steps;
      if (steps == 1) early += now > 0.1 + 1e-12 ? 1 : 0;
    }
    done += 0.1 * steps;
  }
  EXPECT_NEAR(done / kGpus, 87.5, 0.5);
  // A step of 0.1 s at the begin meets a window with probability 1/4 + 3/4 x 0.1/3.
  EXPECT_NEAR(early / kGpus, 0.275, 4 * std::sqrt(0.275 * 0.725 / kGpus));
}

TEST(Pace, LengthsArePricedAtThemselves) {
  // Every length of the histogram is priced, so nothing is interpolated; and nothing is longer than the longest.
  Scenario scenario = sample_scenario(1, 2);
  scenario.training.unsteady.lengths.histogram = {{128, 1}, {300, 1}};
  const Costs costs = price(scenario, scenario.schedules[0]);
  ASSERT_EQ(costs.pace.lengths.size(), 1U);
  ASSERT_EQ(costs.pace.lengths[0].size(), 2U);
  EXPECT_EQ(costs.kinds[0].workload.sequence_length, 300);
  for (const LengthCost& row : costs.pace.lengths[0]) {
    Scenario shorter = scenario;
    shorter.training.sequence_length = row.tokens;
    shorter.training.unsteady = {};
    const RankKind kind = price(shorter, shorter.schedules[0]).kinds[0];
    EXPECT_NEAR(row.forward * costs.kinds[0].forward.value, kind.forward.value, 1e-12) << row.tokens;
    EXPECT_NEAR(row.backward * costs.kinds[0].backward.value, kind.backward.value, 1e-12) << row.tokens;
    EXPECT_EQ(row.model_flops.value, kind.model_flops.value) << row.tokens;
  }
}

TEST(Pace, SlowedDevicesSharePricesAndKeepTheirTimes) {
  // Each takes exactly its slowdown times as long, layer by layer.
  Scenario scenario = sample_scenario(1, 4);
  for (std::size_t gpu = 0; gpu < 4; ++gpu)
    scenario.cluster.nodes[0].devices[gpu].slowdown = 1 + 0.3 * static_cast<double>(gpu);
  const Costs costs = price(scenario, scenario.schedules[0]);
  ASSERT_EQ(costs.kinds.size(), 4U);
  for (std::size_t k = 0; k < 4; ++k) {
    const double slowdown = 1 + 0.3 * static_cast<double>(k);
    EXPECT_EQ(costs.kinds[k].device.slowdown, slowdown);
    EXPECT_TRUE(costs.kinds[k].bill.is(costs.kinds[0].bill));
    EXPECT_TRUE(costs.kinds[k].layers.is(costs.kinds[0].layers));
    for (std::size_t i = 0; i < costs.kinds[k].times.size(); ++i) {
      const LayerTime &slow = costs.kinds[k].times[i], &fast = costs.kinds[0].times[i];
      EXPECT_EQ(slow.forward.value, slowdown * fast.forward.value);
      EXPECT_EQ(slow.backward.value, slowdown * fast.backward.value);
    }
  }
}

}  // namespace
}  // namespace accosim
