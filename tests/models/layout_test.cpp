// Is the grid of ranks one? Coordinates and ranks are each other's inverse, the groups of any dimensions part the
// ranks, and who meets is who differs in these dimensions alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/price/price.hpp"
#include "models/price/stage_speed.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

constexpr Dim kEach[] = {Dim::kTensor, Dim::kContext, Dim::kExpert, Dim::kShard, Dim::kReplica, Dim::kPipeline};

int at(const GridCoordinates& coordinates, Dim dim) { return coordinates[static_cast<std::size_t>(dim)]; }

/// Any order of the words, any sizes from 1 to 3; every third with islands of unlike size.
Layout random_layout(Random& random) {
  std::vector<std::string> words = {"tp", "cp", "ep", "dp", "pp"};
  for (std::size_t i = words.size(); i > 1; --i)
    std::swap(words[i - 1], words[random.integer(0, static_cast<int>(i) - 1)]);
  std::string order;
  for (const std::string& word : words) order += (order.empty() ? "" : "-") + word;
  std::array<int, kDims> sizes{};
  for (int& size : sizes) size = random.integer(1, 3);
  Layout layout = layout_of(sizes, order);
  if (random.integer(0, 2) > 0) return layout;
  std::vector<int> islands(static_cast<std::size_t>(random.integer(1, 4)));
  for (int& ranks : islands) ranks = model_ranks_of(layout) * layout.size(Dim::kExpert) * random.integer(1, 4);
  return islands_of(layout, islands);
}

int shards_at(const Layout& layout, int replica) {
  return layout.islands.empty() ? layout.size(Dim::kShard) : layout.islands[static_cast<std::size_t>(replica)];
}

TEST(Parallel, CoordinatesAndRanksAreEachOthersInverse) {
  int unlike = 0;
  for (int seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const Layout layout = random_layout(random);
    unlike += layout.islands.empty() ? 0 : 1;
    // Sizes multiply to the world: each island has its shards times the ranks of a model replica.
    int world = 0;
    for (int replica = 0; replica < layout.size(Dim::kReplica); ++replica)
      world += shards_at(layout, replica) * layout.size(Dim::kTensor) * layout.size(Dim::kContext) *
               layout.size(Dim::kExpert) * layout.size(Dim::kPipeline);
    ASSERT_EQ(ranks_of(layout), world) << seed;
    std::set<GridCoordinates> seen;
    for (int rank = 0; rank < world; ++rank) {
      const GridCoordinates here = coordinates_of(layout, rank);
      EXPECT_EQ(rank_at(layout, here), rank) << seed;
      EXPECT_TRUE(seen.insert(here).second) << seed;
      for (const Dim dim : kEach) EXPECT_LT(at(here, dim), layout.size(dim)) << seed;
      EXPECT_LT(at(here, Dim::kShard), shards_at(layout, at(here, Dim::kReplica))) << seed;
    }
  }
  EXPECT_GT(unlike, 50) << "islands of unlike size are meant to be among them";
}

TEST(Parallel, GroupsPartTheRanks) {
  for (int seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const Layout layout = random_layout(random);
    const Ranks ranks{{static_cast<std::uint8_t>(random.integer(0, 63))}};
    const Groups groups = groups_of(layout, ranks);
    std::vector<int> times(static_cast<std::size_t>(ranks_of(layout)), 0);
    for (std::size_t g = 0; g < groups.members.size(); ++g)
      for (const int rank : groups.members[g]) {
        ++times[static_cast<std::size_t>(rank)];
        EXPECT_EQ(groups.of_rank[static_cast<std::size_t>(rank)], static_cast<int>(g)) << seed;
        if (rank == groups.members[g].front() || rank == groups.members[g].back()) {
          EXPECT_EQ(members_of(layout, ranks, rank), groups.members[g]) << seed;
        }
        EXPECT_EQ(size_of(layout, ranks, rank), static_cast<int>(groups.members[g].size())) << seed;
        // Whoever meets has the same coordinates but in these dimensions.
        const GridCoordinates first = coordinates_of(layout, groups.members[g].front()),
                              own = coordinates_of(layout, rank);
        for (const Dim dim : kEach) EXPECT_TRUE(ranks.dims.has(dim) || at(first, dim) == at(own, dim)) << seed;
      }
    EXPECT_EQ(std::ranges::count(times, 1), ranks_of(layout)) << seed << ": each rank is in one group";
    EXPECT_TRUE(std::ranges::is_sorted(groups.members, [](const auto& a, const auto& b) {
      return a.front() < b.front();
    })) << seed;
  }
}

