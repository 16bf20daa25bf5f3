// Is what is slow found and named, is nothing sound accused, and is its cost that of the schedules' closed forms?
#include "sim/evidence/inspect.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/base/statistics.hpp"
#include "models/base/text_file.hpp"
#include "models/spec/shipped.hpp"
#include "tests/support/random.hpp"

namespace accosim {
namespace {

double normal(Random& random) {
  return std::sqrt(-2 * std::log(random.uniform(1e-12, 1))) * std::cos(2 * std::numbers::pi * random.uniform(0, 1));
}

/// What ranks differ by where they are sound, spreads of logs: as in the documents that accocal wrote on a machine of
/// two hyperthreads.
struct RankNoise {
  double kernels = 0.04, hosts = 0.1, links = 0.02;
};

/// One sample of every rank, whose runs scatter by `within`.
void add_sample(MachineSamples& samples, const std::string& what, double amount, double time, double between,
                Random& random) {
  constexpr double kWithin = 0.05;
  const double tenth = std::exp(1.2816 * kWithin);
  MachineSample one{
      what, amount, false, Seconds{time}, Seconds{time / tenth}, Seconds{time * tenth}, 20 * samples.ranks};
  for (int rank = 0; rank < samples.ranks; ++rank) {
    one.by_rank.push_back(time * std::exp(between * normal(random)));
    one.by_rank_p10.push_back(one.by_rank.back() / tenth);
    one.by_rank_p90.push_back(one.by_rank.back() * tenth);
  }
  if (what == "micro_batch") one.tokens = 64, one.waited_by_rank.assign(one.by_rank.size(), 0);
  samples.samples.push_back(one);
}

MachineSamples sound_samples(int ranks, Random& random, const RankNoise& noise = {}) {
  MachineSamples samples;
  samples.source = "samples";
  samples.cpu = "a CPU";
  samples.network = "loopback";
  samples.cores = samples.ranks = ranks;
  samples.idle_before = samples.idle_after = 1;
  for (const char* what : {"reduce_scatter", "all_gather", "all_reduce"}) {
    const double passes = what == std::string("all_reduce") ? 2 : 1;
    for (const double bytes : {1024.0, 1e6}) {
      const double time = passes * ((ranks - 1) * 1e-4 + (ranks - 1.0) / ranks * bytes / 25e6);
      samples.samples.push_back({what, bytes, false, Seconds{time}, Seconds{time}, Seconds{time}, 9});
    }
  }
  add_sample(samples, "micro_batch", 1e6, 5e-3, noise.kernels, random);
  for (const auto& [elements, time] : {std::pair(65536.0, 4e-5), {1048576.0, 1e-3}, {4194304.0, 5e-3}}) {
    add_sample(samples, "adamw", elements, time, noise.kernels, random);
    add_sample(samples, "copy", elements, 0.3 * time, noise.kernels, random);
  }
  add_sample(samples, "link", 125000, 5e-3, noise.links, random);
  add_sample(samples, "hand_off_start", 0, 1e-5, noise.hosts, random);
  add_sample(samples, "hand_off_end", 0, 2e-5, noise.hosts, random);
  return samples;
}

bool is_of(const MachineSample& sample, MachinePart part) {
  const bool host = sample.what.starts_with("hand_off"), link = sample.what == "link";
  return part == MachinePart::kHost ? host : part == MachinePart::kLink ? link : !host && !link;
}

/// The document as it would be if that rank's part took so many times as long.
MachineSamples planted(MachineSamples samples, MachinePart part, std::size_t rank, double times) {
  for (MachineSample& sample : samples.samples)
    if (!sample.by_rank.empty() && is_of(sample, part)) {
      for (auto* const all : {&sample.by_rank, &sample.by_rank_p10, &sample.by_rank_p90}) (*all)[rank] *= times;
      sample.median = Seconds{median(sample.by_rank)};
    }
  return samples;
}

std::string accused(const MachineSamples& samples) {
  std::string all;
  for (const Verdict& one : faults_of(inspect_machine(samples, "samples")))
    all += fmt::format("{} of rank {};", name_of(one.part), one.place);
  return all;
}

// Four places of which one is judged, so n = 3 others at 1, 1 and e^0.1: their logs' median is 0, the distances from it
// 0, 0 and 0.1, whose median is 0, so `own` is 0. s^2 = 0.03^2 + 4 * 0.05^2 / (4 + 3), and the limit
// exp(5 s sqrt(1 + pi / 6)). With others at 1, e^0.1 and e^0.2 the distances are 0.1, 0 and 0.1: own = 0.14826.
TEST(Verdicts, TheLimitIsTheOneThatIsWrittenDown) {
  const UsualNoise usual{0.05, 1.05};
  const double around = 1 + std::numbers::pi / 6;
  EXPECT_NEAR(peer_limit({1, 1, std::exp(0.1)}, 0.03, usual),
              std::exp(5 * std::sqrt((0.0009 + 4 * 0.0025 / 7) * around)), 1e-12);
  EXPECT_NEAR(peer_limit({1, std::exp(0.1), std::exp(0.2)}, 0, usual),
              std::exp(5 * std::sqrt((4 * 0.0025 + 3 * 0.14826 * 0.14826) / 7 * around)), 1e-12);
  EXPECT_EQ(peer_limit({1, 1, 1}, 0, {0.001, 1.25}), 1.25);  // exp(5 * 0.001 * ...) is less than what matters
}

TEST(Verdicts, SlowRanksAndLinksAreFoundAndNoOthersAccused) {
  struct Planted {
    MachinePart part;
    double times;
  };
  for (const auto& [part, times] :
       {Planted{MachinePart::kKernels, 3}, Planted{MachinePart::kHost, 3}, Planted{MachinePart::kLink, 2}}) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Random random(seed);
      const int ranks = random.integer(2, 16), slow = random.integer(0, ranks - 1);
      const MachineSamples samples = planted(sound_samples(ranks, random), part, static_cast<std::size_t>(slow), times);
      const std::string expected = fmt::format("{} of rank {};", name_of(part), slow);
      EXPECT_EQ(accused(samples), expected) << seed << ", " << ranks << " ranks";
      found += accused(samples) == expected ? 1 : 0;
    }
    EXPECT_EQ(found, 20) << name_of(part);
  }
}

