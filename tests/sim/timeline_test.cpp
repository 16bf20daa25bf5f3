// Does a timeline show what was played: spans that are known by hand, folded ranks, the critical path, and
// communication that is exposed exactly where a result says so?
#include "sim/explain/timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "models/read/load.hpp"
#include "sim/evaluation/stretches.hpp"
#include "sim/evidence/measured_timeline.hpp"
#include "sim/explain/breakdown.hpp"
#include "sim/explain/memory_bars.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

SteadyPlay steady(const Scenario& scenario, const ScheduleSpec& spec) {
  return play_steady(scenario, spec, scenario.training.gradient_accumulation_steps, NetworkKind::kReference,
                     Keep::kAll);
}

double sum_of(const TimelineRank& rank, Activity activity) {
  double sum = 0;
  for (const TimelineLane& lane : rank.lanes)
    for (const TimelineSpan& span : lane.spans)
      if (span.activity == activity) sum += span.end - span.begin;
  return sum;
}

double critical_of(const ScheduleTimeline& timeline) {
  double sum = 0;
  for (const TimelineRank& rank : timeline.ranks)
    for (const TimelineLane& lane : rank.lanes) sum += length(lane.critical);
  return sum;
}

double part_of(const UpdateBreakdown& breakdown, TimeUse use) {
  return breakdown.parts[static_cast<std::size_t>(use)].value;
}

void expect_to_add_up(const UpdateBreakdown& breakdown, const std::string& what) {
  const double sum = sum_of<double>(breakdown.parts, &Seconds::value);
  EXPECT_NEAR(sum / breakdown.update_time.value, 1, 1e-9) << what;
}

TEST(Timeline, OfSerialZero1IsItsPartsOneAfterTheOther) {
  // Four micro-batches of f + b on the compute lane; then T_rs on the communication lane, O / N on the compute lane and
  // T_ag, all of which nothing hides. (The count of samples is not sent where all have as many.)
  const Scenario scenario = sample_scenario(2, 4);
  const ScheduleSpec& spec = scenario.schedules[0];
  const SteadyPlay play = steady(scenario, spec);
  const ScheduleTimeline timeline = timeline_of(spec, play, {});
  const ScheduleInput input{spec, play.costs, play.costs->kinds[0], 4, 1};
  const double f = input.kind.forward.value, b = input.kind.backward.value, t = 4 * (f + b);
  const double rs =
      request_time(play.costs, {CollectiveKind::kReduceScatter, play.costs->gradient_bytes(play.costs->kinds[0])})
          .value;
  const double ag =
      request_time(play.costs, {CollectiveKind::kAllGather, play.costs->parameter_bytes(play.costs->kinds[0])}).value;
  const double o = shard_optimizer_time(input).value;
  EXPECT_NEAR(timeline.length.value, t + rs + o + ag, 1e-9);
  EXPECT_FALSE(timeline.cut);
  ASSERT_EQ(timeline.ranks.size(), 1U);
  const TimelineRank& rank = timeline.ranks[0];
  EXPECT_EQ(rank.alike, 8);
  ASSERT_EQ(rank.lanes.size(), 2U);
  EXPECT_EQ(rank.lanes[0].name, "compute");
  const std::vector<TimelineSpan>& compute = rank.lanes[0].spans;
  ASSERT_EQ(compute.size(), 9U);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(compute[2 * i].activity, Activity::kForward);
    EXPECT_EQ(compute[2 * i + 1].activity, Activity::kBackward);
    EXPECT_NEAR(compute[2 * i].begin, i * (f + b), 1e-9);
    EXPECT_NEAR(compute[2 * i].end, i * (f + b) + f, 1e-9);
    EXPECT_NEAR(compute[2 * i + 1].end, (i + 1) * (f + b), 1e-9);
  }
  EXPECT_EQ(compute[8].activity, Activity::kOptimizer);
  EXPECT_NEAR(compute[8].begin, t + rs, 1e-9);
  const std::vector<TimelineSpan>& sent = rank.lanes[1].spans;
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(timeline.labels[sent[0].label], "reduce-scatter");
  EXPECT_EQ(sent[0].activity, Activity::kExposedCommunication);
  EXPECT_NEAR(sent[0].begin, t, 1e-9);
  EXPECT_NEAR(sent[0].end, t + rs, 1e-9);
  EXPECT_EQ(timeline.labels[sent[1].label], "all-gather");
  EXPECT_NEAR(sent[1].end, timeline.length.value, 1e-9);
  // Everything is on the critical path, and the update ends with the picture.
  EXPECT_NEAR(critical_of(timeline), timeline.length.value, 1e-9);
  ASSERT_EQ(rank.updates.size(), 1U);
  EXPECT_NEAR(rank.updates[0], timeline.length.value, 1e-9);
}

