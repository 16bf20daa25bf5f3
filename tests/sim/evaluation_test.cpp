// Is what was priced or played once remembered, and only where it would come out the same?
#include "sim/evaluation/evaluation.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "sim/evaluation/balance.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/result/run.hpp"
#include "sim/what_if/changes.hpp"
#include "sim/what_if/ladder.hpp"
#include "tests/support/advised.hpp"
#include "tests/support/results.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sample_file.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

TEST(Evaluations, RememberWhatPricesAndPlaysRead) {
  const Evaluations evaluations(NetworkKind::kReference);
  Scenario scenario = sample_scenario(2, 4);
  ScheduleSpec spec = scenario.schedules[0];
  const Shared<Costs> costs = evaluations.costs(scenario, spec);
  const auto play = evaluations.play(scenario, spec);
  // Names, the length of the training and other schedules are nothing to a play.
  scenario.name = scenario.cluster.name = spec.label = "another";
  scenario.training.train_tokens *= 2;
  scenario.schedules.clear();
  EXPECT_EQ(evaluations.play(scenario, spec), play);
  // The order of what a schedule does is nothing to a price, and neither is the number of micro-batches.
  spec.overlap = Overlap::kBackward;
  spec.buckets = Buckets::kTensors;
  EXPECT_TRUE(evaluations.costs(scenario, spec).is(costs));
  EXPECT_NE(evaluations.play(scenario, spec), play);
  EXPECT_NE(evaluations.play(scenario, spec, 2), evaluations.play(scenario, spec));
  EXPECT_NE(evaluations.play(scenario, spec, Keep::kAll), evaluations.play(scenario, spec));
  EXPECT_NE(evaluations.on(NetworkKind::kSimgrid).play(scenario, spec), evaluations.play(scenario, spec));
  scenario.cluster.nodes[0].micro_batch_size *= 2;
  EXPECT_FALSE(evaluations.costs(scenario, spec).is(costs));
}

/// All figures that decide, and what is said.
auto figures_of(const RunResult& result) {
  return std::tuple(result.update_time.value, result.tokens_per_second, result.samples_per_update, result.speedup,
                    result.speedup_same_batch, result.mfu, result.memory_resident.value, result.fit.probability,
                    result.spread.total(), result.warnings);
}

TEST(Evaluations, AddingAScheduleChangesNoOther) {
  Random random(20261123);
  for (int i = 0; i < cases(200, 40); ++i) {
    const int layers = random.integer(1, 6), heads = random.integer(2, 16), nodes = random.integer(1, 4),
              gpus = random.integer(nodes == 1 ? 2 : 1, 8), polled = random.integer(1, 3);
    const double bandwidth = std::pow(10.0, random.uniform(7, 11)), latency = std::pow(10.0, random.uniform(-6, -3));
    std::vector<std::string> sets{fmt::format("/model/n_layer={}", layers),
                                  fmt::format("/model/n_embd={}", 64 * heads),
                                  fmt::format("/model/n_head={}", heads),
                                  fmt::format("/cluster/nodes/*/count={}", nodes),
                                  fmt::format("/cluster/nodes/*/gpus={}", gpus),
                                  fmt::format("/cluster/nodes/*/nics/bandwidth={} B/s", bandwidth),
                                  fmt::format("/cluster/nodes/*/nics/latency={} s", latency),
                                  fmt::format("/training/micro_batch_size={}", random.integer(1, 16)),
                                  fmt::format("/training/gradient_accumulation_steps={}", 2 * random.integer(1, 6)),
                                  fmt::format("/schedules/2/poll_every={}", polled),
                                  fmt::format("/schedules/3/poll_every={}", polled),
                                  fmt::format("/schedules/3/rollback_estimate={}", random.integer(0, 1) == 1)};
    const int groups = 1 + i % 2;  // unlike GPUs, and their work divided by speed in half of the cases
    if (groups == 2) sets.push_back(fmt::format("/cluster/nodes/1/device/slowdown={}", random.uniform(1, 3)));
    if (i % 4 == 3) sets.emplace_back("/training/balance=speed");
    const std::vector<RunResult> two =
        advised(load_sample(sets, groups), std::vector<int>{0, 1}, NetworkKind::kReference);
    const char* const another = i % 3 == 0 ? "zero3" : i % 3 == 1 ? "local_sgd" : "zero2";
    sets.insert(sets.begin(), fmt::format(R"(/schedules=[{{"name": "zero1"}}, {{"name": "ddp"}}, {{"name": "dpu"}},
      {{"name": "acco"}}, {{"name": "{}"}}])",
                                          another));
    const LoadedScenario more = load_sample(sets, groups);
    const Evaluations evaluations(NetworkKind::kReference);
    ladder(more.scenario, more.scenario.schedules[1], more.scenario.schedules[3], evaluations);
    const std::vector<RunResult> three = advised(more, std::vector<int>{4, 0, 1}, evaluations);
    for (const std::size_t one : {0, 1}) EXPECT_EQ(figures_of(three[one + 1]), figures_of(two[one])) << i;
  }
}

