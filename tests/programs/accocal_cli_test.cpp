// Does accocal keep its promises to a user: documents whole or not at all, errors that say what to write, exit codes
// that tell?
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <sstream>
#include <thread>

#include "build_info/programs.hpp"
#include "tests/programs/told.hpp"
#include "tests/support/json.hpp"
#include "tests/support/program.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

ProgramRun accocal(const std::vector<std::string>& arguments, const std::string& out_file = "") {
  return run_program(kAccocalProgram, arguments, "/", out_file);
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  const std::size_t begin = text.find_last_of('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

std::vector<std::string> files_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(AccocalHelp, IsOfTheProgramOrOfAVerb) {
  const std::string whole = accocal({"help"}).out;
  EXPECT_EQ(accocal({"--help"}).out, whole);
  for (const std::string verb : {"measure", "train", "converge"}) {
    EXPECT_NE(whole.find("\n  " + verb + " "), std::string::npos) << whole;
    const ProgramRun page = accocal({"help", verb});
    EXPECT_EQ(page.exit_code, 0) << page.err;
    EXPECT_EQ(page.out, accocal({verb, "--help"}).out);
    EXPECT_EQ(page.out.rfind("Usage: accocal " + verb + " [OPTIONS]\n", 0), 0U) << page.out;
    EXPECT_EQ(page.out.find("INT"), std::string::npos) << "what CLI11 calls a type: " << page.out;
    std::istringstream lines(page.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  }
  // What an option takes, its range and its default.
  EXPECT_NE(accocal({"help", "train"})
                .out.find("\n  -n, --ranks N         Number of ranks, each a process (1 to 64; "
                          "default: 4)\n"),
            std::string::npos);
  expect_told(accocal({"help", "trian"}), 2, "there are measure, train, converge, help");
  const ProgramRun none = accocal({});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.err, "accocal: name a verb: measure, train or converge; accocal help says what they do\n");
}

TEST(AccocalMeasure, WritesSamplesOfEveryPart) {
  const TemporaryFolder folder;
  const std::string path = folder.path / "samples.json";
  const ProgramRun run = accocal({"measure", "-n", "2", "--network", "paced:1 Gbit/s", "--rate", "1=500Mbit/s",
                                  "--quick", "--seconds", "2", "--bytes", "64 KiB", "--bytes", "4000", "-o", path});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(files_in(folder.path), std::vector<std::string>{"samples.json"});
  const Json document = Json::parse(text_of(path));
  EXPECT_EQ(document["schema"], "accosim.samples/1");
  EXPECT_EQ(document["ranks"], 2);
  EXPECT_EQ(document["transport"], "ring");
  EXPECT_EQ(document["network"]["kind"], "paced");
  EXPECT_EQ(document["network"]["rates_bytes_per_s"], (std::vector<double>{125e6, 62.5e6}));
  EXPECT_GE(document["machine"]["cores"].number(), 1);
  EXPECT_TRUE(document["machine"].contains("idle_before") && document["machine"].contains("idle_after"));
  std::vector<std::string> seen;
  for (const Json& sample : document["samples"].elements()) {
    std::string name = sample["what"].text();
    if (sample.contains("bytes") && name != "theft") name += " " + std::to_string(sample["bytes"].integer());
    if (sample.contains("after_idle") && sample["after_idle"] == true) name += " after idle";
    if (sample.contains("elements")) name += " " + std::to_string(sample["elements"].integer());
    seen.push_back(name);
    EXPECT_GT(sample["median_s"].number(), 0) << name;
    EXPECT_LE(sample["p10_s"].number(), sample["median_s"].number()) << name;
    EXPECT_LE(sample["median_s"].number(), sample["p90_s"].number()) << name;
    EXPECT_GE(sample["runs"].number(), 2) << name;
    for (const char* key : {"by_rank_s", "by_rank_p10_s", "by_rank_p90_s", "processor_wait_by_rank_s"})
      EXPECT_TRUE(!sample.contains(key) || sample[key].size() == 2) << name << " " << key;
  }
  std::vector<std::string> expected{"all_reduce 8", "all_reduce 8 after idle"};
  for (const char* bytes : {"65536", "4000"})
    for (const char* what : {"reduce_scatter ", "all_gather ", "all_reduce "})
      for (const char* idle : {"", " after idle"}) expected.push_back(std::string(what) + bytes + idle);
  // Links at a time 5 ms of the slower rank's rate.
  for (const char* name : {"link 312500", "hand_off_start", "hand_off_end", "adamw 65536", "copy 65536",
                           "adamw 1048576", "copy 1048576", "adamw 4194304", "copy 4194304", "micro_batch", "theft"})
    expected.push_back(name);
  EXPECT_EQ(seen, expected);
  const Json theft = document["samples"].back();
  EXPECT_GT(theft["compute_slowdown"].number(), 0);
  EXPECT_GT(theft["collective_slowdown"].number(), 0);
}

TEST(AccocalMeasure, ABadOptionSaysWhatToWrite) {
  const auto expect = [](std::vector<std::string> arguments, int code, const std::string& text) {
    arguments.insert(arguments.begin(), "measure");
    const ProgramRun run = accocal(arguments);
    expect_told(run, code, text);
    EXPECT_EQ(run.out, "");
  };
  expect({"--network", "infiniband"}, 1, "write loopback, paced:RATE or netns:RATE");
  expect({"--network", "netns:100"}, 1, "Gbit/s");
  expect({"--network", "netns:1 Gbit/s", "--rate", "4=1 Gbit/s"}, 1, "the ranks are 0 to 3");
  expect({"--bytes", "3"}, 1, "write a multiple of 4 bytes");
  expect({"--bytes", "16 MW"}, 1, "--bytes 16 MW");
  expect({"--ranks", "0"}, 2, "--ranks");
  expect({"--seconds", "-1"}, 2, "--seconds");
  expect({"--transport", "ring"}, 2, "--transport");
  expect({"--frobnicate"}, 2, "--frobnicate");
  EXPECT_EQ(accocal({}).exit_code, 2);
  EXPECT_EQ(accocal({"measure", "--help"}).exit_code, 0);
  EXPECT_EQ(accocal({"--version"}).exit_code, 0);
}

TEST(AccocalMeasure, WithoutADeviceSaysSoInOneLineBeforeAnythingElse) {
  ASSERT_EQ(setenv("CUDA_VISIBLE_DEVICES", "", 1), 0);  // a test of a machine with GPUs hides them
  const TemporaryFolder folder;
  const std::string output = (folder.path / "samples.json").string();
  const ProgramRun run = accocal({"measure", "--device", "cuda:0", "-o", output});
  EXPECT_FALSE(std::filesystem::exists(output));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err.rfind("accocal: no CUDA device: ", 0), 0u) << run.err;
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
}

TEST(AccocalMeasure, OptionsOfADeviceNeedOne) {
  expect_told(accocal({"measure", "--only", "gemm"}), 1, "write --device cuda:0 too");
  expect_told(accocal({"measure", "--collective-ranks", "2"}), 1, "write --device cuda:0 too");
  expect_told(accocal({"measure", "--device", "cuda:0", "--collective-ranks", "1"}), 2, "--collective-ranks");
}

TEST(AccocalMeasure, AFullDiskIsTold) {
  const ProgramRun run = accocal({"measure", "-n", "1", "--quick", "--seconds", "1", "-o", "/dev/full"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_EQ(last_line(run.err), "accocal: /dev/full: cannot be written: the disk is full; make room");
}

TEST(AccocalMeasure, AnOutputThatCannotBeIsToldBeforeAnythingIsMeasured) {
  const ProgramRun nowhere = accocal({"measure", "-o", "/nonexistent/samples.json"});
  EXPECT_EQ(nowhere.exit_code, 4);
  EXPECT_EQ(nowhere.err,
            "accocal: /nonexistent/samples.json: cannot be written: there is no folder /nonexistent; make it first\n");
  const ProgramRun folder = accocal({"measure", "-o", "/tmp"});
  EXPECT_EQ(folder.exit_code, 4);
  EXPECT_EQ(folder.err, "accocal: /tmp: cannot be written: is a folder; name a file in it\n");
}

/// The children of a process, in the order in which they were started.
std::vector<pid_t> children_of(pid_t parent) {
  std::ifstream file("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  return {std::istream_iterator<pid_t>(file), {}};
}

TEST(AccocalMeasure, ARankThatIsKilledIsNamedAndNothingIsLeft) {
  const TemporaryFolder folder;
  ProgramRun run;
  // The program runs in a child of ours, and its ranks in children of that one.
  std::thread runs([&] {
    run = run_program(kAccocalProgram,
                      {"measure", "-n", "3", "--network", "paced:10Mbit/s", "--bytes", "1MB", "-o", "samples.json"},
                      folder.path);
  });
  std::vector<pid_t> ranks;
  while (ranks.size() < 3) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ranks.clear();
    // A child belongs to the thread that started it.
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream file(task.path() / "children");
      for (pid_t program = 0; file >> program;) ranks = children_of(program);
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(ranks[1], SIGKILL);
  runs.join();
  expect_told(run, 4, "\naccocal: rank 1 was killed by signal 9 (Killed)\n");
  EXPECT_NE(run.err.find("\naccocal: rank 0: rank 1 was killed"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("\naccocal: rank 2: rank 1 was killed"), std::string::npos) << run.err;
  EXPECT_TRUE(files_in(folder.path).empty());
  for (const pid_t rank : ranks) EXPECT_NE(kill(rank, 0), 0);
}

// `accocal train` and `accocal converge` as a user calls them: ranks as processes, documents in files, mistakes told.

// A GPT that a loaded machine trains in no time.
std::vector<std::string> tiny(const std::string& algorithm, const std::string& ranks) {
  return {"train",     "-a", algorithm,     "-n", ranks,      "--width", "16",        "--heads", "2",
          "--context", "16", "--sequences", "2",  "--layers", "1",       "--updates", "6"};
}

Json trained(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ProgramRun run = accocal(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return Json::parse(run.out);
}

TEST(AccocalTrain, WritesTheRunItsTimelineAndItsLosses) {
  const TemporaryFolder folder;
  const std::string run_path = folder.path / "run.json", trace = folder.path / "trace.json",
                    loss = folder.path / "loss.csv";
  std::vector<std::string> arguments = tiny("acco", "2");
  arguments.insert(arguments.end(), {"-o", run_path, "--trace", trace, "--loss", loss});
  const ProgramRun run = accocal(arguments);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "");
  const Json document = Json::parse(text_of(run_path));
  EXPECT_EQ(document["schema"], "accosim.run/1");
  EXPECT_EQ(document["ranks"], 2);
  EXPECT_EQ(document["updates"].size(), 6u);
  EXPECT_GT(document["tokens_per_s"].number(), 0);
  EXPECT_LT(document["held_out_loss"].number(), document["updates"][0]["loss"].number());
  // Spans of both lanes of both ranks, each within the run.
  std::map<std::string, int> lanes;
  for (const Json& span : document["spans"].elements()) {
    ++lanes[span["lane"].text() + std::to_string(span["rank"].integer())];
    EXPECT_LE(span["begin_s"].number(), span["end_s"].number());
  }
  EXPECT_EQ(lanes.size(), 4u);
  // And the names of two processes and four threads, and where six updates of two ranks end.
  EXPECT_EQ(Json::parse(text_of(trace))["traceEvents"].size(), document["spans"].size() + 6 + 12);
  const std::string csv = text_of(loss);
  EXPECT_EQ(std::ranges::count(csv, '\n'), 7);
}

TEST(AccocalTrain, FixedCountsGiveTheSameLossesEveryTime) {
  // And on two ranks, whose sums have no order, whatever the transport: DDP and ZeRO-1 to the last bit.
  std::vector<std::vector<double>> losses;
  for (const char* algorithm : {"ddp", "zero1", "zero1"}) {
    const Json document = trained(tiny(algorithm, "2"), {"--accumulate", "fixed:2"});
    losses.emplace_back();
    for (const Json& update : document["updates"].elements()) losses.back().push_back(update["loss"].number());
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_EQ(losses[1], losses[2]);
}

TEST(AccocalTrain, EveryAlgorithmAndStorageOverTheRing) {
  const std::map<std::string, std::vector<std::string>> own = {
      {"ddp", {}},
      {"zero1", {}},
      {"dpu", {}},
      {"wp", {}},
      {"acco", {"--estimate", "local"}},
      {"diloco", {"--inner-updates", "2"}},
      {"pipesgd", {"--delay", "2"}},
      {"slowmo", {"--inner-updates", "2", "--outer-every", "4"}},
      {"overlap_local_sgd", {"--mixing", "0.5"}},
      {"co2", {"--inner-updates", "2", "--outer-clip", "2"}},
      {"streaming_diloco", {"--inner-updates", "2", "--fragments", "1", "--payload", "e3m0"}},
      {"eager_diloco", {"--inner-updates", "2"}}};
  for (const auto& [algorithm, more] : own) {
    std::vector<std::string> options = {"--storage", "bf16"};
    options.insert(options.end(), more.begin(), more.end());
    const Json document = trained(tiny(algorithm, "3"), options);
    EXPECT_EQ(document["algorithm"], algorithm);
    EXPECT_EQ(document["updates"].size(), 6u);
    EXPECT_LT(document["held_out_loss"].number(), document["updates"][0]["loss"].number()) << algorithm;
  }
}

TEST(AccocalTrain, SleepsInsteadOfComputing) {
  const Json document = trained({"train", "-n", "2", "-a", "zero1", "--compute-time", "3 ms", "--parameters", "1000",
                                 "--updates", "5", "--slow", "1=2", "--micro-batches", "2"},
                                {});
  double seconds = 0;
  for (const Json& update : document["updates"].elements()) {
    seconds += update["seconds"].number();
    EXPECT_TRUE(update["loss"].is_null());
  }
  EXPECT_GE(seconds, 0.06);  // five times the slow rank's two micro-batches of 6 ms
}

TEST(AccocalTrain, MistakesAreToldOnceAndInOneLine) {
  const auto expect = [](const std::vector<std::string>& arguments, int code, const std::string& text) {
    const ProgramRun run = accocal(arguments);
    expect_told(run, code, text);
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_EQ(run.out, "");
  };
  expect({"train", "-a", "adam"}, 1, "write one of ddp, zero1");
  expect({"train", "--micro-batches", "3"}, 1, "write 4");
  expect({"train", "--data", "/nonexistent"}, 1, "/nonexistent: no such file");
  expect({"train", "-n", "2", "--slow", "2=2"}, 1, "ranks 0 to 1");
  expect({"train", "-a", "ddp", "--warmup", "3"}, 1, "--warmup: ddp has no such choice");
  expect({"train", "--updates", "5", "--samples", "9"}, 1, "leave the other out");
  expect({"train", "-a", "diloco", "--mixing", "0.5"}, 1, "--mixing: diloco has no such choice");
  expect({"train", "-a", "slowmo", "--outer-every", "7"}, 1, "write a multiple of that, such as --outer-every 6");
  expect({"train", "--network", "netns:1e30Gbit/s"}, 1, "at most 8 Tbit/s");
  expect({"train", "-o", "/nonexistent/run.json"}, 4, "/nonexistent/run.json");
  expect({"train", "--device", "cuda:0", "-a", "ddp", "--warmup", "3"}, 1, "--warmup: ddp has no such choice");
  expect({"converge", "--seeds", "1"}, 1, "--seeds 5");
  expect({"converge", "--markdown", "/tmp/page.svg"}, 1, "name it /tmp/page.md");
}

TEST(AccocalTrain, WithoutADeviceSaysSo) {
  // With CUDA built in or not; a machine with a device trains.
  const ProgramRun run = accocal({"train", "--device", "cuda:0", "--layers", "1", "--updates", "2"});
  if (run.exit_code == 0) GTEST_SKIP() << "there is a device";
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.err.rfind("accocal: no CUDA device: ", 0), 0u) << run.err;
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  EXPECT_EQ(run.out, "");
}

TEST(AccocalConverge, WritesADocumentAPageAndItsCurves) {
  if (!thorough()) GTEST_SKIP() << "takes half a minute under a sanitizer";
  const TemporaryFolder folder;
  const std::string json = folder.path / "c.json", page = folder.path / "c.md", curves = folder.path / "c.svg";
  const ProgramRun run =
      accocal({"converge", "--seeds", "2",  "--updates",  "40", "--layers",    "1", "--width",
               "8",        "--heads", "2",  "--context",  "8",  "--sequences", "1", "--learning-rate",
               "0.01",     "-o",      json, "--markdown", page});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(Json::parse(text_of(json))["schema"], "accosim.convergence/1");
  EXPECT_NE(text_of(page).find("](c.svg)"), std::string::npos);
  EXPECT_EQ(text_of(curves).rfind("<svg", 0), 0u);
}

}  // namespace
}  // namespace accosim
