// sweep, merge and their pictures as a user starts them: whatever stops a sweep, no point is lost and none comes twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include "models/spec/shipped.hpp"
#include "tests/programs/told.hpp"
#include "tests/support/accosim_program.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/unwrapped.hpp"

namespace accosim {
namespace {

const std::string kScenario = "scenarios/paper/finetune_1x8_a100.json";
const std::string kRates = "/training/micro_batch_size=1..8:8", kSteps = "/training/gradient_accumulation_steps=2,4,6";

/// All of the rows but the command that played them.
std::string without_command(const std::filesystem::path& path) {
  return std::regex_replace(text_of(path), std::regex(R"(,"(?:point_)?command":"[^\n]*?[^\\]"(?=[,}]))"), "");
}

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> sweep_of(const std::filesystem::path& rows, const std::vector<std::string>& more = {}) {
  return with({"sweep", kScenario, "--over", kRates, "--over", kSteps, "--schedule", "acco", "--output", rows.string(),
               "-j", "2"},
              more);
}

TEST(Sweep, HasARowForEachPointThatIsWhatCompareSays) {
  const TemporaryFolder folder;
  const std::filesystem::path rows = folder.path / "rows.jsonl";
  accosim_done(sweep_of(rows));
  const std::vector<std::string> lines = lines_of(rows);
  ASSERT_EQ(lines.size(), 25U);
  const Json row = Json::parse(lines[1 + 3 * 3 + 1]);  // the fourth size, the second number of steps
  EXPECT_EQ(row["index"].number(), 10);
  EXPECT_EQ(row["point"]["/training/micro_batch_size"].text(), "4");
  const Json compared = results_of({"compare", kScenario, "--schedule", "acco", "--set", "/training/micro_batch_size=4",
                                    "--set", "/training/gradient_accumulation_steps=4"});
  const Json expected = result(compared, "acco"), got = row["schedules"].elements()[0];
  for (const char* const key : {"update_time_s", "update_time_s_low", "tokens_per_s", "speedup", "speedup_low",
                                "speedup_same_batch", "memory_resident_bytes", "mfu", "samples_per_update"})
    EXPECT_EQ(got[key].number(), expected[key].number()) << key;
}

TEST(Sweep, AKnobIsAnAxisByItsName) {
  if (!thorough()) GTEST_SKIP() << "takes half a minute under a sanitizer";
  const TemporaryFolder folder;
  const std::filesystem::path rows = folder.path / "rows.jsonl", from_file = folder.path / "from_file.jsonl";
  const ProgramRun run =
      accosim_done({"sweep", "finetune_2x4_a100", "--schedule", "zero1", "--schedule", "acco", "--over", "overlap",
                    "--over", "micro_batch", "--no-tuned", "-j", "2", "-o", rows.string()});
  const std::vector<std::string> lines = lines_of(rows);
  // zero1 as written, which is without overlap; in units and four sizes of buckets, and these five with the parameters
  // beside the forward pass; five micro-batches.
  ASSERT_EQ(lines.size(), 1U + 11 * 5);
  const Json row = Json::parse(lines[1 + 2 * 5 + 4]);
  EXPECT_EQ(row["point"]["overlap"].text(), "backward, bucket_cap_mb 25");
  EXPECT_EQ(row["point"]["micro_batch"].text(),
            "micro_batch_size 16, gradient_accumulation_steps 1, micro_batches_per_round 1");
  // ACCO has no such key and stays; with one micro-batch it begins with one of two rounds.
  const Json compared =
      results_of({"compare", "finetune_2x4_a100", "--schedule", "zero1", "--schedule", "acco", "--no-tuned", "--set",
                  "/training/micro_batch_size=16", "--set", "/training/gradient_accumulation_steps=1", "--set",
                  "/schedules/3/micro_batches_per_round=1", "--set", "/schedules/1/overlap=backward", "--set",
                  "/schedules/1/bucket_cap_mb=25"});
  ASSERT_EQ(row["schedules"].elements().size(), 2U);
  for (const std::size_t i : {0, 1})
    EXPECT_EQ(row["schedules"].elements()[i]["update_time_s"].number(),
              compared["results"].elements()[i]["update_time_s"].number())
        << i;
  const std::filesystem::path file = folder.path / "s.sweep.json";
  std::ofstream(file) << R"({"schema": "accosim.sweep/1", "scenario": "finetune_2x4_a100", "tuned": false,
                             "schedules": ["zero1", "acco"], "over": ["overlap", "micro_batch"]})";
  ASSERT_EQ(accosim({"sweep", file.string(), "-o", from_file.string()}).exit_code, 0);
  EXPECT_EQ(without_command(from_file), without_command(rows));
}

