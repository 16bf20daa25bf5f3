// Nearest by value: the bound between s 2^-k and its half lies at three quarters of the former.
#include "calibration/train/e3m0.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace accocal {
namespace {

constexpr std::size_t kCodes = 16;  // a word
constexpr unsigned kSign = 8;
constexpr int kLargest = 7;  // the code of the scale itself; 0 is zero's

/// Of a magnitude from 0 to 1.
unsigned code_of(float magnitude) {
  if (!(magnitude >= std::ldexp(0.5F, 1 - kLargest))) return 0;
  return static_cast<unsigned>(std::clamp(kLargest + std::ilogb(magnitude / 0.75F), 1, kLargest));
}

float value_of(unsigned code, float scale) {
  const auto exponent = static_cast<int>(code & ~kSign);
  const float magnitude = exponent == 0 ? 0 : std::ldexp(scale, exponent - kLargest);
  return (code & kSign) == 0 ? magnitude : -magnitude;
}

void check(std::size_t words, std::size_t values) {
  if (words != e3m0_words(values)) throw std::invalid_argument("a packet of another number of words");
}

}  // namespace

void pack_e3m0(std::span<const float> values, std::span<std::int64_t> words) {
  check(words.size(), values.size());
  float scale = 0;
  for (const float value : values) scale = std::max(scale, std::abs(value));
  words[0] = std::bit_cast<std::int32_t>(scale);
  for (std::size_t w = 1; w < words.size(); ++w) {
    std::uint64_t word = 0;
    const std::size_t first = (w - 1) * kCodes, end = std::min(first + kCodes, values.size());
    for (std::size_t i = first; i < end && scale > 0; ++i) {
      const unsigned code = code_of(std::abs(values[i]) / scale) | (values[i] < 0 ? kSign : 0);
      word |= std::uint64_t{code} << (4 * (i - first));
    }
    words[w] = static_cast<std::int64_t>(word);
  }
}

void add_e3m0(std::span<const std::int64_t> words, std::span<float> sum) {
  check(words.size(), sum.size());
  const auto scale = std::bit_cast<float>(static_cast<std::int32_t>(words[0]));
  std::array<float, kCodes> values{};
  for (unsigned code = 0; code < kCodes; ++code) values[code] = value_of(code, scale);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const auto word = static_cast<std::uint64_t>(words[1 + i / kCodes]);
    sum[i] += values[(word >> (4 * (i % kCodes))) & 15];
  }
}

}  // namespace accocal
