// What both programs do with the files that a user names: what is there is not lost, what never ends is not read, and
// what could not be written is told.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "build_info/programs.hpp"
#include "build_info/project.hpp"
#include "tests/programs/told.hpp"
#include "tests/support/program.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

const std::string kScenario = std::string(kSourceFolder) + "/scenarios/paper/hetero_4xa100_one_slow.json";
const std::string kPrecious = "what somebody wrote by hand\n";
const std::string kRows =
    "source,fabric,collective,ranks,nodes,bytes,time_us\nlab,dgx-a100-1x8,all_reduce,8,1,1048576,60\n";
const std::string kLog =
    "# nThread 1 nGpus 8 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20\n"
    "#       size         count      type   redop    root     time   algbw   busbw\n";

ProgramRun accosim(const Words& arguments, const std::string& out = "") {
  return run_program(kAccosimProgram, arguments, kSourceFolder, out);
}
ProgramRun accocal(const Words& arguments, const std::string& out = "") {
  return run_program(kAccocalProgram, arguments, "/", out);
}

Words names_in(const fs::path& folder) {
  Words names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const Words kTiny = {"-n", "1", "--layers", "1", "--width", "8", "--heads", "1", "--context", "8", "--sequences", "1"};
Words train(const Words& more) { return with(with({"train", "-a", "ddp", "--updates", "2"}, kTiny), more); }
Words converge(const Words& more) {
  return with(with({"converge", "--seeds", "2", "--updates", "40", "--learning-rate", "0.01"}, kTiny), more);
}
const Words kMeasure = {"measure", "-n", "1", "--quick", "--seconds", "1"};

void expect_left_alone(const ProgramRun& run, const std::string& path, const std::string& text,
                       const std::string& why) {
  expect_told(run, 1, why);
  EXPECT_EQ(text_of(path), text);
}

TEST(Overwriting, NeedsForceUnlessTheSameVerbWroteIt) {
  const TemporaryFolder folder;
  const auto precious = [&](const std::string& name) { return folder.write(name, kPrecious).string(); };
  const std::string hint = "add --force to replace it";
  const std::string rows = folder.write("rows.csv", kRows).string();
  const std::string log = folder.write("nccl.log", kLog).string();
  std::string path = precious("a.json");
  expect_left_alone(accosim({"run", kScenario, "--trace", path}), path, kPrecious, hint);
  expect_left_alone(accosim({"compare", kScenario, "--trace", path}), path, kPrecious, hint);
  path = precious("precious.txt");
  expect_left_alone(accosim({"import", "nccl-tests", log, "-o", path}), path, kPrecious, hint);
  path = precious("b.json");
  const Words cluster = {"--cluster", std::string(kSourceFolder) + "/scenarios/clusters/dgx-a100-1x8.json"};
  expect_left_alone(accosim(with({"fit", rows, "-o", path}, cluster)), path, kPrecious, hint);
  for (const Words& verb : {train({}), converge({}), kMeasure})
    expect_left_alone(accocal(with(verb, {"-o", path})), path, kPrecious, hint);
  expect_left_alone(accocal(train({"--trace", path})), path, kPrecious, hint);
  path = precious("loss.csv");
  expect_left_alone(accocal(train({"--loss", path})), path, kPrecious, hint);
  path = precious("page.md");
  expect_left_alone(accocal(converge({"--markdown", path})), path, kPrecious, hint);

  // What a verb wrote it writes again, and by force anything.
  const std::string run = precious("run.json"), trace = precious("trace.json"), loss = precious("losses.csv");
  const Words outputs = {"-o", run, "--trace", trace, "--loss", loss};
  EXPECT_EQ(accocal(train(with(outputs, {"--force"}))).exit_code, 0);
  EXPECT_EQ(accocal(train(outputs)).exit_code, 0);
  const std::string drawn = precious("drawn.json");
  EXPECT_EQ(accosim({"run", kScenario, "--trace", drawn, "--force"}).exit_code, 0);
  EXPECT_EQ(accosim({"run", kScenario, "--trace", drawn}).exit_code, 0);
  const std::string samples = (folder.path / "samples.json").string(), machine = precious("machine.json");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(accocal(with(kMeasure, {"-o", samples})).exit_code, 0);
  expect_left_alone(accosim({"fit", samples, "-o", machine}), machine, kPrecious, hint);
  EXPECT_EQ(accosim({"fit", samples, "-o", machine, "--force"}).exit_code, 0);
  EXPECT_EQ(accosim({"fit", samples, "-o", machine}).exit_code, 0);
  // Of a comparison the published files serve, and a text that is missing ends it before the work.
  for (const char* kind : {"json", "md", "svg"})
    fs::copy_file(fs::path(kSourceFolder) / "reports/published" / (std::string("convergence.") + kind),
                  folder.path / (std::string("c.") + kind));
  const ProgramRun again = accocal(converge({"-o", (folder.path / "c.json").string(), "--markdown",
                                             (folder.path / "c.md").string(), "--data", "/nonexistent"}));
  EXPECT_EQ(again.err, "accocal: /nonexistent: no such file; check the path\n");
}

TEST(Overwriting, OfWhatIsReadIsRefusedEvenByForce) {
  const TemporaryFolder folder;
  const std::string scenario = folder.write("scenario.json", accosim({"resolve", kScenario}).out).string();
  const std::string text = text_of(scenario), link = (folder.path / "link.json").string(),
                    hard = (folder.path / "hard.json").string();
  fs::create_symlink("scenario.json", link);
  fs::create_hard_link(scenario, hard);
  for (const std::string& name : {scenario, link, hard})
    expect_left_alone(accosim({"run", scenario, "--trace", name, "--force"}), scenario, text, "is what is read");
  // A file that the scenario names.
  const std::string model = folder
                                .write("model.json", R"({"model_type":"gpt2","n_embd":64,"n_layer":2,"n_head":2,
    "n_positions":4096,"vocab_size":100})")
                                .string();
  const std::string model_text = text_of(model);
  expect_left_alone(accosim({"run", scenario, "--set", "/model=" + model, "--trace", model, "--force"}), model,
                    model_text, "is what is read");
  const std::string rows = folder.write("rows.csv", kRows).string();
  const Words cluster = {"--cluster", std::string(kSourceFolder) + "/scenarios/clusters/dgx-a100-1x8.json"};
  expect_left_alone(accosim(with({"fit", rows, "-o", rows, "--force"}, cluster)), rows, kRows, "is what is read");
  const std::string named = folder.write("rows", kRows).string();
  expect_left_alone(accosim(with({"fit", named, "-o", named, "--force"}, cluster)), named, kRows, "is what is read");
  expect_left_alone(accosim({"import", "nccl-tests", named, "-o", named, "--force"}), named, kRows, "is what is read");
  const std::string learnt = folder.write("text", std::string(5000, 'a')).string();
  expect_left_alone(accocal(train({"--data", learnt, "-o", learnt, "--force"})), learnt, std::string(5000, 'a'),
                    "is what is read");
}