TEST(Sweep, OverClusterFilesItNamesAndRanksThemByTimeAndCost) {
  const TemporaryFolder folder;
  const std::string rows = (folder.path / "rows.jsonl").string();
  const std::vector<std::string> words{
      "sweep",      "pretrain_4x8_a100",
      "--schedule", "zero1",
      "--over",     "/cluster=scenarios/clusters/jean-zay-a100-2x4.json,scenarios/clusters/dgx-h100-4x8.json",
      "--set",      "/cluster/nodes/*/price_per_gpu_hour=2",
      "--by",       "cost",
      "-o",         rows};
  const ProgramRun run = accosim_done(words);
  // 8 A100 and 32 H100 at 2 an hour each; H100 are faster by more than they are many.
  std::vector<double> costs, hours;
  for (const char* const cluster : {"jean-zay-a100-2x4", "dgx-h100-4x8"}) {
    const Json one = result(results_of({"compare", "pretrain_4x8_a100", "--schedule", "zero1", "--set",
                                        std::string("/cluster=scenarios/clusters/") + cluster + ".json", "--set",
                                        "/cluster/nodes/*/price_per_gpu_hour=2"}),
                            "zero1");
    costs.push_back(one["cost"].number());
    hours.push_back(one["gpu_hours"].number());
    EXPECT_NEAR(costs.back(), 2 * hours.back(), 1e-9 * costs.back());
  }
  ASSERT_GT(costs[0], costs[1]);
  const std::string said = unwrapped(run.out);
  EXPECT_TRUE(holds(said, "Of all points the cheapest is dgx-h100-4x8, with zero1: all tokens in ")) << run.out;
  char times[100];
  std::snprintf(times, sizeof times,
                "The next, jean-zay-a100-2x4, takes %.3g times as much (80 %%: ", costs[0] / costs[1]);
  EXPECT_TRUE(holds(said, times)) << run.out << times;
  EXPECT_LT(run.out.find("\ndgx-h100-4x8 "), run.out.find("\njean-zay-a100-2x4 ")) << run.out;
  const Json row = Json::parse(lines_of(rows)[1])["schedules"].elements()[0];
  EXPECT_EQ(row["cost"].number(), costs[0]);
  EXPECT_EQ(row["gpu_hours"].number(), hours[0]);
  EXPECT_NEAR(row["cost_low"].number() / costs[0], row["update_time_s_low"].number() / row["update_time_s"].number(),
              1e-12);
}

TEST(Sweep, PartsThatAreMergedAreTheWhole) {
  if (!thorough()) GTEST_SKIP() << "takes half a minute under a sanitizer";
  const TemporaryFolder folder;
  const std::filesystem::path whole = folder.path / "whole.jsonl", merged = folder.path / "merged.jsonl";
  ASSERT_EQ(accosim(sweep_of(whole)).exit_code, 0);
  std::vector<std::string> merge{"merge"};
  for (const char* const shard : {"0/3", "1/3", "2/3"}) {
    const ProgramRun part = accosim_done(sweep_of(folder.path / "part.jsonl", {"--shard", shard}));
    merge.push_back((folder.path / ("part." + std::string(1, shard[0]) + "-of-3.jsonl")).string());
  }
  merge.insert(merge.end(), {"--output", merged.string()});
  accosim_done(merge);
  EXPECT_EQ(text_of(merged), text_of(whole));
  // Without a part it says how many points are missing.
  merge.erase(merge.begin() + 1);
  merge.push_back("--force");
  EXPECT_TRUE(holds(accosim(merge).err, "8 of 24 points are missing"));
}