TEST(Timeline, AccoHidesItsCommunicationAndMarksItsRounds) {
  const Scenario scenario = sample_scenario(2, 4);
  const ScheduleSpec& spec = scenario.schedules[3];
  const ScheduleTimeline timeline = timeline_of(spec, steady(scenario, spec), {});
  ASSERT_EQ(timeline.ranks.size(), 1U);
  EXPECT_EQ(timeline.ranks[0].rounds.size(), 1U);
  EXPECT_EQ(timeline.ranks[0].updates.size(), 1U);
  EXPECT_GT(sum_of(timeline.ranks[0], Activity::kHiddenCommunication), 0);
}

TEST(Timeline, ExposedCommunicationAndPartsAreThoseOfTheResult) {
  for (int seed = 0; seed < cases(30); ++seed) {
    Random random(seed);
    Scenario scenario = random_homogeneous(random);
    if (seed % 2 == 1) scenario.cluster.nodes[0].devices.back().slowdown = random.uniform(1, 5);
    for (const ScheduleSpec& spec : scenario.schedules) {
      const SteadyPlay play = steady(scenario, spec);
      const RunResult result = run_schedule(scenario, spec, NetworkKind::kReference);
      const UpdateBreakdown breakdown = breakdown_of(play, result);
      expect_to_add_up(breakdown, spec.label + std::to_string(seed));
      const double update = result.update_time.value, exposed = part_of(breakdown, TimeUse::kExposedCommunication);
      EXPECT_NEAR(exposed / update, result.exposed_communication.value / update, 1e-9);
      EXPECT_NEAR((exposed + part_of(breakdown, TimeUse::kWaiting)) / update, result.gpu_idle_fraction, 1e-9);
      if (seed % 2 == 1) continue;
      // Identical ranks: the picture of one steady period holds what the result is the mean of.
      const ScheduleTimeline timeline = timeline_of(spec, play, {});
      ASSERT_EQ(timeline.ranks.size(), 1U);
      const auto updates = static_cast<double>(timeline.ranks[0].updates.size()) * timeline.updates_per_mark;
      EXPECT_NEAR(sum_of(timeline.ranks[0], Activity::kExposedCommunication) / updates / update,
                  result.exposed_communication.value / update, 1e-9)
          << spec.label << seed;
      EXPECT_NEAR(timeline.length.value / updates / update, 1, 1e-9);
      EXPECT_NEAR(critical_of(timeline) / timeline.length.value, 1, 1e-6);
    }
  }
}

TEST(Breakdown, APauseIsIdleButForWhatOthersComputeMeanwhile) {
  // Rank 0 is away for ten updates' time once in a hundred. Under zero1 all wait for it; under ACCO they accumulate.
  Scenario scenario = sample_scenario(1, 4);
  const Seconds update = steady(scenario, scenario.schedules[0]).measured.update_time;
  const Pause pause{.name = "evaluation", .ranks = {0}, .every_updates = 100, .duration = 10 * update};
  scenario.training.unsteady.pauses = {pause};
  for (const ScheduleSpec& spec : {scenario.schedules[0], scenario.schedules[3]}) {
    const RunResult result = run_schedule(scenario, spec, NetworkKind::kReference);
    const UpdateBreakdown breakdown = breakdown_of(steady(scenario, spec), result);
    expect_to_add_up(breakdown, spec.label);
    const double whole = result.update_time.value, paused = part_of(breakdown, TimeUse::kPauses);
    const double idle =
        part_of(breakdown, TimeUse::kExposedCommunication) + part_of(breakdown, TimeUse::kWaiting) + paused;
    EXPECT_NEAR(idle / whole, result.gpu_idle_fraction, 1e-9) << spec.label;
    EXPECT_GT(paused, 0) << spec.label;
    if (spec.name == "zero1") {
      EXPECT_NEAR(paused, 10 * update.value / 100, 1e-6 * whole);
    }
  }
}

