// The GPT's gradients against finite differences of its own loss, and the loss against what can be known without it.
#include "calibration/train/gpt.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "calibration/base/names.hpp"
#include "tests/support/random.hpp"

namespace accocal {
namespace {

std::vector<std::uint8_t> random_tokens(const GptShape& shape, int sequences, Random& random) {
  std::vector<std::uint8_t> tokens(static_cast<std::size_t>(sequences * (shape.context + 1)));
  for (std::uint8_t& token : tokens) token = static_cast<std::uint8_t>(random.integer(0, shape.vocabulary - 1));
  return tokens;
}

std::vector<double> random_parameters(const GptShape& shape, Random& random) {
  // Away from the initial values, where gains are 1, biases 0 and mistakes in them could hide.
  std::vector<double> parameters = initial_parameters(shape, random.bits());
  for (double& p : parameters) p += random.uniform(-0.2, 0.2);
  return parameters;
}

TEST(Gpt, EveryGradientIsThatOfFiniteDifferences) {
  // Central differences of step h err by h^2/6 of the third derivative (here of order 1) and by 1e-16 / h of rounding:
  // with h = 1e-5 some 1e-11. The gradient of a tensor is compared as a vector: norm of the difference over the norm.
  Random random(1);
  const GptShape shape{2, 6, 2, 5, 7};
  const int sequences = 2;
  const std::vector<std::uint8_t> tokens = random_tokens(shape, sequences, random);
  std::vector<double> parameters = random_parameters(shape, random);
  Gpt<double> gpt(shape, sequences);
  std::vector<double> gradient(parameters.size());
  gpt.accumulate(parameters, tokens, gradient);
  for (const ParameterBlock& block : parameter_blocks(shape)) {
    double difference = 0, norm = 0;
    for (std::size_t i = block.offset; i < block.offset + block.size(); ++i) {
      const double h = 1e-5, before = parameters[i];
      parameters[i] = before + h;
      const double above = gpt.loss(parameters, tokens);
      parameters[i] = before - h;
      const double below = gpt.loss(parameters, tokens);
      parameters[i] = before;
      const double numeric = (above - below) / (2 * h);
      difference += (numeric - gradient[i]) * (numeric - gradient[i]);
      norm += numeric * numeric;
    }
    EXPECT_GT(norm, 1e-8) << block.name;
    EXPECT_LT(std::sqrt(difference / norm), 1e-7) << block.name;
  }
}

TEST(Gpt, GradientsAddUp) {
  Random random(2);
  const GptShape shape{1, 4, 1, 3, 5};
  const std::vector<std::uint8_t> tokens = random_tokens(shape, 1, random);
  const std::vector<double> parameters = random_parameters(shape, random);
  Gpt<double> gpt(shape, 1);
  std::vector<double> once(parameters.size()), twice(parameters.size());
  gpt.accumulate(parameters, tokens, once);
  gpt.accumulate(parameters, tokens, twice);
  gpt.accumulate(parameters, tokens, twice);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], 2 * once[i], 1e-15);
}

TEST(Gpt, MicroBatchOfTwoIsTheMeanOfTwoOfOne) {
  Random random(3);
  const GptShape shape{2, 8, 2, 6, 11};
  const std::vector<std::uint8_t> tokens = random_tokens(shape, 2, random);
  const std::span<const std::uint8_t> all(tokens);
  const std::vector<double> parameters = random_parameters(shape, random);
  Gpt<double> two(shape, 2), one(shape, 1);
  std::vector<double> together(parameters.size()), apart(parameters.size());
  const double loss = two.accumulate(parameters, tokens, together);
  const double first = one.accumulate(parameters, all.first(7), apart);
  const double second = one.accumulate(parameters, all.last(7), apart);
  EXPECT_NEAR(loss, (first + second) / 2, 1e-13);
  for (std::size_t i = 0; i < apart.size(); ++i) EXPECT_NEAR(together[i], apart[i] / 2, 1e-13);
}

