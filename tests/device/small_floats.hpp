// The number formats of tensor cores by the definition of floating point, for reference results and for the products
// that are played on the host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace accocal {

/// Sign, exponent and mantissa, with denormal numbers.
struct SmallFloat {
  int exponent_bits, mantissa_bits;
  bool infinities;  ///< the highest exponent is for infinities and NaN; else its highest mantissa alone is NaN

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  /// Half the distance to the next number, relative to the number.
  double half_ulp() const { return std::ldexp(1.0, -mantissa_bits - 1); }
};
inline constexpr SmallFloat kFp16Format{5, 10, true};
inline constexpr SmallFloat kBf16Format{8, 7, true};
inline constexpr SmallFloat kE4m3Format{4, 3, false};

inline double decode(const SmallFloat& format, std::uint32_t bits) {
  const std::uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> format.mantissa_bits) & ((1 << format.exponent_bits) - 1);
  const double sign = (bits >> (format.mantissa_bits + format.exponent_bits)) & 1 ? -1 : 1;
  const bool highest = exponent == (1 << format.exponent_bits) - 1;
  if (highest && format.infinities)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (highest && mantissa == (1u << format.mantissa_bits) - 1) return std::numeric_limits<double>::quiet_NaN();
  const double fraction = mantissa + (exponent == 0 ? 0.0 : std::ldexp(1.0, format.mantissa_bits));
  return sign * std::ldexp(fraction, std::max(exponent, 1) - format.bias() - format.mantissa_bits);
}

/// To nearest, ties to even. Finite numbers that stay finite, as those of the tests do; else NaN.
inline std::uint32_t encode(const SmallFloat& format, double value) {
  const std::uint32_t sign = std::signbit(value) ? 1u << (format.mantissa_bits + format.exponent_bits) : 0;
  const std::uint32_t nan = (1u << (format.mantissa_bits + format.exponent_bits)) - 1;
  if (!std::isfinite(value)) return sign | nan;
  const int lowest = 1 - format.bias();
  const int exponent = value == 0 ? lowest : std::max(std::ilogb(value), lowest);
  // The mantissa with its leading one (which denormal numbers lack), added to the exponent's place: a carry raises the
  // exponent by itself.
  const auto mantissa =
      static_cast<std::uint32_t>(std::nearbyint(std::ldexp(std::abs(value), format.mantissa_bits - exponent)));
  const std::uint32_t bits = (static_cast<std::uint32_t>(exponent - lowest) << format.mantissa_bits) + mantissa;
  return sign | (std::isfinite(decode(format, bits)) && bits <= nan ? bits : nan);
}

}  // namespace accocal
