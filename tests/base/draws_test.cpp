// Are draws functions of what they are for, and of the distribution that they say?
#include "models/base/draws.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace accosim {
namespace {

TEST(Draws, TheSameArgumentsGiveTheSameDrawAndOthersAnother) {
  EXPECT_EQ(uniform_draw(1, Stream::kLength, 2, 3), uniform_draw(1, Stream::kLength, 2, 3));
  EXPECT_NE(uniform_draw(1, Stream::kLength, 2, 3), uniform_draw(2, Stream::kLength, 2, 3));
  EXPECT_NE(uniform_draw(1, Stream::kLength, 2, 3), uniform_draw(1, Stream::kMicroBatch, 2, 3));
  EXPECT_NE(uniform_draw(1, Stream::kLength, 2, 3), uniform_draw(1, Stream::kLength, 3, 2));
}

TEST(Draws, UniformOnesFillTheIntervalEvenly) {
  // 100,000 draws in ten bins of 10,000: each has a standard deviation of sqrt(n p (1 - p)) = 95; five of them allowed.
  std::vector<int> bins(10);
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const double u = uniform_draw(7, Stream::kMicroBatch, i % 13, i / 13);
    ASSERT_GT(u, 0);
    ASSERT_LT(u, 1);
    ++bins[static_cast<std::size_t>(10 * u)];
  }
  for (const int bin : bins) EXPECT_NEAR(bin, 10'000, 5 * 95);
}

TEST(Draws, NeighboursAreNotAlike) {
  // The correlation of 10,000 pairs has a standard deviation of 0.01.
  double along = 0, across = 0;
  constexpr int kPairs = 10'000;
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    const double here = uniform_draw(0, Stream::kMicroBatch, 0, i) - 0.5;
    along += here * (uniform_draw(0, Stream::kMicroBatch, 0, i + 1) - 0.5);
    across += here * (uniform_draw(0, Stream::kMicroBatch, 1, i) - 0.5);
  }
  EXPECT_NEAR(12 * along / kPairs, 0, 0.05);
  EXPECT_NEAR(12 * across / kPairs, 0, 0.05);
}

TEST(Draws, QuantilesInvertTheirDistributions) {
  // The normal distribution function is erfc(-x / sqrt 2) / 2; that of the exponential 1 - exp(-x).
  for (const double p : {1e-12, 1e-6, 0.001, 0.05, 0.3, 0.5, 0.7, 0.925, 0.999, 1 - 1e-9}) {
    EXPECT_NEAR(std::erfc(-normal_quantile(p) / std::sqrt(2.0)) / 2 / p, 1, 1e-12) << p;
    EXPECT_NEAR(-std::expm1(-exponential_quantile(p)) / p, 1, 1e-12) << p;
  }
  EXPECT_EQ(normal_quantile(0.5), 0);
}

TEST(Draws, AnIndexHasThePartOfItsWeight) {
  // Weights 1, 0, 3: up to a quarter the first, then the third; the second never.
  const std::vector<double> shares = cumulative_shares({1, 0, 3});
  EXPECT_EQ(shares, (std::vector<double>{0.25, 0.25, 1}));
  EXPECT_EQ(index_at(shares, 0.2), 0U);
  EXPECT_EQ(index_at(shares, 0.3), 2U);
  EXPECT_EQ(index_at(shares, 0.999999), 2U);
  // Sums that are rounded to less than 1 still have a last part.
  EXPECT_EQ(index_at(cumulative_shares(std::vector<double>(10, 0.1)), 1 - 1e-17), 9U);
}

}  // namespace
}  // namespace accosim