/// What accocal measured of four ranks on two hyperthreads that others used too, with more noise of that kind.
MachineSamples recorded_samples(Random& random) {
  const std::string path = data_dir() + "/calibration/samples/ranks.json";
  std::string text;
  EXPECT_EQ(read_text_file(path, text), "");
  MachineSamples samples = read_machine_samples(text, path);
  for (MachineSample& one : samples.samples)
    for (std::size_t rank = 0; rank < one.by_rank.size(); ++rank) {
      const double noise = std::exp((one.what == "link" ? RankNoise().links : RankNoise().kernels) * normal(random));
      for (auto* const all : {&one.by_rank, &one.by_rank_p10, &one.by_rank_p90}) (*all)[rank] *= noise;
    }
  return samples;
}

TEST(Verdicts, RecordedRanksAndLinksAreFoundToo) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(200 + seed);
    const MachineSamples samples = recorded_samples(random);
    EXPECT_EQ(accused(samples), "") << seed;
    for (const auto& [part, times] : {std::pair(MachinePart::kKernels, 3.0), {MachinePart::kLink, 2.0}}) {
      const int slow = random.integer(0, samples.ranks - 1);
      EXPECT_EQ(accused(planted(samples, part, static_cast<std::size_t>(slow), times)),
                fmt::format("{} of rank {};", name_of(part), slow))
          << seed;
    }
  }
}

TEST(Verdicts, NoneIsAccusedInSoundDocuments) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(100 + seed);
    EXPECT_EQ(accused(sound_samples(random.integer(2, 64), random)), "") << seed;
  }
}