TEST(Sweep, APartIsWhatTheSchedulersEnvironmentSays) {
  const TemporaryFolder folder;
  setenv("SLURM_ARRAY_TASK_ID", "5", 1);
  setenv("SLURM_ARRAY_TASK_COUNT", "4", 1);
  setenv("SLURM_ARRAY_TASK_MIN", "3", 1);
  const ProgramRun run = accosim(sweep_of(folder.path / "rows.jsonl", {"--shard", "auto"}));
  for (const char* const name : {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN"})
    unsetenv(name);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(lines_of(folder.path / "rows.2-of-4.jsonl").size(), 7U) << "points 2, 6, ..., 22 and the heading";
  expect_told(accosim(sweep_of(folder.path / "rows.jsonl", {"--shard", "auto"})), 1,
              "this is no task of a Slurm array");
}

TEST(Sweep, APointThatIsRefusedIsARowAndTheOthersArePlayed) {
  const TemporaryFolder folder;
  const std::filesystem::path rows = folder.path / "rows.jsonl";
  const ProgramRun run = accosim_done({"sweep", kScenario, "--over", "/training/micro_batch_size=1,0,2", "--schedule",
                                       "acco", "--output", rows.string()});
  const std::vector<std::string> lines = lines_of(rows);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(Json::parse(lines[2])["status"].text(), "failed");
  EXPECT_TRUE(holds(Json::parse(lines[2])["why"].text(), "/training/micro_batch_size"));
  EXPECT_TRUE(holds(run.out, "1 failed"));
}

TEST(Sweep, AnAxisThatReplacesWhatAnotherSetsGoesFirst) {
  const std::string clusters = "/cluster=jean-zay-a100-1x8,dgx-h100-1x8",
                    prices = "/cluster/nodes/0/price_per_gpu_hour=2,3";
  const auto swept = [&](const std::string& first, const std::string& second) {
    const ProgramRun run = accosim({"sweep", kScenario, "--schedule", "zero1", "--zip", "--by", "cost", "--set",
                                    "/cluster/currency=EUR", "--over", first, "--over", second});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.out;
  };
  const std::string table = swept(clusters, prices);
  EXPECT_TRUE(holds(table, "dgx-h100-1x8")) << table;
  EXPECT_EQ(swept(prices, clusters), table);
}

TEST(Sweep, WhatIsWrongIsToldBeforeTheWork) {
  const TemporaryFolder folder;
  const std::string rows = (folder.path / "rows.jsonl").string();
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& part) {
    const ProgramRun run = accosim(arguments);
    EXPECT_NE(run.exit_code, 0);
    EXPECT_TRUE(holds(run.err, part));
  };
  refused({"sweep", kScenario}, "nothing is varied");
  refused({"sweep", kScenario, "--over", "/training/micro_batch_sise=1,2"}, "micro_batch_size");
  refused({"sweep", kScenario, "--over", kSteps, "--over", kSteps}, "is varied by two axes");
  refused({"sweep", kScenario, "--over", "micro_bach"}, "did you mean \"micro_batch\"?");
  refused({"sweep", kScenario, "--over", "micro_batch", "--over", kSteps},
          "both set /training/gradient_accumulation_steps");
  refused({"sweep", "mixed_a100_v100", "--over", "nodes", "--over", "/cluster=a.json,b.json"},
          "the one replaces /cluster");
  refused({"sweep", kScenario, "--over", kSteps, "--by", "cost"}, "price_per_gpu_hour");
  refused({"advise", kScenario, "--over", "micro_batch", "--over", kSteps}, "both set");
  refused({"sweep", kScenario, "--over", "prefetch"}, "nothing to choose in these schedules");
  refused({"sweep", kScenario, "--over", kRates, "--over", kSteps, "--zip"}, "write as many for each");
  refused({"sweep", kScenario, "--over", kSteps, "--shard", "3/3", "-o", rows}, "write i/n");
  refused({"sweep", kScenario, "--over", kSteps, "--shard", "0/3"}, "needs --output");
  refused({"sweep", kScenario, "--over", kSteps, "--timeout", "soon"}, "--timeout soon");
  refused({"sweep", kScenario, "--over", kSteps, "--timeout", "1 ns"}, "--timeout 1 ns: is out of range; write ");
  refused({"sweep", kScenario, "--over", kSteps, "--memory", "100 EB"}, "--memory 100 EB: is out of range; write ");
  EXPECT_FALSE(std::filesystem::exists(rows));
  std::ofstream(rows) << "{}\n";
  refused({"sweep", kScenario, "--over", kSteps, "-o", rows}, "--force");
  EXPECT_EQ(text_of(rows), "{}\n");
  // Nothing that is there is touched by a command that cannot be run.
  refused({"sweep", (kRoot / kScenario).string(), "--over", kSteps, "-o", (kRoot / kScenario).string(), "--force"},
          "is what is read");
  refused({"sweep", kScenario, "--over", kSteps, "-o", rows, "--csv", rows, "--force"}, "--csv");
  refused({"sweep", kScenario, "--over", kSteps, "-o", rows, "--force", "--timeout", "10 minuets"}, "--timeout");
  EXPECT_EQ(text_of(rows), "{}\n");
}

TEST(Sweep, AFileSaysWhatTheOptionsSay) {
  if (!thorough()) GTEST_SKIP() << "takes half a minute under a sanitizer";
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path / "s.sweep.json", rows = folder.path / "rows.jsonl",
                              from_file = folder.path / "from_file.jsonl";
  std::ofstream(file) << R"({"schema": "accosim.sweep/1", "scenario": ")" << (kRoot / kScenario).string()
                      << R"(", "schedules": ["acco"], "over": [{"pointer": "/training/micro_batch_size",
                         "values": [1, 2, 3, 4, 5, 6, 7, 8]}, "/training/gradient_accumulation_steps=2,4,6"]})";
  ASSERT_EQ(accosim(sweep_of(rows)).exit_code, 0);
  accosim_done({"sweep", file.string(), "-o", from_file.string()});
  EXPECT_EQ(without_command(from_file), without_command(rows));
  std::ofstream(file)
      << R"({"schema": "accosim.sweep/1", "scenario": "x", "over": [3, {"zip": []}, "/a=1..3"], "axes": 1})";
  const ProgramRun wrong = accosim({"sweep", file.string()});
  EXPECT_EQ(wrong.exit_code, 1);
  for (const char* const part : {"/over/0: is no axis", "/over/1/zip", "/axes"})
    EXPECT_TRUE(holds(wrong.err, part)) << part << "\n" << wrong.err;
}

