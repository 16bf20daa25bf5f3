// Do a few of many replicas come to what all of them do? Clusters small enough are played both ways, with the same
// draws.
#include "tests/support/sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "models/price/price.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/player/fold.hpp"
#include "sim/player/player.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/played_by_rank.hpp"

namespace accosim {
namespace {

constexpr int kUpdates = 12, kSteps = 4;

/// 128 GPUs, whose micro-batches scatter by a tenth.
Scenario many() {
  Scenario scenario = sample_scenario(16, 8);
  scenario.training.gradient_accumulation_steps = kSteps;
  scenario.training.unsteady.jitter = {0.1, 0, Distribution::kLognormal};
  return scenario;
}

SteadyPlay played(const Scenario& scenario, const ScheduleSpec& spec, Folded (*folded)(EventGraph)) {
  SteadyPlay play{.accumulation_steps = kSteps, .costs = price(scenario, spec), .updates = kUpdates};
  play.folded = folded(build(spec, play.costs, kSteps, kUpdates));
  Recorder recorder(play.folded.graph, kUpdates, Keep::kLastUpdate);
  accosim::play(play.folded.graph, NetworkKind::kReference, [&](const Span& span) { recorder.take(span); });
  play.measured = recorder.measured();
  return play;
}

double idle(const SteadyPlay& play) {
  double sum = 0;
  for (const int of : play.folded.class_of) sum += play.measured.ranks[static_cast<std::size_t>(of)].idle_fraction;
  return sum / static_cast<double>(play.folded.class_of.size());
}

/// The ranks of all are stood for, each once.
void expect_all_stood_for(const Folded& sample, std::size_t ranks) {
  ASSERT_EQ(sample.class_of.size(), ranks);
  std::vector<int> times(sample.graph.ranks.size());
  for (const int of : sample.class_of) ++times.at(static_cast<std::size_t>(of));
  for (std::size_t r = 0; r < times.size(); ++r) EXPECT_EQ(sample.graph.ranks[r].multiplicity, times[r]);
}

TEST(Sample, OfReplicasThatMeetOnceAnUpdateEachUpdateIsExactlyThatOfAll) {
  // Whoever comes last is there: an update is max over 128 ranks of the sum of 4 draws, and then what all do alike.
  Scenario scenario = many();
  const ScheduleSpec spec = sample_schedule({.name = "ddp", .overlap = Overlap::kNone});
  const SteadyPlay all = played(scenario, spec, fold), some = played(scenario, spec, fold_sample);
  EXPECT_EQ(all.folded.graph.ranks.size(), 128U);
  EXPECT_LT(some.folded.graph.ranks.size(), 64U);
  expect_all_stood_for(some.folded, 128);
  ASSERT_EQ(all.measured.durations.size(), some.measured.durations.size());
  for (std::size_t i = 0; i < all.measured.durations.size(); ++i)
    EXPECT_NEAR(some.measured.durations[i].value, all.measured.durations[i].value, 1e-9);
  EXPECT_NEAR(idle(some), idle(all), 0.01);
}

TEST(Sample, OfReplicasThatMeetInEveryMicroBatchTheSlowestOfEachIsPlayed) {
  // The expected maximum of 128 normal draws is 2.64 standard deviations above the mean, that of the 17 which are
  // played 1.79: at a tenth each micro-batch would be 8 % too short if they were but played.
  Scenario scenario = many();
  const ScheduleSpec spec = sample_schedule("zero3");
  const SteadyPlay all = played(scenario, spec, fold), some = played(scenario, spec, fold_sample);
  EXPECT_LE(some.folded.graph.ranks.size(), 17U);
  expect_all_stood_for(some.folded, 128);
  EXPECT_NEAR(some.measured.update_time / all.measured.update_time, 1, kNarrowBand);
  EXPECT_NEAR(idle(some), idle(all), 0.02);
}

TEST(Sample, OfOtherWaysToMeetTheMeanIsThatOfAll) {
  for (const char* const name : {"zero1", "dpu", "acco", "local_sgd", "pipesgd"}) {
    for (const double cv : {0.05, 0.3}) {
      Scenario scenario = many();
      scenario.training.unsteady.jitter.micro_batch = cv;
      const ScheduleSpec spec = sample_schedule({.name = name, .inner_updates = 3});
      const SteadyPlay all = played(scenario, spec, fold), some = played(scenario, spec, fold_sample);
      const std::string what = std::string(name) + " " + std::to_string(cv);
      EXPECT_LT(some.folded.graph.ranks.size(), 110U) << what;
      expect_all_stood_for(some.folded, 128);
      const double band = std::max(kNarrowBand, band_of_mean(all.measured.durations));
      EXPECT_NEAR(some.measured.update_time / all.measured.update_time, 1, band) << what;
      EXPECT_NEAR(idle(some), idle(all), 0.03) << what;
    }
  }
}

TEST(Sample, WhereBatchesGrowTheMeanIsThatOfAllToo) {
  // On a slow network a round goes on until its communication is done: with more draws than the graph tells at least.
  Scenario scenario = many();
  scenario.training.unsteady.jitter.micro_batch = 0.3;
  for (const char* const name : {"acco", "dpu"}) {
    const ScheduleSpec spec = sample_schedule({.name = name, .late_communication = LateCommunication::kAccumulate});
    scenario.cluster.nodes[0].nics.bandwidth = BytesPerSecond{1e9};
    const SteadyPlay all = played(scenario, spec, fold), some = played(scenario, spec, fold_sample);
    EXPECT_GT(all.measured.ranks[0].micro_batches_per_update, 2 * kSteps) << name;
    const double band = std::max(kNarrowBand, band_of_mean(all.measured.durations));
    EXPECT_NEAR(some.measured.update_time / all.measured.update_time, 1, band) << name;
    EXPECT_NEAR(idle(some), idle(all), 0.03) << name;
  }
}

TEST(Sample, HybridShardsAreTeamsThatAreAsSlowAsTheirSlowest) {
  Scenario scenario = many();
  const ScheduleSpec spec = sample_schedule({.name = "zero3", .island = Island::kNode});
  scenario.cluster.nodes[0].count = 40;
  const SteadyPlay all = played(scenario, spec, fold), some = played(scenario, spec, fold_sample);
  EXPECT_LT(some.folded.graph.ranks.size(), all.folded.graph.ranks.size() / 2);
  expect_all_stood_for(some.folded, 320);
  EXPECT_NEAR(some.measured.update_time / all.measured.update_time, 1, kNarrowBand);
}

TEST(Sample, LengthsAreThoseOfAllInTheMean) {
  // The slowest has the longest sequences; the mean is that of the others.
  Scenario scenario = many();
  scenario.training.unsteady.jitter.micro_batch = 0;
  scenario.training.unsteady.lengths = {.histogram = {{128, 1}, {512, 1}}};
  for (const char* const name : {"zero1", "zero3"}) {
    const ScheduleSpec spec = sample_schedule(name);
    const Worked all = worked_per_update(played(scenario, spec, fold)),
                 some = worked_per_update(played(scenario, spec, fold_sample));
    EXPECT_NEAR(some.tokens / all.tokens, 1, 0.02) << name;
    EXPECT_NEAR(some.padded / all.padded, 1, 0.02) << name;
  }
}

TEST(Sample, GpusOfSpeedsOfTheirOwnAreReplicasToo) {
  Scenario scenario = many();
  scenario.training.unsteady.jitter.gpu = 0.05;
  for (const char* const name : {"zero1", "zero3"}) {
    const ScheduleSpec spec = sample_schedule(name);
    const SteadyPlay all = played(scenario, spec, fold), some = played(scenario, spec, fold_sample);
    EXPECT_LT(some.folded.graph.ranks.size(), 64U) << name;
    EXPECT_NEAR(some.measured.update_time / all.measured.update_time, 1, kNarrowBand) << name;
  }
}

TEST(Sample, FewReplicasAndThoseWithSlowSpellsAreAllPlayed) {
  Scenario few = many();
  few.cluster.nodes[0].count = 8;
  const ScheduleSpec spec = sample_schedule("zero1");
  EXPECT_EQ(fold_sample(build(spec, price(few, spec), kSteps, 2)).graph.ranks.size(), 64U);
  Scenario spells = many();
  spells.training.unsteady.stragglers = {{Seconds{10}, Seconds{1}, 2}};
  EXPECT_EQ(fold_sample(build(spec, price(spells, spec), kSteps, 2)).graph.ranks.size(), 128U);
}

TEST(Fold, TheRanksOfAReplicaAreOneThoughMicroBatchesAreDrawn) {
  // Tensors over 2 GPUs and 2 stages: each of 4 replicas has 2 kinds of ranks of 2.
  Scenario scenario = sample_scenario(8, 2);
  scenario.training.parallel.tensor = 2;
  scenario.training.parallel.pipeline = 2;
  scenario.training.unsteady.jitter = {0.1, 0, Distribution::kLognormal};
  for (const char* const name : {"zero1", "acco"}) {
    const ScheduleSpec spec = sample_schedule(name);
    const EventGraph graph = build(spec, price(scenario, spec), kSteps, 3);
    const Folded folded = fold(graph);
    EXPECT_EQ(folded.graph.ranks.size(), 8U) << name;
    for (const NetworkKind network : {NetworkKind::kReference, NetworkKind::kSimgrid})
      expect_same_by_rank(graph, folded, network, name);
  }
}

}  // namespace
}  // namespace accosim