TEST(Overwriting, OneFileIsNotTwoOutputs) {
  const TemporaryFolder folder;
  const std::string a = (folder.path / "a.json").string(), again = folder.path / "." / "a.json";
  expect_told(accocal(train({"-o", a, "--trace", again, "--force"})), 1,
              "--trace " + again + ": is the file of --output too");
  EXPECT_TRUE(names_in(folder.path).empty());
}

TEST(Naming, AnOutputAfterAnotherKindIsRefusedWithTheRightName) {
  const TemporaryFolder folder;
  const std::string at = folder.path.string() + "/x.";
  for (const char* kind : {"svg", "png", "pdf", "html"}) {
    const ProgramRun run = accosim({"run", kScenario, "--trace", at + kind});
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_EQ(run.err,
              "--trace " + at + kind + ": a trace is JSON for Perfetto, and no " + kind + "; name it " + at + "json\n");
  }
  EXPECT_EQ(accocal(train({"--loss", at + "json"})).exit_code, 1);
  EXPECT_EQ(accocal(train({"-o", at + "csv"})).exit_code, 1);
  EXPECT_EQ(accosim({"import", "nccl-tests", folder.write("log", kLog).string(), "-o", at + "json"}).exit_code, 1);
  EXPECT_EQ(names_in(folder.path), Words{"log"});
}

