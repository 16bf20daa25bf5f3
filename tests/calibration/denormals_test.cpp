// Are numbers too small to be normal taken as 0, where the processor can?
#include "calibration/base/denormals.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace accocal {
namespace {

TEST(Denormals, AreZeroOnTheThreadThatSaysSo) {
#if !defined(__SSE__) && !defined(__aarch64__)
  GTEST_SKIP() << "this processor has no such mode";
#endif
  volatile float small = std::numeric_limits<float>::min();
  volatile float half = 0.5F;
  EXPECT_GT(small * half, 0.0F);
  std::thread([&] {
    flush_denormals();
    EXPECT_EQ(small * half, 0.0F);
    EXPECT_EQ(small * 1.0F, std::numeric_limits<float>::min());  // normal numbers stay
  }).join();
  EXPECT_GT(small * half, 0.0F);  // of that thread alone
}

}  // namespace
}  // namespace accocal