TEST(Timeline, SpansOfALaneFollowEachOtherAndStayInside) {
  for (int seed = 0; seed < cases(10); ++seed) {
    Random random(seed);
    Scenario scenario = random_homogeneous(random);
    scenario.cluster.nodes[0].devices.back().slowdown = random.uniform(1, 5);
    std::vector<int> indices(scenario.schedules.size());
    std::iota(indices.begin(), indices.end(), 0);
    const std::vector<RunResult> results = compare(scenario, indices, NetworkKind::kReference);
    for (const int updates : {0, 1, 3})
      for (const ScheduleTimeline& timeline :
           timelines_of(scenario, indices, results, {.updates = updates}, NetworkKind::kReference)) {
        int ranks = timeline.left_out;
        for (const TimelineRank& rank : timeline.ranks) {
          ranks += rank.alike;
          for (const TimelineLane& lane : rank.lanes) {
            double at = 0;
            for (const TimelineSpan& span : lane.spans) {
              EXPECT_GE(span.begin, at - 1e-9 * timeline.length.value) << timeline.label << seed;
              EXPECT_GT(span.end, span.begin);
              at = span.end;
            }
            EXPECT_LE(at, timeline.length.value * (1 + 1e-9));
          }
          // No rank has stopped: each computes or waits until the picture ends, or ended its own update just before.
          double end = 0;
          for (const TimelineLane& lane : rank.lanes) end = std::max(end, lane.spans.back().end);
          EXPECT_NEAR(end, timeline.length.value, 1e-6 * timeline.length.value) << timeline.label << seed;
        }
        EXPECT_EQ(ranks, results[0].rank_count());
      }
  }
}

TEST(Timeline, RanksThatLookAlikeAreOneAndTheOthersStay) {
  Scenario scenario = sample_scenario(1, 8);
  scenario.cluster.nodes[0].devices[5].slowdown = 2;
  const ScheduleSpec& spec = scenario.schedules[0];
  const SteadyPlay play = steady(scenario, spec);
  const ScheduleTimeline timeline = timeline_of(spec, play, {});
  ASSERT_EQ(timeline.ranks.size(), 2U);
  EXPECT_EQ(timeline.ranks[0].rank, 0);
  EXPECT_EQ(timeline.ranks[0].alike, 7);
  EXPECT_EQ(timeline.ranks[1].rank, 5);
  EXPECT_EQ(timeline.ranks[1].alike, 1);
  // The fast ones wait for the slow one as long as it computes longer: 4 (f + b) of theirs.
  const Seconds t = play.costs->kinds[0].forward + play.costs->kinds[0].backward;
  EXPECT_NEAR(sum_of(timeline.ranks[0], Activity::kWaiting), 4 * t.value, 1e-6 * t.value);
  EXPECT_EQ(sum_of(timeline.ranks[1], Activity::kWaiting), 0);
  // Where there is room for one only, it is the one that decides.
  const ScheduleTimeline one = timeline_of(spec, play, {.ranks = 1});
  ASSERT_EQ(one.ranks.size(), 1U);
  EXPECT_EQ(one.ranks[0].rank, 5);
  EXPECT_EQ(one.left_out, 7);
}

