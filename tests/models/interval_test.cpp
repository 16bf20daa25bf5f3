// Do intervals hold what they say? Against the normal distribution and against hand arithmetic.
#include "models/price/interval.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/spec/cluster.hpp"
#include "models/spec/constants.hpp"
#include "tests/support/gpus.hpp"
#include "tests/support/random.hpp"

namespace accosim {
namespace {

TEST(Interval, IsSymmetricInLogs) {
  // exp(1.28155 x 0.1) = 1.13673: low 1 / 1.13673 = 0.87971 times the value, high 1.13673 times.
  const Interval interval = interval_80(2, 0.1);
  EXPECT_NEAR(interval.low, 2 / 1.1367294, 1e-6);
  EXPECT_NEAR(interval.high, 2 * 1.1367294, 1e-5);
  EXPECT_EQ(interval_80(3, 0).low, 3);
  EXPECT_EQ(interval_80(3, 0).high, 3);
}

TEST(Interval, WidensBeyondTheNodesThatWereMeasured) {
  // Measured on 4 nodes with 0.3, and 0.1 for each doubling: on 32 nodes, three doublings, root(0.3^2 + 0.3^2).
  Cluster cluster;
  cluster.nodes.resize(1);
  cluster.nodes[0].nics.quality = {0.3, 0.5, 1, 4, 0.1};
  EXPECT_DOUBLE_EQ(communication_spread(cluster, 4, Bytes{1e9}), 0.3);
  EXPECT_DOUBLE_EQ(communication_spread(cluster, 2, Bytes{8}), 0.5);
  EXPECT_DOUBLE_EQ(communication_spread(cluster, 32, Bytes{1e9}), std::sqrt(0.18));
  cluster.nodes[0].nics.quality.nodes = 0;  // nobody knows
  EXPECT_DOUBLE_EQ(communication_spread(cluster, 32, Bytes{1e9}), 0.3);
}

TEST(Interval, WidensBeyondTheGpusOfANodeThatWereMeasured) {
  // Measured on 8 GPUs with 0.1, and 0.1 for each doubling: on 64, three doublings, root(0.1^2 + 0.3^2).
  Cluster cluster;
  cluster.nodes.resize(1);
  cluster.nodes[0].gpus = 64;
  cluster.nodes[0].intra.quality = {0.1, 0.2, 1, 8, 0.1};
  EXPECT_DOUBLE_EQ(communication_spread(cluster, 1, Bytes{1e9}), std::sqrt(0.1));
  Ring ring{{0}, {0}, {first_gpus(8)}, 8};
  EXPECT_DOUBLE_EQ(communication_spread(cluster, ring, Bytes{1e9}), 0.1) << "8 of its GPUs";
}

TEST(Interval, HoldsFourOfFiveLogNormalDraws) {
  // 20,000 draws: the share has a standard deviation of sqrt(0.8 x 0.2 / 20000) = 0.0028; 4 of them.
  Random random(7);
  const Interval interval = interval_80(1, 0.3);
  int inside = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    // Box and Muller.
    const double u = random.uniform(1e-12, 1), v = random.uniform(0, 1);
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979323846 * v);
    const double draw = std::exp(0.3 * normal);
    inside += interval.low <= draw && draw <= interval.high ? 1 : 0;
  }
  EXPECT_NEAR(1.0 * inside / kDraws, 0.8, 4 * 0.0028);
}

TEST(Interval, ComputationAndCommunicationErrIndependently) { EXPECT_DOUBLE_EQ((Spread{0.03, 0.04}).total(), 0.05); }

TEST(Interval, WhatErrsAlikeCancelsInARatio) {
  // Two schedules that spend their time alike: their ratio is as sure as what each way to run a step has by itself,
  // however unsure the times.
  const double own = constants().ratio_spread;
  EXPECT_EQ(ratio_spread({0.2, 0.1}, {0.2, 0.1}), own);
  // One that computes and one that communicates: nothing cancels. 0.09 + 0.16.
  EXPECT_DOUBLE_EQ(spread_apart({0.3, 0}, {0, 0.4}), 0.5);
  EXPECT_DOUBLE_EQ(ratio_spread({0.3, 0}, {0, 0.4}), std::sqrt(0.25 + own * own));
}

}  // namespace
}  // namespace accosim
