// The verb diff as a user types it, on files that the programs have just written: parts that add up, two ways to write
// the same trace, and refusals that say what to name instead.
#include <gtest/gtest.h>

#include <filesystem>

#include "models/base/text.hpp"
#include "tests/programs/told.hpp"
#include "tests/support/accosim_program.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::string written(const TemporaryFolder& folder, const std::string& name, const Words& words) {
  std::string path = (folder.path / name).string();
  const ProgramRun run = accosim(words, path);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return path;
}

std::string traced(const TemporaryFolder& folder, const std::string& name, const Words& more = {}) {
  std::string path = (folder.path / name).string();
  accosim_done(
      with({"run", "finetune_2x4_a100", "--schedule", "acco", "--network", "reference", "--trace", path}, more));
  return path;
}

Json differences(const std::string& a, const std::string& b) { return results_of({"diff", a, b}); }

void expect_adds_up(const Json& figure, const std::string& unit) {
  double a = 0, difference = 0;
  for (const Json& part : figure["parts"].elements()) {
    a += part["a_" + unit].number();
    difference += part["difference_" + unit].number();
  }
  const double whole = figure["a_" + unit].number();
  EXPECT_NEAR(a / whole, 1, 1e-9);
  EXPECT_NEAR((difference - figure["difference_" + unit].number()) / whole, 0, 1e-9);
}

const std::string kWaited = "\"processor_wait_share\":";
const Words kSlow = {"--set", "/cluster/nodes/0/nics/bandwidth=10 Gbit/s"};

TEST(Diff, OfResultsAddsUpAndNamesTheLargestPart) {
  const TemporaryFolder folder;
  Words compare = {"compare", "finetune_2x4_a100", "--json", "--network", "reference"};
  const std::string a = written(folder, "a.json", compare);
  compare.insert(compare.end(), kSlow.begin(), kSlow.end());
  const std::string b = written(folder, "b.json", compare);
  const Json document = differences(a, b), before = Json::parse(text_of(a)), after = Json::parse(text_of(b));
  EXPECT_EQ(document["schema"], "accosim.diff/1");
  ASSERT_EQ(document["schedules"].size(), 6U);
  for (const Json& one : document["schedules"].elements()) {
    expect_adds_up(one["update_time"], "s");
    expect_adds_up(one["memory"], "bytes");
    const std::string label = one["a"].text(), other = one["b"].text();
    EXPECT_EQ(one["update_time"]["a_s"].number(), result(before, label)["update_time_s"].number());
    EXPECT_EQ(one["update_time"]["b_s"].number(), result(after, other)["update_time_s"].number());
    EXPECT_EQ(one["b_samples_per_update"].number(), result(after, other)["samples_per_update"].number());
    if (label == other) {
      EXPECT_EQ(one["memory"]["difference_bytes"].number(), 0);
    }
  }
  // Serial ZeRO-1 on a slower network: all of it is communication that nothing hides.
  const Json zero1 = document["schedules"][1];
  EXPECT_EQ(zero1["a"], "zero1");
  EXPECT_EQ(zero1["update_time"]["parts"][0]["name"], "exposed communication");
  EXPECT_NEAR(zero1["update_time"]["parts"][0]["share"].number(), 1, 1e-3);
  const ProgramRun text = accosim_done({"diff", a, b});
  EXPECT_TRUE(holds(text.out, "Most of it is: exposed communication, 100.0 % of the difference."));
  EXPECT_TRUE(holds(text.out, "memory: 35.7 GiB in both, and so is every part"));
  // ACCO accumulates more while it waits, so that its updates are larger in B: the first figure is that of a sample.
  const Json fast = result(before, "acco"), slow = result(after, "acco");
  EXPECT_LT(fast["samples_per_update"].number(), slow["samples_per_update"].number());
  const std::string first = "acco\ntime of a sample: ";
  EXPECT_TRUE(holds(text.out, first));
  const std::string sizes = "An update is of " + shortest(fast["samples_per_update"].number()) + " samples in A";
  EXPECT_TRUE(holds(text.out, sizes));
}