TEST(StandardOutput, ThatIsFullOrClosedIsToldByEveryVerb) {
  const TemporaryFolder folder;
  const std::string samples = (folder.path / "samples.json").string();
  ASSERT_EQ(accocal(with(kMeasure, {"-o", samples})).exit_code, 0);
  const std::string table = std::string(kSourceFolder) + "/calibration/tables/gemm_simumax.csv";
  const std::string log = folder
                              .write("all_reduce.log",
                                     "#  size count type redop root time algbw busbw #wrong\n"
                                     "1048576 262144 float sum -1 100.0 10.49 18.35 0\n")
                              .string();
  const std::vector<Words> verbs = {{"list"},
                                    {"compare", kScenario, "--no-tuned"},
                                    {"compare", kScenario, "--no-tuned", "--json"},
                                    {"run", kScenario},
                                    {"explain", kScenario},
                                    {"resolve", kScenario},
                                    {"fit", samples},
                                    {"fit", table},
                                    {"import", "nccl-tests", log, "--ranks", "8", "--nodes", "1"},
                                    {"validate", "--group", "collective", "--leave-out", "none"},
                                    {"validate", "--group", "collective", "--leave-out", "none", "--json"},
                                    {"validate", "--group", "collective", "--leave-out", "none", "--markdown"},
                                    {"--help"},
                                    {"--version"}};
  const auto closed = [](const char* program, const Words& arguments) {
    Words shell = {"-c", "exec \"$0\" \"$@\" >&-", program};
    return run_program("/bin/sh", with(shell, arguments), kSourceFolder);
  };
  for (const Words& verb : verbs) {
    EXPECT_EQ(accosim(verb, "/dev/full").exit_code, 4) << verb[0];
    const ProgramRun run = closed(kAccosimProgram, verb);
    EXPECT_EQ(run.exit_code, 4) << verb[0] << run.err;
  }
  for (const Words& verb : {train({}), kMeasure, Words{"--help"}, Words{"--version"}}) {
    EXPECT_EQ(accocal(verb, "/dev/full").exit_code, 4) << verb[0];
    EXPECT_EQ(closed(kAccocalProgram, verb).exit_code, 4) << verb[0];
  }
  // Closed, and nothing to say there: the file that is opened next is not taken for it.
  const std::string trace = (folder.path / "trace.json").string();
  EXPECT_EQ(closed(kAccocalProgram, train({"-o", (folder.path / "run.json").string(), "--trace", trace})).exit_code, 0);
  EXPECT_EQ(text_of(trace).rfind("{\"displayTimeUnit\"", 0), 0u);
  for (const char* option : {"-o", "--trace", "--loss"}) {
    const ProgramRun run = accocal(train({option, "/dev/full"}));
    EXPECT_EQ(run.exit_code, 4) << option;
    EXPECT_EQ(run.err, "accocal: /dev/full: cannot be written: the disk is full; make room\n");
  }
  EXPECT_EQ(accosim({"run", kScenario, "--trace", "/dev/full"}).exit_code, 4);
  EXPECT_EQ(accosim({"run", kScenario, "--trace", "/dev/null"}).exit_code, 0);
}

TEST(StandardOutput, ThatIsFullIsToldByAComparisonToo) {
  if (!thorough()) GTEST_SKIP() << "takes two minutes under a sanitizer";
  EXPECT_EQ(accocal(converge({}), "/dev/full").exit_code, 4);
}

TEST(StandardOutput, NamedAsAFileComesAfterWhatWasPrinted) {
  const TemporaryFolder folder;
  const std::string all = (folder.path / "all").string();
  ASSERT_EQ(accosim({"run", kScenario, "--schedule", "acco", "--trace", "/dev/stdout"}, all).exit_code, 0);
  const std::string text = text_of(all);
  EXPECT_EQ(text.substr(0, text.find("{\"displayTimeUnit\"")), accosim({"run", kScenario, "--schedule", "acco"}).out);
  EXPECT_EQ(names_in(folder.path), Words{"all"});
}