TEST(Parallel, PairsAreSeenFromBothSides) {
  for (int seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const Layout layout = random_layout(random);
    const Ranks next{over(Dim::kPipeline), Pick::kNext}, previous{over(Dim::kPipeline), Pick::kPrevious};
    const Groups after = groups_of(layout, next), before = groups_of(layout, previous);
    const int stages = layout.size(Dim::kPipeline);
    ASSERT_EQ(after.members, before.members) << seed << ": one list, whoever looks";
    for (int rank = 0; rank < ranks_of(layout); ++rank) {
      GridCoordinates there = coordinates_of(layout, rank);
      int& stage = there[static_cast<std::size_t>(Dim::kPipeline)];
      stage = (stage + 1) % stages;
      const int neighbour = rank_at(layout, there);
      const auto r = static_cast<std::size_t>(rank), n = static_cast<std::size_t>(neighbour);
      EXPECT_EQ(after.of_rank[r], before.of_rank[n]) << seed << ": a rank's next one has it before";
      EXPECT_EQ(members_of(layout, next, rank),
                stages > 1 ? (std::vector<int>{rank, neighbour}) : std::vector<int>{rank});
    }
  }
}

TEST(Parallel, EndsAreTheFirstAndTheLast) {
  // 2 tensor ranks and 4 stages: 0, 1 begin, 6, 7 end; the stages between them are in no such group.
  Layout layout = layout_of({2, 1, 1, 1, 1, 4});
  const Groups ends = groups_of(layout, {over(Dim::kPipeline), Pick::kEnds});
  EXPECT_EQ(ends.members, (std::vector<std::vector<int>>{{0, 6}, {1, 7}}));
  EXPECT_EQ(ends.of_rank, (std::vector<int>{0, 1, -1, -1, -1, -1, 0, 1}));
}

TEST(Parallel, TheOrderIsMegatronsOwn) {
  // tp 2, cp 1, dp 2, pp 2 of 8 ranks. "tp-cp-ep-dp-pp": rank = tp + 2 dp + 4 pp. "tp-pp-dp": rank = tp + 2 pp + 4 dp.
  const Layout usual = layout_of({2, 1, 1, 2, 1, 2}), far = layout_of({2, 1, 1, 2, 1, 2}, "tp-pp-dp");
  EXPECT_EQ(members_of(usual, {kAllData}, 0), (std::vector<int>{0, 2}));
  EXPECT_EQ(members_of(usual, {over(Dim::kPipeline)}, 0), (std::vector<int>{0, 4}));
  EXPECT_EQ(members_of(far, {kAllData}, 0), (std::vector<int>{0, 4}));
  EXPECT_EQ(members_of(far, {over(Dim::kPipeline)}, 1), (std::vector<int>{1, 3}));
  EXPECT_EQ(members_of(usual, {kOneModel}, 2), (std::vector<int>{2, 3, 6, 7}));
  EXPECT_THROW(order_of("tp-tp"), std::invalid_argument);
  EXPECT_THROW(order_of("tp-xp"), std::invalid_argument);
}

TEST(Parallel, ExpertsAreSharedByTheNearestDataRanks) {
  // tp 2, ep 2, 8 data ranks, pp 2 of 32 ranks: rank = tp + 2 ep + 4 shard + 16 pp. As Megatron-LM numbers them.
  Cluster cluster;
  cluster.nodes.resize(1);
  cluster.nodes[0].count = 4, cluster.nodes[0].gpus = 8;
  const Layout layout = layout_of(cluster, Island::kWorld, {.tensor = 2, .pipeline = 2, .experts = 2});
  EXPECT_EQ(layout.size(Dim::kShard), 4);
  EXPECT_EQ(members_of(layout, {over(Dim::kExpert)}, 0), (std::vector<int>{0, 2}));
  EXPECT_EQ(members_of(layout, {with_same_experts(kAllData)}, 3), (std::vector<int>{3, 7, 11, 15}));
  EXPECT_EQ(members_of(layout, {kAllData}, 1), (std::vector<int>{1, 3, 5, 7, 9, 11, 13, 15}));
  EXPECT_EQ(size_of(layout, {kIsland}, 0), 8);
  EXPECT_THROW(layout_of(cluster, Island::kWorld, {.pipeline = 4, .experts = 3}), std::invalid_argument);
}

