// Samples that an algorithm needs, times what a sample takes: by hand.
#include "sim/evidence/time_to_loss.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "models/spec/scenario.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

const char* const kFile = R"({"schema": "accosim.convergence/1", "model": {"name": "gpt", "parameters": 1000},
  "range": {"updates": 10, "samples": 80, "batch_samples_low": 4, "batch_samples_high": 16,
    "tokens_per_sample": 2},
  "critical_batch_samples": 100, "algorithms": [
    {"name": "zero1", "samples_ratio": 1, "low": 1, "high": 1},
    {"name": "acco", "samples_ratio": 1.25, "low": 1, "high": 2},
    {"name": "dpu", "samples_ratio": null, "low": null, "high": null, "samples_ratio_at_least": 1.5}]})";

RunResult result_of(const std::string& label, double seconds, double samples) {
  RunResult result;
  result.label = result.schedule = label;
  result.update_time = Seconds{seconds};
  result.samples_per_update = samples;
  return result;
}

bool warns(const RunResult& result, const std::string& code) {
  return std::any_of(result.warnings.begin(), result.warnings.end(),
                     [&](const Warning& warning) { return warning.code == code; });
}

TEST(TimeToLoss, IsTheMeasuredSamplesTimesThePredictedTime) {
  // Baseline: 1 s for 100 samples, which is the critical batch: (1 + 1). ACCO: 2 s for 300 samples, (1 + 3): samples
  // 1.25 x 4 / 2 = 2.5 times, a sample in 2/3 of the time: 5/3 of the baseline's time, 0.6x. DPU at 1 s for 200: at
  // least 1.5 x 3 / 2 = 2.25 times the samples, in half of the time each.
  Scenario scenario = sample_scenario(1, 4);
  scenario.training.sequence_length = 2;  // the file's samples are of two tokens too
  const MeasuredConvergence file = read_convergence(kFile, "c.json");
  const RunResult base = result_of("zero1", 1, 100);
  std::vector<RunResult> results = {base, result_of("acco", 2, 300), result_of("dpu", 1, 200)};
  add_time_to_loss(results, base, scenario, file, 0);
  ASSERT_TRUE(results[0].to_loss && results[1].to_loss && results[2].to_loss);
  EXPECT_DOUBLE_EQ(results[0].to_loss->speedup, 1);
  EXPECT_DOUBLE_EQ(results[1].to_loss->samples, 2.5);
  EXPECT_DOUBLE_EQ(results[1].to_loss->speedup, 0.6);
  EXPECT_DOUBLE_EQ(results[1].to_loss->speedup_low, 0.375);  // at 2 instead of 1.25
  EXPECT_DOUBLE_EQ(results[1].to_loss->speedup_high, 0.75);
  EXPECT_FALSE(results[2].to_loss->reached);
  EXPECT_DOUBLE_EQ(results[2].to_loss->samples, 2.25);
  EXPECT_NEAR(results[2].to_loss->speedup, 1 / 1.125, 1e-12);
  for (const RunResult& each : results) EXPECT_TRUE(warns(each, "convergence_extrapolates")) << each.label;
  // With a critical batch of one's own a grown batch is worth what it is there.
  std::vector<RunResult> again = {base, result_of("acco", 2, 300)};
  add_time_to_loss(again, base, scenario, file, 1e12);
  EXPECT_NEAR(again[1].to_loss->speedup, 1.5 / 1.25, 1e-9);
}

TEST(TimeToLoss, AnAlgorithmThatWasNotMeasuredIsSaid) {
  Scenario scenario = sample_scenario(1, 4);
  scenario.schedules.push_back(sample_schedule("diloco", "diloco"));
  std::vector<RunResult> results = {result_of("diloco", 1, 100)};
  add_time_to_loss(results, result_of("zero1", 1, 100), scenario, read_convergence(kFile, "c.json"), 0);
  EXPECT_FALSE(results[0].to_loss);
  EXPECT_TRUE(warns(results[0], "convergence_unknown"));
}

TEST(TimeToLoss, ReplicasOfMoreThanAGpuWereNotMeasured) {
  // The file's DiLoCo had replicas of one rank. The warning's list ends with what is new here.
  Scenario scenario = sample_scenario(2, 4);
  scenario.schedules.push_back(sample_schedule("diloco", "gpu"));
  scenario.schedules.push_back(sample_schedule("diloco", "node"));
  scenario.schedules.back().island = Island::kNode;
  std::string text = kFile;
  text.replace(text.find("\"dpu\""), 5, "\"diloco\"");
  std::vector<RunResult> results = {result_of("gpu", 1, 100), result_of("node", 1, 100)};
  add_time_to_loss(results, result_of("zero1", 1, 100), scenario, read_convergence(text, "c.json"), 0);
  const auto said = [](const RunResult& result) {
    for (const Warning& warning : result.warnings)
      if (warning.code == "convergence_extrapolates") return warning.message;
    return std::string();
  };
  EXPECT_EQ(said(results[0]).find("replicas of one GPU"), std::string::npos) << said(results[0]);
  EXPECT_NE(said(results[1]).find("replicas of one GPU, here of a node"), std::string::npos) << said(results[1]);
}

TEST(TimeToLoss, WhatAccocalCannotTrainAsIsNotAskedToBeMeasured) {
  Scenario scenario = sample_scenario(1, 4);
  scenario.schedules.push_back(sample_schedule("local_sgd"));
  std::vector<RunResult> results = {result_of("local_sgd", 1, 100)};
  add_time_to_loss(results, result_of("zero1", 1, 100), scenario, read_convergence(kFile, "c.json"), 0);
  EXPECT_FALSE(results[0].to_loss);
  ASSERT_EQ(results[0].warnings.size(), 1U);
  EXPECT_EQ(results[0].warnings[0].advice.find("accocal converge"), std::string::npos);
}

TEST(TimeToLoss, AFileThatIsNoneIsRefused) {
  EXPECT_THROW(read_convergence("{}", "c.json"), ScenarioError);
  EXPECT_THROW(read_convergence(R"({"schema": "accosim.convergence/1"})", "c.json"), ScenarioError);
  std::string text = kFile;
  text.replace(text.find("1.25, \"low\": 1"), 14, "1.25, \"low\": 7");
  EXPECT_THROW(read_convergence(text, "c.json"), ScenarioError);
}

}  // namespace
}  // namespace accosim