TEST(Diff, OfResultsNamesTheSettingsThatDifferFirst) {
  const TemporaryFolder folder;
  const Words run = {"run", "finetune_2x4_a100", "--json", "--schedule", "acco", "--network", "reference"};
  const auto ran = [&](const std::string& name, const Words& more) { return written(folder, name, with(run, more)); };
  const std::string a = ran("a.json", {}), b = ran("b.json", kSlow),
                    c = ran("c.json", {"--set", "/cluster/nodes/0/device=H100-SXM"});
  const Json settings = differences(a, b)["settings"];
  EXPECT_EQ(settings["all_recorded"], true);
  ASSERT_EQ(settings["differ"].size(), 1U) << settings;
  EXPECT_EQ(settings["differ"][std::size_t{0}]["setting"], "/cluster/nodes/0/nics/bandwidth");
  EXPECT_EQ(settings["differ"][std::size_t{0}]["b"], "10 Gbit/s");
  const std::string text = accosim({"diff", a, b}).out;
  EXPECT_LT(text.find("/cluster/nodes/0/nics/bandwidth"), text.find("time of an update")) << text;
  EXPECT_TRUE(holds(accosim({"diff", a, c}).out, "/cluster/nodes/0/device"));
  EXPECT_TRUE(holds(accosim({"diff", a, a}).out, "settings: the same in both\n"));
  // Of an older accosim.
  std::string old = text_of(a);
  const std::size_t begin = old.find("\"settings\""), end = old.find('\n', begin);
  ASSERT_NE(begin, std::string::npos);
  const ProgramRun older = accosim_done({"diff", folder.write("old.json", old.erase(begin, end - begin)).string(), b});
  EXPECT_TRUE(holds(older.out, "Not all settings are compared"));
}

TEST(Diff, OfTracesGoesOpByOp) {
  const TemporaryFolder folder;
  const std::string a = traced(folder, "a.json"), b = traced(folder, "b.json", kSlow);
  const Json document = differences(a, b);
  ASSERT_EQ(document["schedules"].size(), 1U);
  const Json update = document["schedules"][std::size_t{0}]["update_time"];
  expect_adds_up(update, "s");
  // Steady updates of a trace last as long as `run` says.
  const Json run = results_of({"run", "finetune_2x4_a100", "--schedule", "acco", "--network", "reference"});
  EXPECT_NEAR(update["a_s"].number() / result(run, "acco")["update_time_s"].number(), 1, 1e-6);
  bool forward = false;
  for (const Json& part : update["parts"].elements()) {
    if (part["name"] != "forward") continue;
    forward = true;
    EXPECT_NEAR(part["a_each_s"].number(), part["b_each_s"].number(), 0.1);
    EXPECT_GT(part["b_count"].number(), part["a_count"].number());  // it accumulates while it waits
  }
  EXPECT_TRUE(forward);
}

TEST(Diff, ATraceIsTheSameCompressedOrNot) {
  const TemporaryFolder folder;
  const std::string plain = traced(folder, "a.json"), packed = traced(folder, "a.json.gz");
  EXPECT_LT(5 * fs::file_size(packed), fs::file_size(plain));
  EXPECT_EQ(text_of(packed).substr(0, 2), "\x1f\x8b");
  for (const Json& part : differences(plain, packed)["schedules"][std::size_t{0}]["update_time"]["parts"].elements())
    EXPECT_EQ(part["difference_s"].number(), 0) << part;
  EXPECT_TRUE(holds(accosim({"diff", plain, packed}).out, " in both, and so is every part"));
  // Its own file is replaced, somebody else's is not; and the same command writes the same bytes.
  const std::string before = text_of(packed);
  EXPECT_EQ(text_of(traced(folder, "a.json.gz")), before);
  const std::string other = folder.write("other.json.gz", "\x1f\x8b of somebody else").string();
  const ProgramRun kept = accosim({"run", "finetune_2x4_a100", "--trace", other});
  expect_told(kept, 1, "--force");
}