TEST(Timeline, OfManyInnerUpdatesShowsTheEndOfAPhase) {
  Scenario scenario = sample_scenario(2, 4);
  scenario.schedules = {sample_schedule("zero1"), sample_schedule("diloco")};
  scenario.schedules[1].inner_updates = 50;
  const std::vector<RunResult> results = compare(scenario, {0, 1}, NetworkKind::kReference);
  const std::vector<ScheduleTimeline> timelines = timelines_of(scenario, {0, 1}, results, {}, NetworkKind::kReference);
  const ScheduleTimeline& diloco = timelines[1];
  EXPECT_TRUE(diloco.cut);
  EXPECT_EQ(diloco.updates_per_mark, 50);
  EXPECT_NEAR(diloco.length.value,
              std::max(2 * std::max(results[0].update_time, results[1].update_time), 4 * results[1].update_time).value,
              1e-9);
  // The exchange, which ends the phase, is in it.
  EXPECT_GT(sum_of(diloco.ranks[0], Activity::kExposedCommunication), 0);
  ASSERT_EQ(diloco.ranks[0].updates.size(), 1U);
  EXPECT_NEAR(diloco.ranks[0].updates[0], diloco.length.value, 1e-9);
  // So many as asked for, be it a whole phase.
  const ScheduleTimeline whole = timelines_of(scenario, {1}, {results[1]}, {.updates = 50}, NetworkKind::kReference)[0];
  EXPECT_FALSE(whole.cut);
  EXPECT_NEAR(whole.length.value, 50 * results[1].update_time.value, 1e-9);
}

TEST(Timeline, WhatIsShorterThanAPixelIsDrawnTogether) {
  // Ten of 1 s each with an optimizer's 0.5 s between; blocks of at most 4 s.
  std::vector<TimelineSpan> spans;
  for (int i = 0; i < 10; ++i) {
    spans.push_back({Activity::kForward, 1, 1.5 * i, 1.5 * i + 1, 1});
    spans.push_back({Activity::kOptimizer, 2, 1.5 * i + 1, 1.5 * i + 1.5, 1});
  }
  spans.push_back({Activity::kCopy, 3, 15, 25, 1});
  spans.push_back({Activity::kHost, 4, 40, 40.1, 1});
  const std::vector<TimelineSpan> drawn = aggregated(spans, 4);
  // 0 to 4 (5 spans: forward, optimizer, forward, optimizer, forward), 4 to 7.5 or less, ..., then 15 to 25 by itself.
  ASSERT_GE(drawn.size(), 3U);
  EXPECT_EQ(drawn.front().count, 5);
  EXPECT_EQ(drawn.front().activity, Activity::kForward);
  EXPECT_EQ(drawn.front().end, 4);
  std::int64_t count = 0;
  double at = 0;
  for (const TimelineSpan& span : drawn) {
    EXPECT_GE(span.begin, at);
    if (span.activity != Activity::kCopy) {
      EXPECT_LE(span.end - span.begin, 4);
    }
    at = span.end;
    count += span.count;
  }
  EXPECT_EQ(count, 22);
  EXPECT_EQ(drawn.back().begin, 40);
  // What is long enough stays as it is.
  EXPECT_EQ(aggregated(spans, 0.01).size(), spans.size());
}

TEST(MemoryBars, AreTheResultsPartsAndIntervals) {
  const Scenario scenario = sample_scenario(1, 4);
  const RunResult result = run_schedule(scenario, scenario.schedules[3], NetworkKind::kReference);
  const std::vector<MemoryBar> bars = memory_bars({result, result});
  ASSERT_EQ(bars.size(), 2U);
  EXPECT_EQ(bars[0].ranks, 4);
  EXPECT_EQ(bars[0].parts.total(), result.memory_resident);
  EXPECT_EQ(bars[0].low, result.memory_resident_low);
  EXPECT_EQ(bars[0].high, result.memory_resident_high);
  EXPECT_EQ(bars[0].capacity, result.memory_capacity);
}

TEST(Stretches, MergeClipAndMeetByHand) {
  const Stretches merged_once = merged({{3, 5}, {0, 2}, {1, 2.5}, {9, 12}, {7, 7}}, 1, 10);
  EXPECT_EQ(merged_once, (Stretches{{1, 2.5}, {3, 5}, {9, 10}}));
  EXPECT_DOUBLE_EQ(length(merged_once), 4.5);
  EXPECT_DOUBLE_EQ(common(merged_once, {{2, 4}, {9.5, 20}}), 0.5 + 1 + 0.5);
}

