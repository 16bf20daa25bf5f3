// Timed steps of a user: how their table is read, and the factors that are found from them.
#include "sim/evidence/fit_own_steps.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/fit/own_steps.hpp"
#include "models/price/spread.hpp"
#include "models/spec/scenario_error.hpp"
#include "sim/evaluation/steady.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/thrown.hpp"

namespace accosim {
namespace {

/// One GPU, whose step is almost nothing but kernels, or almost nothing but launches.
Scenario alone(double launch_interval) {
  Scenario scenario = sample_scenario(1, 1);
  scenario.training.gradient_accumulation_steps = 64;  // beside which the optimizer is nothing
  scenario.cluster.nodes[0].devices[0].launch_interval = Seconds{launch_interval};
  return scenario;
}

TimedStep timed(const Scenario& scenario, double times) {
  const Seconds predicted = play_steady(scenario, scenario.schedules[0], scenario.training.gradient_accumulation_steps,
                                        NetworkKind::kReference)
                                .measured.update_time;
  return {"a step", scenario, 0, times * predicted};
}

OwnStepFit fit_of(const std::vector<TimedStep>& steps) { return fit_own_steps(steps, NetworkKind::kReference); }

/// What is known of its kernels without a timed step.
double prior_of(const Scenario& scenario) {
  return compute_spread(price(scenario, scenario.schedules[0]).kinds.front());
}

// n steps that all take c times as long as predicted, of kernels alone: the logs' mean of the prior (0, of spread
// compute_spread()) and of n samples (ln c, of kStepNoise) is ln c n / (n + (noise / prior)^2), with
// 1 / sqrt(1 / prior^2 + n / noise^2) of spread. Launches change nothing, so that of their factor the prior is left.
TEST(FitOwnSteps, KernelsAreShrunkTowardsWhatThePriorSays) {
  constexpr double kTimes = 1.06;
  const double prior = prior_of(alone(1e-9));
  for (const std::size_t n : {1, 3}) {
    const OwnStepFit fit = fit_of(std::vector<TimedStep>(n, timed(alone(1e-9), kTimes)));
    const double many = static_cast<double>(n);
    const double share = many / (many + std::pow(kStepNoise / prior, 2));
    EXPECT_NEAR(std::log(fit.computation.factor), share * std::log(kTimes), 5e-4) << n;
    const double precision = 1 / (prior * prior) + many / (kStepNoise * kStepNoise);
    EXPECT_NEAR(fit.computation.spread, 1 / std::sqrt(precision), 2e-4) << n;
    EXPECT_TRUE(fit.computation.told());
    EXPECT_EQ(fit.host.factor, 1);
    EXPECT_NEAR(fit.host.spread, kHost, 1e-3);
    EXPECT_FALSE(fit.host.told());
    const OwnStepFit::Row& row = fit.rows.front();
    EXPECT_NEAR(row.before / row.measured, 1 / kTimes, 1e-9);
    EXPECT_NEAR(row.host / row.measured, 1 / kTimes, 1e-3);
    EXPECT_NEAR(std::log(row.after / row.measured), (share - 1) * std::log(kTimes), 1e-3);
  }
}

// A step that waits for launches alone says nothing of kernels, and beside one of kernels alone each says its own.
TEST(FitOwnSteps, AStepBoundByLaunchesTellsOfTheHost) {
  const OwnStepFit fit = fit_of({timed(alone(1e-9), 0.95), timed(alone(5e-3), 1.2)});
  EXPECT_NEAR(fit.computation.factor, 0.95, 5e-3);
  EXPECT_NEAR(fit.host.factor, 1.2, 5e-3);
  EXPECT_TRUE(fit.host.told());
}

TEST(FitOwnSteps, WhatAStepDoesNotTellStays) {
  const OwnStepFit fit = fit_of({timed(alone(5e-3), 1.2)});
  EXPECT_FALSE(fit.computation.told());
  EXPECT_EQ(fit.computation.factor, 1);
  EXPECT_NEAR(fit.computation.spread, prior_of(alone(5e-3)), 1e-3);
  EXPECT_GT(fit.host.factor, 1.15);
}

// Two steps of which one is 1.06 and one 1.02 times as long leave half of ln(1.06 / 1.02) each, but for the prior. What
// is left stands for the kernels' spread; launches are as uncertain as before, which are all of a step that waits for
// them.
TEST(FitOwnSteps, TheSpreadThatIsLeftIsWhatPricesTake) {
  const OwnStepFit fit = fit_of({timed(alone(1e-9), 1.06), timed(alone(1e-9), 1.02)});
  EXPECT_NEAR(fit.left, std::log(1.06 / 1.02) / 2, 2e-3);
  EXPECT_FALSE(fit.contradicts());
  EXPECT_DOUBLE_EQ(fit.spread, std::hypot(fit.computation.spread, fit.left, kOtherShapes));
  for (const double launch : {1e-9, 5e-3}) {
    Scenario scenario = alone(launch);
    scenario.cluster.nodes[0].devices[0].step_spread = fit.spread;
    EXPECT_NEAR(prior_of(scenario), launch < 1e-6 ? fit.spread : std::hypot(fit.spread, kHost), 5e-3) << launch;
  }
}

TEST(FitOwnSteps, StepsInAnotherUnitContradict) { EXPECT_TRUE(fit_of({timed(alone(1e-9), 1000)}).contradicts()); }

std::string refused(const std::string& table) {
  return thrown_by<ScenarioError>([&] { read_own_steps(table, "steps.csv"); });
}

TEST(OwnSteps, AreRowsOfATable) {
  const std::vector<OwnStep> steps = read_own_steps(
      "# of 2 May\nscenario,schedule,set,time_s\nmine.json,zero1,/training/micro_batch_size=2; "
      "/name=x,4.5\nb.json,,,2\n",
      "steps.csv");
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].in_words(), "mine.json, zero1, /training/micro_batch_size=2, /name=x");
  EXPECT_EQ(steps[0].measured, Seconds{4.5});
  EXPECT_EQ(steps[1].in_words(), "b.json");
  EXPECT_EQ(read_own_steps("scenario,time_s\nb.json,2\n", "steps.csv").size(), 1U);
  EXPECT_TRUE(holds_steps("scenario,time_s\nb.json,2\n"));
  EXPECT_FALSE(holds_steps("source,fabric,collective,ranks,nodes,bytes,time_us\na,b,all_reduce,8,1,8,1\n"));
  EXPECT_NE(refused("scenario,set,time_s\nb.json,micro_batch_size=2,2\n").find("is no setting; write /training"),
            std::string::npos);
  EXPECT_NE(refused("scenario,time_s\nb.json,0\n").find("steps.csv:2"), std::string::npos);
  EXPECT_NE(refused("scenario,time_ms\nb.json,2\n").find("\"time_ms\" is no column"), std::string::npos);
  EXPECT_NE(refused("scenario,schedule\nb.json,zero1\n").find("has no column time_s"), std::string::npos);
}

}  // namespace
}  // namespace accosim
