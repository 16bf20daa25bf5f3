// Are quantities read as people mean them, printed so that they read back, and refused where they are ambiguous?
#include "models/base/quantity.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace accosim {
namespace {

double parsed(const std::string& text, Dimension dimension) {
  const ParsedQuantity result = parse_quantity(text, dimension);
  EXPECT_EQ(result.error, "") << text;
  return result.value;
}
std::string error_of(const std::string& text, Dimension dimension) {
  const ParsedQuantity result = parse_quantity(text, dimension);
  EXPECT_NE(result.error, "") << text;
  return result.error;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Quantity, BitsAreAnEighthOfBytes) {
  EXPECT_EQ(parsed("100 Gbit/s", Dimension::kBandwidth), 12.5e9);
  for (const char* text : {"100 Gb/s", "100Gbps", "100 Gbit/s", "1e2 Gb/s", " 100\tGbit/s "}) {
    EXPECT_EQ(parsed(text, Dimension::kBandwidth), 12.5e9) << text;
  }
  EXPECT_EQ(parsed("100 GB/s", Dimension::kBandwidth), 100e9);
  EXPECT_EQ(parsed("100 GBps", Dimension::kBandwidth), 100e9);
  EXPECT_EQ(parsed("8 bit", Dimension::kData), 1);
}

TEST(Quantity, DecimalAndBinaryMultiplesDiffer) {
  EXPECT_EQ(parsed("80 GB", Dimension::kData), 80e9);
  EXPECT_EQ(parsed("80 GiB", Dimension::kData), 80.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(parsed("1 kB", Dimension::kData), 1000);
  EXPECT_EQ(parsed("1 KiB", Dimension::kData), 1024);
}

TEST(Quantity, MicrosecondsHaveThreeSpellings) {
  EXPECT_EQ(parsed("3 us", Dimension::kTime), 3e-6);
  EXPECT_EQ(parsed("3 \u00B5s", Dimension::kTime), 3e-6);  // micro sign
  EXPECT_EQ(parsed("3 \u03BCs", Dimension::kTime), 3e-6);  // Greek mu
  EXPECT_EQ(parsed("2 h", Dimension::kTime), 7200);
  EXPECT_EQ(parsed("1.5 min", Dimension::kTime), 90);
}

TEST(Quantity, LongTimesAreHoursAndMinutes) {
  EXPECT_EQ(parsed("3 h 46 min", Dimension::kTime), 3 * 3600 + 46 * 60);
  EXPECT_EQ(parsed(" 14h 41min ", Dimension::kTime), 14 * 3600 + 41 * 60);
  EXPECT_EQ(parsed("0 h 25 min", Dimension::kTime), 25 * 60);
  // Not a sum of any two: minutes are below 60, hours come first, and both are whole.
  for (const char* text : {"3 h 60 min", "46 min 3 h", "3.5 h 1 min", "3 h 1.5 min", "3 h 46", "3 h 46 s",
                           "3 h 46 min 5 s", "1234567 h 1 min", "3 h min"})
    error_of(text, Dimension::kTime);
  error_of("3 h 46 min", Dimension::kData);
}

TEST(Quantity, FlopRatesHaveTwoSpellings) {
  EXPECT_EQ(parsed("312 TFLOP/s", Dimension::kCompute), 312e12);
  EXPECT_EQ(parsed("312 TFLOPS", Dimension::kCompute), 312e12);
}

// 2.7 * 1e-6 is one ulp off 2.7e-6 in doubles; what is written in decimal shall be what is meant.
TEST(Quantity, ADecimalUnitGivesTheNearestDouble) {
  EXPECT_EQ(parsed("2.7 us", Dimension::kTime), 2.7e-6);
  EXPECT_EQ(parsed("0.1 ns", Dimension::kTime), 1e-10);
  EXPECT_EQ(parsed("19.5 TFLOP/s", Dimension::kCompute), 19.5e12);
  EXPECT_EQ(parsed("1.3e-2 ms", Dimension::kTime), 1.3e-5);
}

TEST(Quantity, AnAmountIsNoRateAndTheErrorSaysWhatToWrite) {
  EXPECT_EQ(error_of("100 GB", Dimension::kBandwidth),
            "\"100 GB\" is an amount of data; a bandwidth is written \"100 GB/s\" (bytes) or \"100 Gbit/s\" (bits)");
  EXPECT_TRUE(has(error_of("3 us", Dimension::kData), "is a time"));
  EXPECT_TRUE(has(error_of("3 GB/s", Dimension::kTime), "is a bandwidth"));
}

TEST(Quantity, AmbiguousSpellingsAreRefusedWithBothMeanings) {
  for (const char* text : {"100 gb/s", "100 GB/S", "100 gbps"}) {
    const std::string error = error_of(text, Dimension::kBandwidth);
    EXPECT_TRUE(has(error, "100 GB/s")) << error;
    EXPECT_TRUE(has(error, "bits")) << error;
  }
  EXPECT_TRUE(has(error_of("5 MBS", Dimension::kBandwidth), "5 MB/s"));
  EXPECT_TRUE(has(error_of("5 KB", Dimension::kData), "1024 is Ki"));
  EXPECT_TRUE(has(error_of("5 Tflops", Dimension::kCompute), "5 TFLOP/s"));
}

TEST(Quantity, WhatIsNoQuantityIsRefused) {
  for (const char* text : {"",           " ",          "GB/s",       "100",         "-1 GB/s",
                           "inf GB/s",   "nan GB/s",   "1e400 GB/s", "1e-400 GB/s", "1,000 GB/s",
                           "1_000 GB/s", "100 GB/s x", "100 GB/s/s", "0x10 GB/s",   "1e GB/s",
                           "1.2.3 GB/s", "+-3 GB/s",   "5 %",        ". GB/s",      "1e999999999999999999999 GB/s"}) {
    const ParsedQuantity result = parse_quantity(text, Dimension::kBandwidth);
    EXPECT_NE(result.error, "") << text;
    EXPECT_EQ(result.error.find('\n'), std::string::npos) << text;
  }
}

TEST(Quantity, ErrorsNeverEchoRawBytesNorMuchOfThem) {
  const std::string error = error_of(std::string("1 \x1b[31m\xff\n").append(100000, 'x'), Dimension::kTime);
  EXPECT_LT(error.size(), 400U);
  for (char c : error) EXPECT_GE(static_cast<unsigned char>(c), 0x20U);
}

TEST(Quantity, IsPrintedAsPeopleWriteIt) {
  EXPECT_EQ(to_text(Seconds{3e-6}), "3 us");
  EXPECT_EQ(to_text(Bytes{80.0 * 1024 * 1024 * 1024}), "80 GiB");
  EXPECT_EQ(to_text(BytesPerSecond{12.5e9}), "12.5 GB/s");
  EXPECT_EQ(to_text(FlopsPerSecond{312e12}), "312 TFLOP/s");
  EXPECT_EQ(to_text(Seconds{0}), "0 s");
}

// Random mantissas over 60 decades, in every dimension: whatever is printed reads back as the same double.
TEST(Quantity, PrintedTextReadsBackAsTheSameDouble) {
  std::uint64_t state = 42;
  const auto next = [&] { return state = state * 6364136223846793005U + 1442695040888963407U; };
  for (int i = 0; i < 2000; ++i) {
    const double mantissa = 1.0 + static_cast<double>(next() >> 12) * 0x1p-52;
    const double value = std::ldexp(mantissa, static_cast<int>(next() >> 33) % 200 - 100);
    for (Dimension d : {Dimension::kTime, Dimension::kData, Dimension::kBandwidth, Dimension::kCompute}) {
      const std::string text = print_quantity(value, d);
      EXPECT_EQ(parsed(text, d), value) << text;
    }
  }
}

}  // namespace
}  // namespace accosim
