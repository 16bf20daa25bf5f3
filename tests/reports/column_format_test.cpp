// Are the figures of a column written alike, with the digits that tell them apart?
#include "reports/column_format.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace accosim {
namespace {

std::vector<std::string> texts_of(const std::vector<Seconds>& times) {
  const UnitFormat format = time_format(times);
  std::vector<std::string> texts = {format.name};
  for (const Seconds time : times) texts.push_back(format.text_of(time.value));
  return texts;
}

std::vector<std::string> clocks_of(const std::vector<Seconds>& times) {
  const ClockFormat format = clock_format(times);
  std::vector<std::string> texts = {format.name};
  for (const Seconds time : times) texts.push_back(format.text_of(time));
  return texts;
}

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
  const UnitFormat gpus = flops_format({FlopsPerSecond{86.4e12}, FlopsPerSecond{0.5e12}});
  EXPECT_EQ(gpus.name, "TFLOP/s");
  EXPECT_EQ(gpus.text_of(86.4e12), "86.40");
  EXPECT_EQ(gpus.text_of(0.5e12), "0.50");
  EXPECT_EQ(flops_format({FlopsPerSecond{3e9}}).name, "GFLOP/s");
  EXPECT_EQ(flops_format({FlopsPerSecond{0}}).name, "MFLOP/s");
}

TEST(ColumnFormat, WhatIsNoNumberIsShownAsThat) {
  EXPECT_EQ(time_format({Seconds{1}}).text_of(std::nan("")), "?");
  EXPECT_EQ(clock_format({Seconds{100}}).text_of(Seconds{std::numeric_limits<double>::infinity()}), "?");
}

}  // namespace
}  // namespace accosim
