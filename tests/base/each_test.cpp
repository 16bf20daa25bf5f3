// Is what is said of each element what a loop over them would give?
#include "models/base/each.hpp"

#include <gtest/gtest.h>

#include <string>

namespace accosim {
namespace {

struct Box {
  std::string name;
  double weight = 0;

  double twice() const { return 2 * weight; }
};
const std::vector<Box> kBoxes = {{"a", 1.5}, {"b", 4}, {"c", 0.25}};

TEST(Each, TakesMembersAndFunctionsInTheOrderOfTheRange) {
  EXPECT_EQ(mapped<std::string>(kBoxes, &Box::name), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(mapped<double>(kBoxes, &Box::twice), (std::vector<double>{3, 8, 0.5}));
  EXPECT_EQ(sum_of<double>(kBoxes, &Box::weight), 5.75);
  EXPECT_EQ(largest<double>(kBoxes, [](const Box& box) { return -box.weight; }), 0) << "none is above nothing";
  EXPECT_EQ(largest<double>(kBoxes, &Box::twice), 8);
  const auto light = [](const Box& box) { return box.weight < 2; };
  EXPECT_EQ(mapped<std::string>(matching(kBoxes, light), &Box::name), (std::vector<std::string>{"a", "c"}));
  EXPECT_TRUE(mapped<std::string>(std::vector<Box>{}, &Box::name).empty());
}

}  // namespace
}  // namespace accosim