TEST(Sweep, OfAMixSaysWhetherTheSlowerPartIsWorthAdding) {
  const TemporaryFolder folder;
  const std::filesystem::path rows = folder.path / "rows.jsonl", csv = folder.path / "rows.csv",
                              picture = folder.path / "curve.svg";
  const ProgramRun run =
      accosim({"sweep", "scenarios/mixes/h100_a100.json", "--over", "/cluster/nodes/1/count=0,1,4", "--fair",
               "--no-tuned", "--schedule", "zero1", "--schedule", "acco", "-o", rows.string(), "--csv", csv.string()});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  // One A100 node slows zero1 down, four do not; acco adds up, at a batch that grows.
  EXPECT_TRUE(holds(unwrapped(run.out), "Adding the A100-SXM4-80GB to the 16 H100-SXM: slower with up to ")) << run.out;
  EXPECT_TRUE(holds(run.out, "zero1 is the fastest at all 3 points. Faster at a price: acco at 2 points, at up"));
  EXPECT_TRUE(holds(run.out, "With the winner of each point the whole cluster is faster at 1 of 2 points."));
  const std::vector<std::string> table = lines_of(csv);
  for (const char* const column : {"speedup_over_alone,", "alone_part,"})
    EXPECT_TRUE(holds(table[0], column)) << column;
  EXPECT_TRUE(holds(table[4], ",16 H100-SXM,zero1,"));
  // The part does what compare has it do: as many samples as are asked of both.
  const Json compared = results_of(
      {"compare", "scenarios/mixes/h100_a100.json", "--schedule", "zero1", "--set", "/cluster/nodes/1/count=1"});
  const Json row = Json::parse(lines_of(rows)[2]);
  double alone = 0;
  for (const Json& each : compared["fair_baselines"].elements())
    if (!each["part"].is_null() && each["part"].text() == "16 H100-SXM") alone = each["samples_per_update"].number();
  EXPECT_EQ(row["alone"]["samples_per_update"].number(), alone);
  const ProgramRun drawn =
      accosim({"plot", "--kind", "curve", rows.string(), "--by", "alone", "-o", picture.string(), "--force"});
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_TRUE(holds(text_of(picture), "over the fastest part alone"));
}

