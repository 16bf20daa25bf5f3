// The two conversions between fp32 and its upper half, in which the paper keeps parameters and gradients.
#pragma once

#include <bit>
#include <cstdint>

#include "calibration/ranks/transport.hpp"

namespace accocal {

/// Exact.
inline float to_float(Bf16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }

/// To nearest, ties to even; beyond the largest finite number to infinity; a NaN stays one.
inline Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
  // Half of the last kept place, less one where the kept part is even: a tie then goes to even.
  const std::uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return {static_cast<std::uint16_t>(rounded >> 16)};
}

}  // namespace accocal
