// The GPT on the device against that on the processor in double: loss and the gradient of every block of parameters.
#include "calibration/device/device_gpt.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "calibration/base/names.hpp"
#include "calibration/device/kernels.hpp"
#include "tests/device/device_gpts.hpp"
#include "tests/on_host/on_host.hpp"
#include "tests/support/step_lines.hpp"

namespace accocal {
namespace {

// The smallest; sizes that nothing divides; several sequences; whole vectors of 16 bytes, more than a warp; GPT-2's
// vocabulary, which divides by nothing.
const GptCase kCases[] = {{{1, 8, 1, 4, 11}, 1},
                          {{3, 12, 3, 5, 37}, 2},
                          {{2, 22, 2, 7, 100}, 3},
                          {{2, 64, 4, 16, 250}, 2},
                          {{1, 4, 1, 3, 50257}, 1}};

struct Reference {
  double loss = 0;
  std::vector<double> gradient;
};
Reference in_double(const GptCase& c, const std::vector<double>& parameters, const std::vector<std::int32_t>& text) {
  std::vector<std::uint8_t> tokens;
  for (const std::int32_t token : text) tokens.push_back(static_cast<std::uint8_t>(token));
  Gpt<double> gpt(c.shape, c.sequences);
  Reference reference{0, std::vector<double>(parameters.size())};
  reference.loss = gpt.accumulate(parameters, tokens, reference.gradient);
  return reference;
}

double norm_of(const ParameterBlock& block, const std::vector<double>& a) {
  double sum = 0;
  for (std::size_t i = block.offset; i < block.offset + block.size(); ++i) sum += a[i] * a[i];
  return std::sqrt(sum);
}
double distance(const ParameterBlock& block, const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = block.offset; i < block.offset + block.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

// How far the loss, and each block's gradient relative to its norm, move when every parameter is moved by up to `unit`
// of itself, as rounding would: the root of the mean square of several draws.
struct Sensitivity {
  double loss = 0;
  std::vector<double> gradient;
};
Sensitivity sensitivity(const GptCase& c, const std::vector<double>& parameters, const Reference& reference,
                        const std::vector<std::int32_t>& text, double unit, Random& random) {
  const std::vector<ParameterBlock> blocks = parameter_blocks(c.shape);
  Sensitivity squares{0, std::vector<double>(blocks.size())};
  const int draws = 8;
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<double> moved = parameters;
    for (double& p : moved) p *= 1 + random.uniform(-unit, unit);
    const Reference other = in_double(c, moved, text);
    squares.loss += (other.loss - reference.loss) * (other.loss - reference.loss) / draws;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const double change =
          distance(blocks[b], other.gradient, reference.gradient) / norm_of(blocks[b], reference.gradient);
      squares.gradient[b] += change * change / draws;
    }
  }
  squares.loss = std::sqrt(squares.loss);
  for (double& s : squares.gradient) s = std::sqrt(s);
  return squares;
}

// What rounds: every intermediate result to its type, by up to `unit` of itself, as the move above does to parameters.
// A layer has some 20 of them on its way there and back (norms, products, softmax, GELU, residuals, and the gradients
// of all), where the move touches 6 tensors that are multiplied by (two gains, four weights). Errors that have nothing
// to do with each other add as squares: root(20 / 6) times what the move did. In fp32 there are the sums besides, one
// term after the other: of n terms alike each partial sum rounds, together n / 3 times the square of one rounding, a
// layer's over the width; and what comes from the logits, on which all gradients hang, is a sum over the vocabulary in
// which the target's term stands for all from where it comes: V roundings, which act like those of one of the 6 tensors
// on what lies behind, and as they are (u root(V / 3)) on what is next to them. The bound is three times this
// estimate, since the error of a block of few numbers is one draw; a mistake in fp32 is thousands of times it.
double bound(const GptCase& c, double moved, double unit, bool sums) {
  if (!sums) return 3 * std::sqrt(20.0 / 6) * moved;
  const double V = c.shape.vocabulary;
  return 3 * std::hypot(std::sqrt((20 * (1 + c.shape.width / 3.0) + V) / 6) * moved, unit * std::sqrt(V / 3));
}

template <typename Real>
void expect_gradients_of_double(ProductType fp32, double unit, bool sums) {
  for (const GptCase& c : kCases) {
    Random random(static_cast<std::uint64_t>(c.shape.width));
    const auto p = random_parameters<Real>(c.shape, random);
    const auto text = random_text(c, random);
    const Reference reference = in_double(c, widened(p), text);
    const Sensitivity moves = sensitivity(c, widened(p), reference, text, unit, random);
    GptOnDevice<Real> device(c, p, fp32);
    device.accumulate(text);
    const std::vector<double> gradient = widened(device.gradients());
    const std::vector<ParameterBlock> blocks = parameter_blocks(c.shape);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const double norm = norm_of(blocks[b], reference.gradient);
      ASSERT_GT(norm, 1e-6) << blocks[b].name;
      const double error = distance(blocks[b], gradient, reference.gradient) / norm;
      EXPECT_LE(error, bound(c, moves.gradient[b], unit, sums)) << blocks[b].name << ", width " << c.shape.width;
    }
    // The logits round too, of which the highest are about the loss where they spread about 0; then as many losses as
    // there are tokens are summed in fp32, each from a few operations.
    const double tokens = c.sequences * c.shape.context;
    EXPECT_NEAR(double_of(device.losses()), reference.loss,
                bound(c, moves.loss, unit, sums) + 2 * unit * reference.loss / std::sqrt(tokens) +
                    (tokens + 4) * 0x1p-24 * reference.loss)
        << c.shape.width;
  }
}