TEST(Sweep, SaysWhatIsLeftOverTheBestSynchronousScheduleOfEachPoint) {
  const TemporaryFolder folder;
  const std::filesystem::path rows = folder.path / "rows.jsonl", picture = folder.path / "curve.svg";
  const ProgramRun run = accosim_done({"sweep", "finetune_2x4_a100", "--set",
                                       R"(/cluster/nodes/0/nics={"count": 1, "bandwidth": "100 Gbit/s"})", "--over",
                                       "/cluster/nodes/0/nics/bandwidth=25,100,400 Gbit/s", "-o", rows.string()});
  const std::string said = unwrapped(run.out);
  EXPECT_TRUE(holds(said, "The best synchronous schedule is zero3, "));
  EXPECT_TRUE(holds(said, "acco is faster than that at 1 of 3 points ("));
  EXPECT_TRUE(holds(said, "times as fast at equal samples): faster below "));
  // A row is what `compare` says of its point.
  const std::vector<std::string> lines = lines_of(rows);
  ASSERT_EQ(lines.size(), 4U);
  const Json row = Json::parse(lines[2]),
             compared = results_of({"compare", "finetune_2x4_a100", "--set",
                                    R"(/cluster/nodes/0/nics={"count": 1, "bandwidth": "100 Gbit/s"})"});
  EXPECT_EQ(row["best_synchronous"], compared["best_synchronous"]["form"].text());
  for (std::size_t i = 0; i < compared["results"].size(); ++i)
    EXPECT_EQ(row["schedules"][i]["speedup_over_best_synchronous"].number(),
              compared["results"][i]["speedup_over_best_synchronous"].number())
        << i;
  const auto draw = [&](const std::string& file) {
    return accosim({"plot", "--kind", "curve", file, "--by", "best-synchronous", "-o", picture.string()});
  };
  ASSERT_EQ(draw(rows.string()).exit_code, 0);
  EXPECT_TRUE(holds(text_of(picture), "over the best synchronous schedule"));
  const std::filesystem::path plain = folder.path / "plain.jsonl";
  ASSERT_EQ(accosim(sweep_of(plain, {"--no-tuned"})).exit_code, 0);
  expect_told(draw(plain.string()), 1, "--no-tuned");
}

TEST(Sweep, WithoutFairThereIsNoSuchPicture) {
  const TemporaryFolder folder;
  const std::filesystem::path rows = folder.path / "rows.jsonl";
  ASSERT_EQ(accosim(sweep_of(rows, {"--schedule", "DDP as released", "--no-tuned"})).exit_code, 0);
  expect_told(
      accosim({"plot", "--kind", "curve", rows.string(), "--by", "alone", "-o", (folder.path / "x.svg").string()}), 1,
      "--fair");
}

TEST(Sweep, ItsPicturesAndItsTableAreOfItsRows) {
  const TemporaryFolder folder;
  const std::filesystem::path rows = folder.path / "rows.jsonl", csv = folder.path / "rows.csv";
  ASSERT_EQ(accosim(sweep_of(rows, {"--csv", csv.string(), "--schedule", "DDP as released", "--no-tuned"})).exit_code,
            0);
  const std::vector<std::string> table = lines_of(csv);
  EXPECT_EQ(table.size(), 1 + 24 * 2U);
  EXPECT_EQ(table[0].rfind("index,/training/micro_batch_size,/training/gradient_accumulation_steps,status,why,schedule,"
                           "wins,statistics,update_time_s,",
                           0),
            0U);
  const auto commas = [](const std::string& line) { return std::ranges::count(line, ','); };
  for (const std::string& line : table) EXPECT_EQ(commas(line), commas(table[0])) << line;
  for (const char* const kind : {"curve", "map"}) {
    const std::filesystem::path picture = folder.path / (std::string(kind) + ".svg");
    accosim_done({"plot", "--kind", kind, rows.string(), "-o", picture.string()});
    EXPECT_TRUE(holds(text_of(picture), "samples of a micro-batch"));
  }
  expect_told(accosim({"plot", "--kind", "curve", rows.string(), "--axis", "micro_batches", "-o",
                       (folder.path / "x.svg").string()}),
              1, "did you mean");
}

