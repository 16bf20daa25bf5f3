// Is whoever stops a sweep or a search told what is kept of it, and does the command that is named go on?
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/accosim_program.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

using Words = std::vector<std::string>;

constexpr int kPoints = 8 * 100;
const std::string kScenario = "scenarios/paper/finetune_1x8_a100.json";

Words long_sweep(const Words& more) {
  return with({"sweep", kScenario, "--over", "/training/micro_batch_size=1..8:8", "--over",
               "/cluster/nodes/0/intra/bandwidth=200..300:100 GB/s", "--schedule", "acco", "-j", "2"},
              more);
}

std::size_t lines_in(const std::filesystem::path& path) {
  const std::string text = text_of(path);
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

/// Sends the signal once the file has so many lines, or after a minute.
auto once_there_are(std::size_t lines, const std::filesystem::path& file, int signal) {
  return [=](pid_t pid) {
    for (int i = 0; i < 60'000 && lines_in(file) < lines; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    kill(pid, signal);
  };
}

struct Told {
  std::size_t done = 0, points = 0;
  std::string file, command;
};
Told told_by(const ProgramRun& run) {
  std::smatch found;
  const std::regex sentence(
      "accosim: stopped; (\\d+) of (\\d+) configurations are in (.*); go on with: (accosim .*)\n");
  if (!std::regex_match(run.err, found, sentence)) {
    ADD_FAILURE() << run.err;
    return {};
  }
  return {std::stoul(found[1]), std::stoul(found[2]), found[3], found[4]};
}

TEST(Stopped, ASweepSaysWhatIsKeptAndTheCommandThatItNamesGoesOn) {
  const TemporaryFolder folder;
  const std::filesystem::path rows = folder.path / "it's of two words.jsonl";
  std::size_t lines = 4;
  Told told;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const auto stop = once_there_are(lines, rows, signal);
    // The first is the user's command, the others are what the one before has told, as a shell takes it.
    const ProgramRun run =
        told.command.empty()
            ? run_program(kAccosimProgram, long_sweep({"--output", rows}), kRoot, "", stop)
            : run_program(
                  "/bin/sh",
                  {"-c", "exec " + std::filesystem::path(kAccosimProgram).parent_path().string() + "/" + told.command},
                  kRoot, "", stop);
    EXPECT_EQ(run.exit_code, 128 + signal) << run.err;
    EXPECT_EQ(run.out, "");
    told = told_by(run);
    EXPECT_EQ(told.file, rows);
    EXPECT_EQ(told.points, kPoints);
    EXPECT_EQ(told.done, lines_in(rows) - 1) << "beside the heading";
    EXPECT_GE(told.done, lines - 1) << "it went on";
    lines = told.done + 4;
  }
  EXPECT_TRUE(told.command.ends_with(" --resume")) << told.command;
}

TEST(Stopped, APartOfASweepCountsItsOwn) {
  const TemporaryFolder folder;
  const std::filesystem::path rows = folder.path / "rows.1-of-3.jsonl";
  const ProgramRun run = run_program(kAccosimProgram, long_sweep({"--shard", "1/3", "-o", folder.path / "rows.jsonl"}),
                                     kRoot, "", once_there_are(3, rows, SIGTERM));
  const std::string last = run.err.substr(run.err.find('\n') + 1);  // the first says which part it is
  const Told told = told_by({run.exit_code, "", last});
  EXPECT_EQ(told.points, 267) << "those of 0 to 799 that leave 1 when divided by 3";
  EXPECT_EQ(told.done, lines_in(rows) - 1);
  EXPECT_TRUE(holds(told.command, " --shard 1/3 "));
}

TEST(Stopped, ASweepWithoutAFileSaysThatNothingIsKept) {
  const auto stop = [](pid_t pid) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    kill(pid, SIGINT);
  };
  const ProgramRun run = run_program(kAccosimProgram, long_sweep({}), kRoot, "", stop);
  EXPECT_EQ(run.exit_code, 128 + SIGINT);
  if (run.err.empty()) GTEST_SKIP() << "it had not begun to play";
  EXPECT_TRUE(
      std::regex_match(run.err, std::regex("accosim: stopped; \\d+ of 800 configurations were simulated, and none is "
                                           "kept: -o ROWS.jsonl keeps them, and --resume goes on with them\n")))
      << run.err;
}

// Playing 16,384 GPUs in a pipeline takes seconds.
TEST(Stopped, WhatTookTooLongMayBeGivenMoreTime) {
  const TemporaryFolder folder;
  const std::string rows = folder.path / "rows.jsonl";
  const std::string asked =
      "accosim sweep llama_3_405b_16384_h100 --schedule dpu --over "
      "'/cluster/nodes/0/nics/bandwidth=200,400 Gbit/s'";
  const ProgramRun run =
      accosim({"sweep", "llama_3_405b_16384_h100", "--over", "/cluster/nodes/0/nics/bandwidth=200,400 Gbit/s",
               "--schedule", "dpu", "--timeout", "1 ms", "-o", rows});
  EXPECT_EQ(run.exit_code, 1) << "every point failed";
  EXPECT_TRUE(holds(
      run.err, "accosim: 2 of 2 configurations took longer than their --timeout; simulate those again with: " + asked +
                   " --output " + rows + " --resume --retry --timeout '10 ms'\n"));
}

// A search keeps nothing, so that what it knows is said: as soon as something has been simulated there is a best.
TEST(Stopped, ASearchNamesItsBestSoFar) {
  if (!thorough()) GTEST_SKIP() << "takes long under a sanitizer";
  const Words words{"advise", "finetune_2x4_a100", "-j", "1", "--set", "/training/micro_batch_size=4"};
  ProgramRun run;
  for (int wait = 250; wait <= 16'000 && run.err.find("the best so far") == std::string::npos; wait *= 2)
    run = run_program(kAccosimProgram, words, kRoot, "", [&](pid_t pid) {
      std::this_thread::sleep_for(std::chrono::milliseconds(wait));
      kill(pid, SIGINT);
    });
  EXPECT_EQ(run.exit_code, 128 + SIGINT) << run.err;
  std::smatch found;
  const std::regex lines(
      "accosim: stopped; of [\\d,.kMB]+ configurations (\\d+) were looked at and (\\d+) of them simulated; nothing is "
      "kept on the disk\n"
      "accosim: the best so far is .+: .+ \\(80 %: .+\\), .+ for all tokens.*\n"
      "accosim: to repeat that: accosim (compare finetune_2x4_a100 .*--set /training/micro_batch_size=\\d .*)\n"
      "accosim: for a whole answer from about as many simulations: accosim advise finetune_2x4_a100 --set "
      "/training/micro_batch_size=4 --jobs 1 --budget (\\d+)\n");
  ASSERT_TRUE(std::regex_match(run.err, found, lines)) << run.err;
  EXPECT_LE(std::stoi(found[2]), std::stoi(found[1]));
  EXPECT_EQ(found[4], found[2]);
  const ProgramRun again =
      run_program("/bin/sh", {"-c", "exec " + std::string(kAccosimProgram) + " " + std::string(found[3])}, kRoot);
  EXPECT_EQ(again.exit_code, 0) << again.err;
}

}  // namespace
}  // namespace accosim