TEST(Parallel, IslandsOfUnlikeSizeMeetWhereBothHaveAShard) {
  // Islands of 4, 2 and 4 ranks: 0-3, 4-5, 6-9. Shard 0 is on 0, 4, 6; shard 3 on 3 and 9 alone.
  const Layout layout = islands_of({}, {4, 2, 4});
  EXPECT_EQ(members_of(layout, {kIsland}, 5), (std::vector<int>{4, 5}));
  EXPECT_EQ(members_of(layout, {kIslands}, 4), (std::vector<int>{0, 4, 6}));
  EXPECT_EQ(members_of(layout, {kIslands}, 3), (std::vector<int>{3, 9}));
  EXPECT_EQ(size_of(layout, {kAllData}, 7), 10);
  // With two tensor ranks an island of 4 has two shards.
  EXPECT_EQ(islands_of(layout_of({2, 1, 1, 1, 1, 1}), {4, 2}).islands, (std::vector<int>{2, 1}));
  EXPECT_THROW(islands_of(layout_of({2, 1, 1, 1, 1, 1}), {3}), std::invalid_argument);
}

TEST(Parallel, AClustersIslandsAreItsGpusNodesGroupsOrAllOfIt) {
  Cluster cluster;
  cluster.nodes.resize(2);
  cluster.nodes[0].count = 2, cluster.nodes[0].gpus = 4;  // 0-3, 4-7
  cluster.nodes[1].count = 1, cluster.nodes[1].gpus = 2;  // 8-9
  const auto island = [&](Island of, int rank) { return members_of(layout_of(cluster, of), {kIsland}, rank); };
  EXPECT_EQ(island(Island::kGpu, 5), (std::vector<int>{5}));
  EXPECT_EQ(island(Island::kNode, 5), (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(island(Island::kNode, 9), (std::vector<int>{8, 9}));
  EXPECT_EQ(island(Island::kGroup, 5), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(island(Island::kWorld, 5).size(), 10u);
  EXPECT_EQ(layout_of(cluster, Island::kGpu).size(Dim::kReplica), 10);
  EXPECT_EQ(layout_of(cluster, Island::kNode).size(Dim::kReplica), 3);
  EXPECT_EQ(layout_of(cluster, Island::kWorld).size(Dim::kReplica), 1);
  EXPECT_THROW(layout_of(cluster, Island::kGpu, {.tensor = 3}), std::invalid_argument) << "of 10 GPUs";
  // Two tensor ranks: five model replicas.
  EXPECT_EQ(layout_of(cluster, Island::kWorld, {.tensor = 2}).size(Dim::kShard), 5);
  EXPECT_EQ(size_of(layout_of(cluster, Island::kGpu, {.tensor = 2}), {kAllData}, 0), 5);
}

TEST(Parallel, PipelinesStayInASiteAndGoAcrossNodes) {
  // Two sites of two nodes of 4 GPUs, two stages. A site holds whole model replicas: its ranks 0-7 are shards 0-3 of
  // stage 0 and of stage 1. With hybrid sharding a node holds the 4 shards of a stage: replica 0 is nodes 0 and 2.
  Cluster cluster;
  cluster.nodes.resize(2);
  for (NodeGroup& group : cluster.nodes) group.count = 2, group.gpus = 4;
  const Layout sites = layout_of(cluster, Island::kGroup, {.pipeline = 2});
  EXPECT_EQ(members_of(sites, {kIsland}, 1), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(members_of(sites, {kOneModel}, 1), (std::vector<int>{1, 5}));
  EXPECT_EQ(members_of(sites, {kIslands}, 1), (std::vector<int>{1, 9}));
  const Layout nodes = layout_of(cluster, Island::kNode, {.pipeline = 2});
  EXPECT_EQ(members_of(nodes, {kIsland}, 5), (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(members_of(nodes, {kIslands}, 5), (std::vector<int>{1, 5}));
  EXPECT_EQ(members_of(nodes, {kOneModel}, 5), (std::vector<int>{5, 13}));
  cluster.nodes[1].gpus = 2;
  EXPECT_THROW(layout_of(cluster, Island::kNode, {.pipeline = 2}), std::invalid_argument);
}

// Do the stages of a pipeline get the blocks under which the slowest of them is the fastest?

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
  return largest<Seconds>(costs.kinds, [](const RankKind& kind) { return kind.forward + kind.backward; });
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
