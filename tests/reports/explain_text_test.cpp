// Does the explanation add up: shares of the update, the path in its order, the operators of a micro-batch?
#include "reports/explain_text.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace accosim {
namespace {

std::string explained(const Explanation& explanation, int width = 100) {
  std::ostringstream out;
  ConsoleOptions options;
  options.width = width;
  write_explanation(out, explanation, options);
  return out.str();
}

std::string unwrapped(const std::string& text) {
  std::string result;
  std::istringstream words(text);
  for (std::string word; words >> word;) result += word + ' ';
  return result;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

PathStep step_of(const char* name, int rank, double seconds, int count) {
  PathStep step;
  step.name = name;
  step.rank = rank;
  step.duration = Seconds{seconds};
  step.count = count;
  return step;
}

/// 1.6 s an update: 1.2 s compute on rank 3, 0.4 s communication.
Explanation example() {
  Explanation explanation;
  explanation.label = "ACCO";
  explanation.path.update_time = Seconds{1.6};
  explanation.path.causes = {{"forward and backward on rank 3", Seconds{1.2}}, {"reduce-scatter", Seconds{0.4}}};
  explanation.path.steps = {step_of("micro-batch", 3, 1.2, 4), step_of("reduce-scatter", 0, 0.4, 1)};
  return explanation;
}

TEST(ExplanationText, SaysInWordsWhereTheTimeGoes) {
  EXPECT_TRUE(has(unwrapped(explained(example())),
                  "Of 1.60 s per update of ACCO: 1.20 s (75.0 %) forward and backward on rank 3; 400 ms (25.0 %) "
                  "reduce-scatter."))
      << explained(example());
}

TEST(ExplanationText, NamesWhatTheCausesLeaveOut) {
  Explanation explanation = example();
  explanation.path.causes.pop_back();
  EXPECT_TRUE(has(unwrapped(explained(explanation)), "400 ms (25.0 %) on no op of the path."));
  EXPECT_FALSE(has(explained(example()), "no op"));
}

TEST(ExplanationText, PathIsInOrderWithTheTimeEachStepBegins) {
  const std::string text = unwrapped(explained(example()));
  EXPECT_TRUE(has(text, "4 x micro-batch 3 0 s 1.20 s 75.0 % reduce-scatter 0 1.20 s 400 ms 25.0 %")) << text;
}

TEST(ExplanationText, LongPathEndsInASumOfTheRest) {
  Explanation explanation = example();
  explanation.path.steps.clear();
  for (int i = 0; i < 160; ++i) explanation.path.steps.push_back(step_of("layer", 0, 0.01, 1));
  // 59 steps are shown, 101 more take 1.01 s from 0.59 s on.
  EXPECT_TRUE(has(unwrapped(explained(explanation)), "101 more steps 590 ms 1.01 s 63.1 %"));
}

TEST(ExplanationText, OperatorsAddUpToTheMicroBatch) {
  Explanation explanation = example();
  OperatorRow row;
  row.layer = "block";
  row.name = "mlp up";
  row.count = 12;
  row.flops = Flops{3e9};
  row.bytes = Bytes{1e6};
  row.forward = Seconds{1e-3};
  row.backward = Seconds{2e-3};
  row.bound = "compute";
  OperatorTable table;
  table.device = "A100-SXM4-80GB";
  table.rows = {row};
  table.micro_batch = Seconds{0.040};  // 12 x 3 ms are 36 ms; 4 ms, a tenth, are not explained
  explanation.operators = {table};
  const std::string text = unwrapped(explained(explanation, 120));
  EXPECT_TRUE(has(text, "One micro-batch on A100-SXM4-80GB takes 40.0 ms")) << text;
  EXPECT_TRUE(has(text, "block / mlp up 12 36.0 ms 90.0 % compute 1.00 ms 2.00 ms 3.00 GFLOP 1.00 MB")) << text;
  EXPECT_TRUE(has(text, "all 36.0 ms 90.0 % 36.0 GFLOP 12.0 MB")) << text;
  EXPECT_TRUE(has(text, "The other 4.00 ms (10.0 %)")) << text;
  explanation.operators[0].micro_batch = Seconds{0.036};
  EXPECT_FALSE(has(explained(explanation), "The other"));
}

}  // namespace
}  // namespace accosim
