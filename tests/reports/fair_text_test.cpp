// What the terminal and the document show of a mixed cluster's balanced baseline and its parts.
#include "reports/fair_text.hpp"

#include <gtest/gtest.h>

#include "reports/result_json.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/json.hpp"
#include "tests/support/printed.hpp"

namespace accosim {
namespace {

FairComparison sample_comparison() {
  FairBaseline balanced{"zero1 balanced at 7 and 3 micro-batches",
                        "",
                        "7 and 3 micro-batches",
                        640,
                        Seconds{2.5},
                        262144,
                        1.5,
                        true,
                        {{"a", "A100", 16, 4, 7}, {"v", "V100", 16, 4, 3}}};
  FairBaseline part{"zero1 on 16 V100 alone",  "16 V100", "10 micro-batches", 640, Seconds{8}, 81920, 0.5, false,
                    {{"v", "V100", 16, 4, 10}}};
  const FairGain gain{"acco", 1.61, 1, 1.6, 1.25, balanced.work};
  const Adding adding{"zero1",
                      "16 A100",
                      {"16 V100"},
                      {1.41, {1.24, 1.6}, "7 and 3 micro-batches"},
                      {0.87, {0.78, 0.97}, "5 micro-batches", true, false}};
  return {"zero1", {balanced, part}, {gain}, {"One sentence.", "Another."}, adding};
}

TEST(FairText, HasARowForEachAndTheSentencesBelow) {
  Document document, none;
  add_fair_comparison(document, sample_comparison());
  const std::string text = on_terminal(document);
  for (const char* const part :
       {"zero1 with its work divided by speed, and on each kind of GPU alone\n", "all, balanced  7 and 3 micro-batches",
        "16 V100 alone", "2.50 s", "262k", "1.50x", "OOM", "\nOne sentence.\nAnother.\n"})
    EXPECT_TRUE(holds(text, part));
  add_fair_comparison(none, {});
  EXPECT_EQ(on_terminal(none), "");
}

TEST(FairText, SaysWhetherTheSlowerKindIsWorthAdding) {
  Adding adding{"zero1",
                "16 A100-SXM4-80GB",
                {"16 V100-SXM2-32GB"},
                {1.41, {1.24, 1.6}, "11 and 5 micro-batches"},
                {0.87, {0.78, 0.97}, "8 micro-batches"}};
  EXPECT_EQ(in_words(adding),
            "Adding the V100s to the homogeneous subset of A100s, under the same schedule: 1.41x (1.24 to 1.60) with "
            "load-balanced micro-batches (11 and 5), 0.87x (0.78 to 0.97) with even ones.");
  // Where the interval holds 1, either way.
  adding.written.interval.high = 1.01;
  EXPECT_EQ(in_words(adding),
            "Adding the V100s to the homogeneous subset of A100s, under the same schedule: 1.41x (1.24 to 1.60) with "
            "load-balanced micro-batches (11 and 5), 0.87x (0.78 to 1.01, so perhaps faster) with even ones.");
  adding.balanced.interval.low = 0.99;
  adding.balanced.work = "7 micro-batches of 4 and 3 of 2";
  EXPECT_EQ(
      in_words(adding),
      "Adding the V100s to the homogeneous subset of A100s, under the same schedule: 1.41x (0.99 to 1.60, so "
      "perhaps slower) with load-balanced micro-batches (7 micro-batches of 4 and 3 of 2), 0.87x (0.78 to 1.01, so "
      "perhaps faster) with even ones.");
  // A division that is written is no even one; what has no room has no speed.
  adding.written = {0.9, {0.8, 0.95}, "10 and 6 micro-batches", false};
  adding.balanced.fits = false;
  EXPECT_EQ(
      in_words(adding),
      "Adding the V100s to the homogeneous subset of A100s, under the same schedule: no fit in memory with "
      "load-balanced micro-batches (7 micro-batches of 4 and 3 of 2), 0.90x (0.80 to 0.95) with those written (10 and "
      "6).");
  adding.as_written = true;
  adding.balanced = adding.written;
  EXPECT_EQ(
      in_words(adding),
      "Adding the V100s to the homogeneous subset of A100s, under the same schedule: 0.90x (0.80 to 0.95) with the "
      "micro-batches as written; no other division of them is faster.");
  // Names are as short as tells the kinds apart.
  adding.others = {"1 A100-PCIE-40GB", "2 L40S", "1 T4"};
  EXPECT_TRUE(holds(in_words(adding),
                    "Adding the A100-PCIE-40GB, L40S GPUs and T4 to the homogeneous subset of A100-SXM4-80GB GPUs, "
                    "under the same schedule: "));
}

TEST(FairText, IsInTheDocumentOfResultsWhereThereIsSomething) {
  Scenario scenario{.name = "test", .model = {.family = "measured"}, .cluster = {.nodes = {NodeGroup{}}}};
  const auto document = [&](const FairComparison& fair) {
    return Json::parse(written([&](std::ostream& out) {
      write_results_json(out, scenario, "reference", {{}, {}, fair});
    }));
  };
  EXPECT_FALSE(document({}).contains("fair_baselines"));
  const Json full = document(sample_comparison());
  const Json balanced = full["fair_baselines"][0], part = full["fair_baselines"][1];
  EXPECT_EQ(balanced["kind"], "balanced");
  EXPECT_TRUE(balanced["part"].is_null());
  EXPECT_EQ(balanced["tokens_per_s"], 262144.0);
  EXPECT_EQ(balanced["update_time_s"], 2.5);
  EXPECT_EQ(balanced["accumulation"][1]["gradient_accumulation_steps"], 3);
  EXPECT_EQ(part["kind"], "part");
  EXPECT_EQ(part["part"], "16 V100");
  EXPECT_EQ(part["fits"], false);
  EXPECT_EQ(full["fair_gains"][0]["speedup_same_batch"], 2.0);
  EXPECT_EQ(full["fair_gains"][0]["by_hiding"], 1.25);
  EXPECT_NEAR(full["fair_gains"][0]["share_of_balance"].number(), 0.678, 0.001);  // ln 1.6 / ln 2
  EXPECT_EQ(full["fair_words"][1], "Another.");
  EXPECT_FALSE(document({}).contains("adding"));
  EXPECT_EQ(full["adding"], Json::parse(R"({"schedule": "zero1", "subset": "16 A100", "added": ["16 V100"],
    "load_balanced": {"work": "7 and 3 micro-batches", "speedup": 1.41, "speedup_low": 1.24, "speedup_high": 1.6,
                      "fits": true},
    "as_written": {"work": "5 micro-batches", "speedup": 0.87, "speedup_low": 0.78, "speedup_high": 0.97,
                   "fits": false}})"));
}

}  // namespace
}  // namespace accosim
