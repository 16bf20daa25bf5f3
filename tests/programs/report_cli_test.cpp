// `accosim report` as a user starts it: the page's figures are those of compare --json, its command makes it again, a
// run of accocal lies over its prediction, and no file of somebody else's is replaced.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/programs/measured_machine.hpp"
#include "tests/programs/told.hpp"
#include "tests/support/accosim_program.hpp"

namespace accosim {
namespace {

/// The document of a page.
Json document_of(const std::filesystem::path& page) {
  const std::string html = text_of(page), begin = "id=\"document\">";
  const std::size_t from = html.find(begin) + begin.size();
  return Json::parse(html.substr(from, html.find("</script>", from) - from));
}

TEST(Report, EveryNumberIsThatOfTheJson) {
  const TemporaryFolder folder;
  const std::string page = (folder.path / "r.html").string();
  // Same figures where ranks differ, where seeds are played, with a setting and with one schedule.
  const std::vector<std::vector<std::string>> lines = {
      {"scenarios/paper/finetune_2x4_a100.json"},
      {"scenarios/paper/hetero_4xa100_one_slow.json"},
      {"finetune_2x4_a100", "--seeds", "2", "--set", "/training/compute_jitter={\"micro_batch\": 0.1}"},
      {"llama-2-7b_fsdp_hsdp", "--schedule", "zero3", "--network", "reference"}};
  for (const std::vector<std::string>& line : lines) {
    std::vector<std::string> report = {"report"}, compare = {"compare"};
    report.insert(report.end(), line.begin(), line.end());
    compare.insert(compare.end(), line.begin(), line.end());
    report.insert(report.end(), {"-o", page});
    const ProgramRun run = accosim_done(report);
    EXPECT_EQ(run.out, "");
    const Json document = document_of(page);
    JsonValue compared = results_of(compare).value();
    compared.erase("settings");  // which the page has in words
    EXPECT_EQ(document["result"], Json(compared)) << line[0];
    const std::size_t schedules = document["result"]["results"].size();
    EXPECT_EQ(document["timelines"].size(), schedules);
    // A bar is of the same update as the table, or where seeds are played of one of them.
    ASSERT_EQ(document["breakdown"].size(), schedules);
    for (std::size_t i = 0; i < schedules; ++i) {
      double bar = 0;
      for (const Json& one : document["breakdown"][i]["uses"].elements()) bar += one["s"].number();
      const bool seeds = line.size() > 1 && line[1] == "--seeds";
      EXPECT_NEAR(bar, document["result"]["results"][i]["update_time_s"].number(), (seeds ? 0.2 : 1e-5) * bar)
          << line[0];
    }
  }
}

TEST(Report, ALadderIsThatOfExplain) {
  const TemporaryFolder folder;
  const std::string page = (folder.path / "r.html").string();
  accosim_done({"report", "finetune_2x4_a100", "--ladder", "ddp", "acco", "-o", page});
  const Json document = document_of(page);
  const Json ladder = Json::parse(accosim({"explain", "finetune_2x4_a100", "--ladder", "ddp", "acco", "--json"}).out);
  EXPECT_EQ(document["ladder"]["rungs"], ladder["rungs"]);
  EXPECT_NE(document["ladder"]["words"].text().find("times as fast as \"DDP as released\""), std::string::npos);
  EXPECT_EQ(document["command"], "accosim report finetune_2x4_a100 --output " + page + " --ladder ddp acco");
  // Both names are checked before anything is played.
  EXPECT_EQ(accosim({"report", "finetune_2x4_a100", "--ladder", "ddp", "aco", "-o", page}).exit_code, 1);
}

// The timeline of identical ranks is one rank's, of two steady updates: as long as they are predicted to take.
TEST(Report, TheTimelineShowsSteadyUpdates) {
  const TemporaryFolder folder;
  const std::string page = (folder.path / "r.html").string();
  ASSERT_EQ(accosim({"report", "finetune_2x4_a100", "--schedule", "zero1", "-o", page}).exit_code, 0);
  const Json document = document_of(page), timeline = document["timelines"][0];
  ASSERT_EQ(timeline["rows"].size(), 1u);
  EXPECT_EQ(timeline["rows"][0]["name"], "rank 0 and 7 like it");
  EXPECT_NEAR(timeline["marks"].back()[0].number(), 2e9 * document["result"]["results"][0]["update_time_s"].number(),
              10);
  for (const Json& lane : timeline["rows"][0]["lanes"].elements())
    for (std::size_t i = 1; i < lane["spans"].size(); ++i) ASSERT_GE(lane["spans"][i].integer(), 0);
  // And of the ranks that are asked for, of which some are alike.
  ASSERT_EQ(
      accosim({"report", "hetero_4xa100_one_slow", "--timeline-ranks", "1,3", "--timeline-updates", "3", "-o", page})
          .exit_code,
      0);
  const Json asked = document_of(page)["timelines"][0];
  ASSERT_EQ(asked["rows"].size(), 2u);
  EXPECT_EQ(asked["rows"][0]["name"].text().rfind("rank 1 and 2 like it", 0), 0u);
  EXPECT_EQ(asked["rows"][1]["name"].text().rfind("rank 3 (", 0), 0u);
  // DPU's slow rank is in the middle of a micro-batch when rank 0's update ends: that is there too.
  ASSERT_EQ(
      accosim({"report", "hetero_4xa100_one_slow", "--schedule", "dpu", "--timeline-ranks", "3", "-o", page}).exit_code,
      0);
  const Json slow = document_of(page)["timelines"][0]["rows"][0]["lanes"][0]["spans"];
  EXPECT_LE(slow[0].integer(), 0);
  EXPECT_GT(slow[0].integer() + slow[1].integer(), 0);
}

TEST(Report, ItsCommandMakesItAgain) {
  const TemporaryFolder folder;
  const std::string page = (folder.path / "it's.html").string();
  ASSERT_EQ(accosim({"report", "finetune_2x4_a100", "--schedule", "DDP as released", "--set",
                     "/cluster/nodes/0/nics/bandwidth=\"10 Gbit/s\"", "--timeline-updates", "1", "-o", page})
                .exit_code,
            0);
  const std::string first = text_of(page), command = document_of(page)["command"].text();
  ASSERT_EQ(command.rfind("accosim report ", 0), 0u);
  std::filesystem::remove(page);
  const std::string program = kAccosimProgram;
  const ProgramRun run = run_program("/bin/sh", {"-c", "'" + program + "'" + command.substr(7)}, kRoot);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(text_of(page), first);
}

TEST(Report, ReplacesItsOwnPagesAndNoOthers) {
  const TemporaryFolder folder;
  const std::string page = (folder.path / "r.html").string();
  const std::vector<std::string> line = {"report", "finetune_2x4_a100", "--schedule", "zero1", "-o", page};
  EXPECT_EQ(accosim(line).exit_code, 0);
  EXPECT_EQ(accosim(line).exit_code, 0);
  folder.write("r.html", "<!doctype html><title>mine</title>");
  expect_told(accosim(line), 1, "--force");
  std::vector<std::string> forced = line;
  forced.emplace_back("--force");
  EXPECT_EQ(accosim(forced).exit_code, 0);
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"report", "finetune_2x4_a100", "-o", (folder.path / "r.json").string()},
                                             {"report", "finetune_2x4_a100", "--timeline-ranks", "8", "-o", page},
                                             {"report", "finetune_2x4_a100", "--seeds", "3", "-o", page},
                                             {"report", "no_such_scenario", "-o", page}}) {
    const ProgramRun run = accosim(bad);
    EXPECT_EQ(run.exit_code, 1) << run.err;
    EXPECT_NE(run.err, "");
  }
}

