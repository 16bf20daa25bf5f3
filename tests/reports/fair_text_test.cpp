// What the terminal and the document show of a mixed cluster's balanced baseline and its parts.
#include "reports/fair_text.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "models/spec/cluster.hpp"
#include "models/spec/scenario.hpp"
#include "reports/result_json.hpp"
#include "tests/support/json.hpp"

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
  return {"zero1", {balanced, part}, {gain}, {"One sentence.", "Another."}};
}

TEST(FairText, HasARowForEachAndTheSentencesBelow) {
  std::ostringstream out;
  write_fair_comparison(out, sample_comparison(), {});
  const std::string text = out.str();
  for (const char* const part :
       {"zero1 with its work divided by speed, and on each kind of GPU alone\n", "all, balanced  7 and 3 micro-batches",
        "16 V100 alone", "2.50 s", "262k", "1.50x", "OOM", "\nOne sentence.\nAnother.\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  std::ostringstream none;
  write_fair_comparison(none, {}, {});
  EXPECT_EQ(none.str(), "");
}

TEST(FairText, IsInTheDocumentOfResultsWhereThereIsSomething) {
  Scenario scenario;
  scenario.name = "test";
  scenario.model.family = "measured";
  scenario.cluster.nodes = {NodeGroup{}};
  const auto document = [&](const FairComparison& fair) {
    std::ostringstream out;
    write_results_json(out, scenario, "reference", {}, {}, fair);
    return Json::parse(out.str());
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
}

}  // namespace
}  // namespace accosim