TEST(Written, IsToldOnStandardErrorUnlessItIsTheOutput) {
  const TemporaryFolder folder;
  const std::string rows = folder.path / "rows.jsonl", csv = folder.path / "rows.csv";
  const auto file = [&](const std::string& name) { return (folder.path / name).string(); };
  const auto told = [&](Words words, const std::string& path, const std::string& what) {
    words.insert(words.end(), {"-o", path});
    expect_told(accosim(words), 0, "accosim: wrote " + path + " (" + what + ")\n");
    words.back() = "/dev/stdout";
    EXPECT_EQ(accosim(words).err.find("wrote"), std::string::npos) << words[0];
    EXPECT_EQ(accosim(words, file("redirected")).err.find("wrote"), std::string::npos) << "a file is behind it";
  };
  const ProgramRun swept =
      accosim({"sweep", kScenario, "--schedule", "ddp", "--no-tuned", "--over", "/training/micro_batch_size=1,2",
               "--over", "/training/gradient_accumulation_steps=2,4,6", "-o", rows, "--csv", csv});
  EXPECT_EQ(swept.err, "accosim: wrote " + rows + " (rows of 6 configurations)\naccosim: wrote " + csv +
                           " (table of 6 configurations)\n");
  told({"plot", "--kind", "map", rows}, file("map.svg"), "map of winners, 6 configurations");
  told({"plot", "--kind", "curve", rows}, file("curve.svg"), "curves of a sweep, 3 configurations");
  told({"merge", rows}, file("merged.jsonl"), "rows of 6 configurations");
  told({"report", rows}, file("sweep.html"), "page of a sweep, 6 configurations");
  told({"plot", "--kind", "memory", kScenario, "--schedule", "ddp"}, file("memory.svg"), "memory of 1 schedule");
  told({"explain", "--graph", kScenario, "--schedule", "ddp"}, file("graph.dot"), "graph of 1 schedule");
  told({"report", "--no-tuned", kScenario, "--schedule", "ddp"}, file("page.html"), "page of 1 schedule");
  const ProgramRun traced = accosim({"run", kScenario, "--schedule", "ddp", "--trace", file("trace.json")});
  EXPECT_EQ(traced.err, "accosim: wrote " + file("trace.json") + " (trace of 1 schedule)\n");
}

/// Bytes that a process has written to a file of `folder` that is not in its place yet.
std::size_t bytes_under_way(pid_t pid, const fs::path& folder) {
  std::size_t most = 0;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd", none)) {
    struct stat found {};
    if (stat(entry.path().c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    if (fs::read_symlink(entry.path(), none).string().rfind(folder.string(), 0) == 0)
      most = std::max(most, static_cast<std::size_t>(found.st_size));
  }
  return most;
}

TEST(Interrupted, ATraceThatIsBeingWrittenLeavesTheOldOne) {
  const TemporaryFolder folder;
  const std::string trace = folder.write("trace.json", "{\"displayTimeUnit\": \"the old one\"}").string();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(500);
      dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
      execl(kAccosimProgram, kAccosimProgram, "run", kScenario.c_str(), "--trace-updates", "1000", "--trace",
            trace.c_str(), nullptr);
      _exit(127);
    }
    // Parts of it are on the disk, more is to come.
    int status = 0;
    pid_t ended = 0;
    while (ended == 0 && bytes_under_way(pid, folder.path) == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      ended = waitpid(pid, &status, WNOHANG);
    }
    ASSERT_EQ(ended, 0) << "it had ended before";
    // It stands still while we look: else it might have ended before the signal comes.
    kill(pid, SIGSTOP);
    ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
    ASSERT_TRUE(WIFSTOPPED(status)) << "it had ended before";
    kill(pid, signal);
    kill(pid, SIGCONT);
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    EXPECT_EQ(text_of(trace), "{\"displayTimeUnit\": \"the old one\"}");
    EXPECT_EQ(names_in(folder.path), Words{"trace.json"});
  }
}

