// The verb plot as a user types it: pictures whose numbers are those of --json, files that are whole or not there, and
// messages that say what to write instead.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "reports/human.hpp"
#include "tests/programs/told.hpp"
#include "tests/support/accosim_program.hpp"
#include "tests/support/dot.hpp"
#include "tests/support/program.hpp"
#include "tests/support/xml.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool contains(const std::vector<std::string>& texts, const std::string& text) {
  for (const std::string& each : texts)
    if (has(each, text)) return true;
  return false;
}

std::vector<std::string> plot(const std::string& kind, const std::string& scenario,
                              const std::vector<std::string>& more) {
  return with({"plot", "--kind", kind, scenario, "-o", "/dev/stdout"}, more);
}

std::string plotted(const std::string& kind, const std::string& scenario, const std::vector<std::string>& more = {}) {
  const ProgramRun run = accosim_done(plot(kind, scenario, more));
  EXPECT_EQ(wrong_in_xml(run.out), "");
  return run.out;
}

TEST(Plot, ItsNumbersAreThoseOfJson) {
  const std::string scenario = "finetune_2x4_a100";
  const Json document = results_of({"compare", scenario, "--no-tuned"});
  const std::vector<std::string> time = texts_in_svg(plotted("breakdown", scenario));
  const std::vector<std::string> memory = texts_in_svg(plotted("memory", scenario));
  const std::vector<std::string> timeline = texts_in_svg(plotted("timeline", scenario));
  for (const Json& result : document["results"].elements()) {
    const auto seconds = [&](const char* key) { return human_time(Seconds{result[key].number()}); };
    const auto asked = [&](const char* key) {  // for the samples that are asked of an update
      return human_time(Seconds{result[key].number() / result["batch_inflation"].number()});
    };
    EXPECT_TRUE(contains(time, fmt::format("{} ({} to {})", asked("update_time_s"), asked("update_time_s_low"),
                                           asked("update_time_s_high"))));
    const bool exposed = result["exposed_communication_s"].number() > 0;
    EXPECT_TRUE(!exposed || contains(time, asked("exposed_communication_s"))) << result["label"].text();
    EXPECT_TRUE(contains(timeline, seconds("update_time_s") + " an update"));
    EXPECT_TRUE(contains(timeline, human_factor(result["speedup"].number()) + " per token"));
    EXPECT_TRUE(
        contains(memory, fmt::format("{} of {}: fits", human_memory(Bytes{result["memory_resident_bytes"].number()}),
                                     human_memory(Bytes{result["memory_capacity_bytes"].number()}))));
  }
}

/// The cells of a line of a table that begins so; none of them is in quotes.
std::vector<std::vector<std::string>> cells_of(const std::string& csv, const std::string& begin) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(begin, 0) != 0) continue;
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

// What a stage is idle, but for what it sends meanwhile, is the bubble of the picture of the pipeline or less; no rank
// waits for another outside of the flights, since all are alike.
TEST(Plot, APipelinesBubbleIsAPartOfItsBreakdown) {
  const std::vector<std::string> split = {"--set",     "/training/parallel={\"pipeline_parallel_size\": 4}",
                                          "--set",     "/schedules=[{\"name\": \"zero1\"}]",
                                          "--set",     "/baseline=zero1",
                                          "--set",     "/training/gradient_accumulation_steps=8",
                                          "--network", "reference",
                                          "-o"};
  const TemporaryFolder folder;
  const auto table = [&](const std::string& kind) {
    const std::string file = (folder.path / (kind + ".csv")).string();
    std::vector<std::string> words = {"plot", "--kind", kind, "llama-2-7b_fsdp_hsdp"};
    words.insert(words.end(), split.begin(), split.end());
    words.push_back(file);
    accosim_done(words);
    return cells_of(text_of(file), "zero1,");
  };
  std::map<std::string, double> parts;
  double update = 0, sum = 0;
  for (const auto& cells : table("breakdown")) {  // schedule, batch, update, its interval, part, its time
    update = std::stod(cells.at(2));
    sum += parts[cells.at(5)] = std::stod(cells.at(6));
  }
  EXPECT_NEAR(sum, update, 1e-9 * update);
  const double bubble = std::stod(table("pipeline").at(0).at(1));
  EXPECT_LE(parts["pipeline bubble"], bubble * update * (1 + 1e-9));
  EXPECT_GT(parts["pipeline bubble"], 0.5 * bubble * update);
  EXPECT_NEAR(parts["waiting for other ranks"], 0, 1e-3 * update);
}

