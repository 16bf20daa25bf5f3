// Do numbers read well: three digits, the unit that suits, and no noise of rounding?
#include "reports/human.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "reports/metric_text.hpp"

namespace accosim {
namespace {

TEST(HumanNumbers, TimesHaveThreeDigitsAndTheUnitThatSuits) {
  EXPECT_EQ(human_time(Seconds{0}), "0 s");
  EXPECT_EQ(human_time(Seconds{2.5e-9}), "2.50 ns");
  EXPECT_EQ(human_time(Seconds{38e-6}), "38.0 us");
  EXPECT_EQ(human_time(Seconds{0.412}), "412 ms");
  EXPECT_EQ(human_time(Seconds{1.724}), "1.72 s");
  EXPECT_EQ(human_time(Seconds{100}), "100 s");
  EXPECT_EQ(human_time(Seconds{1200}), "20.0 min");
  EXPECT_EQ(human_time(Seconds{9000}), "2.50 h");
  EXPECT_EQ(human_time(Seconds{86400 * 52.1}), "52.1 d");
  EXPECT_EQ(human_time(Seconds{-0.002}), "-2.00 ms");
}

TEST(HumanNumbers, WhatSumsLeaveOverIsNoTime) {
  EXPECT_EQ(human_time(Seconds{4e-16}), "0 s");
  EXPECT_EQ(human_time(Seconds{-4e-16}), "0 s");
  EXPECT_EQ(human_time(Seconds{1e-11}), "0.01 ns");
}

TEST(HumanNumbers, RoundingUpTakesTheNextUnit) {
  EXPECT_EQ(human_time(Seconds{0.99949}), "999 ms");
  EXPECT_EQ(human_time(Seconds{0.99951}), "1.00 s");
  EXPECT_EQ(human_time(Seconds{9.994e-3}), "9.99 ms");
  EXPECT_EQ(human_time(Seconds{9.996e-3}), "10.0 ms");
  EXPECT_EQ(human_time(Seconds{99.96e-3}), "100 ms");
  EXPECT_EQ(human_count(999.6), "1.00k");
}

TEST(HumanNumbers, LongTimesReadAsAClock) {
  EXPECT_EQ(human_clock(Seconds{1.724}), "1.72 s");
  EXPECT_EQ(human_clock(Seconds{59.4}), "59.4 s");
  EXPECT_EQ(human_clock(Seconds{59.6}), "0:01:00");
  EXPECT_EQ(human_clock(Seconds{5 * 3600 + 23 * 60 + 41}), "5:23:41");
  EXPECT_EQ(human_clock(Seconds{99 * 3600 + 3599}), "99:59:59");
  EXPECT_EQ(human_clock(Seconds{12 * 86400.0 + 5 * 3600 + 23 * 60}), "12 d 05:23");
}

TEST(HumanNumbers, CountsAndSizes) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(128), "128");
  EXPECT_EQ(human_count(3.5), "3.50");
  EXPECT_EQ(human_count(65536), "65.5k");
  EXPECT_EQ(human_count(80e6), "80.0M");
  EXPECT_EQ(human_count(2651307520), "2.65B");
  EXPECT_EQ(human_count(1.4e12), "1.40T");
  EXPECT_EQ(human_bytes(Bytes{13.5e9}), "13.5 GB");
  EXPECT_EQ(human_memory(Bytes{1024.0 * 1024 * 1024 * 31.4}), "31.4 GiB");
  EXPECT_EQ(human_rate(BytesPerSecond{25e9}), "25.0 GB/s");
  EXPECT_EQ(human_flops(Flops{1.23e12}), "1.23 TFLOP");
  EXPECT_EQ(human_percent(0.412), "41.2 %");
  EXPECT_EQ(human_error(0.031), "+3.1 %");
  EXPECT_EQ(human_error(-0.1), "-10.0 %");
  EXPECT_EQ(human_error(-0.0001), "+0.0 %");
  EXPECT_EQ(human_percent(-1e-17), "0.0 %");
  EXPECT_EQ(human_factor(1.724), "1.72x");
  EXPECT_EQ(human_factor(12.34), "12.3x");
}

