// Does accocal keep its promises to a user: documents whole or not at all, errors that say what to write, exit codes
// that tell?
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

#include "build_info/programs.hpp"
#include "tests/programs/told.hpp"
#include "tests/support/json.hpp"
#include "tests/support/program.hpp"

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
  }
  std::vector<std::string> expected{"all_reduce 8", "all_reduce 8 after idle"};
  for (const char* bytes : {"65536", "4000"})
    for (const char* what : {"reduce_scatter ", "all_gather ", "all_reduce "})
      for (const char* idle : {"", " after idle"}) expected.push_back(std::string(what) + bytes + idle);
  for (const char* name : {"hand_off_start", "hand_off_end", "adamw 65536", "copy 65536", "adamw 1048576",
                           "copy 1048576", "adamw 4194304", "copy 4194304", "micro_batch", "theft"})
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
    EXPECT_EQ(run.exit_code, code) << text;
    EXPECT_NE(run.err.find(text), std::string::npos) << run.err;
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
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

TEST(AccocalMeasure, OptionsOfADeviceNeedOne) {
  const auto expect = [](std::vector<std::string> arguments, int code, const std::string& text) {
    arguments.insert(arguments.begin(), "measure");
    const ProgramRun run = accocal(arguments);
    EXPECT_EQ(run.exit_code, code) << text;
    EXPECT_NE(run.err.find(text), std::string::npos) << run.err;
  };
  expect({"--only", "gemm"}, 1, "write --device cuda:0 too");
  expect({"--collective-ranks", "2"}, 1, "write --device cuda:0 too");
  expect({"--device", "cuda:0", "--collective-ranks", "1"}, 2, "--collective-ranks");
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

}  // namespace
}  // namespace accosim
