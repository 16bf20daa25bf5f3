// explain --graph as a user starts it: text and drawing, and what is refused.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/accosim_program.hpp"
#include "tests/support/dot.hpp"
#include "tests/support/program.hpp"

namespace accosim {
namespace {

const std::string kScenario = "mixed_a100_v100";

TEST(ExplainGraph, PrintsTheChosenSchedulesOfEachKindOfRank) {
  const ProgramRun run = accosim({"explain", kScenario, "--graph", "--schedule", "acco"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (const char* const part : {"A100-SXM4-80GB", "V100-SXM2-32GB", "Each update", "has ended"})
    EXPECT_NE(run.out.find(part), std::string::npos) << part << "\n" << run.out;
  EXPECT_EQ(run.out.find("zero1"), std::string::npos);
}

TEST(ExplainGraph, DrawsForGraphviz) {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "x.dot").string();
  for (int again = 0; again < 2; ++again) {  // what it wrote itself it replaces
    const ProgramRun run = accosim({"explain", kScenario, "--graph", "-o", file});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.out, "");
  }
  EXPECT_EQ(parse_dot(text_of(file)).error, "");
}

TEST(ExplainGraph, GraphvizTakesTheDrawing) {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "x.dot").string();
  if (std::system("command -v dot > /dev/null") != 0) GTEST_SKIP() << "Graphviz is not installed";
  ASSERT_EQ(accosim({"explain", kScenario, "--graph", "-o", file}).exit_code, 0);
  const ProgramRun drawn = run_program("/usr/bin/env", {"dot", "-Tsvg", file}, folder.path);
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_NE(drawn.out.find("</svg>"), std::string::npos);
}

TEST(ExplainGraph, RefusesWhatItWouldIgnoreOrSpoil) {
  const TemporaryFolder folder;
  const std::string picture = (folder.path / "x.svg").string(), notes = folder.write("notes.dot", "mine").string();
  const struct {
    std::vector<std::string> more;
    int exit_code;
    const char* says;
  } lines[] = {
      {{"--graph", "-o", picture}, 1, "x.dot"},
      {{"--graph", "-o", notes}, 1, "--force"},
      {{"--graph", "--json"}, 1, "--json"},
      {{"--graph", "--messages"}, 2, "--graph"},
      {{"--graph", "--network", "reference"}, 1, "--network"},
      {{"--graph", "--schedule", "none"}, 1, "none"},
      {{"-o", (folder.path / "x.dot").string()}, 1, "--graph"},
  };
  for (const auto& line : lines) {
    std::vector<std::string> words = {"explain", kScenario};
    words.insert(words.end(), line.more.begin(), line.more.end());
    const ProgramRun run = accosim(words);
    EXPECT_EQ(run.exit_code, line.exit_code) << run.err;
    EXPECT_NE(run.err.find(line.says), std::string::npos) << run.err;
    EXPECT_EQ(run.out, "");
  }
  EXPECT_EQ(text_of(notes), "mine");
  EXPECT_FALSE(std::filesystem::exists(picture));
}

}  // namespace
}  // namespace accosim
