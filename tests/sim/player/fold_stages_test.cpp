// Does every rank do the same, folded or not, where schedules run over tensor and pipeline ranks? A stage is then one
// rank, also under a schedule whose first rank decides for its model replica how many micro-batches there are.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/price/price.hpp"
#include "sim/player/fold.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/played_by_rank.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

constexpr int kMicroBatches = 16, kUpdates = 2;

/// Two tensor ranks, which are a node, four stages and two replicas: 16 ranks on 8 nodes.
Scenario random_pipeline(Random& random) {
  Scenario scenario = sample_scenario(8, 2);
  scenario.model = sample_model(8, 128);
  scenario.cluster.nodes[0].nics.bandwidth = BytesPerSecond{std::pow(10.0, random.uniform(7.5, 10))};
  scenario.cluster.nodes[0].nics.count = random.integer(1, 2);
  scenario.training.interference = random.integer(0, 1) == 1;
  Parallel& parallel = scenario.training.parallel;
  parallel.tensor = 2;
  parallel.pipeline = 4;
  parallel.sequence = random.integer(0, 1) == 1;
  parallel.overlap_messages = random.integer(0, 1) == 1;
  if (random.integer(0, 1) == 1) {
    parallel.schedule = PipelineSchedule::kInterleaved;
    parallel.chunks = 2;
  }
  return scenario;
}

ScheduleSpec random_rule(Random& random, const std::string& name) {
  ScheduleSpec spec = sample_schedule(name);
  spec.micro_batches_per_round = kMicroBatches / 2;
  spec.poll_every = random.integer(1, 4);
  if (name != "zero1" && name != "ddp") return spec;
  if (random.integer(0, 1) == 1) spec.overlap = Overlap::kBackward;
  if (name == "zero1") spec.overlap_param_gather = random.integer(0, 1) == 1;
  return spec;
}

TEST(FoldStages, EveryRankOfAModelReplicaDoesTheSameFoldedOrNot) {
  for (int seed = 0; seed < cases(16); ++seed) {
    Random random(seed);
    const Scenario scenario = random_pipeline(random);
    const ScheduleSpec spec = random_rule(random, std::vector<const char*>{"ddp", "zero1", "dpu", "acco"}[seed % 4]);
    const EventGraph graph = build(spec, price(scenario, spec), kMicroBatches, kUpdates);
    const Folded folded = fold(graph);
    ASSERT_EQ(graph.ranks.size(), 16u);
    EXPECT_EQ(folded.graph.ranks.size(), 4u) << spec.name << " seed " << seed;
    expect_same_by_rank(graph, folded, spec.name + " seed " + std::to_string(seed));
  }
}

TEST(FoldStages, WhereOneNodeIsSlowItsReplicaIsPlayedBesideTheOther) {
  // The first node has half the adapter: the stages of its replica are other ranks than those of the second.
  for (const char* const name : {"zero1", "acco"}) {
    Random random(1);
    Scenario scenario = random_pipeline(random);
    NodeGroup slow = scenario.cluster.nodes[0];
    slow.count = 1;
    slow.nics.bandwidth = 0.5 * slow.nics.bandwidth;
    scenario.cluster.nodes[0].count = 7;
    scenario.cluster.nodes.insert(scenario.cluster.nodes.begin(), slow);
    const ScheduleSpec spec = random_rule(random, name);
    const EventGraph graph = build(spec, price(scenario, spec), kMicroBatches, kUpdates);
    const Folded folded = fold(graph);
    EXPECT_EQ(folded.graph.ranks.size(), 8u) << name;
    expect_same_by_rank(graph, folded, name);
  }
}

}  // namespace
}  // namespace accosim