// 16 runs a rank from 1 / 1.1 to 1.3 times their median: their spread is ln(1.43) / 2.5632, and the median errs by
// 1.2533 times that over sqrt(16). Of 3 others that are alike s^2 = error^2 + 4 * 0.05^2 / 7. With
// its waits of a third of the time a micro-batch errs by (1 / 3) / 4.
TEST(Verdicts, ErrorsComeFromTheRunsAndWaitsOfARank) {
  MachineSamples samples;
  samples.cores = samples.ranks = 4;
  const std::vector<double> ones(4, 1);
  MachineSample one{"micro_batch", 1e6, false, Seconds{1}, Seconds{1}, Seconds{1}, 64, 64, ones};
  one.by_rank_p10.assign(4, 1 / 1.1);
  one.by_rank_p90.assign(4, 1.3);
  one.waited_by_rank.assign(4, 0.5);
  samples.samples = {one};
  const std::vector<Verdict> verdicts = verdicts_of(samples);
  ASSERT_EQ(verdicts.size(), 8U);
  EXPECT_NEAR(verdicts[0].limit, peer_limit({1, 1, 1}, 1.2533 * std::log(1.43) / 2.5632 / 4, {}), 1e-12);
  EXPECT_NEAR(verdicts[4].limit, peer_limit({1, 1, 1}, 1.0 / 12, {}), 1e-12);
  EXPECT_NEAR(verdicts[4].measured, 1.5, 1e-12);
}

// A rank whose core others use runs as fast as before, and waits. Four that wait alike are not held against each other.
TEST(Verdicts, AStolenCoreIsNoSlowKernel) {
  Random random(8);
  MachineSamples samples = sound_samples(4, random);
  MachineSample& micro_batch = *std::ranges::find(samples.samples, "micro_batch", &MachineSample::what);
  micro_batch.waited_by_rank = {0, 0, 0.01, 0};
  EXPECT_EQ(accused(samples), "host of rank 2;");
  EXPECT_NE(faults_of(inspect_machine(samples, "samples"))[0].look_at.find("who else uses its cores"),
            std::string::npos);
  micro_batch.waited_by_rank = {0.01, 0.01, 0.01, 0.012};
  EXPECT_EQ(accused(samples), "");
}

TEST(Verdicts, HandOffsOfRanksThatWaitSayNothing) {
  Random random(9);
  MachineSamples samples = planted(sound_samples(4, random, {0, 0, 0}), MachinePart::kHost, 1, 3);
  EXPECT_EQ(accused(samples), "host of rank 1;");
  std::ranges::find(samples.samples, "micro_batch", &MachineSample::what)->waited_by_rank.assign(4, 5e-3);
  EXPECT_EQ(accused(samples), "");
  EXPECT_TRUE(untold_by(samples).front().starts_with("whether a host is slow: ranks waited 50 %"));
}

// Times in another unit, and ranks by other numbers, are the same machine.
TEST(Verdicts, VerdictsKnowNoUnitAndNoOrder) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    const int ranks = random.integer(2, 12);
    const MachineSamples samples = sound_samples(ranks, random, {0.3, 0.5, 0.2});  // in which some are slow
    MachineSamples other = samples;
    const double unit = random.uniform(0.1, 10);
    for (MachineSample& one : other.samples) {
      for (Seconds* time : {&one.median, &one.p10, &one.p90}) *time = unit * *time;
      for (auto* const all : {&one.by_rank, &one.by_rank_p10, &one.by_rank_p90}) {
        for (double& time : *all) time *= unit;
        std::ranges::reverse(*all);
      }
    }
    std::vector<Verdict> verdicts = verdicts_of(samples), others = verdicts_of(other);
    ASSERT_EQ(verdicts.size(), others.size());
    for (const Verdict& one : verdicts) {
      const auto same = std::ranges::find_if(others, [&](const Verdict& each) {
        return each.what == one.what && each.place == static_cast<std::size_t>(ranks) - 1 - one.place;
      });
      ASSERT_NE(same, others.end());
      EXPECT_NEAR(same->times, one.times, 1e-9 * one.times);
      EXPECT_NEAR(same->limit, one.limit, 1e-9 * one.limit);
    }
  }
}

