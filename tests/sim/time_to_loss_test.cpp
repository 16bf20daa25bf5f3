// Samples that an algorithm needs, times what a sample takes: by hand.
#include "sim/evidence/time_to_loss.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "models/spec/scenario_error.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/results.hpp"
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

std::string extrapolates(const RunResult& result) {
  const Warning* const warning = warning_of(result, "convergence_extrapolates");
  return warning == nullptr ? "" : warning->message;
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

TEST(TimeToLoss, IsFarBeyondTenTimesTheRangeThatWasMeasured) {
  // Batches of 4 to 16 were measured, of this model: 160 are ten times that, and 161 are beyond.
  Scenario scenario = sample_scenario(1, 4);
  scenario.training.sequence_length = 2;
  const auto is_far = [&](double parameters, double samples) {
    std::string text = kFile;
    text.replace(text.find("1000"), 4, std::to_string(static_cast<long>(parameters)));
    const RunResult base = result_of("zero1", 1, samples);
    std::vector<RunResult> results = {base};
    add_time_to_loss(results, base, scenario, read_convergence(text, "c.json"), 0);
    return results[0].to_loss->far;
  };
  const double parameters = static_cast<double>(parameter_count(scenario.model));
  EXPECT_FALSE(is_far(parameters, 160));
  EXPECT_TRUE(is_far(parameters, 161));
  EXPECT_FALSE(is_far(std::ceil(parameters / 9), 16));
  EXPECT_TRUE(is_far(std::ceil(parameters / 11), 16));
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
  EXPECT_EQ(extrapolates(results[0]).find("replicas of one GPU"), std::string::npos) << extrapolates(results[0]);
  EXPECT_TRUE(holds(extrapolates(results[1]), "replicas of one GPU, here of a node"));
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

const char* const kLocalFile = R"({"schema": "accosim.convergence/1", "model": {"name": "gpt", "parameters": 1000},
  "range": {"updates": 10, "samples": 80, "batch_samples_low": 4, "batch_samples_high": 16}, "algorithms": [
    {"name": "zero1", "samples_ratio": 1, "low": 1, "high": 1},
    {"name": "diloco", "samples_ratio": 1, "low": 1, "high": 1, "options": {"inner_updates": 10}},
    {"name": "eager_diloco", "samples_ratio": 1, "low": 1, "high": 1, "options": {"inner_updates": 10}},
    {"name": "co2", "samples_ratio": 1, "low": 1, "high": 1, "options": {"inner_updates": 10}},
    {"name": "slowmo", "samples_ratio": 1, "low": 1, "high": 1, "options": {"inner_updates": 10, "outer_every": 40}},
    {"name": "streaming_diloco", "samples_ratio": 1, "low": 1, "high": 1,
     "options": {"inner_updates": 10, "delay": 1, "mixing": 0.5, "fragments": 2}},
    {"name": "streaming_diloco-e3m0", "samples_ratio": 2, "low": 1, "high": 3,
     "options": {"inner_updates": 10, "delay": 1, "mixing": 0.5, "fragments": 2}}]})";

/// As in kLocalFile, of a model of four blocks.
ScheduleSpec as_measured(const std::string& name) {
  ScheduleSpec spec = sample_schedule({.name = name, .inner_updates = 10});
  if (name == "slowmo") spec.outer_every = 40;
  if (name == "streaming_diloco") {
    spec.delay = 1;
    spec.mixing = 0.5;
    spec.fragment_layers = 2;
  }
  return spec;
}

RunResult on_local_file(const ScheduleSpec& spec) {
  Scenario scenario = sample_scenario(2, 4);
  scenario.schedules.push_back(spec);
  std::vector<RunResult> results = {result_of(spec.label, 1, 100)};
  add_time_to_loss(results, result_of("zero1", 1, 100), scenario, read_convergence(kLocalFile, "c.json"), 0);
  return results[0];
}

TEST(TimeToLoss, WhatIsChosenOtherwiseThanItWasMeasuredIsSaid) {
  const auto said = [](const ScheduleSpec& spec) {
    const RunResult result = on_local_file(spec);
    EXPECT_TRUE(result.to_loss) << spec.name;
    return extrapolates(result);
  };
  struct Other {
    const char* name;
    void (*choose)(ScheduleSpec& spec);
    const char* words;
  };
  for (const Other& other :
       {Other{"slowmo", [](ScheduleSpec& spec) { spec.outer_every = 20; },
              "an outer step every 40 updates, here every 20"},
        {"streaming_diloco", [](ScheduleSpec& spec) { spec.delay = 5; }, "a delay of 1, here 5"},
        {"streaming_diloco", [](ScheduleSpec& spec) { spec.mixing = 0; }, "mixing of 0.5, here 0"},
        {"streaming_diloco", [](ScheduleSpec& spec) { spec.fragment_layers = 1; }, "2 fragments, here 4"},
        {"diloco", [](ScheduleSpec& spec) { spec.inner_updates = 20; }, "10 inner updates, here 20"},
        {"diloco", [](ScheduleSpec& spec) { spec.outer_dtype = OuterDtype::kInt8; },
         "exchanges in fp32, here in int8"}}) {
    ScheduleSpec spec = as_measured(other.name);
    EXPECT_EQ(said(spec).find(other.words), std::string::npos) << other.name << ": " << said(spec);
    other.choose(spec);
    EXPECT_TRUE(holds(said(spec), other.words)) << other.name;
  }
}

TEST(TimeToLoss, AnotherAlgorithmHasNoMeasuredLosses) {
  // Of these the first hides less and is less late, the second's replicas are late inside, and accocal rounds the
  // changes of fragments alone to four bits.
  ScheduleSpec code = as_measured("co2"), late = as_measured("diloco"), bits = as_measured("diloco"),
               eager = as_measured("eager_diloco");
  code.form = MethodForm::kCode;
  late.inner = "acco";
  bits.outer_dtype = eager.outer_dtype = OuterDtype::kE3m0;
  for (const ScheduleSpec& spec : {code, late, bits, eager}) {
    const RunResult result = on_local_file(spec);
    EXPECT_FALSE(result.to_loss) << spec.name;
    ASSERT_EQ(result.warnings.size(), 1U) << spec.name;
    EXPECT_EQ(result.warnings[0].code, "convergence_unknown");
    EXPECT_EQ(result.warnings[0].advice.find("accocal converge"), std::string::npos) << spec.name;
  }
  ScheduleSpec fragments = as_measured("streaming_diloco");
  fragments.outer_dtype = OuterDtype::kE3m0;
  EXPECT_DOUBLE_EQ(on_local_file(fragments).to_loss.value().speedup, 0.5);
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