TEST(DeviceGpt, EveryGradientInFp32IsThatOfDouble) {
  expect_gradients_of_double<float>(ProductType::kFp32, 0x1p-24, true);
}

TEST(DeviceGpt, EveryGradientInTf32IsThatOfDouble) {
  // Both operands of each product lose up to 2^-10 where they are cut, half of it where they are rounded.
  expect_gradients_of_double<float>(ProductType::kTf32, 0x1p-10, false);
}

TEST(DeviceGpt, EveryGradientInBf16IsThatOfDouble) {
  // Half of the last of 8 binary digits: 2^-9 of a number at most. Sums are in fp32, which nobody sees here.
  expect_gradients_of_double<Bf16>(ProductType::kFp32, 0x1p-9, false);
}

TEST(DeviceGpt, GradientsAndLossesAddUp) {
  // Adding to what was there rounds it once more for each of up to three additions; so does each part alone.
  const GptCase c = kCases[1];
  Random random(2);
  const auto p = random_parameters<float>(c.shape, random);
  const auto first = random_text(c, random), second = random_text(c, random);
  GptOnDevice<float> device(c, p);
  device.accumulate(first);
  const auto one = widened(device.gradients());
  const float one_loss = device.losses();
  device.clear();
  device.accumulate(second);
  const auto two = widened(device.gradients());
  const float two_loss = device.losses();
  device.clear();
  device.accumulate(first);
  device.accumulate(second);
  const auto both = widened(device.gradients());
  EXPECT_NEAR(device.losses(), one_loss + two_loss, 0x1p-23 * 10);
  std::vector<double> sum(both.size());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = one[i] + two[i];
  for (const ParameterBlock& block : parameter_blocks(c.shape))
    EXPECT_LE(distance(block, both, sum), 8 * 0x1p-24 * (norm_of(block, one) + norm_of(block, two))) << block.name;
}

template <typename Real>
void expect_equal_bits() {
  const GptCase c = kCases[2];
  Random random(3);
  const auto p = random_parameters<Real>(c.shape, random);
  const auto text = random_text(c, random);
  GptOnDevice<Real> device(c, p);
  device.accumulate(text);
  const std::vector<Real> once = device.gradients();
  const float loss = device.losses();
  GptOnDevice<Real> other(c, p);
  for (GptOnDevice<Real>* again : {&device, &other}) {
    again->clear();
    again->accumulate(text);
    const std::vector<Real> twice = again->gradients();
    EXPECT_EQ(std::memcmp(once.data(), twice.data(), once.size() * sizeof(Real)), 0);
    EXPECT_EQ(again->losses(), loss);
  }
}

TEST(DeviceGpt, EqualInputsGiveEqualBits) {
  expect_equal_bits<float>();
  expect_equal_bits<Bf16>();
}

TEST(DeviceGpt, TextsMayBeGivenAheadOfTheDevice) {
  // More micro-batches than are staged at once, given without a look at the device, from one vector that changes.
  const GptCase c = kCases[1];
  Random random(4);
  const auto p = random_parameters<float>(c.shape, random);
  std::vector<std::vector<std::int32_t>> texts;
  for (int i = 0; i < 11; ++i) texts.push_back(random_text(c, random));
  GptOnDevice<float> hurried(c, p), patient(c, p);
  std::vector<std::int32_t> text;
  for (const auto& next : texts) {
    text = next;
    hurried.accumulate(text);
  }
  text.clear();
  for (const auto& next : texts) {
    patient.accumulate(next);
    patient.stream.synchronise();
  }
  EXPECT_EQ(hurried.gradients(), patient.gradients());
  EXPECT_EQ(hurried.losses(), patient.losses());
}

TEST(DeviceGpt, ForwardAloneGivesTheSameLoss) {
  const GptCase c = kCases[1];
  Random random(5);
  const auto p = random_parameters<Bf16>(c.shape, random);
  const auto text = random_text(c, random);
  GptOnDevice<Bf16> device(c, p);
  device.accumulate(text);
  const float loss = device.losses();
  device.clear();
  device.gpt.forward(device.parameters.as<Bf16>(), text, device.loss.as<float>(), device.stream);
  EXPECT_EQ(device.losses(), loss);
  for (const Bf16 g : device.gradients()) ASSERT_EQ(g.bits, 0);
  // Nobody need ask for the loss.
  device.gpt.accumulate(device.parameters.as<Bf16>(), text, device.gradient.as<Bf16>(), nullptr, device.stream);
  EXPECT_EQ(device.losses(), loss);
}

