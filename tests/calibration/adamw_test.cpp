// The optimizer by hand over two steps, its states put aside and back, and the learning rate's schedule; bf16's
// rounding.
#include "calibration/train/adamw.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "calibration/base/names.hpp"
#include "calibration/ranks/bf16.hpp"
#include "calibration/train/flat_buffer.hpp"
#include "tests/support/random.hpp"

namespace accocal {
namespace {

OptimizerOptions by_hand() { return OptimizerOptions{.adamw = {0.5, 0.75, 1e-12, 0.1}}; }

TEST(AdamW, TwoStepsByHand) {
  // beta1 1/2, beta2 3/4, decay 0.1, rate 0.1, w = 1. The gradients 1 and 2 come as sums over 2 micro-batches: g =
  // 1/2, 1. Step 1: m = 1/4, v = 1/16; unbiased 1/2 and 1/4; w = 0.99 - 0.1 (1/2) / (1/2) = 0.89. Step 2: m = 1/8 + 1/2
  // = 5/8, v = 3/64 + 1/4 = 19/64; unbiased 5/8 / (3/4) = 5/6 and 19/64 / (7/16) = 19/28;
  //         w = 0.89 x 0.99 - 0.1 (5/6) / sqrt(19/28) = 0.8811 - 0.1011629 = 0.7799371.
  const std::vector<float> begin = {1};
  ShardOptimizer optimizer(by_hand(), begin);
  optimizer.step(0.1, 0.5, std::vector<float>{1});
  EXPECT_NEAR(optimizer.master()[0], 0.89, 1e-7);
  optimizer.step(0.1, 0.5, std::vector<float>{2});
  EXPECT_NEAR(optimizer.master()[0], 0.8811 - 0.1 * (5.0 / 6) / std::sqrt(19.0 / 28), 1e-7);
  EXPECT_EQ(optimizer.steps(), 2);
}

TEST(AdamW, ShardsGiveWhatTheWholeGives) {
  Random random(1);
  std::vector<float> parameters(101), gradient(101);
  for (float& p : parameters) p = static_cast<float>(random.uniform(-1, 1));
  ShardOptimizer whole({}, parameters);
  std::vector<ShardOptimizer> shards;
  for (int rank = 0; rank < 4; ++rank) {
    const Shard shard = shard_of(101, rank, 4);
    shards.emplace_back(OptimizerOptions{}, std::span<const float>(parameters).subspan(shard.begin, shard.size()));
  }
  for (int step = 0; step < 5; ++step) {
    for (float& g : gradient) g = static_cast<float>(random.uniform(-1, 1));
    whole.step(0.01, 0.25, gradient);
    for (int rank = 0; rank < 4; ++rank) {
      const Shard shard = shard_of(101, rank, 4);
      ShardOptimizer& part = shards[static_cast<std::size_t>(rank)];
      part.step(0.01, 0.25, std::span<const float>(gradient).subspan(shard.begin, shard.size()));
      for (std::size_t i = 0; i < shard.size(); ++i) EXPECT_EQ(part.master()[i], whole.master()[shard.begin + i]);
    }
  }
}

TEST(AdamW, RestoreForgetsTheStepOrKeepsItsMoments) {
  const std::vector<float> begin = {1};
  const std::vector<float> one = {1}, two = {2};
  ShardOptimizer plain(by_hand(), begin), restored(by_hand(), begin), kept(by_hand(), begin);
  restored.save();
  restored.step(0.1, 0.5, one);
  restored.restore(ShardOptimizer::Restore::kAll);
  EXPECT_EQ(restored.steps(), 0);
  plain.step(0.1, 0.5, two);
  restored.step(0.1, 0.5, two);
  EXPECT_EQ(restored.master()[0], plain.master()[0]);
  // Kept: the second step of the test by hand, but from w = 1: 0.99 - 0.1 (5/6) / sqrt(19/28).
  kept.save();
  kept.step(0.1, 0.5, one);
  kept.restore(ShardOptimizer::Restore::kParameters);
  EXPECT_EQ(kept.master()[0], 1);
  EXPECT_EQ(kept.steps(), 1);
  kept.step(0.1, 0.5, two);
  EXPECT_NEAR(kept.master()[0], 0.99 - 0.1 * (5.0 / 6) / std::sqrt(19.0 / 28), 1e-7);
}

TEST(Sgd, MovesAgainstTheMeanGradient) {
  OptimizerOptions options{.kind = OptimizerKind::kSgd};
  const std::vector<float> begin = {1, -2};
  ShardOptimizer optimizer(options, begin);
  optimizer.step(0.5, 0.25, std::vector<float>{4, 8});  // means 1 and 2
  EXPECT_EQ(optimizer.master()[0], 0.5F);
  EXPECT_EQ(optimizer.master()[1], -3);
}

TEST(LearningRate, RisesThenFallsAsACosine) {
  OptimizerOptions options{.learning_rate = 8, .warmup = 0.2};
  // Ten updates: the first two warm up, to half and to all of it; then cosine over eight, half-way at 0.6.
  EXPECT_DOUBLE_EQ(learning_rate_at(options, 0, 0.1), 4);
  EXPECT_DOUBLE_EQ(learning_rate_at(options, 0.1, 0.1), 8);
  EXPECT_DOUBLE_EQ(learning_rate_at(options, 0.2, 0.1), 8);
  EXPECT_NEAR(learning_rate_at(options, 0.6, 0.1), 4, 1e-12);
  EXPECT_NEAR(learning_rate_at(options, 1, 0.1), 0, 1e-12);
  EXPECT_NEAR(learning_rate_at(options, 1.5, 0.1), 0, 1e-12);  // samples overshoot their goal
  options.cosine = false;
  EXPECT_DOUBLE_EQ(learning_rate_at(options, 0.6, 0.1), 8);
}

TEST(Bf16, RoundsToNearestEven) {
  // 7 bits behind the point: neighbours of 1 are 2^-7 apart. Ties go to the even one.
  EXPECT_EQ(to_float(to_bf16(1)), 1.0F);
  EXPECT_EQ(to_float(to_bf16(1 + 0x1p-8F)), 1.0F);                    // tie, 1 is even
  EXPECT_EQ(to_float(to_bf16(1 + 0x1p-8F + 0x1p-20F)), 1 + 0x1p-7F);  // just above it
  EXPECT_EQ(to_float(to_bf16(1 + 3 * 0x1p-8F)), 1 + 0x1p-6F);         // tie, 1 + 2^-7 is odd
  EXPECT_EQ(to_float(to_bf16(-1 - 3 * 0x1p-8F)), -1 - 0x1p-6F);
  EXPECT_EQ(to_float(to_bf16(std::numeric_limits<float>::max())), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Bf16, WhatItHoldsComesBack) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const Bf16 value{static_cast<std::uint16_t>(bits)};
    if (std::isnan(to_float(value))) continue;
    EXPECT_EQ(to_bf16(to_float(value)).bits, bits);
  }
}

TEST(FlatBuffer, AddsInWhatIsStored) {
  // In bf16, 1 + 2^-9 is lost however often it is added; in fp32 it is not.
  const std::vector<float> begin = {1}, little = {0x1p-9F};
  FlatBuffer precise(1, ElementType::kFloat32), rounded(1, ElementType::kBf16);
  for (FlatBuffer* buffer : {&precise, &rounded}) {
    buffer->write({0, 1}, begin);
    for (int i = 0; i < 4; ++i) buffer->add(little);
  }
  std::vector<float> scratch;
  EXPECT_EQ(precise.read(scratch)[0], 1 + 0x1p-7F);
  EXPECT_EQ(rounded.read(scratch)[0], 1.0F);
}

}  // namespace
}  // namespace accocal
