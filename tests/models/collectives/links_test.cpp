// Rings on NVLinks that do not join all GPUs alike, by hand.
#include "models/collectives/links.hpp"

#include <gtest/gtest.h>

#include "models/spec/cluster.hpp"
#include "models/spec/fabrics.hpp"
#include "tests/support/gpus.hpp"

namespace accosim {
namespace {

TEST(Links, EveryGpuOfTheCubeMeshHasSixLinks) {
  const auto& links = cube_mesh();
  for (std::size_t i = 0; i < 8; ++i) {
    int sum = 0;
    for (std::size_t j = 0; j < 8; ++j) {
      EXPECT_EQ(links[i][j], links[j][i]);
      sum += links[i][j];
    }
    EXPECT_EQ(sum, 6) << i;
    EXPECT_EQ(links[i][i], 0);
  }
}

TEST(Links, RingsOfTheCubeMeshAreThoseThatNcclFinds) {
  // GPUs 0 and 1 share one link: one ring, both ways over it. 0, 1, 2: the triangle once, in two directions. 0 to 3:
  // 0-1-2-3 (needing 01, 12, 23, 30) and 0-2-1-3 (02, 21, 13, 30) fit together, 12 and 30 being double: 4 rings. All 8:
  // 6 links a GPU are 3 rings in two directions.
  EXPECT_EQ(rings_on(cube_mesh(), 2), 1);
  EXPECT_EQ(rings_on(cube_mesh(), 3), 2);
  EXPECT_EQ(rings_on(cube_mesh(), 4), 4);
  EXPECT_EQ(rings_on(cube_mesh(), 6), 2);
  EXPECT_EQ(rings_on(cube_mesh(), 8), 6);
}

TEST(Links, AGpuWithOneNeighbourIsReachedThroughIt) {
  // GPU 4 hangs on GPU 0 alone, by two links: a ring comes and goes through 0, twice at most.
  EXPECT_GT(rings_on(cube_mesh(), 5), 0);
  EXPECT_LE(rings_on(cube_mesh(), 5), 2);
  // Two pairs that nothing joins: no ring.
  EXPECT_EQ(rings_on({{0, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 1, 0}}, 4), 0);
}

TEST(Links, ARingUsesAllLinksOfABoardAndFewOfAPair) {
  IntraLink board;
  board.kind = "nvlink";
  board.bandwidth = BytesPerSecond{300e9};  // 4 GPUs, 100 GB/s a pair
  EXPECT_DOUBLE_EQ(ring_bandwidth(board, 4, first_gpus(2)).value, 100e9);
  EXPECT_DOUBLE_EQ(ring_bandwidth(board, 4, first_gpus(4)).value, 300e9);
  IntraLink mesh = board;
  mesh.kind = "cube_mesh";
  mesh.bandwidth = BytesPerSecond{150e9};
  mesh.links = cube_mesh();
  EXPECT_DOUBLE_EQ(ring_bandwidth(mesh, 8, first_gpus(2)).value, 25e9);
  EXPECT_DOUBLE_EQ(ring_bandwidth(mesh, 8, first_gpus(4)).value, 100e9);
  EXPECT_DOUBLE_EQ(ring_bandwidth(mesh, 8, first_gpus(8)).value, 150e9);
  EXPECT_DOUBLE_EQ(exchange_bandwidth(mesh, 8, first_gpus(2)).value, 25e9);
  EXPECT_DOUBLE_EQ(exchange_bandwidth(mesh, 8, first_gpus(4)).value, 3 * 25e9);  // the weakest pair has one link
  IntraLink sw = board;
  sw.kind = "nvswitch";
  EXPECT_DOUBLE_EQ(ring_bandwidth(sw, 8, first_gpus(2)).value, 300e9);
  IntraLink pcie = board;
  pcie.kind = "pcie";
  pcie.bandwidth = BytesPerSecond{30e9};
  pcie.crowding = 0.5;  // 8 GPUs have the root of a quarter of what two have
  EXPECT_DOUBLE_EQ(ring_bandwidth(pcie, 8, first_gpus(2)).value, 30e9);
  EXPECT_DOUBLE_EQ(ring_bandwidth(pcie, 8, first_gpus(8)).value, 15e9);
}

TEST(Links, ManyLinksEndTheSearchAll) {
  // Two halves of 4 with 6 links between each two of a half and 1 to the other half: millions of ways to pack rings.
  // A ring crosses at least twice: 16 links across let at most 8 rings through, two directions each.
  std::vector<std::vector<int>> links(8, std::vector<int>(8, 0));
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j)
      if (i != j) links[i][j] = i / 4 == j / 4 ? 6 : 1;
  EXPECT_GE(rings_on(links, 8), 8);
  EXPECT_LE(rings_on(links, 8), 16);
}

}  // namespace
}  // namespace accosim