TEST(Evaluations, DivideTheWorkForEachScheduleByItself) {
  const std::vector<std::string> speed{"/training/balance=speed", "/schedules=[{\"name\": \"ddp\"}]", "/baseline=ddp"};
  std::vector<std::string> with_zero3 = speed;
  with_zero3[1] = "/schedules=[{\"name\": \"ddp\"}, {\"name\": \"zero3\"}]";
  const Scenario alone = load_scenario("hetero_4xa100_one_slow", speed).scenario;
  const Scenario both = load_scenario("hetero_4xa100_one_slow", with_zero3).scenario;
  const auto rate = [](const Scenario& scenario, int schedule) {
    return compare(scenario, {schedule}, NetworkKind::kReference)[0].tokens_per_second;
  };
  EXPECT_EQ(rate(both, 0), rate(alone, 0));
  // Beside zero3, which communicates in every micro-batch, all would have had to do as many.
  const Evaluations evaluations(NetworkKind::kReference);
  EXPECT_FALSE(evaluations.divided(both, both.schedules[0]).scenario.cluster.nodes[0].accumulation_steps ==
               evaluations.divided(both, both.schedules[1]).scenario.cluster.nodes[0].accumulation_steps);
}

TEST(Evaluations, SayWhatTheyDividedAndHowToWriteItDown) {
  std::vector<std::string> set{"/schedules=[{\"name\": \"zero1\"}]", "/baseline=zero1", "/training/balance=speed"};
  const auto run = [&] { return advised(load_scenario("mixed_16_a100_16_v100", set), 0, NetworkKind::kReference); };
  const RunResult divided = run();
  const Warning* const said = warning_of(divided, "work_divided");
  ASSERT_NE(said, nullptr);
  EXPECT_NE(said->message.find("each A100-SXM4-80GB of \"a100\" does "), std::string::npos) << said->message;
  std::istringstream words(said->advice.substr(said->advice.find("--set")));
  for (std::string option, value; words >> option >> value;) set.push_back(value);
  ASSERT_EQ(set.size(), 3U + 1 + 1 + 2 * 2) << said->advice;
  EXPECT_EQ(run().tokens_per_second, divided.tokens_per_second);
}

TEST(Evaluations, WaysToFitAreChangesOfTheScenarioAsItIsWritten) {
  const std::vector<std::string> asked{"/training/balance=speed", "/training/micro_batch_size=8",
                                       "/model=gpt-neo-2.7b"};
  const LoadedScenario loaded = load_scenario("mixed_16_a100_16_v100", asked);
  const Evaluations evaluations(NetworkKind::kReference);
  const ScheduleSpec* const ddp = schedule_labelled(loaded.scenario, "ddp");
  const RunResult run = advised(loaded, static_cast<std::size_t>(ddp - loaded.scenario.schedules.data()), evaluations);
  ASSERT_GE(run.ways_to_fit.alone.size(), 5U);
  EXPECT_EQ(run.ways_to_fit.largest_micro_batch, 0) << "micro-batches follow from the division";
  for (std::size_t i = 0; i < run.ways_to_fit.alone.size(); ++i) {
    if (!thorough(i)) continue;
    const WayToFit& way = run.ways_to_fit.alone[i];
    const Scenario changed = load_scenario("mixed_16_a100_16_v100", joined(asked, way.set)).scenario;
    const RunResult then = run_schedule(changed, *schedule_labelled(changed, "ddp"), evaluations);
    EXPECT_NEAR(then.memory_resident.value, way.memory.value, 1) << way.change;
  }
}

TEST(Evaluations, DivideADivisionNoMore) {
  const Scenario scenario = load_scenario("mixed_16_a100_16_v100", {"/training/balance=speed"}).scenario;
  const ScheduleSpec& zero1 = *schedule_labelled(scenario, "zero1");
  const Evaluations evaluations(NetworkKind::kReference);
  const double twice = 2 * samples_asked(scenario);
  const Division division = evaluations.divided(scenario, zero1, twice);
  EXPECT_EQ(division.spec.balance, Balance::kNone);
  EXPECT_NEAR(samples_per_update(*evaluations.play(division.scenario, division.spec)) / twice, 1, kEqualSamples);
}

// An entry may be balanced beside one that is not, and each plays as in a scenario of its own.
TEST(Evaluations, DivideTheWorkOfTheEntryThatAsksForIt) {
  const std::string entries =
      R"(/schedules=[{"name": "zero1"}, {"name": "zero1", "label": "divided", "balance": "counts"}])";
  const Scenario both = load_scenario("mixed_16_a100_16_v100", {entries}).scenario;
  const Scenario all = load_scenario("mixed_16_a100_16_v100", {"/training/balance=counts"}).scenario;
  const auto rate = [](const Scenario& scenario, const char* label) {
    return run_schedule(scenario, *schedule_labelled(scenario, label), NetworkKind::kReference).tokens_per_second;
  };
  EXPECT_EQ(rate(both, "zero1"), rate(load_scenario("mixed_16_a100_16_v100", {}).scenario, "zero1"));
  EXPECT_EQ(rate(both, "divided"), rate(all, "zero1"));
  EXPECT_GT(rate(both, "divided"), 1.5 * rate(both, "zero1"));
}

}  // namespace
}  // namespace accosim