// Do a measured run and its prediction come out as timelines that lie under each other?

MeasuredRun three_updates() {
  MeasuredRun run;
  run.algorithm = "zero1";
  run.ranks = 1;
  run.updates = {{Seconds{2}, 1}, {Seconds{3}, 1}, {Seconds{4}, 1}};
  run.spans = {{0, false, "micro-batch", Seconds{0}, Seconds{1}},   {0, true, "optimizer", Seconds{1}, Seconds{2}},
               {0, false, "micro-batch", Seconds{2}, Seconds{4}},   {0, true, "optimizer", Seconds{4}, Seconds{5}},
               {0, false, "micro-batch", Seconds{5}, Seconds{8.5}}, {0, true, "optimizer", Seconds{8.5}, Seconds{9}}};
  return run;
}

TEST(MeasuredTimeline, BeginsWithTheUpdateThatIsAskedFor) {
  // The second update runs from 2 s to 5 s.
  const Timeline line = measured_timeline(three_updates(), 1, 1);
  ASSERT_EQ(line.spans.size(), 2u);
  EXPECT_EQ(line.graph.labels[line.spans[0].label].name, "micro-batch");
  EXPECT_DOUBLE_EQ(line.spans[0].begin.value, 0);
  EXPECT_DOUBLE_EQ(line.spans[0].end.value, 2);
  EXPECT_EQ(line.spans[1].lane, 1);
  EXPECT_DOUBLE_EQ(line.spans[1].end.value, 3);
}

TEST(MeasuredTimeline, ThePredictionShowsTheSameUpdates) {
  // One rank: micro-batches of 30 ms, two an update; AdamW 1 us x 1000. Updates of 61 ms; two of them from the third
  // on.
  const Scratch scratch;
  const Scenario scenario = load_scenario(scratch.write("s.json", R"({"schema": "accosim.scenario/1",
    "model": {"model_type": "measured", "parameters": 1000, "micro_batch_time": "30 ms"},
    "cluster": {"schema": "accosim.cluster/1", "nodes": [{"gpus": 1,
      "device": {"schema": "accosim.device/1", "peak": {"fp32": "1 TFLOP/s"}, "gemm_efficiency": 0.5,
        "flash_attention_efficiency": 0.5, "memory_bandwidth": "10 GB/s", "memory_efficiency": 1, "memory": "8 GiB",
        "launch_interval": "0 s", "adamw_time_per_parameter": "1 us"}}]},
    "training": {"sequence_length": 1, "micro_batch_size": 1, "train_tokens": 1e6, "precision": "fp32",
      "gradient_accumulation_steps": 2, "interference": false}, "schedules": [{"name": "zero1"}]})"),
                                          {})
                                .scenario;
  const Timeline line = predicted_timeline(scenario, scenario.schedules[0], 2, 2, NetworkKind::kReference);
  double end = 0;
  for (const Span& span : line.spans) {
    EXPECT_GE(span.begin.value, -1e-12);
    EXPECT_EQ(span.repeat, 1);
    end = std::max(end, span.end.value);
  }
  EXPECT_NEAR(end, 0.122, 1e-9);
  // Parts go by their measured names: forward and backward are a micro-batch.
  const std::vector<TimelinePart> parts = compare_parts(measured_timeline(three_updates(), 0, 3), line);
  ASSERT_EQ(parts[0].name, "micro-batch");
  EXPECT_EQ(parts[0].measured_count, 3);
  EXPECT_EQ(parts[0].predicted_count, 4);
  EXPECT_NEAR(parts[0].measured.value, 6.5 / 3, 1e-12);
  EXPECT_NEAR(parts[0].predicted.value, 0.030, 1e-12);
  EXPECT_EQ(parts[1].name, "optimizer");
  EXPECT_NEAR(parts[1].predicted.value, 0.001, 1e-12);
}

}  // namespace
}  // namespace accosim