TEST(Input, ThatNeverEndsOrNeverBeginsIsRefusedAtOnce) {
  const TemporaryFolder folder;
  const std::string pipe = (folder.path / "pipe").string(), socket_path = (folder.path / "socket").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int listens = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listens, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string rows = folder.write("rows.csv", kRows).string();
  const std::string samples = folder.write("gpu.json", R"({"schema":"accosim.gpu_samples/1"})").string();
  for (const std::string& odd : {pipe, socket_path, std::string("/dev/zero"), folder.path.string()}) {
    const bool is_folder = fs::is_directory(odd);
    std::vector<Words> of_accosim = {{"compare", odd},
                                     {"run", odd},
                                     {"explain", odd},
                                     {"resolve", odd},
                                     {"compare", kScenario, "--convergence", odd},
                                     {"compare", odd, "--machine", kScenario},
                                     {"compare", kScenario, "--set", "/model=" + odd},
                                     {"fit", rows, "--cluster", odd},
                                     {"fit", rows, odd, "--cluster", "scenarios/clusters/dgx-a100-1x8.json"},
                                     {"import", "nccl-tests", odd}};
    // Readers of rows.
    of_accosim.push_back({"report", odd, "-o", (folder.path / "page.html").string()});
    of_accosim.push_back({"plot", "--kind", "map", odd, "-o", (folder.path / "map.svg").string()});
    of_accosim.push_back({"merge", odd, "-o", (folder.path / "rows.json").string()});
    if (!is_folder && odd != socket_path)
      of_accosim.push_back(
          {"sweep", kScenario, "--over", "/training/micro_batch_size=1,2", "-o", odd, "--resume", "--no-tuned"});
    if (!is_folder) {
      of_accosim.push_back({"fit", odd});
      of_accosim.push_back({"validate", odd});
      of_accosim.push_back({"validate", "--samples", odd});
    }
    for (const Words& arguments : of_accosim) {
      const ProgramRun run = accosim(arguments);
      EXPECT_EQ(run.exit_code, 1) << arguments[0] << " " << arguments[1] << " " << odd << ": " << run.err;
      EXPECT_NE(run.err, "");
    }
    for (const Words& arguments : {train({"--data", odd}), converge({"--data", odd})}) {
      const ProgramRun run = accocal(arguments);
      expect_told(run, 1, is_folder ? "is a directory" : "is not a regular file");
      EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    }
  }
  close(listens);
}

TEST(Input, OfLinksInACircleIsToldAsSuch) {
  const TemporaryFolder folder;
  const std::string loop = (folder.path / "loop").string();
  fs::create_symlink("loop", loop);
  for (const Words& arguments : std::vector<Words>{{"compare", loop},
                                                   {"fit", loop},
                                                   {"validate", loop},
                                                   {"validate", "--samples", loop},
                                                   {"merge", loop, "-o", (folder.path / "rows.json").string()},
                                                   {"report", loop, "-o", (folder.path / "page.html").string()},
                                                   {"compare", kScenario, "--convergence", loop},
                                                   {"compare", kScenario, "--trace", loop}}) {
    const ProgramRun run = accosim(arguments);
    EXPECT_NE(run.exit_code, 0) << arguments[0];
    EXPECT_EQ(run.err.find("Too many levels"), std::string::npos) << arguments[0] << ": " << run.err;
    EXPECT_TRUE(holds(run.err, "loop")) << arguments[0];
    EXPECT_TRUE(holds(run.err, "circle")) << arguments[0];
  }
}

TEST(Input, ThatIsEmptyIsToldBeforeTheOutput) {
  const TemporaryFolder folder;
  const std::string empty = folder.write("empty.csv", "").string();
  const ProgramRun run = accosim({"fit", empty, "-o", (folder.path / "none.json").string()});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.err, empty + ": holds no rows; write one below the heading\n");
}

TEST(Hostile, WhatIsRepeatedReachesNoTerminalAsItIs) {
  const std::string escape = "\x1b[31m\xc2\x9b\x07";
  const std::vector<Words> of_accosim = {{"compare", escape},
                                         {escape},
                                         {"compare", kScenario, "--" + escape},
                                         {"compare", kScenario, "--network", escape},
                                         {"compare", kScenario, "--schedule", escape},
                                         {"compare", kScenario, "--set", escape},
                                         {"compare", kScenario, "--set", "/name=" + escape},
                                         {"compare", kScenario, "--set", "/" + escape + "=1"},
                                         {"run", kScenario, "--trace", "/nowhere/" + escape},
                                         {"run", kScenario, "--trace-ranks", escape, "--trace", "/dev/null"},
                                         {"list", escape},
                                         {"fit", escape},
                                         {"import", escape},
                                         {"import", "nccl-tests", escape},
                                         {"validate", escape}};
  const auto clean = [](const ProgramRun& run, const std::string& what) {
    EXPECT_NE(run.exit_code, 0) << what;
    for (const char* bad : {"\x1b", "\xc2\x9b", "\x07"}) {
      EXPECT_EQ(run.err.find(bad), std::string::npos) << what;
      EXPECT_EQ(run.out.find(bad), std::string::npos) << what;
    }
  };
  for (const Words& arguments : of_accosim) clean(accosim(arguments), arguments.back());
  const std::vector<Words> of_accocal = {{escape},
                                         {"train", "--algorithm", escape},
                                         {"train", "--network", escape},
                                         {"train", "--data", escape},
                                         {"train", "--device", escape},
                                         {"train", "--slow", escape},
                                         {"train", "--compute-time", escape},
                                         {"train", "--rate", escape},
                                         {"train", "--layers", escape},
                                         {"train", "-o", "/nowhere/" + escape},
                                         {"measure", "--bytes", escape},
                                         {"measure", "--" + escape},
                                         {"converge", "--data", escape},
                                         {"converge", "--network", escape}};
  for (const Words& arguments : of_accocal) clean(accocal(arguments), arguments.back());
}