TEST(Plot, TheLaddersNumbersAreThoseOfJson) {
  for (const auto& [from, to] : {std::pair("ddp", "acco"), std::pair("acco", "zero1"), std::pair("zero1", "dpu")}) {
    const std::vector<std::string> ends = {"--ladder", from, to};
    const std::vector<std::string> texts = texts_in_svg(plotted("ladder", "finetune_2x4_a100", ends));
    const ProgramRun run = accosim_done({"explain", "finetune_2x4_a100", "--ladder", from, to, "--json"});
    const Json document = Json::parse(run.out);
    // At the same batch where that is known of all but the first, else per token.
    const std::vector<Json> rungs = document["rungs"].elements();
    const bool same_batch = std::none_of(rungs.begin() + 1, rungs.end(),
                                         [](const Json& rung) { return rung["speedup_same_batch"].is_null(); });
    const std::string of = same_batch ? "_same_batch" : "";
    std::map<std::string, double> reached;  // speedup by change
    for (std::size_t i = 0; i < rungs.size(); ++i) {
      const Json& rung = rungs[i];
      // A long name is cut.
      EXPECT_TRUE(contains(texts, rung["change"].text()) || contains(texts, rung["change"].text().substr(0, 25)));
      const double speedup = i == 0 ? 1 : rung["speedup" + of].number();
      // At the same batch the update is the last one's batch too, and the times are as the speedups.
      const Json& last = rungs.back();
      const double update = same_batch ? last["update_time_s"].number() * last["speedup_same_batch"].number() / speedup
                                       : rung["update_time_s"].number();
      EXPECT_TRUE(contains(texts, fmt::format("{} an update, {} samples", human_time(Seconds{update}),
                                              human_count((same_batch ? last : rung)["samples_per_update"].number()))))
          << rung;
      EXPECT_TRUE(contains(texts, human_factor(speedup))) << rung;
      EXPECT_TRUE(i == 0 || contains(texts, human_factor(rung["times" + of].number()))) << rung;
      const Json most = rung["most_same_batch"];
      EXPECT_TRUE(
          !same_batch || most.is_null() ||
          contains(texts, fmt::format(", at most {}",
                                      human_factor(reached.at(rung["most_same_batch_over"].text()) * most.number()))))
          << rung;
      reached[rung["change"].text()] = speedup;
    }
  }
}

TEST(Plot, ALadderNamesItsTwoSchedules) {
  for (const auto& [more, said] :
       {std::pair(std::vector<std::string>{}, "--kind ladder draws the way from one schedule to another; name them"),
        std::pair(std::vector<std::string>{"--ladder", "ddp", "aco"}, "did you mean \"acco\"?"),
        std::pair(std::vector<std::string>{"--ladder", "acco", "acco"}, "is one schedule, with nothing between"),
        std::pair(std::vector<std::string>{"--ladder", "ddp", "acco", "--schedule", "acco"},
                  "--schedule belongs to")}) {
    const ProgramRun run = accosim(plot("ladder", "finetune_2x4_a100", more));
    expect_told(run, 1, said);
    EXPECT_EQ(run.out, "");
  }
  EXPECT_TRUE(has(accosim(plot("memory", "finetune_2x4_a100", {"--ladder", "ddp", "acco"})).err,
                  "--ladder belongs to plot of a ladder (--kind ladder)"));
}