TEST(Plot, AMapHasValuesOfAScheduleOverAnother) {
  const TemporaryFolder folder;
  const std::string rows = (folder.path / "rows.jsonl").string(), csv = (folder.path / "map.csv").string();
  ASSERT_EQ(accosim({"sweep", "finetune_2x4_a100", "--no-tuned", "--schedule", "DDP as released", "--schedule", "zero1",
                     "--schedule", "acco", "--over", "/training/gradient_accumulation_steps=2,8", "--over",
                     "/training/micro_batch_size=1,2", "-o", rows})
                .exit_code,
            0);
  const auto draw = [&](std::vector<std::string> more) {
    accosim_done(with({"plot", "--kind", "map", rows, "-o", csv, "--force"}, more));
    return lines_of(csv);
  };
  // What a row says of the two, per token; the first point has 2 updates of micro-batches of 1.
  const std::vector<std::string> gain = draw({"--value", "speedup", "--of", "acco", "--over", "zero1"});
  ASSERT_EQ(gain.size(), 1 + 4U);
  const Json row = Json::parse(lines_of(rows)[1])["schedules"];
  const double tokens = row[2]["tokens_per_s"].number() / row[1]["tokens_per_s"].number();
  EXPECT_EQ(gain[1].rfind("acco,", 0), 0U) << gain[1];
  EXPECT_NEAR(std::strtod(gain[1].substr(std::string("acco,2,1,").size()).c_str(), nullptr), tokens, 1e-9) << gain[1];
  const std::vector<std::string> hours = draw({"--value", "time", "--of", "zero1"});
  EXPECT_NEAR(std::strtod(hours[1].substr(std::string("zero1,2,1,").size()).c_str(), nullptr),
              row[1]["total_time_s"].number() / 3600, 1e-9);
  // The schedule is one of those that are chosen, and a time is over nothing.
  const std::vector<std::string> base = {"plot", "--kind", "map", rows, "-o", "/dev/null"};
  for (const auto& [more, said] :
       {std::pair(std::vector<std::string>{"--schedule", "zero1", "--of", "acco"}, "--of acco"),
        std::pair(std::vector<std::string>{"--value", "time", "--over", "zero1"}, "write --value speedup"),
        std::pair(std::vector<std::string>{"--value", "cost"}, "price")}) {
    expect_told(accosim(with(base, more)), 1, said);
  }
}

TEST(Sweep, AMergeThatIsRefusedWritesNothing) {
  const TemporaryFolder folder;
  const std::filesystem::path merged = folder.path / "rows.jsonl";
  const std::string part = data_dir() + "/tests/fuzz/corpus/rows/part_0_of_2.jsonl";
  expect_told(accosim({"merge", part, "-o", merged.string(), "--by", "cost"}), 1, "there is no cost to go by");
  EXPECT_FALSE(std::filesystem::exists(merged));
}

TEST(Sweep, WhatTheFuzzerStartsFromIsRight) {
  const TemporaryFolder folder;
  const std::string corpus = data_dir() + "/tests/fuzz/corpus/";
  const ProgramRun merged = accosim_done({"merge", corpus + "rows/part_0_of_2.jsonl", corpus + "rows/part_1_of_2.jsonl",
                                          "-o", (folder.path / "rows.jsonl").string()});
  EXPECT_FALSE(holds(merged.err, "are missing"));
  folder.write("sweep.json", text_of(corpus + "sweep/two_axes.json"));
  folder.write("scenario.json", accosim({"resolve", "finetune_2x4_a100"}).out);
  accosim_done({"sweep", (folder.path / "sweep.json").string(), "--network", "reference", "-j", "1", "--no-tuned",
                "--schedule", "acco"});
}

}  // namespace
}  // namespace accosim
