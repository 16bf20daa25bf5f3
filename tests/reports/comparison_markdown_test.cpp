// Does the page of a comparison say what each schedule takes, and why one of them may not win?
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "reports/console.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

RunResult result(const std::string& label, double seconds, Statistics statistics) {
  RunResult result;
  result.schedule = result.label = label;
  result.update_time = Seconds{seconds};
  result.total_time = Seconds{1000 * seconds};
  result.tokens_per_second = 1e6 / seconds;
  result.samples_per_update = 64;
  result.memory_formula = Bytes{0x1p30};
  result.memory_resident = Bytes{3 * 0x1p30};
  result.memory_capacity = Bytes{80 * 0x1p30};
  result.bytes_sent_per_rank_per_update = Bytes{2e9};
  result.statistics = statistics;
  result.speedup = result.speedup_same_batch = 4 / seconds;
  return result;
}

std::vector<std::string> lines_of(const std::vector<RunResult>& results) {
  Scenario scenario = sample_scenario(2, 4);
  scenario.baseline = "zero1";
  std::ostringstream out;
  write_comparison_markdown(out, scenario, results, standing_of(contenders_of(results, "zero1"), {}), "a command");
  std::vector<std::string> lines;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(ComparisonMarkdown, HasARowAScheduleTheFastestFirst) {
  const std::vector<std::string> lines =
      lines_of({result("zero1", 4, Statistics::kSynchronous), result("diloco", 2, Statistics::kReplicasDrift)});
  ASSERT_GE(lines.size(), 9u);
  EXPECT_EQ(lines[2], "Written by `a command`; not to be edited by hand.");
  EXPECT_EQ(lines[8],
            "| diloco | 0:33:20 | 2.00 s | 2.00x | 64 | 1.00 GiB | 3.00 GiB | yes | 2.00 GB | of replicas that drift | "
            "no: with replicas that drift apart |");
  EXPECT_EQ(
      lines[9],
      "| zero1 | 1:06:40 | 4.00 s | 1.00x | 64 | 1.00 GiB | 3.00 GiB | yes | 2.00 GB | synchronous, or corrected | "
      "yes |");
}

TEST(ComparisonMarkdown, MakesNoLinkOfWhatAScenarioSays) {
  // A viewer makes a link of [text](address) and of <address>; escaped they are text.
  const std::string link = "[x](javascript:alert(1)) <javascript:alert(2)>";
  Scenario scenario = sample_scenario(2, 4);
  scenario.name = scenario.description = scenario.baseline = link;
  std::ostringstream out;
  const std::vector<RunResult> results = {result(link, 4, Statistics::kSynchronous)};
  write_comparison_markdown(out, scenario, results, standing_of(contenders_of(results, link), {}), "a command");
  EXPECT_NE(out.str().find("# [x\\](javascript:alert(1)) \\<javascript:alert(2)>\n"), std::string::npos) << out.str();
  EXPECT_EQ(out.str().find("x](javascript"), std::string::npos) << out.str();
  EXPECT_EQ(out.str().find(" <javascript"), std::string::npos) << out.str();
}

TEST(ComparisonMarkdown, HasMeasuredSamplesWithTheirInterval) {
  // Twice as fast with 1.25 times the samples: 1.6; an interval of the speedup from 1.28 to 2 is one of the samples
  // from 1 to 1.5625.
  RunResult late = result("diloco", 2, Statistics::kReplicasDrift);
  late.to_loss = TimeToLoss{true, false, 1.25, 1.6, 1.28, 2};
  const std::vector<std::string> lines = lines_of({result("zero1", 4, Statistics::kSynchronous), late});
  ASSERT_GE(lines.size(), 9u);
  EXPECT_NE(lines[8].find("| 1.25 [1.00, 1.56] | 1.60x |"), std::string::npos) << lines[8];
  EXPECT_NE(lines[9].find("| not measured | - |"), std::string::npos) << lines[9];
}

}  // namespace
}  // namespace accosim
