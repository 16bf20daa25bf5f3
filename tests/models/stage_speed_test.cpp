// Do the stages of a pipeline get the blocks under which the slowest of them is the fastest?
#include "models/price/stage_speed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "models/price/price.hpp"
#include "models/spec/scenario.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

/// A node of one GPU for each stage, so many times as slow as the sample's.
Scenario on_stages(const std::vector<double>& slowdowns, int blocks, int chunks = 1) {
  Scenario scenario = sample_scenario(1, 1);
  scenario.model = sample_model(blocks, 1024);
  scenario.cluster.nodes.clear();
  for (const double slowdown : slowdowns) {
    scenario.cluster.nodes.push_back(sample_nodes(1, 1));
    scenario.cluster.nodes.back().devices[0].slowdown = slowdown;
  }
  Parallel& parallel = scenario.training.parallel;
  parallel.pipeline = static_cast<int>(slowdowns.size());
  parallel.chunks = chunks;
  parallel.blocks = equal_blocks(blocks, parallel.pipeline * chunks);
  parallel.blocks_by_speed = true;
  return scenario;
}

Seconds slowest(const Costs& costs) {
  Seconds most{0};
  for (const RankKind& kind : costs.kinds) most = std::max(most, kind.forward + kind.backward);
  return most;
}

Costs priced(const Scenario& scenario) { return price(scenario, scenario.schedules[0]); }

TEST(StageSpeed, AStageThatIsTwiceAsSlowHasHalfOfTheBlocks) {
  // Between two ends, whose embedding and head are nothing to 34 blocks of their kind: 1, 1/2, 1 of 85 blocks.
  const std::vector<int> blocks = priced(on_stages({1, 2, 1}, 85)).parallel.blocks;
  EXPECT_EQ(std::accumulate(blocks.begin(), blocks.end(), 0), 85);
  EXPECT_NEAR(blocks[0], 34, 1);
  EXPECT_NEAR(blocks[1], 17, 1);
}

TEST(StageSpeed, NoOtherSharesHaveAFasterSlowestStage) {
  Random random(7);
  for (int trial = 0; trial < 10; ++trial) {
    std::vector<double> slowdowns;
    for (int stage = 0; stage < 3; ++stage) slowdowns.push_back(random.uniform(1, 4));
    Scenario scenario = on_stages(slowdowns, random.integer(3, 9));
    const int all = scenario.model.num_hidden_layers;
    const Seconds least = slowest(priced(scenario));
    scenario.training.parallel.blocks_by_speed = false;
    for (int first = 1; first <= all - 2; ++first)
      for (int second = 1; first + second <= all - 1; ++second) {
        scenario.training.parallel.blocks = {first, second, all - first - second};
        EXPECT_LE(least.value, slowest(priced(scenario)).value * (1 + 1e-9)) << first << " " << second << " " << trial;
      }
  }
}

TEST(StageSpeed, ChunksOfAStageShareItsBlocksEvenly) {
  const std::vector<int> blocks = priced(on_stages({1, 3}, 20, 2)).parallel.blocks;
  ASSERT_EQ(blocks.size(), 4U);
  EXPECT_EQ(std::accumulate(blocks.begin(), blocks.end(), 0), 20);
  for (int stage = 0; stage < 2; ++stage)
    EXPECT_TRUE(blocks[stage] == blocks[stage + 2] || blocks[stage] == blocks[stage + 2] + 1);
  EXPECT_GT(blocks[0], 2 * blocks[1] - 1);
}

}  // namespace
}  // namespace accosim
