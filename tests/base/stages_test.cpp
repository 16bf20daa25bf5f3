// What -v is told: which stage time and memory belong to.
#include "models/base/stages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

void wait(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

const StageUse& stage(const StagesUsed& used, const std::string& name) {
  return *std::ranges::find_if(used.stages, [&](const StageUse& each) { return each.name == name; });
}

TEST(Stages, AreNothingUntilTheyAreWatched) {
  // Each test is a process of its own.
  { const Stage stage("before"); }
  tally("things", 3);
  EXPECT_TRUE(stages_used().stages.empty());
  EXPECT_TRUE(stages_used().tallies.empty());
}

TEST(Stages, InsideOthersAreNotCountedTwice) {
  watch_stages();
  {
    const Stage outer("outer");
    for (int i = 0; i < 2; ++i) {
      const Stage inner("inner");
      wait(30);
    }
    tally("things", 2);
    tally("things", 3);
  }
  wait(10);
  const StagesUsed used = stages_used();
  ASSERT_EQ(used.stages.size(), 2U);
  EXPECT_EQ(used.stages[0].name, "outer");  // as they were entered first
  EXPECT_EQ(stage(used, "outer").times, 1);
  EXPECT_EQ(stage(used, "inner").times, 2);
  EXPECT_GE(stage(used, "inner").seconds, 0.06);  // a sleep lasts at least as long as it is told
  EXPECT_LT(stage(used, "outer").seconds, stage(used, "inner").seconds);
  EXPECT_GE(used.outside.seconds, 0.01);
  ASSERT_EQ(used.tallies.size(), 1U);
  EXPECT_EQ(used.tallies[0].second, 5);
}

// A quarter is over, and of the second quarter a half and a fifth of its other half: 1/4 + 1/8 + 1/40 = 0.4.
TEST(Share, IsOfTheOutermostSteps) {
  Steps steps(4);
  steps.over();
  {
    Steps inner(2);
    inner.over();
    set_share(0);
    EXPECT_EQ(share_in_words(), "") << "it has just begun";
    wait(600);
    set_share(0.2);
    EXPECT_EQ(share_in_words().substr(0, 6), "40 %, ");
    inner.over(7);
    EXPECT_EQ(share_in_words().substr(0, 6), "50 %, ") << "no more are over than there are";
  }
  EXPECT_EQ(share_in_words().substr(0, 6), "50 %, ") << "until the outer one says that its step is over, too";
  steps.over();
  EXPECT_EQ(share_in_words().substr(0, 6), "50 %, ");
}

TEST(Stages, MemoryIsOfTheStageThatMadeThePeakGrow) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps what is freed";
  watch_stages();
  {
    const Stage stage("takes 64 MiB");
    std::vector<char> bytes(64 << 20, 1);
    EXPECT_EQ(bytes.back(), 1);
  }
  {
    const Stage stage("takes them again");
    std::vector<char> bytes(32 << 20, 1);
    EXPECT_EQ(bytes.back(), 1);
  }
  const StagesUsed used = stages_used();
  EXPECT_GE(stage(used, "takes 64 MiB").peak_kib, 60 << 10);
  EXPECT_LT(stage(used, "takes them again").peak_kib, 8 << 10);
}

}  // namespace
}  // namespace accosim