TEST(Gpt, EmbeddingOfZeroKnowsNothing) {
  // All logits are then 0, every token as likely as another: the loss is ln(vocabulary).
  const GptShape shape{1, 4, 2, 4, 9};
  std::vector<double> parameters = initial_parameters(shape, 1);
  for (std::size_t i = 0; i < 4 * 9; ++i) parameters[i] = 0;
  Random random(4);
  Gpt<double> gpt(shape, 3);
  EXPECT_NEAR(gpt.loss(parameters, random_tokens(shape, 3, random)), std::log(9.0), 1e-14);
}

TEST(Gpt, DoesNotSeeTheFuture) {
  // Probabilities of the last target sum to 1 over the vocabulary; its own cost is the sum of all four less that of the
  // first three, which a GPT with a context of 3 knows without having seen the fourth input.
  const GptShape shape{2, 8, 2, 4, 6}, shorter{2, 8, 2, 3, 6};
  Random random(5);
  const std::vector<double> parameters = random_parameters(shape, random);
  std::vector<double> cut;
  for (const ParameterBlock& block : parameter_blocks(shape)) {
    const std::size_t size = block.name == "position" ? 8 * 3 : block.size();
    cut.insert(cut.end(), parameters.begin() + static_cast<std::ptrdiff_t>(block.offset),
               parameters.begin() + static_cast<std::ptrdiff_t>(block.offset + size));
  }
  Gpt<double> gpt(shape, 1), small(shorter, 1);
  std::vector<std::uint8_t> tokens = {1, 2, 3, 4, 0};
  const double first_three = 3 * small.loss(cut, std::span<const std::uint8_t>(tokens).first(4));
  double sum = 0;
  for (int target = 0; target < shape.vocabulary; ++target) {
    tokens.back() = static_cast<std::uint8_t>(target);
    sum += std::exp(first_three - 4 * gpt.loss(parameters, tokens));
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(Gpt, FloatAgreesWithDouble) {
  Random random(6);
  const GptShape shape{2, 16, 4, 8, 20};
  const std::vector<std::uint8_t> tokens = random_tokens(shape, 2, random);
  const std::vector<double> parameters = random_parameters(shape, random);
  const std::vector<float> rounded(parameters.begin(), parameters.end());
  const std::vector<double> widened(rounded.begin(), rounded.end());
  Gpt<double> precise(shape, 2);
  Gpt<float> quick(shape, 2);
  std::vector<double> g(parameters.size());
  std::vector<float> f(parameters.size());
  EXPECT_NEAR(quick.accumulate(rounded, tokens, f), precise.accumulate(widened, tokens, g), 1e-5);
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    difference += (f[i] - g[i]) * (f[i] - g[i]);
    norm += g[i] * g[i];
  }
  EXPECT_LT(std::sqrt(difference / norm), 1e-5);
}

TEST(Gpt, BlocksFillTheBufferWithoutGaps) {
  const GptShape shape{3, 12, 3, 10, 50};
  std::size_t offset = 0;
  for (const ParameterBlock& block : parameter_blocks(shape)) {
    EXPECT_EQ(block.offset, offset) << block.name;
    offset += block.size();
  }
  // A layer: 12 d^2 weights, 3d + d + 4d + d biases, 4d of norms; besides d (vocabulary + context) and 2d of the last
  // norm.
  EXPECT_EQ(offset, 3u * (12 * 144 + 13 * 12) + 12 * 60 + 24);
  EXPECT_EQ(parameter_count(shape), offset);
}

TEST(Gpt, RefusesWhatDoesNotFit) {
  EXPECT_THROW(parameter_count(GptShape{1, 10, 3, 4, 5}), std::invalid_argument);
  const GptShape shape{1, 4, 1, 2, 3};
  Gpt<float> gpt(shape, 1);
  const std::vector<float> parameters(parameter_count(shape));
  EXPECT_THROW(gpt.loss(parameters, std::vector<std::uint8_t>{0, 1, 3}), std::invalid_argument);
  EXPECT_THROW(gpt.loss(parameters, std::vector<std::uint8_t>{0, 1}), std::invalid_argument);
}

}  // namespace
}  // namespace accocal