TEST(DeviceGpt, StreamsAloneOrderIt) {
  // Two models on two streams, parameters that come by a third, a gradient read by a fourth, in many interleavings:
  // what no event orders would come out wrong in some of them.
  const GptCase c = kCases[0];
  Random random(6);
  const auto p = random_parameters<float>(c.shape, random);
  const auto text = random_text(c, random);
  std::vector<float> expected;
  {
    GptOnDevice<float> alone(c, p);
    alone.accumulate(text);
    alone.accumulate(text);
    expected = alone.gradients();
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    set_interleaving(seed);
    GptOnDevice<float> one(c, std::vector<float>(p.size(), 0)), other(c, p);
    Stream giver, reader;
    Event given, made;
    std::vector<float> read(p.size());
    giver.copy_to_device(one.parameters.data(), p.data(), p.size() * sizeof(float));
    giver.record(given);
    one.stream.wait(given);
    for (int i = 0; i < 2; ++i) {
      one.accumulate(text);
      other.accumulate(text);
    }
    one.stream.record(made);
    reader.wait(made);
    reader.copy_to_host(read.data(), one.gradient.data(), p.size() * sizeof(float));
    reader.synchronise();
    EXPECT_EQ(read, expected) << seed;
    EXPECT_EQ(other.gradients(), expected) << seed;
  }
}

TEST(DeviceGpt, LaunchesTheStepAsItIsStatedAndNothingElse) {
  if (!device_is_played()) GTEST_SKIP() << "only the played device keeps a log";
  for (const GptCase& c : kCases) {
    Random random(7);
    const auto text = random_text(c, random);
    GptOnDevice<float> device(c, random_parameters<float>(c.shape, random));
    start_launch_log();
    device.accumulate(text);
    std::vector<std::string> log = end_launch_log();
    // The text, the columns by token, where each token's begin (one more), the tokens: 4 bytes each.
    const int tokens = c.sequences * c.shape.context;
    ASSERT_FALSE(log.empty());
    EXPECT_EQ(log.front(), "copy_to_device " + std::to_string(4 * (4 * tokens + c.sequences + 1)));
    log.erase(log.begin());
    EXPECT_EQ(log, step_lines(step_sizes(c.shape, c.sequences), sizeof(float)));
    device.stream.synchronise();
  }
}

TEST(DeviceGpt, SaysWhatMemoryItTakes) {
  // A layer: residual 2, normalised 2, qkv 3, mixed 1, up 4, active 4 times width x tokens; weights of attention,
  // context for each token and head; mean and scale of two norms in fp32. The head: 2 times width x tokens, mean and
  // scale, and the logits. Used again: 4 + 3 + 1 + 1 + 1 times width x tokens and one layer's weights of attention.
  // With sizes that fill 256 bytes nothing is lost between them; sums, text, workspace of products come on top.
  const GptCase c{{2, 64, 2, 64, 250}, 1};
  const std::int64_t stream = 64 * 64, weights = 2 * 64 * 64, row = 64 * 4;
  const std::int64_t kept = 2 * (16 * stream + weights) * 2 + 2 * 4 * row + (2 * stream + 256 * 64) * 2 + 2 * row;
  const std::int64_t again = (10 * stream + weights) * 2;
  Products products;
  const std::int64_t before = device_memory_used();
  const DeviceGpt<Bf16> gpt(c.shape, c.sequences);
  if (device_is_played()) {
    EXPECT_EQ(device_memory_used() - before, gpt.memory());
  }
  const std::int64_t sums =
      4 * static_cast<std::int64_t>(std::max({std::size_t{64}, norm_workspace({1, 64, 64, 2}), bias_workspace(256, 64),
                                              bias_workspace(192, 64), bias_workspace(64, 64)}));
  const std::int64_t rest = gpt.memory() - kept - again - products.memory();
  EXPECT_EQ(rest, (sums + 255) / 256 * 256 + 256 + 4 * (4 * 64 + 1 + 1));
}

TEST(DeviceGpt, RefusesWhatDoesNotFit) {
  EXPECT_THROW(DeviceGpt<float>({1, 10, 3, 4, 5}, 1), std::invalid_argument);
  EXPECT_THROW(DeviceGpt<float>({1, 4, 1, 2, 3}, 0), std::invalid_argument);
  EXPECT_THROW(DeviceGpt<float>({1, 4, 1, 2, 3}, 1, ProductType::kFp16), std::invalid_argument);
  const GptCase c{{1, 4, 1, 2, 3}, 1};
  GptOnDevice<float> device(c, std::vector<float>(parameter_count(c.shape)));
  EXPECT_THROW(device.accumulate({0, 1, 3}), std::invalid_argument);
  EXPECT_THROW(device.accumulate({0, -1, 2}), std::invalid_argument);
  EXPECT_THROW(device.accumulate({0, 1}), std::invalid_argument);
}

}  // namespace
}  // namespace accocal
