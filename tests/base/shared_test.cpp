// Do copies share a value, and does an edit stay with the copy that is edited?
#include "models/base/shared.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace accosim {
namespace {

TEST(Shared, CopiesShareOneValueUntilOneIsEdited) {
  Shared<std::vector<int>> a = std::vector<int>{1, 2};
  Shared<std::vector<int>> b = a;
  EXPECT_TRUE(a.is(b));
  b.edit().push_back(3);
  EXPECT_FALSE(a.is(b));
  EXPECT_EQ(*a, (std::vector<int>{1, 2}));
  EXPECT_EQ(*b, (std::vector<int>{1, 2, 3}));
  // The only one of its value is edited in place.
  const std::vector<int>* const before = &*b;
  b.edit().push_back(4);
  EXPECT_EQ(&*b, before);
  EXPECT_EQ(b->size(), 4U);
}

TEST(Shared, WithoutAValueIsAnEmptyOne) {
  Shared<std::vector<int>> a, b;
  EXPECT_TRUE(a->empty());
  EXPECT_TRUE(a.is(b));
  a.edit().push_back(1);
  EXPECT_EQ(a->size(), 1U);
  EXPECT_TRUE(b->empty());
}

}  // namespace
}  // namespace accosim