// A machine whose micro-batches take 10 ms, and a run there of two updates of two: each rank's measured lanes lie over
// the predicted ones of the same update.
TEST(Report, AMeasuredRunLiesOverItsPrediction) {
  const TemporaryFolder folder;
  const std::string machine = folder.write("machine.json", kMeasuredMachine).string();
  const std::string run_file =
      folder
          .write("run.json", R"({"schema": "accosim.run/1", "algorithm": "zero1", "ranks": 1, "parameters": 1000,
      "options": {"slow": {}, "micro_batches_per_round": 2}, "updates_left_out": 1,
      "updates": [{"seconds": 0.025, "samples": 2}, {"seconds": 0.025, "samples": 2}], "spans": [)" +
                                 micro_batch_span("0", "0.01") + "," + micro_batch_span("0.01", "0.02") + "," +
                                 micro_batch_span("0.026", "0.036") + "," + micro_batch_span("0.036", "0.046") + "]}")
          .string();
  const std::string page = (folder.path / "r.html").string();
  const ProgramRun run =
      accosim_done({"report", machine, "--measured", run_file, "-o", page, "--timeline-updates", "1"});
  const Json document = document_of(page);
  ASSERT_EQ(document["timelines"].size(), 2u);
  EXPECT_FALSE(document["timelines"][0]["measured"].value().boolean);
  EXPECT_TRUE(document["timelines"][1]["measured"].value().boolean);
  // The second update's two micro-batches, 1 ms after it began.
  EXPECT_EQ(document["timelines"][1]["rows"][0]["lanes"][0]["spans"],
            Json::parse("[1000000, 10000000, 0, 0, 10000000, 0]"));
  EXPECT_EQ(document["run"]["measured_s"], 0.025);
  EXPECT_EQ(document["run"]["parts"][0]["name"], "micro-batch");
  EXPECT_NEAR(document["run"]["parts"][0]["predicted_s"].number(), 0.01, 1e-6);
  // Neither the machine nor the run is overwritten.
  EXPECT_EQ(accosim({"report", machine, "--measured", run_file, "-o", run_file, "--force"}).exit_code, 1);
}

