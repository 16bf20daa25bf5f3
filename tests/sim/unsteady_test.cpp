// What unequal and unsteady micro-batches and pauses cost each schedule, against laws that can be written down.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/base/draws.hpp"
#include "models/base/statistics.hpp"
#include "models/price/layer_time.hpp"
#include "models/price/price.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/groups.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/what_if/what_if.hpp"
#include "tests/support/advised.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/results.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

constexpr NetworkKind kReference = NetworkKind::kReference;

/// `ranks` GPUs of one node, A micro-batches of t an update. Links so fast that communication takes no time worth
/// speaking of.
Scenario ranks_of_one_node(int ranks, int steps) {
  Scenario scenario = sample_scenario(1, ranks);
  scenario.model = sample_model(1, 128);
  scenario.training.gradient_accumulation_steps = steps;
  NodeGroup& nodes = scenario.cluster.nodes[0];
  nodes.intra = {"nvswitch", BytesPerSecond{1e18}, 1, Seconds{1e-12}};
  nodes.micro_batch_size = scenario.training.micro_batch_size = 64;
  for (ScheduleSpec& spec : scenario.schedules) spec.micro_batches_per_round = std::max(1, steps / 2);
  return scenario;
}

/// By its label, which in a sample is its name.
const ScheduleSpec& schedule(const Scenario& scenario, const std::string& label) {
  return *schedule_labelled(scenario, label);
}

/// Updates of one rank in a play of so many, the first few left out.
struct Played {
  double mean = 0, error = 0;  ///< of an update, and the standard error of the mean
};
Played played(const Scenario& scenario, const ScheduleSpec& spec, int updates) {
  const EventGraph graph = build(spec, price(scenario, spec), scenario.training.gradient_accumulation_steps, updates);
  Recorder recorder(graph, static_cast<std::size_t>(updates), Keep::kLastUpdate);
  play(graph, kReference, [&](const Span& span) { recorder.take(span); });
  const Measured measured = recorder.measured();
  double sum = 0, squares = 0;
  for (const Seconds each : measured.durations) {
    sum += each.value;
    squares += each.value * each.value;
  }
  const auto n = static_cast<double>(measured.durations.size());
  return {sum / n, std::sqrt((squares / n - sum / n * sum / n) / n)};
}

/// The mean of the largest of n draws: the integral of the quantile at u^(1/n) over u from 0 to 1.
double mean_of_largest(double (*quantile)(double), int n) {
  constexpr int kSteps = 200'000;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double p = std::pow((i + 0.5) / kSteps, 1.0 / n);
    sum += quantile(std::min(p, 1 - 1e-16)) / kSteps;
  }
  return sum;
}

TEST(Unsteady, TheLargestOfSomeDrawsIsKnown) {
  // Of n exponential ones 1 + 1/2 + ... + 1/n; of two normal ones 1 / sqrt pi.
  EXPECT_NEAR(mean_of_largest(exponential_quantile, 8),
              1 + 1 / 2. + 1 / 3. + 1 / 4. + 1 / 5. + 1 / 6. + 1 / 7. + 1 / 8., 1e-3);
  EXPECT_NEAR(mean_of_largest(normal_quantile, 2), 1 / std::sqrt(std::acos(-1)), 1e-3);
}

TEST(Unsteady, DdpWaitsForTheLatestOfItsRanks) {
  // One micro-batch of t an update and rank, everything else c: an update takes c + t E[max of N draws], where a draw
  // is 1 + cv z, or 1 - cv + cv x with x exponential.
  for (const int ranks : {2, 8, 64, 1024}) {
    Scenario scenario = ranks_of_one_node(ranks, 1);
    const ScheduleSpec& ddp = schedule(scenario, "ddp");
    const double steady = played(scenario, ddp, 8).mean;
    const Costs costs = price(scenario, ddp);
    const double t = (costs.kinds[0].forward + costs.kinds[0].backward).value;
    const int updates = ranks == 1024 ? 60 : 400;
    for (const Distribution distribution : {Distribution::kNormal, Distribution::kExponential}) {
      scenario.training.unsteady.jitter = {0.2, 0, distribution};
      const bool normal = distribution == Distribution::kNormal;
      const double largest = normal ? 1 + 0.2 * mean_of_largest(normal_quantile, ranks)
                                    : 1 - 0.2 + 0.2 * mean_of_largest(exponential_quantile, ranks);
      const Played drawn = played(scenario, ddp, updates);
      EXPECT_NEAR(drawn.mean, steady + t * (largest - 1), 3 * drawn.error) << ranks << name_of(distribution);
      EXPECT_GT(drawn.error, 0);
    }
  }
}