TEST(Hostile, SizesThatNoMachineHasAreRefusedWithTheirFigure) {
  const std::vector<Words> much = {
      {"train", "--width", "1000000"},
      {"train", "--width", "2000000000", "--heads", "1"},
      {"train", "--layers", "2147483647"},
      {"train", "--context", "2147483647"},
      {"train", "--sequences", "2147483647"},
      {"train", "--width", "65536", "-n", "64"},
      {"train", "--compute-time", "1 ms", "--parameters", "9223372036854775807"},
      {"measure", "--width", "1000000"},
      {"measure", "--context", "100000000"},
      {"converge", "--width", "1000000"},
      {"converge", "--context", "2000000000"},
  };
  const long itself = accocal({"--version"}).peak_kib;  // with CUDA its libraries alone take 200 MB
  for (const Words& arguments : much) {
    const ProgramRun run = accocal(arguments);
    EXPECT_EQ(run.exit_code, 1) << arguments[1] << run.err;
    EXPECT_TRUE(holds(run.err, " of memory, and ")) << arguments[1];
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_LT(run.peak_kib - itself, 100 * 1024);
  }
}

TEST(Hostile, NumbersThatAreNoneOrWrapRoundAreRefused) {
  const std::vector<std::pair<Words, int>> odd = {
      {{"train", "--seed", "-1"}, 2},
      {{"train", "--seed", "99999999999999999999"}, 2},
      {{"train", "--layers", "nan"}, 2},
      {{"train", "--timeout", "nan"}, 2},
      {{"train", "--learning-rate", "nan"}, 1},
      {{"train", "--learning-rate", "1e400"}, 1},
      {{"train", "--micro-batches", "2147483647"}, 1},
      {{"train", "-a", "ddp", "--micro-batches", "2147483647"}, 1},
      {{"train", "--poll-every", "2147483647"}, 1},
      {{"train", "--compute-time", "1e300 s"}, 1},
      {{"train", "--network", "paced:nan"}, 1},
      {{"train", "--network", "netns:"}, 1},
      {{"train", "--network", ":"}, 1},
      {{"train", "--slow", "0=nan"}, 1},
      {{"train", "--data", ""}, 2},
      {{"train", "-o", ""}, 2},
      {{"measure", "--bytes", "1e300 B"}, 1},
      {{"converge", "--learning-rate", "nan"}, 1},
  };
  for (const auto& [arguments, code] : odd) {
    const ProgramRun run = accocal(arguments);
    EXPECT_EQ(run.exit_code, code) << arguments[1] << " " << arguments[2] << ": " << run.err;
    EXPECT_EQ(run.err.find("-2147483648"), std::string::npos) << run.err;
  }
  EXPECT_EQ(
      accosim({"compare", kScenario, "--convergence", "reports/published/convergence.json", "--critical-batch", "nan"})
          .exit_code,
      2);
}

TEST(Diverged, ARunStopsAtThatUpdateAndSaysSo) {
  for (const Words& more : {Words{"-a", "ddp"}, Words{"-a", "acco"}, Words{"-a", "diloco", "--inner-updates", "2"}}) {
    const ProgramRun run =
        accocal(with({"train", "-n", "2", "--layers", "1", "--width", "8", "--heads", "1", "--context", "8",
                      "--updates", "1000", "--optimizer", "sgd", "--learning-rate", "1e30"},
                     more));
    EXPECT_EQ(run.exit_code, 1) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_TRUE(holds(run.err, "the run has diverged, and is stopped; write a lower --learning-rate than 1e+30"));
  }
}

}  // namespace
}  // namespace accosim