// Against the rate that was set: payload of 20 MB/s, and every link takes 10 ms for 125 kB, which is 12.5 MB/s: 1.6
// times as slow as it should be, though all are alike.
TEST(Verdicts, LinksThatAreAllSlowAreHeldAgainstTheirRate) {
  Random random(3);
  MachineSamples samples = sound_samples(4, random, {0, 0, 0});
  samples.network = "netns";
  samples.rates = {21e6, 21e6, 21e6, 21e6};
  samples.payloads = {20e6, 20e6, 20e6, 20e6};
  for (MachineSample& one : samples.samples)
    if (one.what == "link") one.by_rank = one.by_rank_p10 = one.by_rank_p90 = {0.01, 0.01, 0.01, 0.01};
  int slow = 0;
  for (const Verdict& one : verdicts_of(samples)) {
    if (one.part != MachinePart::kLink) continue;
    EXPECT_NEAR(one.times, 1.6, 1e-9);
    slow += one.slow() ? 1 : 0;
  }
  EXPECT_EQ(slow, 4);
}

TEST(Verdicts, AnOlderDocumentSaysWhatItCannotTell) {
  Random random(4);
  MachineSamples samples = sound_samples(3, random);
  std::erase_if(samples.samples, [](const MachineSample& one) { return one.what == "link"; });
  for (MachineSample& one : samples.samples) one.by_rank.clear();
  const InspectedMachine machine = inspect_machine(samples, "samples");
  EXPECT_TRUE(machine.verdicts.empty());
  ASSERT_EQ(machine.untold.size(), 2U);
  EXPECT_NE(machine.untold[0].find("no rank's kernels or host"), std::string::npos);
  EXPECT_NE(machine.untold[1].find("no link"), std::string::npos);
}

// zero1 of two micro-batches t takes 2 t + T, T being its communication and optimizer, which a slow rank's passes do
// not change: 2 * 3 t + T where they take three times as long, so it costs 4 t. Its hand-offs take 30 us, three times
// of that costs one rank 60 us, once a step.
TEST(Inspect, CostsAreThoseOfTheClosedForm) {
  Random random(5);
  const MachineSamples sound = sound_samples(4, random, {0, 0, 0});
  MachineSamples kernels = sound;
  for (MachineSample& one : kernels.samples)
    if (one.what == "micro_batch") one.by_rank[2] *= 3;
  const InspectedMachine slow = inspect_machine(kernels, "samples");
  ASSERT_EQ(slow.steps.size(), 2U);
  EXPECT_NEAR((slow.steps[0].measured - slow.steps[0].sound).value, 4 * 5e-3, 1e-6);
  const InspectedMachine late = inspect_machine(planted(sound, MachinePart::kHost, 1, 3), "samples");
  ASSERT_EQ(faults_of(late).size(), 1U);
  EXPECT_NEAR(faults_of(late)[0].cost.value_or(Seconds{0}).value, 60e-6, 1e-7);
}

// A ring is as fast as its slowest link. The collectives of the document reach R over it; mended, all links reach 2 R.
// A reduce-scatter and an all-gather of S bytes send 2 (n - 1) / n S over each link: that much over 2 R is saved.
TEST(Inspect, ASlowLinkCostsWhatTheRingWaitsForIt) {
  Random random(6);
  const MachineSamples samples = planted(sound_samples(4, random, {0, 0, 0}), MachinePart::kLink, 2, 2);
  const InspectedMachine machine = inspect_machine(samples, "samples");
  const double reached = fit_machine(samples).unlimited.value, bytes = 4 * 1e6;
  ASSERT_FALSE(machine.steps.empty());
  EXPECT_NEAR((machine.steps[0].measured - machine.steps[0].sound).value, 2 * 0.75 * bytes / (2 * reached), 1e-4);
}

}  // namespace
}  // namespace accosim