TEST(Unsteady, AccoDoesNotWaitForTheLatest) {
  // Under the same draws ranks go on accumulating until the latest has come, so that none is idle: every rank makes a
  // micro-batch each t on average, whatever the spread, but for its copies.
  Scenario scenario = ranks_of_one_node(8, 8);
  scenario.training.unsteady.jitter = {0.3, 0.1, Distribution::kLognormal};
  const RunResult acco = run_schedule(scenario, schedule(scenario, "acco"), kReference);
  EXPECT_NEAR(acco.gpu_idle_fraction, 0, 1e-3);
  Scenario steady = scenario;
  steady.training.unsteady = {};
  const RunResult before = run_schedule(steady, schedule(scenario, "acco"), kReference);
  double speed = 0;  // mean over the GPUs of 1 / factor: a GPU that takes twice as long makes half as many
  const Costs costs = price(scenario, schedule(scenario, "acco"));
  for (int rank = 0; rank < 8; ++rank) speed += 1 / gpu_factor(costs.pace, rank) / 8;
  EXPECT_NEAR(acco.tokens_per_second / before.tokens_per_second, speed, 0.02);
  // DDP waits for the slowest GPU's draws.
  const RunResult ddp = run_schedule(scenario, schedule(scenario, "ddp"), kReference);
  EXPECT_GT(ddp.gpu_idle_fraction, 0.05);
}

TEST(Unsteady, NoSpreadGivesTheBytesOfBefore) {
  Scenario scenario = sample_scenario(2, 2);
  scenario.training.unsteady.jitter = {0, 0, Distribution::kNormal};
  scenario.training.unsteady.pauses = {};
  const Scenario steady = sample_scenario(2, 2);
  for (std::size_t i = 0; i < scenario.schedules.size(); ++i) {
    const RunResult with = run_schedule(scenario, scenario.schedules[i], kReference);
    const RunResult without = run_schedule(steady, steady.schedules[i], kReference);
    EXPECT_EQ(with.update_time.value, without.update_time.value);
    EXPECT_EQ(with.tokens_per_second, without.tokens_per_second);
    EXPECT_FALSE(with.drawn.has_value());
  }
  // Drawn, but all alike: the same to rounding.
  scenario.training.unsteady.lengths.histogram = {{512, 1}};
  for (std::size_t i = 0; i < scenario.schedules.size(); ++i) {
    const RunResult with = run_schedule(scenario, scenario.schedules[i], kReference);
    const RunResult without = run_schedule(steady, steady.schedules[i], kReference);
    EXPECT_NEAR(with.update_time / without.update_time, 1, 1e-9) << scenario.schedules[i].label;
    EXPECT_NEAR(with.tokens_per_second / without.tokens_per_second, 1, 1e-9);
    EXPECT_NEAR(with.mfu / without.mfu, 1, 1e-9);
    EXPECT_NEAR(with.gpu_idle_fraction, without.gpu_idle_fraction, 1e-3);  // launches of 2 us, seen one by one
  }
}

