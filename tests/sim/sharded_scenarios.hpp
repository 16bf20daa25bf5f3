// What the tests of sharded schedules share: random clusters on which groups of a node's GPUs cross side by side, their
// time against the closed form and against that of the folded graph, and the path that explains it.
#pragma once

#include <gtest/gtest.h>

#include "models/price/price.hpp"
#include "sim/evaluation/critical_path.hpp"
#include "sim/player/fold.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"
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

inline double parameters_of(const Scenario& scenario) { return static_cast<double>(parameter_count(scenario.model)); }

/// Bytes that a rank sends in an update.
inline double sent(const Scenario& scenario, const ScheduleSpec& spec) {
  return run_schedule(scenario, spec, NetworkKind::kReference).bytes_sent_per_rank_per_update.value;
}

/// Of schedules that `draw` makes, on equal nodes or with one whose network is slower: folded they take the time of the
/// whole.
template <class Draw>
void expect_same_time_folded(int seeds, const Draw& draw) {
  for (int seed = 0; seed < seeds; ++seed) {
    Random random(seed);
    Scenario scenario = random_homogeneous(random);
    scenario.cluster.nodes[0].nics.count = random.integer(1, 3);
    if (random.integer(0, 1) == 1) {
      scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]);
      scenario.cluster.nodes[1].count = 1;
      scenario.cluster.nodes[1].nics.bandwidth = 0.3 * scenario.cluster.nodes[0].nics.bandwidth;
    }
    const ScheduleSpec spec = draw(random);
    const EventGraph whole = build(spec, price(scenario, spec), 2, 2);
    const Played all = play(whole, NetworkKind::kSimgrid, {});
    const Played once = play(fold(whole).graph, NetworkKind::kSimgrid, {});
    EXPECT_NEAR(once.end / all.end, 1, 1e-9) << "seed " << seed;
  }
}

/// No time of an update is left without a cause: bodies on several lanes begin where the last lane ended.
template <class Draw>
void expect_explained(int seeds, const Draw& draw) {
  for (int seed = 0; seed < seeds; ++seed) {
    Random random(seed);
    const Scenario scenario = random_homogeneous(random);
    const CriticalPath path = critical_path(play_steady(scenario, draw(random), 3, NetworkKind::kSimgrid));
    Seconds sum;
    for (const auto& [name, duration] : path.causes) {
      EXPECT_NE(name, "nothing to do") << "seed " << seed;
      sum += duration;
    }
    EXPECT_NEAR(sum / path.update_time, 1, 1e-6) << "seed " << seed;
  }
}

}  // namespace accosim
