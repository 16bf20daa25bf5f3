// Do a few replicas stand for all? Random clusters of equal nodes are played with every rank of theirs by itself, and
// with the few that are built in their place.
#include "sim/schedules/few_replicas.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/spec/cluster.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/played_by_rank.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

constexpr int kSteps = 4;

/// Equal nodes, a model that is split in some way or none, and few or many replicas of it.
Scenario random_split(Random& random) {
  Scenario scenario = sample_scenario(1, 1 << random.integer(0, 2));
  NodeGroup& nodes = scenario.cluster.nodes[0];
  Parallel& parallel = scenario.training.parallel;
  parallel.tensor = std::min(nodes.gpus, 1 << random.integer(0, 2));
  parallel.pipeline = random.integer(1, 3);
  nodes.count = parallel.pipeline * random.integer(1, 4) * random.integer(1, 4);
  nodes.nics.count = random.integer(1, 4);
  nodes.nics.bandwidth = BytesPerSecond{random.uniform(1e9, 1e11)};
  if (random.integer(0, 3) == 0) scenario.cluster.fabric.oversubscription = 3;
  scenario.model = sample_model(3 * parallel.pipeline, 128);
  if (random.integer(0, 1) == 1) parallel.order = order_of("tp-pp-dp");
  return scenario;
}

ScheduleSpec random_spec(Random& random, const Parallel& parallel) {
  const std::vector<const char*> split = {"ddp", "zero1", "dpu", "acco", "diloco"};
  const std::vector<const char*> whole = {"ddp", "zero1", "zero2", "zero3", "dpu", "acco", "diloco", "local_sgd"};
  const std::vector<const char*>& names = parallel.pipeline > 1 ? split : whole;
  ScheduleSpec spec = sample_schedule(names[random.integer(0, static_cast<int>(names.size()) - 1)]);
  spec.micro_batches_per_round = kSteps / 2;
  if (spec.name == "ddp" || spec.name == "zero1") {
    spec.overlap = random.integer(0, 1) == 1 ? Overlap::kBackward : Overlap::kNone;
    spec.buckets = Buckets::kUnits;
  }
  if (parallel.pipeline == 1 && (spec.name == "zero1" || spec.name == "zero3") && random.integer(0, 1) == 1)
    spec.island = Island::kNode;
  return spec;
}

TEST(FewReplicas, EveryRankDoesWhatItDoesAmongAll) {
  int few_of_them = 0, ranks = 0, built = 0;
  for (int seed = 0; seed < cases(150, 30); ++seed) {
    Random random(seed);
    const Scenario scenario = random_split(random);
    const ScheduleSpec spec = random_spec(random, scenario.training.parallel);
    const Costs costs = price(scenario, spec);
    const std::optional<FewReplicas> few = few_replicas(costs);
    if (!few) continue;
    ++few_of_them;
    ranks += costs.ranks();
    built += few->costs.ranks();
    EXPECT_EQ(few->costs.ranks() * few->each, costs.ranks());
    for (std::size_t rank = 0; rank < few->few.size(); ++rank) {
      EXPECT_EQ(costs.kind_of[rank], few->costs.kind_of[few->few[rank]]);
      EXPECT_EQ(costs.places[rank].gpu, few->costs.places[few->few[rank]].gpu);
    }
    const Folded folded = among_all(fold(build(spec, costs, kSteps, 2, &*few)), *few);
    const EventGraph whole = build(spec, costs, kSteps, 2);
    const std::string what = "seed " + std::to_string(seed) + ", " + spec.name;
    int stood_for = 0;
    for (const Rank& rank : folded.graph.ranks) stood_for += rank.multiplicity;
    EXPECT_EQ(stood_for, costs.ranks()) << what;
    EXPECT_EQ(folded.graph.ranks.size(), fold(whole).graph.ranks.size()) << what;
    expect_same_by_rank(whole, folded, what);
  }
  EXPECT_GT(few_of_them, cases(10));  // of the clusters drawn most are too small to gain by it
  EXPECT_LT(2 * built, ranks + 1);
}

TEST(FewReplicas, AreNotTakenWhereReplicasDiffer) {
  const auto made = [](const auto& change) {
    Scenario scenario = sample_scenario(16, 2);
    change(scenario);
    return few_replicas(price(scenario, sample_schedule("zero1"))).has_value();
  };
  EXPECT_TRUE(made([](Scenario&) {}));
  EXPECT_FALSE(made([](Scenario& scenario) { scenario.cluster.nodes.push_back(scenario.cluster.nodes[0]); }));
  EXPECT_FALSE(made([](Scenario& scenario) { scenario.training.unsteady.jitter.micro_batch = 0.1; }));
  EXPECT_FALSE(made([](Scenario& scenario) { scenario.cluster.nodes[0].count = 4; })) << "too few";
  EXPECT_FALSE(made([](Scenario& scenario) { scenario.cluster.nodes[0].count = 7; })) << "which nothing divides";
}

}  // namespace
}  // namespace accosim