TEST(Unsteady, EverySeedIsItsOwnAndEachScheduleMeetsTheSameDraws) {
  Scenario scenario = sample_scenario(1, 4);
  scenario.training.unsteady.jitter.micro_batch = 0.2;
  const ScheduleSpec& ddp = schedule(scenario, "ddp");
  const double first = run_schedule(scenario, ddp, kReference).update_time.value;
  EXPECT_EQ(run_schedule(scenario, ddp, kReference).update_time.value, first);
  EXPECT_NE(run_schedule(with_seed(scenario, 1), ddp, kReference).update_time.value, first);
  // DDP and ZeRO-1 differ by what they send and step, not by what they wait for.
  const auto durations = [&](const std::string& name) {
    return play_steady(scenario, schedule(scenario, name), 4, kReference).measured.durations;
  };
  const std::vector<Seconds> one = durations("ddp"), other = durations("zero1");
  for (std::size_t i = 1; i < std::min(one.size(), other.size()); ++i)
    EXPECT_NEAR((one[i] - one[0]).value, (other[i] - other[0]).value, 1e-9);
}

TEST(Unsteady, TokensAreCountedWithAndWithoutTheirPadding) {
  // Two lengths, 128 and 512, equally likely; 4 sequences a micro-batch: 320 tokens in the mean, padded to 512 unless
  // all four are short: 512 - 384 / 16 = 488.
  Scenario scenario = sample_scenario(1, 8);
  scenario.training.unsteady.lengths.histogram = {{128, 1}, {512, 1}};
  const SteadyPlay play = play_steady(scenario, schedule(scenario, "ddp"), 4, kReference);
  const Worked worked = worked_per_update(play);
  const double sequences = samples_per_update(play);
  // Some 1,500 sequences and 370 micro-batches in the play: standard errors of 5 tokens for both.
  EXPECT_NEAR(worked.tokens / sequences, 320, 20);
  EXPECT_NEAR(worked.padded / sequences, 488, 20);
  const RunResult result = run_schedule(scenario, schedule(scenario, "ddp"), kReference);
  EXPECT_DOUBLE_EQ(result.tokens_per_second, worked.tokens / result.update_time.value);
  EXPECT_DOUBLE_EQ(result.tokens_padded_per_second, worked.padded / result.update_time.value);
  EXPECT_NEAR(result.mfu / result.hfu, worked.model_flops / worked.hardware_flops, 1e-9);
}

