// Are the figures of a column written alike, with the digits that tell them apart?
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reports/metric_text.hpp"

namespace accosim {
namespace {

std::vector<std::string> texts_of(const std::vector<Seconds>& times, Format format = Format::kTime) {
  std::vector<double> values;
  for (const Seconds time : times) values.push_back(time.value);
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