TEST(Plot, EveryKindOfClusterAndScheduleIsDrawnSmall) {
  for (const char* const scenario : {"hetero_4xa100_one_slow", "llama-2-7b_fsdp_hsdp", "slow_network_4x8_a100"})
    for (const char* const kind : {"timeline", "breakdown", "memory"})
      EXPECT_LT(plotted(kind, scenario, {"--network", "reference"}).size(), 200'000U) << kind << scenario;
  // Forty layers gathered and reduced each by itself, eight micro-batches.
  const std::string deep =
      plotted("timeline", "llama-2-7b_fsdp_hsdp",
              {"--set", "/model/num_hidden_layers=40", "--set", "/training/gradient_accumulation_steps=8", "--schedule",
               "FSDP", "--width", "1600"});
  EXPECT_LT(deep.size(), 2'000'000U);
  // Ranks that all differ: six of them, or all.
  const std::vector<std::string> jitter = {
      "--set", "/training/compute_jitter={\"micro_batch\": 0.2}", "--schedule", "acco", "--network", "reference"};
  EXPECT_TRUE(has(plotted("timeline", "finetune_1x8_a100", jitter), "2 more ranks look different"));
  std::vector<std::string> all = jitter;
  all.insert(all.end(), {"--all-ranks", "--updates", "2"});
  EXPECT_FALSE(has(plotted("timeline", "finetune_1x8_a100", all), "more ranks look different"));
}

TEST(Plot, WritesAFileByItsExtension) {
  const TemporaryFolder folder;
  const std::string svg = (folder.path / "picture.svg").string();
  const auto run = [&](const std::string& path, const std::vector<std::string>& more = {}) {
    return accosim(with({"plot", "--kind", "memory", "finetune_1x8_a100", "--output", path}, more));
  };
  EXPECT_EQ(run(svg).exit_code, 0);
  EXPECT_EQ(wrong_in_xml(text_of(svg)), "");
  EXPECT_EQ(run(svg, {"--theme", "dark"}).exit_code, 0);  // its own, replaced
  const std::string precious = folder.write("drawing.svg", "<svg role=\"img\">by hand</svg>").string();
  expect_told(run(precious), 1, "--force");
  EXPECT_EQ(text_of(precious), "<svg role=\"img\">by hand</svg>");
  for (const char* const name : {"picture.jpg", "picture", "picture.json"}) {
    const ProgramRun wrong = run((folder.path / name).string());
    expect_told(wrong, 1, "a picture is .svg, .png or .pdf; name it ");
    EXPECT_TRUE(has(wrong.err, "picture.svg")) << wrong.err;
    EXPECT_FALSE(fs::exists(folder.path / name));
  }
}

TEST(Plot, PngAndPdfComeFromTheProgramThatMakesThemOrAreRefusedWithItsPackage) {
  const TemporaryFolder folder;
  const std::string path = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  const auto run = [&](const std::string& name) {
    return accosim({"plot", "--kind", "memory", "finetune_1x8_a100", "-o", (folder.path / name).string()});
  };
  setenv("PATH", folder.path.c_str(), 1);  // where it is not
  const ProgramRun without = run("a.png");
  setenv("PATH", path.c_str(), 1);
  expect_told(without, 4, "install the package librsvg2-bin, or name it ");
  EXPECT_TRUE(has(without.err, "a.svg")) << without.err;
  EXPECT_FALSE(fs::exists(folder.path / "a.png"));
  // One that fails leaves nothing behind, and neither is a stranger's file lost.
  fs::create_directory(folder.path / "bin");
  std::ofstream(folder.path / "bin/rsvg-convert") << "#!/bin/sh\nexit 3\n";
  fs::permissions(folder.path / "bin/rsvg-convert", fs::perms::all);
  setenv("PATH", (folder.path / "bin").c_str(), 1);
  const ProgramRun failed = run("a.png");
  EXPECT_EQ(failed.exit_code, 4);
  EXPECT_FALSE(fs::exists(folder.path / "a.png"));
  // It is given the picture, and told what to make of it.
  std::ofstream(folder.path / "bin/rsvg-convert") << "#!/bin/sh\necho \"$@\"\nread -r line\necho \"$line\"\n";
  const ProgramRun made = run("a.PDF");
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(text_of(folder.path / "a.PDF").rfind("--format pdf\n<svg xmlns=", 0), 0U);
  const ProgramRun again = run("a.PDF");  // nobody knows who wrote it
  EXPECT_NE(again.exit_code, 0);
}

TEST(Plot, WhatIsWrongIsToldBeforeTheWork) {
  EXPECT_EQ(accosim({"plot", "finetune_1x8_a100", "-o", "/dev/null"}).exit_code, 2);
  EXPECT_EQ(accosim({"plot", "--kind", "pie", "finetune_1x8_a100", "-o", "/dev/null"}).exit_code, 2);
  EXPECT_EQ(accosim({"plot", "--kind", "memory", "finetune_1x8_a100"}).exit_code, 2);
  expect_told(accosim(plot("memory", "finetune_1x8_a100", {"--updates", "2"})), 1,
              "--updates belongs to plot of a timeline (--kind timeline)");
  for (const char* const width : {"226", "10001", "59.9mm", "nanmm"})
    expect_told(accosim(plot("memory", "finetune_1x8_a100", {"--width", width})), 1, "--width \"");
  expect_told(accosim(plot("memory", "finetune_1x8_a100", {"--width", "82.5cm"})), 1, "millimetres (82.5mm)");
  expect_told(accosim(plot("memory", "finetune_1x8_a100", {"--label", "acco"})), 1, "write SCHEDULE=TEXT");
  expect_told(accosim(plot("timeline", "finetune_1x8_a100", {"--no-intervals"})), 1, "--no-intervals belongs to plot");
}

TEST(Plot, APaperHasItsWidthItsNamesItsOrderAndItsNumbers) {
  const TemporaryFolder folder;
  const std::string csv = (folder.path / "numbers.csv").string();
  const std::string svg = plotted("breakdown", "finetune_1x8_a100",
                                  {"--width", "82.55mm", "--title", "", "--schedule", "acco", "--schedule", "zero1",
                                   "--label", "acco=Ours", "--no-intervals", "--csv", csv});
  // 82.55 mm are 3.25 inches of 96 pixels.
  EXPECT_TRUE(has(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"312\"")) << svg.substr(0, 200);
  const std::vector<std::string> texts = texts_in_svg(svg);
  const auto at = [&](const char* text) { return std::ranges::find(texts, text) - texts.begin(); };
  EXPECT_LT(at("Ours"), at("zero1"));
  EXPECT_FALSE(contains(texts, "finetune_1x8_a100"));
  EXPECT_FALSE(contains(texts, "80 % interval"));
  EXPECT_EQ(text_of(csv).rfind("schedule,batch_inflation,update_time_s,", 0), 0U);
  EXPECT_TRUE(has(text_of(csv), "\nOurs,"));
  // A table by itself, and no table of somebody else's.
  const std::string own = (folder.path / "only.csv").string();
  EXPECT_EQ(accosim({"plot", "--kind", "memory", "finetune_1x8_a100", "-o", own}).exit_code, 0);
  EXPECT_TRUE(has(text_of(own), ",part,part_bytes\n"));
  const std::string precious = folder.write("mine.csv", "a,b\n1,2\n").string();
  expect_told(accosim({"plot", "--kind", "memory", "finetune_1x8_a100", "-o", precious}), 1, "--force");
}

TEST(Compare, DrawsATimelineOnTheTerminal) {
  setenv("COLUMNS", "80", 1);
  const ProgramRun run = accosim({"compare", "finetune_2x4_a100", "--timeline"});
  unsetenv("COLUMNS");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(has(run.out, "  critical path ")) << run.out;
  EXPECT_TRUE(has(run.out, "acco: 2.28 s an update")) << run.out;
  EXPECT_EQ(accosim({"compare", "finetune_2x4_a100", "--timeline", "--json"}).exit_code, 2);
  EXPECT_EQ(accosim({"compare", "finetune_2x4_a100", "--all-ranks"}).exit_code, 2);
}

TEST(Plot, DrawsTheCurvesOfADocumentAsAccocalDoes) {
  const std::string document = "reports/published/convergence.json";
  EXPECT_EQ(text_of(kRoot / "reports/published/convergence.svg"), plotted("convergence", document))
      << "write it with: accosim plot --kind convergence " << document << " -o reports/published/convergence.svg";
  const TemporaryFolder folder;
  // The larger model's are in the same document.
  JsonValue larger = parse_json(text_of(kRoot / document), document, 1'000'000).root.find("sizes")->elements[0];
  larger.set("schema", "accosim.convergence/1");
  EXPECT_EQ(text_of(kRoot / "reports/published/convergence-larger.svg"),
            plotted("convergence", folder.write("larger.json", dump_json(larger)).string()))
      << "write it with: jq '{schema} + .sizes[0]' " << document
      << " > larger.json, and plot --kind convergence of that";
  for (const char* const wrong : {R"({"schema": "accosim.run/1"})", R"({"schema": "accosim.convergence/1"})",
                                  R"({"schema": "accosim.convergence/1", "batch_samples": 8, "range": {},
                                      "algorithms": [{"name": "ddp", "curves": [[[0, 0, 4]]]}]})",
                                  R"({"schema": "accosim.convergence/1", "batch_samples": 8, "range": {},
                                      "algorithms": [{"name": "ddp", "curves": [[[0, 0, 4], [1, 8, 3]]]},
                                                     {"name": "acco", "curves": [[[0, 0, 4], [1, 8, 3]],
                                                                                [[0, 0, 4], [2, 8, 3]]]}]})"})
    expect_told(accosim(plot("convergence", folder.write("wrong.json", wrong).string(), {})), 1, "wrong.json:");
  expect_told(accosim(plot("convergence", document, {"--updates", "2"})), 1, "--updates belongs to plot of a timeline");
  expect_told(accosim(plot("convergence", document, {"--schedule", "aco"})), 1, "did you mean \"acco\"?");
}