TEST(HumanNumbers, WhatIsNoNumberIsShownAsThat) {
  EXPECT_EQ(human_count(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(human_percent(std::nan("")), "?");
  EXPECT_EQ(human_factor(std::nan("")), "?x");
}

TEST(HumanNumbers, ARangeWhoseEndsReadAlikeIsOneNumber) {
  EXPECT_EQ(human_range("8.33 h", "8.34 h"), "8.33 h to 8.34 h");
  EXPECT_EQ(human_range("8.33 h", "8.33 h"), "8.33 h");
  EXPECT_EQ(human_range("1.2", "1.3", " - "), "1.2 - 1.3");
}

// Are the figures of a column written alike, with the digits that tell them apart?

std::vector<std::string> texts_of(const std::vector<Seconds>& times, Format format = Format::kTime) {
  std::vector<double> values = mapped<double>(times, &Seconds::value);
  const ColumnText column = column_text(format, values);
  std::vector<std::string> texts = {column.unit};
  for (const double value : values) texts.push_back(column.text_of(value));
  return texts;
}

std::vector<std::string> clocks_of(const std::vector<Seconds>& times) { return texts_of(times, Format::kClock); }

using Texts = std::vector<std::string>;

TEST(ColumnFormat, TheLongestTimeChoosesTheUnit) {
  EXPECT_EQ(texts_of({Seconds{4.85}, Seconds{0.893}, Seconds{0}}), (Texts{"s", "4.85", "0.89", "0"}));
  EXPECT_EQ(texts_of({Seconds{0.893}, Seconds{38e-6}}), (Texts{"ms", "893.000", "0.038"}));
  EXPECT_EQ(texts_of({Seconds{1200}, Seconds{90}}), (Texts{"min", "20.0", "1.5"}));
  EXPECT_EQ(texts_of({Seconds{9000}}), (Texts{"h", "2.50"}));
  EXPECT_EQ(texts_of({Seconds{86400 * 52.1}}), (Texts{"d", "52.1"}));
  EXPECT_EQ(texts_of({}), (Texts{"ns"}));
  EXPECT_EQ(texts_of({Seconds{4.85}, Seconds{4e-16}}), (Texts{"s", "4.85", "0"})) << "what sums leave over";
}

TEST(ColumnFormat, DecimalsTellTheShortestTime) {
  EXPECT_EQ(texts_of({Seconds{120}, Seconds{1.51}}), (Texts{"s", "120.0", "1.5"}));
  EXPECT_EQ(texts_of({Seconds{120}, Seconds{100}}), (Texts{"s", "120", "100"}));
  EXPECT_EQ(texts_of({Seconds{4.85}, Seconds{0.0009}}), (Texts{"s", "4.850", "0.001"}));  // three at most
}

TEST(ColumnFormat, ClocksOfAColumnAreOfOneKind) {
  EXPECT_EQ(clocks_of({Seconds{8068}, Seconds{59}}), (Texts{"h:mm:ss", "2:14:28", "0:00:59"}));
  EXPECT_EQ(clocks_of({Seconds{400.0 * 3600}, Seconds{3600}}), (Texts{"d hh:mm", "16 16:00", "0 01:00"}));
  EXPECT_EQ(clocks_of({Seconds{1.724}, Seconds{59.4}}), (Texts{"s", "1.7", "59.4"}));
  EXPECT_EQ(clocks_of({Seconds{59.6}}), (Texts{"h:mm:ss", "0:01:00"}));
}

TEST(ColumnFormat, RatesOfComputationTakeTheUnitThatSuits) {
  const ColumnText gpus = column_text(Format::kFlops, {86.4e12, 0.5e12});
  EXPECT_EQ(gpus.unit, "TFLOP/s");
  EXPECT_EQ(gpus.text_of(86.4e12), "86.40");
  EXPECT_EQ(gpus.text_of(0.5e12), "0.50");
  EXPECT_EQ(column_text(Format::kFlops, {3e9}).unit, "GFLOP/s");
  EXPECT_EQ(column_text(Format::kFlops, {0}).unit, "MFLOP/s");
}

TEST(ColumnFormat, WhatIsNoNumberIsShownAsThat) {
  EXPECT_EQ(column_text(Format::kTime, {1}).text_of(std::nan("")), "?");
  EXPECT_EQ(column_text(Format::kClock, {100}).text_of(std::numeric_limits<double>::infinity()), "?");
}

}  // namespace
}  // namespace accosim