TEST(Unsteady, SlowSpellsCostDdpTheirShareOfTheTime) {
  // One GPU of two is enough to hold up both. Each is slow by f for 1 s after 9 s on average, which is long beside an
  // update: both are fast for a share 0.9^2 of the time, in which the updates of a fast pair are made, and slow else.
  // So in one second 0.81 + 0.19 / f of a second's updates are made.
  Scenario scenario = ranks_of_one_node(2, 1);
  const ScheduleSpec& ddp = schedule(scenario, "ddp");
  const Costs costs = price(scenario, ddp);
  const double t = (costs.kinds[0].forward + costs.kinds[0].backward).value;
  const double steady = played(scenario, ddp, 8).mean;
  scenario.training.unsteady.stragglers = {{Seconds{900 * t}, Seconds{100 * t}, 3}};
  const double mean = played(scenario, ddp, 60'000).mean;
  const double slow = steady + 2 * t;
  const double expected = 1 / (0.81 / steady + 0.19 / slow);
  EXPECT_NEAR(mean / expected, 1, 0.05);
}

TEST(Unsteady, RareSpellsCostDdpTheirShareOfTheTimeToo) {
  // Each of 8 GPUs is slow by f for 5 min after 2 h on average, thousands of updates: p = 300 / 7500. All are fast for
  // a share (1 - p)^8 = 0.721 of the time, so an update takes 1 / (0.721 + 0.279 / f) as long. Thirty spells are known
  // to a fifth of what they cost; over four seeds to a tenth, which is 1.3 % of the whole. Three times that.
  Scenario scenario = ranks_of_one_node(8, 1);
  const ScheduleSpec& ddp = schedule(scenario, "ddp");
  const Costs costs = price(scenario, ddp);
  const double t = (costs.kinds[0].forward + costs.kinds[0].backward).value;
  const double steady = play_steady(scenario, ddp, 1, kReference).measured.update_time.value;
  const double slow = steady + t;
  const double fast = std::pow(1 - 300.0 / 7500, 8);
  scenario.training.unsteady.stragglers = {{Seconds{7200}, Seconds{300}, 2}};
  double sum = 0;
  constexpr int kSeeds = 4;
  for (int seed = 0; seed < kSeeds; ++seed) {
    scenario.training.unsteady.seed = static_cast<std::uint64_t>(seed);
    const SteadyPlay play = play_steady(scenario, ddp, 1, kReference);
    sum += 1 / play.measured.update_time.value / kSeeds;
    EXPECT_GE(play.spells, 0.9 * kSpellsPlayed);
    EXPECT_EQ(play.costs->pace.unsteady.stragglers, scenario.training.unsteady.stragglers);
  }
  EXPECT_NEAR(sum / (fast / steady + (1 - fast) / slow), 1, 0.04);
}

TEST(Unsteady, SpellsThatNoPlayCanHoldAreTold) {
  // Two GPUs slow for a tenth of an update, each a million updates: a spell cannot be played shorter.
  Scenario scenario = ranks_of_one_node(2, 1);
  const ScheduleSpec& ddp = schedule(scenario, "ddp");
  const double update = play_steady(scenario, ddp, 1, kReference).measured.update_time.value;
  scenario.training.unsteady.stragglers = {{Seconds{1e6 * update}, Seconds{0.1 * update}, 2}};
  const RunResult result = advised(scenario, ddp, kReference);
  EXPECT_TRUE(warns(result, "stragglers_rare"));
}

/// A pause that lasts so long, each so many updates.
Pause pause_each(double updates, double seconds, std::vector<int> ranks = {}) {
  return Pause{.ranks = std::move(ranks), .every_updates = updates, .duration = Seconds{seconds}};
}

/// The pause's cost, of rank 0 for `lasts`.
PauseCost pause_of(Scenario scenario, const ScheduleSpec& spec, double lasts) {
  scenario.training.unsteady.pauses = {pause_each(1000, lasts, {0})};
  return play_steady(scenario, spec, scenario.training.gradient_accumulation_steps, kReference).pauses.at(0);
}

TEST(Pauses, DdpLosesAllOfThem) {
  Scenario scenario = sample_scenario(1, 4);
  for (const char* name : {"ddp", "zero1"}) {
    const PauseCost cost = pause_of(scenario, schedule(scenario, name), 3);
    EXPECT_NEAR(cost.time.value, 3, 3e-6) << name;
    EXPECT_EQ(cost.lasts.value, 3);
    for (const double more : cost.micro_batches) EXPECT_EQ(more, 0);
  }
}

TEST(Pauses, InAccoTheRoundInFlightEndsAndTheOthersAccumulateInTheNext) {
  // Rounds of m micro-batches of t, communication T < m t beside them and swaps s_e after an estimate, s_u after an
  // update. Rank 0 pauses for D when it has swapped after an update, at time 0. The round in flight goes on for the
  // others, who end it at m t + s_e; they then compute n micro-batches until the communication of the next round has
  // ended, which begins when rank 0 has swapped, at D + m t + s_e. So rank 0 swaps again at D + 2 m t + s_e + s_u,
  // which is D later than without the pause, and the others, n = ceil((D + T_u) / t), at m t + s_e + n t + s_u:
  // whichever is later delays all that follow. Three others each do n - m more.
  Scenario scenario = sample_scenario(1, 4);
  const ScheduleSpec& acco = schedule(scenario, "acco");
  const Costs costs = price(scenario, acco);
  const ScheduleInput input{acco, costs, costs.kinds[0], 4, 1};
  const double t = (costs.kinds[0].forward + costs.kinds[0].backward).value;
  const double T = sharded_update_time(input, Round::kUpdate).value, D = 7.3 * t;
  ASSERT_LT(T, t);
  const double n = std::ceil((D + T) / t), m = acco.micro_batches_per_round;
  const PauseCost cost = pause_of(scenario, acco, D);
  EXPECT_NEAR(cost.time.value, std::max(D, (n - m) * t), 1e-6 * cost.time.value);
  ASSERT_EQ(cost.micro_batches.size(), 4U);
  EXPECT_EQ(cost.micro_batches[0], 0);
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(cost.micro_batches[static_cast<std::size_t>(rank)], n - m);
}

TEST(Pauses, TheirCostIsSpreadOverTheUpdatesBetweenThem) {
  Scenario scenario = sample_scenario(1, 4);
  const ScheduleSpec& ddp = schedule(scenario, "ddp");
  const RunResult without = run_schedule(scenario, ddp, kReference);
  const auto with = [&](const Pause& each) {
    Scenario paused = scenario;
    paused.training.unsteady.pauses = {each};
    return run_schedule(paused, ddp, kReference);
  };
  const double update = without.update_time.value;
  EXPECT_NEAR(with(pause_each(40, 2)).update_time.value, update + 2.0 / 40, 1e-9);
  // 16 micro-batches an update on four ranks: 500 of them are 31.25 updates.
  Pause gradients = pause_each(0, 2);
  gradients.every_gradients = 500;
  EXPECT_NEAR(with(gradients).update_time.value, update + 2 / 31.25, 1e-9);
  // Each 20 s, of which 2 s are the pause: 18 s of updates.
  Pause seconds = pause_each(0, 2);
  seconds.every = Seconds{20};
  EXPECT_NEAR(with(seconds).update_time.value, update * 20 / 18, 1e-9);
  EXPECT_NEAR(with(seconds).tokens_per_second, without.tokens_per_second * 18 / 20, 1e-6 * without.tokens_per_second);
}

TEST(Pauses, SlackIsTakenUpOnce) {
  // Pipe-SGD with a delay of 3, whose reductions take longer than its computation b, so that a rank is idle for i of an
  // update b + i. Reductions that wait in line hide a pause of 3 i whole. Two such pauses every 4 updates are 3/2 i an
  // update, and a rank that computes and pauses is idle no more: b + 3/2 i, of which it computes for b.
  Scenario scenario = sample_scenario(2, 4, 20);
  const ScheduleSpec pipe = sample_schedule({.name = "pipesgd", .delay = 3});
  const Measured alone = play_steady(scenario, pipe, 4, kReference).measured;
  const double update = alone.update_time.value, idle = alone.ranks[0].idle_fraction * update, busy = update - idle;
  ASSERT_GT(idle / update, 0.2);
  ASSERT_LT(idle / update, 0.6);
  const Pause pause = pause_each(4, 3 * idle);
  scenario.training.unsteady.pauses = {pause};
  const SteadyPlay one = play_steady(scenario, pipe, 4, kReference);
  EXPECT_NEAR(one.pauses[0].time.value, 0, 1e-9 * update);
  EXPECT_NEAR(one.measured.update_time.value, update, 1e-9 * update);
  scenario.training.unsteady.pauses = {pause, pause};
  const SteadyPlay two = play_steady(scenario, pipe, 4, kReference);
  EXPECT_NEAR(two.measured.update_time.value, busy + 1.5 * idle, 1e-9 * update);
  EXPECT_NEAR((1 - two.measured.ranks[0].idle_fraction) * two.measured.update_time.value, busy, 1e-9 * update);
  // What is lost is told of the pauses that lose it: half of i an update, once in 4.
  EXPECT_NEAR((two.pauses[0].time + two.pauses[1].time).value, 4 * 0.5 * idle, 1e-9 * update);
}

TEST(Pauses, LastAsLongAsOnTheSlowestOfTheirOwnRanks) {
  Scenario scenario = sample_scenario(1, 2);
  scenario.cluster.nodes[0].devices[1].slowdown = 3;
  Pause pause{.every_updates = 100, .sequences = 4};
  const ScheduleSpec& ddp = schedule(scenario, "ddp");
  const double forward = price(scenario, ddp).kinds[0].forward.value;
  const auto lasts = [&](std::vector<int> ranks) {
    pause.ranks = std::move(ranks);
    scenario.training.unsteady.pauses = {pause};
    return play_steady(scenario, ddp, 4, kReference).pauses[0].lasts.value;
  };
  EXPECT_DOUBLE_EQ(lasts({0}), forward);
  EXPECT_DOUBLE_EQ(lasts({1}), 3 * forward);
  EXPECT_DOUBLE_EQ(lasts({}), 3 * forward);
}

TEST(Pauses, ThatComeTooOftenAreSaidToBe) {
  // Once in five micro-batches of 16 an update; or before the last one is over.
  Scenario scenario = sample_scenario(1, 4);
  const auto crowded = [&](const Pause& pause) {
    scenario.training.unsteady.pauses = {pause};
    const RunResult result = advised(scenario, schedule(scenario, "ddp"), kReference);
    EXPECT_EQ(result.pauses[0].crowded, warns(result, "pauses_crowded"));
    return result.pauses[0].crowded;
  };
  Pause often = pause_each(0, 1e-3);
  often.every_gradients = 5;
  EXPECT_TRUE(crowded(often));
  Pause longer = pause_each(0, 10);
  longer.every = Seconds{1};
  EXPECT_TRUE(crowded(longer));
  longer.every = Seconds{100};
  EXPECT_FALSE(crowded(longer));
}

TEST(Pauses, EvaluationAndCheckpointsAreWork) {
  // 10 sequences in micro-batches of 4 are three forward passes; 6 GB at 2 GB/s are 3 s.
  Scenario scenario = sample_scenario(1, 4);
  const Costs costs = price(scenario, schedule(scenario, "ddp"));
  Pause evaluation, checkpoint;
  evaluation.sequences = 10;
  checkpoint.bytes = Bytes{6e9};
  checkpoint.bandwidth = BytesPerSecond{2e9};
  const ScheduleSpec& ddp = schedule(scenario, "ddp");
  EXPECT_DOUBLE_EQ(placed(evaluation, ddp, costs, 0).lasts[0].value, 3 * costs.kinds[0].forward.value);
  EXPECT_DOUBLE_EQ(placed(checkpoint, ddp, costs, 0).lasts[0].value, 3);
}

TEST(Pauses, ShardedParametersAreEvaluatedByAllWhoShareThem) {
  // On links so slow that each unit's all-gather takes far longer than its forward, a pass lasts for the gathers of all
  // units, then the unpacking and forward of the last one.
  Scenario scenario = sample_scenario(2, 4);
  const ScheduleSpec zero3 = sample_schedule("zero3");
  Pause pause{.name = "evaluation", .ranks = {5}};
  pause.sequences = 10;  // in micro-batches of 4: three passes
  pause.every_updates = 100;
  for (NodeGroup& group : scenario.cluster.nodes) group.nics.bandwidth = BytesPerSecond{1e6};
  const Costs slow = price(scenario, zero3);
  Seconds gathers;
  for (const LayerTime& layer : slow.kinds[0].times)
    gathers +=
        request_time(slow, PlanRequest{CollectiveKind::kAllGather, layer.parameters * bytes_of(slow.parameter_dtype)});
  const PlacedPause all = placed(pause, zero3, slow, 0);
  EXPECT_EQ(all.ranks, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_GT(all.lasts[0], 3 * gathers);
  EXPECT_LT(all.lasts[0], 3 * (gathers + slow.kinds[0].forward));
  ScheduleSpec hybrid = zero3;
  hybrid.island = Island::kNode;
  EXPECT_EQ(ranks_in(pause, hybrid, price(scenario, hybrid)), (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(ranks_in(pause, schedule(scenario, "ddp"), slow), (std::vector<int>{5}));
  pause.sequences = 0;
  pause.duration = Seconds{1};
  EXPECT_EQ(ranks_in(pause, zero3, slow), (std::vector<int>{5}));

  pause.sequences = 10;
  pause.duration = Seconds{0};
  scenario.training.unsteady.pauses = {pause};
  const RunResult result = advised(scenario, zero3, kReference);
  EXPECT_TRUE(warns(result, "evaluates_together"));
}

TEST(Pauses, RanksThatDifferByOneHaveFiguresOfTheirOwn) {
  // In ACCO the others do more while rank 0 pauses, all of it in one round; rank 0 does not.
  Scenario scenario = sample_scenario(1, 4);
  const ScheduleSpec& acco = schedule(scenario, "acco");
  const RunResult steady = run_schedule(scenario, acco, kReference);
  scenario.training.unsteady.pauses = {pause_each(100, 5, {0})};
  const RunResult result = run_schedule(scenario, acco, kReference);
  const double more = result.pauses.at(0).done_meanwhile() / 3;
  ASSERT_GT(more, 1);
  // The first rank by itself, and the three others, which all do the same without pauses.
  ASSERT_EQ(result.ranks.size(), 2U);
  EXPECT_EQ(in_words(result.ranks[1].ranks), "1-3");
  ASSERT_EQ(steady.ranks.size(), 1U);
  for (const RankResult& rank : result.ranks) {
    const RankResult& before = steady.ranks.front();
    const bool paused = rank.ranks.front().first == 0;
    EXPECT_NEAR(rank.micro_batches_per_update - before.micro_batches_per_update, paused ? 0 : more / 100, 1e-9);
    EXPECT_EQ(rank.micro_batches_per_round_max - before.micro_batches_per_round_max, paused ? 0 : std::llround(more));
    EXPECT_GE(rank.micro_batches_per_round, static_cast<double>(rank.micro_batches_per_round_min));
    EXPECT_LE(rank.micro_batches_per_round, static_cast<double>(rank.micro_batches_per_round_max));
  }
}

TEST(Pauses, FoldedAndUnfoldedPlaysAgree) {
  // The paused rank is a class of its own; all others stay one.
  Scenario scenario = sample_scenario(2, 4);
  const ScheduleSpec& acco = schedule(scenario, "acco");
  Costs costs = price(scenario, acco);
  costs.pace.pauses = {placed(pause_each(0, 1, {5}), acco, costs, 6)};
  const EventGraph graph = build(acco, costs, 4, 20);
  const Folded folded = fold(graph);
  EXPECT_EQ(folded.graph.ranks.size(), 2U);
  const auto end = [](const EventGraph& played) { return play(played, kReference, {}).end.value; };
  EXPECT_NEAR(end(folded.graph), end(graph), 1e-9);
}

TEST(Seeds, BandsAreThoseOfTheSeeds) {
  // Five updates of 1 to 5 s: the median is 3, a tenth of the way from the least to the largest 1.4, nine tenths 4.6.
  std::vector<std::vector<RunResult>> all;
  for (const double time : {4.0, 1.0, 3.0, 5.0, 2.0}) {
    RunResult result;
    result.update_time = Seconds{time};
    result.tokens_per_second = 100 / time;
    all.push_back({result});
  }
  const RunResult result = with_bands(all).at(0);
  EXPECT_EQ(result.update_time.value, 4);
  ASSERT_TRUE(result.seeds.has_value());
  EXPECT_EQ(result.seeds->seeds, 5);
  EXPECT_DOUBLE_EQ(result.seeds->update_time.median, 3);
  EXPECT_DOUBLE_EQ(result.seeds->update_time.p10, 1.4);
  EXPECT_DOUBLE_EQ(result.seeds->update_time.p90, 4.6);
  EXPECT_FALSE(result.seeds->speedup.has_value());
}

TEST(Unsteady, ThePlayGoesOnUntilTheMeanIsKnown) {
  Scenario scenario = sample_scenario(1, 2);
  const auto drawn = [&](double cv) {
    scenario.training.unsteady.jitter = {cv, 0, Distribution::kLognormal};
    return *run_schedule(scenario, schedule(scenario, "ddp"), kReference).drawn;
  };
  const DrawnUpdates little = drawn(0.01), much = drawn(1);
  EXPECT_LE(little.band_of_mean, kNarrowBand);
  EXPECT_LE(much.band_of_mean, kNarrowBand);
  EXPECT_TRUE(much.narrow);
  EXPECT_GT(much.played, 10 * little.played);
  EXPECT_LT(much.p10.value, much.median.value);
  EXPECT_LT(much.median.value, much.p90.value);
}

TEST(Unsteady, OfReplicasByThemselvesRoundsScatterAndAreCounted) {
  Scenario scenario = sample_scenario(1, 2);
  scenario.training.unsteady.jitter = {0.1, 0, Distribution::kLognormal};
  const ScheduleSpec spec = sample_schedule({.name = "local_sgd", .inner_updates = 5});
  EXPECT_EQ(run_schedule(scenario, spec, kReference).drawn->updates_each, 5);
  EXPECT_EQ(run_schedule(scenario, schedule(scenario, "ddp"), kReference).drawn->updates_each, 1);
}

TEST(SharedLinks, SimgridIsAskedOnlyWhereTwoFlowsCanMeet) {
  // A ring over all ranks takes each link once. Hybrid sharding has groups across nodes that meet on a node's links.
  const Scenario scenario = sample_scenario(3, 2);
  const ScheduleSpec ddp = schedule(scenario, "ddp");
  const auto graph_of = [](const Scenario& of, const ScheduleSpec& spec) { return build(spec, price(of, spec), 4, 4); };
  EXPECT_EQ(sharing_of(graph_of(scenario, ddp)), Sharing::kNone);
  const ScheduleSpec hybrid = sample_schedule({.name = "zero3", .island = Island::kNode});
  Scenario narrow = scenario;
  narrow.cluster.fabric.oversubscription = 2;
  Scenario unlike = scenario;
  unlike.cluster.nodes[0].devices[1].slowdown = 1.5;
  // Folded, the groups of equal ranks are one, whose flows always have equal parts: SimGrid, which plays the graph that
  // is not folded, comes to the same.
  for (const auto& [of, spec] : {std::pair(scenario, hybrid), std::pair(narrow, ddp)}) {
    const EventGraph graph = graph_of(of, spec);
    EXPECT_EQ(sharing_of(graph), Sharing::kUnevenly);
    const EventGraph folded = fold(graph).graph;
    EXPECT_EQ(sharing_of(folded), Sharing::kEvenly);
    const double shared = play(graph, NetworkKind::kSimgrid, {}).end.value;
    EXPECT_NEAR(play(folded, NetworkKind::kSimgrid, {}).end.value, shared, 1e-9 * shared);
    EXPECT_LT(play(folded, NetworkKind::kReference, {}).end.value, 0.99 * shared);
  }
  EXPECT_EQ(sharing_of(fold(graph_of(unlike, hybrid)).graph), Sharing::kUnevenly);
}

TEST(Unsteady, SpeedsThatStayAreALoopPlayedInOneGo) {
  // Only GPUs differ: a million local updates of two micro-batches and an optimizer step on each, whose time is that of
  // the slowest GPU, H (2 f t + O), and the meeting. The micro-batches are what `gpu` makes longer, by gpu_factor().
  Scenario scenario = sample_scenario(1, 4);
  scenario.training.gradient_accumulation_steps = 2;
  const ScheduleSpec spec = sample_schedule({.name = "diloco", .inner_updates = 1'000'000});
  const SteadyPlay alike = play_steady(scenario, spec, 2, kReference);
  scenario.training.unsteady.jitter.gpu = 0.1;
  const SteadyPlay play = play_steady(scenario, spec, 2, kReference);
  double slowest = 0;
  for (int rank = 0; rank < 4; ++rank) slowest = std::max(slowest, gpu_factor(play.costs->pace, rank));
  const RankKind& kind = play.costs->kinds[0];
  const double micro_batch = (kind.forward + kind.backward).value;
  const double expected = alike.measured.update_time.value + 2 * (slowest - 1) * micro_batch;
  EXPECT_NEAR(play.measured.update_time.value / expected, 1, 1e-9);
  EXPECT_LT(play.measured.spans, 1000);
  EXPECT_EQ(play.measured.ranks[0].micro_batches_per_update, 2);
}

TEST(Pauses, WhatIsDoneMeanwhileIsNeverLessThanNothing) {
  // Rank 0 pauses for 40 micro-batches, and rank 1 cannot use the time: nothing is done meanwhile.
  EXPECT_EQ((PauseCost{"a", {}, {}, {-40, 0}}.done_meanwhile()), 0);
  EXPECT_EQ((PauseCost{"b", {}, {}, {-40, 50}}.done_meanwhile()), 10);
}

}  // namespace
}  // namespace accosim