TEST(Plot, TheCommittedPictureIsWhatItsCommandMakes) {
  const fs::path committed = kRoot / "reports/published/timeline.svg";
  EXPECT_EQ(text_of(committed), plotted("timeline", "scenarios/paper/finetune_2x4_a100.json"))
      << "write it with: accosim plot --kind timeline scenarios/paper/finetune_2x4_a100.json -o " << committed.string();
}

// explain --graph as a user starts it: text and drawing, and what is refused.

const std::string kScenario = "mixed_a100_v100";

TEST(ExplainGraph, PrintsTheChosenSchedulesOfEachKindOfRank) {
  const ProgramRun run = accosim_done({"explain", kScenario, "--graph", "--schedule", "acco"});
  for (const char* const part : {"A100-SXM4-80GB", "V100-SXM2-32GB", "Each update", "has ended"})
    EXPECT_TRUE(holds(run.out, part));
  EXPECT_EQ(run.out.find("zero1"), std::string::npos);
}

TEST(ExplainGraph, DrawsForGraphviz) {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "x.dot").string();
  for (int again = 0; again < 2; ++again) {  // what it wrote itself it replaces
    const ProgramRun run = accosim_done({"explain", kScenario, "--graph", "-o", file});
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
    const ProgramRun run = accosim(with({"explain", kScenario}, line.more));
    expect_told(run, line.exit_code, line.says);
    EXPECT_EQ(run.out, "");
  }
  EXPECT_EQ(text_of(notes), "mine");
  EXPECT_FALSE(std::filesystem::exists(picture));
}

}  // namespace
}  // namespace accosim
