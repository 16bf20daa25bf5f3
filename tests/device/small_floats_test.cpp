// The formats against numbers that everybody knows, and each number of each against itself.
#include "tests/device/small_floats.hpp"

#include <gtest/gtest.h>

#include "calibration/base/names.hpp"
#include "calibration/ranks/bf16.hpp"
#include "tests/support/random.hpp"

namespace accocal {
namespace {

TEST(SmallFloats, KnownNumbers) {
  EXPECT_EQ(decode(kFp16Format, 0x3c00), 1.0);
  EXPECT_EQ(decode(kFp16Format, 0x7bff), 65504.0);
  EXPECT_EQ(decode(kFp16Format, 0x0001), 0x1p-24);
  EXPECT_EQ(decode(kFp16Format, 0xc000), -2.0);
  EXPECT_EQ(decode(kE4m3Format, 0x38), 1.0);
  EXPECT_EQ(decode(kE4m3Format, 0x7e), 448.0);
  EXPECT_EQ(decode(kE4m3Format, 0x01), 0x1p-9);
  EXPECT_TRUE(std::isnan(decode(kE4m3Format, 0x7f)));
  EXPECT_EQ(decode(kBf16Format, 0x3f80), 1.0);
  EXPECT_EQ(encode(kFp16Format, 1 + 0x1p-11), 0x3c00u);      // a tie goes to even
  EXPECT_EQ(encode(kFp16Format, 1 + 3 * 0x1p-11), 0x3c02u);  // also upwards
  EXPECT_EQ(encode(kFp16Format, 2 - 0x1p-12), 0x4000u);      // a carry into the exponent
  EXPECT_TRUE(std::isnan(decode(kE4m3Format, encode(kE4m3Format, 500))));
}

TEST(SmallFloats, EachIsItsOwnNearest) {
  for (const SmallFloat& format : {kFp16Format, kBf16Format, kE4m3Format}) {
    const std::uint32_t count = 2u << (format.exponent_bits + format.mantissa_bits);
    for (std::uint32_t bits = 0; bits < count; ++bits) {
      const double value = decode(format, bits);
      if (std::isfinite(value)) {
        EXPECT_EQ(encode(format, value), bits);
      }
    }
  }
}

TEST(SmallFloats, Bf16RoundsAsTheRanksDo) {
  Random random(1);
  for (int i = 0; i < 10000; ++i) {
    const auto value = static_cast<float>(random.uniform(-1, 1) * std::ldexp(1, random.integer(-100, 100)));
    EXPECT_EQ(encode(kBf16Format, value), to_bf16(value).bits) << value;
  }
}

}  // namespace
}  // namespace accocal