TEST(Diff, ARunOfAccocalIsItsOwnTraceAndComparesWithAPrediction) {
  const TemporaryFolder folder;
  const std::string run = (folder.path / "run.json").string(), trace = (folder.path / "run.trace.json").string();
  const ProgramRun trained = run_program(
      kAccocalProgram,
      {"train",       "-a", "zero1",    "-n", "2",         "--width", "16", "--heads", "2",       "--context", "16",
       "--sequences", "2",  "--layers", "1",  "--updates", "6",       "-o", run,       "--trace", trace},
      folder.path);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  // A machine that is busy otherwise may make its ranks wait for longer than a run that is worth anything.
  std::string text = text_of(run);
  const std::size_t waited = text.find(kWaited) + kWaited.size();
  folder.write("run.json", text.replace(waited, text.find(',', waited) - waited, "0"));
  const Json same = differences(run, trace)["schedules"][std::size_t{0}]["update_time"];
  for (const Json& part : same["parts"].elements()) {
    EXPECT_NEAR(part["difference_s"].number(), 0, 1e-7) << part;  // nanoseconds are rounded
    EXPECT_EQ(part["a_count"].number(), part["b_count"].number()) << part;
  }
  const std::string predicted = (folder.path / "predicted.json").string();
  ASSERT_EQ(accosim({"run", "finetune_2x4_a100", "--schedule", "zero1", "--trace", predicted}).exit_code, 0);
  const Json measured = differences(trace, predicted)["schedules"][std::size_t{0}];
  EXPECT_EQ(measured["a"], "zero1, measured");
  expect_adds_up(measured["update_time"], "s");
  for (const Json& part : measured["update_time"]["parts"].elements()) {
    EXPECT_NE(part["name"], "forward");  // accocal's names
    EXPECT_NE(part["name"], "wait for ranks");
  }
}

TEST(Diff, WhatCannotBeComparedIsRefusedWithItsPlace) {
  const TemporaryFolder folder;
  const std::string trace = traced(folder, "trace.json"), one = traced(folder, "one.json", {"--trace-updates", "1"});
  const std::string results = written(folder, "results.json", {"run", "finetune_2x4_a100", "--json"});
  const std::string first = traced(folder, "first.json", {"--trace-events", "20"});
  const auto refused = [&](const std::string& a, const std::string& b, const std::string& said) {
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      const ProgramRun run = accosim({"diff", x, y});
      expect_told(run, 1, said);
      EXPECT_EQ(run.out, "");
    }
  };
  const auto file = [&](const std::string& text) { return folder.write("wrong.json", text).string(); };
  refused(trace, results, "name two of results, or two that hold what ranks did when");
  refused(trace, one, "one.json:1:39 /traceEvents: hold fewer than two ends of updates of a rank of \"acco\"");
  refused(trace, first, "/otherData: says that only the first events are there");
  refused(trace, file("{\"schema\": \"accosim.fit/1\"}"),
          "wrong.json:1:12 /schema: is \"accosim.fit/1\"; name results");
  refused(trace, file("[1, 2]"), "wrong.json:1:1: is none of the documents that can be compared");
  refused(trace, file("{\"traceEvents\": []}"), "/otherData: does not say that accosim or accocal wrote this trace");
  refused(trace, file("{\"schema\": "), "wrong.json:1:");
  refused(trace, file(""), "wrong.json");
  refused(trace, file("\x1f\x8b"), "is cut off");
  refused(trace, file("\x1f\x8b\x08 damaged, whatever follows"), "wrong.json");
  refused(trace, (folder.path / "absent.json").string(), "no such file");
  refused(trace, folder.path.string(), "is a directory");
  const std::string other = folder.write("other.json", R"({"schema": "accosim.result/1", "results": []})").string();
  refused(other, results, "other.json:1:43 /results: ");
  EXPECT_EQ(accosim({"diff", trace}).exit_code, 2);
}

}  // namespace
}  // namespace accosim