TEST(Report, OfASweepHasItsRowsAndWords) {
  const TemporaryFolder folder;
  const std::string rows = (folder.path / "rows.jsonl").string(), page = (folder.path / "page.html").string();
  const ProgramRun swept =
      accosim({"sweep", "h100_a100", "--over", "/cluster/nodes/1/count=1,0,4", "--over",
               "/training/gradient_accumulation_steps=8,0", "--schedule", "zero1", "--fair", "-o", rows});
  ASSERT_EQ(swept.exit_code, 0) << swept.err;
  accosim_done({"report", rows, "-o", page});
  const Json document = document_of(page), sweep = document["sweep"];
  EXPECT_EQ(document["command"].text(),
            "accosim sweep h100_a100 --schedule zero1 --over /cluster/nodes/1/count=1,0,4 --over "
            "/training/gradient_accumulation_steps=8,0 --fair -o " +
                rows + "\naccosim report " + rows + " --output " + page);
  EXPECT_EQ(sweep["axes"].elements()[0]["name"].text(), "A100 nodes");
  // The page of a point is the command with what its axes set.
  EXPECT_EQ(sweep["point_command"].text(), "accosim report h100_a100 --schedule zero1");
  EXPECT_EQ(sweep["axes"].elements()[0]["set"].elements()[2].text(), "/cluster/nodes/1/count=4");
  const std::vector<Json> scores = sweep["scores"].elements();
  ASSERT_EQ(scores.size(), 4U) << "same batch, tokens, time, alone";
  // Of 6 points every second has no micro-batch; of the last one that was played the last score is over the part.
  const std::vector<Json> winners = scores[0]["winners"].elements();
  ASSERT_EQ(winners.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(winners[i].text(), i % 2 == 0 ? "0" : "!") << i;
  std::istringstream lines(text_of(rows));
  std::string line;
  for (int i = 0; i <= 5; ++i) std::getline(lines, line);  // the heading is the first
  const Json row = Json::parse(line)["schedules"].elements()[0];
  EXPECT_NEAR(scores[3]["speedups"].elements()[0].elements()[3 * 4].number(), row["speedup_over_alone"].number(),
              1e-4 * row["speedup_over_alone"].number());
  EXPECT_EQ(sweep["failed"].elements().size(), 3U);
  EXPECT_FALSE(sweep["worth"]["words"].elements().empty());
  // What asks for a play is refused, and nothing is written over what another verb wrote.
  expect_told(accosim({"report", rows, "--schedule", "zero1", "-o", page}), 1,
              "leave it out of report of a sweep's rows");
  EXPECT_NE(accosim({"report", rows, "-o", rows}).exit_code, 0);
}

}  // namespace
}  // namespace accosim
