// A small GPT on the device with random parameters and text, for the tests that hold it against others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/device/device_gpt.hpp"
#include "tests/device/on_device.hpp"
#include "tests/device/reals.hpp"
#include "tests/support/random.hpp"

namespace accocal {

struct GptCase {
  GptShape shape;
  int sequences;
};

/// Of tokens that the processor's model knows too, whose text is of bytes.
inline std::vector<std::int32_t> random_text(const GptCase& c, Random& random) {
  std::vector<std::int32_t> text(static_cast<std::size_t>(c.sequences * (c.shape.context + 1)));
  for (std::int32_t& token : text) token = random.integer(0, std::min(c.shape.vocabulary, 256) - 1);
  return text;
}

template <typename Real>
std::vector<double> widened(const std::vector<Real>& values) {
  return mapped<double>(values, [](const Real value) { return double_of(value); });
}

/// Away from the initial values, where gains are 1, biases 0 and mistakes in them could hide.
template <typename Real>
std::vector<Real> random_parameters(const GptShape& shape, Random& random) {
  return mapped<Real>(initial_parameters(shape, random.bits()),
                      [&](const double p) { return real_of<Real>(p + random.uniform(-0.2, 0.2)); });
}

/// With a gradient and a loss that begin at 0.
template <typename Real>
struct GptOnDevice {
  Stream stream;
  DeviceGpt<Real> gpt;
  DeviceMemory parameters, gradient, loss;
  std::size_t count;

  GptOnDevice(const GptCase& c, const std::vector<Real>& p, ProductType fp32 = ProductType::kFp32)
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
    gpt.accumulate(parameters.template as<Real>(), text, gradient.template as<Real>(), loss.template as<float>(),
                   stream);
  }
  std::vector<Real> gradients() { return on_host<Real>(gradient.data(), count, stream); }
  float losses() { return on_host<float>(loss.data(), 1, stream).front(); }
};

}  // namespace accocal
