// What the tests of sharded schedules share: random clusters on which groups of a node's GPUs cross side by side, and
// their time against the closed form.
#pragma once

#include <gtest/gtest.h>

#include "models/price/price.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "sim/player/player.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/closed_forms.hpp"
#include "tests/support/sample.hpp"

namespace accosim {

inline double update_time(const Scenario& scenario, const ScheduleSpec& spec, NetworkKind network) {
  const SteadyPlay play = play_steady(scenario, spec, scenario.training.gradient_accumulation_steps, network);
  EXPECT_TRUE(play.measured.periodic);
  return play.measured.update_time.value;
}

inline double expected_time(const Scenario& scenario, const ScheduleSpec& spec) {
  const Costs costs = price(scenario, spec);
  return closed_form({spec, costs, costs.kinds[0], scenario.training.gradient_accumulation_steps, 1}).value;
}

/// Equal nodes with 1 to 8 adapters, one cluster in four with an oversubscribed core.
inline Scenario random_sharded_scenario(Random& random) {
  Scenario scenario = random_homogeneous(random);
  scenario.model.tie_word_embeddings = random.integer(0, 1) == 1;
  scenario.training.gradient_accumulation_steps = random.integer(1, 6);
  scenario.cluster.nodes[0].nics.count = random.integer(1, 8);
  if (random.integer(0, 3) == 0) scenario.cluster.fabric.oversubscription = 3;
  return scenario;
}

/// On both networks, but where rings contend (`side_by_side`, or in a core), which the reference network does not know.
inline void expect_closed_form(const Scenario& scenario, const ScheduleSpec& spec, bool side_by_side, int seed) {
  const double expected = expected_time(scenario, spec);
  const bool oversubscribed = scenario.cluster.nodes[0].count > 1 && scenario.cluster.fabric.oversubscription > 1;
  if (!side_by_side && !oversubscribed) {
    EXPECT_NEAR(update_time(scenario, spec, NetworkKind::kReference) / expected, 1, 1e-6) << "seed " << seed;
  }
  EXPECT_NEAR(update_time(scenario, spec, NetworkKind::kSimgrid) / expected, 1, 1e-6) << "seed " << seed;
}

}  // namespace accosim
