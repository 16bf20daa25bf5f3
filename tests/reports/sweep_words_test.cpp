// Do the sentences on a sweep say what its rows say?
#include "reports/sweep/sweep_words.hpp"

#include <gtest/gtest.h>

#include "models/base/json.hpp"
#include "reports/sweep/sweep_page.hpp"
#include "tests/support/fair_rows.hpp"

namespace accosim {
namespace {

// Equal in the middle of the logarithms of 10 and 20, and of 20 and 40 Gbit/s.
TEST(SweepWords, SayWhereTheOthersAreWorthAdding) {
  const std::vector<std::string> words = worth_in_words(fair_rows({0.5, 2, 1.5}), {});
  ASSERT_EQ(words.size(), 3U);
  EXPECT_EQ(words[1], "With the winner of each point the whole cluster is faster at all 3 points.");
  EXPECT_EQ(words[2],
            "With ddp the whole cluster is faster at 2 of 3 points. The 64 V100 are worth it above 14.1 Gbit/s "
            "(bandwidth); below, 32 A100 alone are faster.");
  EXPECT_EQ(worth_in_words(fair_rows({2, 2, 0.5}), {})[2],
            "With ddp the whole cluster is faster at 2 of 3 points. The 64 V100 are worth it below 28.3 Gbit/s "
            "(bandwidth); above, 32 A100 alone are faster.");
  EXPECT_EQ(worth_in_words(fair_rows({0.1, 0.95, 0.2}), {})[2],
            "With ddp the whole cluster is faster at none of 3 points (at 1 point the interval leaves it open).");
}

TEST(SweepWords, OneGpuIsOne) {
  SweepRows rows = fair_rows({0.5, 2, 1.5});
  for (Row& row : rows.rows) row.alone->others = "1 V100";
  EXPECT_NE(worth_in_words(rows, {})[2].find("The V100 is worth it above"), std::string::npos)
      << worth_in_words(rows, {})[2];
}

TEST(SweepWords, AnAxisThatIsTheirNumberNamesNone) {
  SweepRows rows = fair_rows({0.5, 2, 1.5});
  rows.heading.axes = {{"/cluster/nodes/1/count", {"1", "2", "4"}}};
  for (std::size_t i = 0; i < 3; ++i) rows.rows[i].alone->others = std::to_string(8 << i) + " V100";
  EXPECT_NE(
      worth_in_words(rows, {})[2].find("The others are worth it from count = 2 on; below, 32 A100 alone are faster."),
      std::string::npos)
      << worth_in_words(rows, {})[2];
}

TEST(SweepWords, WhatIsNotComparedIsNotSpokenOf) {
  SweepRows rows = fair_rows({1, 1, 1});
  rows.rows[1].alone.reset();
  EXPECT_EQ(worth_in_words(rows, {}).back(), "At 1 point no part alone has room for the training.");
  for (Row& row : rows.rows) row.alone = Alone{};
  EXPECT_EQ(worth_in_words(rows, {}).size(), 1U);
  rows.heading.fair = false;
  EXPECT_TRUE(worth_in_words(rows, {}).empty());
}

TEST(SweepWords, WhatDoesNotFitIsNamed) {
  SweepRows rows = fair_rows({1, 1, 1});
  EXPECT_EQ(counts_in_words(rows, {}).find("does not fit"), std::string::npos);
  rows.rows[1].schedules[0].fit.verdict = FitVerdict::kDoesNotFit;
  EXPECT_NE(counts_in_words(rows, {}).find(" Into memory ddp does not fit at 1 point (-)."), std::string::npos)
      << counts_in_words(rows, {});
}

TEST(SweepPage, BeginsWithWhatIsAskedFor) {
  const SweepRows rows = fair_rows({0.5, 2, 1.5});
  const auto page = [&](Score by) { return parse_json(sweep_page_json(rows, "accosim report", {by, {}}), "").root; };
  const auto first = [](const JsonValue& root) { return at_pointer(root, "/sweep/scores/0/name")->text; };
  const auto asked = [](const JsonValue& root) { return at_pointer(root, "/sweep/ranking/asked")->boolean; };
  EXPECT_EQ(first(page(Score::kSameBatch)), "same-batch");
  EXPECT_FALSE(asked(page(Score::kSameBatch)));
  EXPECT_EQ(first(page(Score::kTime)), "time");
  EXPECT_TRUE(asked(page(Score::kTime)));
  // What is not asked for can be picked all the same.
  EXPECT_EQ(at_pointer(page(Score::kTime), "/sweep/scores")->elements.size(),
            at_pointer(page(Score::kTokens), "/sweep/scores")->elements.size());
}

}  // namespace
}  // namespace accosim
