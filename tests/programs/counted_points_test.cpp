// Does the time that is said to be left hold where some points take long?
#include <gtest/gtest.h>

#include "sim/app/sweep/counted.hpp"

namespace accosim {
namespace {

TEST(PointsLeft, TakeAsLongAsThoseOfTheirKindDid) {
  // 40 of 100 quick points in 4 s: 60 more take 6 s.
  EXPECT_DOUBLE_EQ(seconds_left({.quick = 40, .quick_seconds = 4}, 100).value(), 6);
  // Of these 10 take long, and wait: nobody knows how long.
  EXPECT_FALSE(seconds_left({.quick = 40, .quick_seconds = 4, .waiting = 10}, 100).has_value());
  // All have been looked at in 10 s, and 2 of 10 that take long have ended in 50 s: 8 more take 200 s. By the rate of
  // all, 92 in a minute, it would have been 5 s.
  const PointsDone done{.quick = 100, .slow = 2, .quick_seconds = 10, .slow_seconds = 50, .waiting = 8};
  EXPECT_DOUBLE_EQ(seconds_left(done, 100).value(), 200);
  EXPECT_EQ(points_in_words(done, 100), "92 of 100 points, 1.53/s, 200 s left");
  EXPECT_DOUBLE_EQ(seconds_left({.quick = 100, .quick_seconds = 10}, 100).value(), 0);
  EXPECT_FALSE(seconds_left({}, 100).has_value());
}

}  // namespace
}  // namespace accosim
