// Does the explanation add up: shares of the update, the path in its order, the operators of a micro-batch?
#include "reports/explain/explain_text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/holds.hpp"
#include "tests/support/printed.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/unwrapped.hpp"

namespace accosim {
namespace {

std::string explained(const Explanation& explanation, int width = 100) {
  return on_terminal(explanations_document({explanation}), {.width = width});
}

PathStep step_of(const std::string& name, int rank, double seconds, int count) {
  return PathStep{.name = name, .rank = rank, .duration = Seconds{seconds}, .count = count};
}

/// 1.6 s an update: 1.2 s compute on rank 3, 0.4 s communication.
Explanation example() {
  return Explanation{
      .label = "ACCO",
      .ranks = 4,
      .path = {.update_time = Seconds{1.6},
               .steps = {step_of("micro-batch", 3, 1.2, 4), step_of("reduce-scatter", 0, 0.4, 1)},
               .causes = {{"forward and backward on rank 3", Seconds{1.2}}, {"reduce-scatter", Seconds{0.4}}}}};
}

TEST(ExplanationText, SaysInWordsWhereTheTimeGoes) {
  EXPECT_TRUE(holds(unwrapped(explained(example())),
                    "Of 1.60 s per update of ACCO: 1.20 s (75.0 %) forward and backward on rank 3; 400 ms (25.0 %) "
                    "reduce-scatter."));
}

TEST(ExplanationText, NamesWhatTheCausesLeaveOut) {
  Explanation explanation = example();
  explanation.path.causes.pop_back();
  EXPECT_TRUE(holds(unwrapped(explained(explanation)), "400 ms (25.0 %) on no op of the path."));
  EXPECT_FALSE(holds(explained(example()), "no op"));
}

TEST(ExplanationText, PathIsInOrderWithTheTimeEachStepBegins) {
  const std::string text = unwrapped(explained(example()));
  EXPECT_TRUE(holds(text, "4 x micro-batch 3 0 s 1.20 s 75.0 % reduce-scatter 0 1.20 s 400 ms 25.0 %"));
}

TEST(ExplanationText, LongPathEndsInASumOfTheRest) {
  Explanation explanation = example();
  explanation.path.steps.clear();
  for (int i = 0; i < 160; ++i) explanation.path.steps.push_back(step_of("layer " + std::to_string(i), 0, 0.01, 1));
  // 59 steps are shown, 101 more take 1.01 s from 0.59 s on.
  EXPECT_TRUE(holds(unwrapped(explained(explanation)), "101 more steps 590 ms 1.01 s 63.1 %"));
}

TEST(ExplanationText, StepsThatRepeatStandOnceWithTheirTimesAddedUp) {
  Explanation explanation = example();
  std::vector<PathStep>& steps = explanation.path.steps;
  steps = {step_of("begin", 3, 0.08, 1)};
  for (int i = 0; i < 4; ++i) {
    steps.push_back(step_of("forward", 3, 0.1, 1));
    steps.push_back(step_of("backward", 3, 0.2, 2));
  }
  steps.push_back(step_of("end", 3, 0.32, 1));
  // 4 x 0.1 s and 4 x 0.2 s from 0.08 s on, of 1.6 s; the end from 1.28 s on.
  const std::string text = unwrapped(explained(explanation));
  EXPECT_TRUE(holds(text, "critical path from takes share of rank 3 "));
  EXPECT_TRUE(holds(text,
                    "begin 0 s 80.0 ms 5.0 % 4 times these 2: 80.0 ms 1.20 s 75.0 % forward 400 ms 25.0 % 2 x backward "
                    "800 ms 50.0 % end 1.28 s 320 ms 20.0 %"));
  steps[2].rank = 0;  // one pair is unlike the others
  EXPECT_TRUE(holds(unwrapped(explained(explanation)), "3 times these 2:"));
}

TEST(ExplanationText, FoldingKeepsTheTimeOfEveryStep) {
  // Whatever repeats, the rows that begin at a moment add up to the path.
  std::uint64_t state = 7;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % below;
  };
  for (int round = 0; round < 200; ++round) {
    Explanation explanation = example();
    explanation.path.causes.clear();
    std::vector<PathStep>& steps = explanation.path.steps;
    steps.clear();
    const auto count = 1 + random(40);
    for (std::uint64_t i = 0; i < count; ++i)
      steps.push_back(step_of(std::string(1, static_cast<char>('a' + random(2))), 0, 1, 1));
    explanation.path.update_time = Seconds{static_cast<double>(count)};
    double sum = 0;
    int rules = 0;
    for (const std::string& line : lines_of(explained(explanation))) {
      if (line.rfind("\u2500", 0) == 0) {
        ++rules;
      } else if (rules == 1 && !line.empty() && line[0] != ' ') {  // not of a stretch's inside
        std::vector<std::string> words;
        std::istringstream in(line);
        for (std::string word; in >> word;) words.push_back(word);
        ASSERT_GE(words.size(), 7U) << line;
        sum += std::stod(words[words.size() - 4]);  // "1.00 s 6.2 %"
      }
    }
    EXPECT_NEAR(sum, static_cast<double>(count), 0.006 * static_cast<double>(count)) << explained(explanation);
  }
}

TEST(ExplanationText, InterferenceIsNamedWithWhatItCosts) {
  Explanation explanation = example();
  EXPECT_FALSE(holds(explained(explanation), "Interference"));
  explanation.without_interference = Seconds{1.52};  // of 1.6 s: 80 ms, a twentieth
  EXPECT_TRUE(holds(unwrapped(explained(explanation)),
                    "Interference costs 80.0 ms (5.0 %): as many samples would take 1.52 s if computation and "
                    "communication on a GPU did not slow each other."));
  explanation.without_interference = Seconds{1.6};
  EXPECT_TRUE(holds(explained(explanation), "Interference costs this update nothing"));
}

TEST(ExplanationText, OperatorsThatSchedulesShareStandOnce) {
  OperatorTable table{.device = "A100", .micro_batch = Seconds{0.04}};
  Explanation ddp = example(), zero1 = example(), acco = example();
  ddp.label = "ddp";
  zero1.label = "zero1";
  ddp.operators = zero1.operators = {table};
  table.micro_batch = Seconds{0.05};
  acco.operators = {table};
  const std::string text = on_terminal(explanations_document({ddp, zero1, acco}));
  EXPECT_TRUE(holds(text, "One micro-batch on A100 of ddp and zero1 takes 40.0 ms"));
  EXPECT_TRUE(holds(text, "One micro-batch on A100 of ACCO takes 50.0 ms"));
}

TEST(ExplanationText, SmallCausesAreOneFigure) {
  Explanation explanation = example();
  explanation.path.causes = {{"forward and backward", Seconds{1.58}}, {"a", Seconds{0.012}}, {"b", Seconds{0.008}}};
  EXPECT_TRUE(holds(unwrapped(explained(explanation)), "; 20.0 ms (1.2 %) 2 others, each below 1 %."));
}

TEST(ExplanationText, OperatorsAddUpToTheMicroBatch) {
  Explanation explanation = example();
  const OperatorRow row{.layer = "block",
                        .name = "mlp up",
                        .count = 12,
                        .flops = Flops{3e9},
                        .bytes = Bytes{1e6},
                        .forward = Seconds{1e-3},
                        .backward = Seconds{2e-3},
                        .bound = "compute"};
  OperatorTable table{.device = "A100-SXM4-80GB", .rows = {row}};
  table.micro_batch = Seconds{0.040};  // 12 x 3 ms are 36 ms; 4 ms, a tenth, are not explained
  explanation.operators = {table};
  const std::string text = unwrapped(explained(explanation, 120));
  EXPECT_TRUE(holds(text, "One micro-batch on A100-SXM4-80GB takes 40.0 ms"));
  EXPECT_TRUE(holds(text, "block mlp up 12 36.0 ms 90.0 % compute 1.00 ms 2.00 ms 3.00 GFLOP 1.00 MB"));
  EXPECT_TRUE(holds(text, "all 36.0 ms 90.0 % 36.0 GFLOP 12.0 MB"));
  EXPECT_TRUE(holds(text, "The other 4.00 ms (10.0 %)"));
  explanation.operators[0].micro_batch = Seconds{0.036};
  EXPECT_FALSE(holds(explained(explanation), "The other"));
}

TEST(ExplanationText, SaysHowEachCollectiveIsDoneAndWhatBindsIt) {
  Explanation explanation = example();
  const CollectiveRow row{.name = "reduce-scatter",
                          .count = 2,
                          .ranks = 16,
                          .nodes = 2,
                          .bytes = Bytes{1048576},
                          .algorithm = "ring",
                          .protocol = "LL128",
                          .channels = 16,
                          .message = Bytes{4096},
                          .steps = 15,
                          .net_steps = 2,
                          .alone = Seconds{80e-6},
                          .terms = {{"launch", Seconds{20e-6}}, {"wire", Seconds{60e-6}}},
                          .binds = "wire"};
  explanation.collectives = {row};
  const std::string text = unwrapped(explained(explanation, 200));
  EXPECT_TRUE(holds(text, "reduce-scatter 2 16 (2) 1.00 MiB ring LL128 16 4.00 KiB 15 (2) 80.0 us wire, 75 %"));
  EXPECT_FALSE(holds(explained(example()), "Each collective by itself"));
}

CollectiveRow grown(int nodes, double mib, const std::string& protocol, int channels, double microseconds) {
  CollectiveRow row{.name = "all_gather",
                    .ranks = 8 * nodes,
                    .nodes = nodes,
                    .bytes = Bytes{mib * 1048576},
                    .algorithm = "ring",
                    .protocol = protocol,
                    .channels = channels,
                    .alone = Seconds{1e-6 * microseconds}};
  row.terms = {{"wire", row.alone}};
  return row;
}

TEST(GrowthText, MarksWhatTakesLongerThanALargerMessageAndNamesTheSwitch) {
  const std::string text =
      on_page(growth_page(sample_scenario(2, 4).cluster,
                          {grown(2, 1, "LL128", 16, 80), grown(4, 1, "LL", 4, 356), grown(8, 1, "LL", 2, 705),
                           grown(16, 1, "LL", 1, 1400), grown(2, 25, "LL128", 16, 156), grown(4, 25, "LL128", 16, 329),
                           grown(8, 25, "LL128", 16, 555), grown(16, 25, "LL", 16, 1010)}));
  EXPECT_TRUE(holds(text, "| 2 | ring LL128 | 16 | - | 0 (0) | 80.0 us | "));
  EXPECT_TRUE(holds(text, "| 8 | ring LL | 2 | - | 0 (0) | 705 us \u2020 | "));
  EXPECT_TRUE(holds(text, "| 8 | ring LL128 | 16 | - | 0 (0) | 555 us | "));
  // Below the table of the smaller message, not of the larger one.
  EXPECT_TRUE(holds(text,
                    "\n\n\u2020 On 4 and 8 nodes 1 MiB takes longer than 25 MiB: between them NCCL goes from ring LL "
                    "to ring LL128.\n\n\u2020 On 16 nodes 1 MiB takes longer than 25 MiB: between them NCCL goes by "
                    "ring LL on another number of channels.\n\n## all_gather of 25 MiB\n"));
}

}  // namespace
}  // namespace accosim
