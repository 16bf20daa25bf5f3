// The GPT on the device against that on the processor in double: loss and the gradient of every block of parameters.
#include "calibration/cuda/device_gpt.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "calibration/bf16.hpp"
#include "calibration/random.hpp"
#include "tests/on_device.hpp"
#include "tests/random.hpp"

namespace accosim {
namespace {

struct Case {
  GptShape shape;
  int sequences;
};
// The smallest; sizes that nothing divides, several sequences; whole vectors of 16 bytes; the width of a warp and more.
const Case kCases[] = {
    {{1, 8, 1, 4, 11}, 1}, {{3, 12, 3, 5, 37}, 2}, {{2, 24, 2, 7, 100}, 3}, {{2, 64, 4, 16, 250}, 2}};

std::vector<std::int32_t> random_text(const Case& c, Random& random) {
  std::vector<std::int32_t> text(static_cast<std::size_t>(c.sequences * (c.shape.context + 1)));
  for (std::int32_t& token : text) token = random.integer(0, c.shape.vocabulary - 1);
  return text;
}

template <typename Real>
Real rounded(double value) {
  if constexpr (sizeof(Real) == sizeof(Bf16)) return to_bf16(static_cast<float>(value));
  else return static_cast<Real>(value);
}
double widened(float value) { return static_cast<double>(value); }
double widened(Bf16 value) { return static_cast<double>(to_float(value)); }
template <typename Real>
std::vector<double> widened(const std::vector<Real>& values) {
  std::vector<double> all;
  for (const Real value : values) all.push_back(widened(value));
  return all;
}

template <typename Real>
std::vector<Real> random_parameters(const GptShape& shape, Random& random) {
  // Away from the initial values, where gains are 1, biases 0 and mistakes in them could hide.
  std::vector<Real> parameters;
  for (const double p : initial_parameters(shape, random.bits()))
    parameters.push_back(rounded<Real>(p + random.uniform(-0.2, 0.2)));
  return parameters;
}

struct Reference {
  double loss = 0;
  std::vector<double> gradient;
};
Reference in_double(const Case& c, const std::vector<double>& parameters, const std::vector<std::int32_t>& text) {
  const std::vector<std::uint8_t> tokens(text.begin(), text.end());
  Gpt<double> gpt(c.shape, c.sequences);
  Reference reference{0, std::vector<double>(parameters.size())};
  reference.loss = gpt.accumulate(parameters, tokens, reference.gradient);
  return reference;
}

double norm_of(const ParameterBlock& block, const std::vector<double>& a, const std::vector<double>& less = {}) {
  double sum = 0;
  for (std::size_t i = block.offset; i < block.offset + block.size(); ++i) {
    const double x = a[i] - (less.empty() ? 0 : less[i]);
    sum += x * x;
  }
  return std::sqrt(sum);
}

// How far each block's gradient moves, relative to its norm, when every parameter is moved by up to `unit` of itself, as
// rounding would: the root of the mean square of several draws.
std::vector<double> sensitivity(const Case& c, const std::vector<double>& parameters, const Reference& reference,
                                const std::vector<std::int32_t>& text, double unit, Random& random) {
  const std::vector<ParameterBlock> blocks = parameter_blocks(c.shape);
  std::vector<double> squares(blocks.size());
  const int draws = 8;
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<double> moved = parameters;
    for (double& p : moved) p *= 1 + random.uniform(-unit, unit);
    const Reference other = in_double(c, moved, text);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const double change = norm_of(blocks[b], other.gradient, reference.gradient) / norm_of(blocks[b], reference.gradient);
      squares[b] += change * change / draws;
    }
  }
  for (double& s : squares) s = std::sqrt(s);
  return squares;
}

template <typename Real>
struct OnDevice {
  Stream stream;
  DeviceGpt<Real> gpt;
  DeviceMemory parameters, gradient, loss;
  std::size_t count;

  OnDevice(const Case& c, const std::vector<Real>& p, ProductType fp32 = ProductType::kFp32)
      : gpt(c.shape, c.sequences, fp32),
        parameters(on_device(p, stream)),
        gradient(p.size() * sizeof(Real)),
        loss(sizeof(float)),
        count(p.size()) {
    clear();
  }
  void clear() {
    stream.set_zero(gradient.data(), gradient.size());
    stream.set_zero(loss.data(), loss.size());
  }
  void accumulate(const std::vector<std::int32_t>& text) {
    gpt.accumulate(parameters.template as<Real>(), text, gradient.template as<Real>(), loss.template as<float>(), stream);
  }
  std::vector<Real> gradients() { return on_host<Real>(gradient.data(), count, stream); }
  float losses() { return on_host<float>(loss.data(), 1, stream).front(); }
};

TEST(DeviceGpt, Measure) {
  for (const Case& c : kCases) {
    Random random(1);
    const auto go = [&](auto zero, double unit, ProductType fp32) {
      using Real = decltype(zero);
      const auto p = random_parameters<Real>(c.shape, random);
      const auto text = random_text(c, random);
      const auto ref = in_double(c, widened(p), text);
      const auto s = sensitivity(c, widened(p), ref, text, unit, random);
      OnDevice<Real> device(c, p, fp32);
      device.accumulate(text);
      const auto g = widened(device.gradients());
      printf("loss %g vs %g\n", device.losses(), ref.loss);
      const auto blocks = parameter_blocks(c.shape);
      for (std::size_t b = 0; b < blocks.size(); ++b)
        printf("%-20s err %.2e sens %.2e ratio %.2f\n", blocks[b].name.c_str(),
               norm_of(blocks[b], g, ref.gradient) / norm_of(blocks[b], ref.gradient), s[b],
               norm_of(blocks[b], g, ref.gradient) / norm_of(blocks[b], ref.gradient) / s[b]);
    };
    go(float(), 0x1p-24, ProductType::kFp32);
    go(float(), 0x1p-11, ProductType::kTf32);
    go(Bf16(), 0x1p-9, ProductType::kFp32);
  }
}

}  // namespace
}  // namespace accosim
