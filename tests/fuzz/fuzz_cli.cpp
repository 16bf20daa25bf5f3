// Runs the built programs with command lines and files that are nearly right. Whatever they are given, they end in time
// with exit code 0, 1, 2 or 4, say why in text that a terminal can be shown, and change no file that they were not told
// to write: of bad input and of bad command lines none at all. Line i is a function of the seed and i.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "build_info/programs.hpp"
#include "models/base/text.hpp"
#include "tests/fuzz/cli_lines.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/support/program.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;

constexpr int kCpuSeconds = kSanitized ? 100 : 20;
constexpr int kSeconds = 5 * kCpuSeconds;  ///< by the clock, for what waits
constexpr rlim_t kMemory = rlim_t{4} << 30;
constexpr int kSanitizersExit = 77;

constexpr const char* kUsage =
    "usage: %s [--runs N] [--seconds S] [--seed S] [-j JOBS] [--keep FOLDER] [--only LINE]\n"
    "Runs N mutated command lines, or as many as S seconds allow. What goes wrong is kept in FOLDER with its files.\n"
    "--only runs one again and prints it.\n";

struct Options {
  long runs = 200, seconds = 0, seed = 1, jobs = 1, only = -1;
  std::string keep = "fuzz-findings";
  bool wrong = false;
};

Options options_of(int argc, char** argv) {
  Options options;
  const std::map<std::string, long*> numbers = {{"--runs", &options.runs},
                                                {"--seconds", &options.seconds},
                                                {"--seed", &options.seed},
                                                {"-j", &options.jobs},
                                                {"--only", &options.only}};
  for (int i = 1; i < argc; i += 2) {
    const auto number = numbers.find(argv[i]);
    const bool keep = std::strcmp(argv[i], "--keep") == 0;
    options.wrong = options.wrong || i + 1 >= argc || (number == numbers.end() && !keep);
    if (i + 1 >= argc) break;
    if (number != numbers.end()) *number->second = std::atol(argv[i + 1]);
    if (keep) options.keep = argv[i + 1];
  }
  return options;
}

/// Every file below a folder, with what is in it; of what is no file what it is.
std::map<std::string, std::string> contents_of(const fs::path& folder) {
  std::map<std::string, std::string> contents;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const bool file = entry.symlink_status().type() == fs::file_type::regular;
    contents[entry.path().lexically_relative(folder).string()] =
        file ? "f" + text_of(entry.path()) : std::to_string(static_cast<int>(entry.symlink_status().type()));
  }
  return contents;
}

struct LineRun {
  int status = 0;
  bool late = false;
  std::string out, err;
};

/// Runs the line in `folder`, in a process group of its own that is ended with it.
LineRun run_line(const CommandLine& line, const fs::path& folder, const fs::path& beside) {
  const std::string out = (beside / "out").string(), err = (beside / "err").string();
  const std::string program = line.program == "accosim" ? kAccosimProgram : kAccocalProgram;
  std::vector<char*> argv{const_cast<char*>(line.program.c_str())};
  for (const std::string& word : line.words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    const rlimit cpu{kCpuSeconds, kCpuSeconds}, file{rlim_t{1} << 28, rlim_t{1} << 28}, memory{kMemory, kMemory};
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_FSIZE, &file);
    if (!kSanitized) setrlimit(RLIMIT_AS, &memory);  // a sanitizer's shadow is larger than any limit
    if (chdir(folder.c_str()) == 0) execv(program.c_str(), argv.data());
    _exit(127);
  }
  LineRun run;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kSeconds);
  while (waitpid(pid, &run.status, WNOHANG) == 0) {
    usleep(1000);
    if (std::chrono::steady_clock::now() < end || run.late) continue;
    run.late = true;
    kill(-pid, SIGKILL);
  }
  kill(-pid, SIGKILL);  // nobody is left behind
  run.out = text_of(out);
  run.err = text_of(err);
  return run;
}

/// What is wrong with the run; empty when nothing is.
std::string wrong_with(const LineRun& run, const CommandLine& line, const std::map<std::string, std::string>& before,
                       const std::map<std::string, std::string>& after) {
  if (run.late) return "a hang";
  if (WIFSIGNALED(run.status))
    return WTERMSIG(run.status) == SIGXCPU || WTERMSIG(run.status) == SIGKILL
               ? "a hang, or too much work"
               : std::string("signal ") + strsignal(WTERMSIG(run.status));
  const int code = WEXITSTATUS(run.status);
  if (code != 0 && code != 1 && code != 2 && code != 4) return "exit code " + std::to_string(code);
  for (const char* const said : {"Sanitizer", "runtime error:", "bad_alloc", "terminate called", "a bug of"})
    if (run.err.find(said) != std::string::npos) return std::string("it says \"") + said + "\"";
  if (code != 0 && run.err.empty()) return "exit code " + std::to_string(code) + " without a word";
  if (const std::string wrong = not_for_terminals(run.out); !wrong.empty()) return "prints " + wrong;
  if (const std::string wrong = not_for_terminals(run.err); !wrong.empty()) return "prints " + wrong + " on stderr";
  std::vector<std::string> named;
  for (const std::string& output : outputs_of(line)) named.push_back(fs::path(output).lexically_normal().string());
  const auto may_change = [&](const std::string& name) {
    const bool told = std::ranges::find(named, name) != named.end();
    // A sweep's rows are kept, those of points that failed too.
    const bool refused = (code == 1 || code == 2) && run.err.find("every point failed") == std::string::npos;
    return told && !refused;
  };
  for (const auto& [name, text] : after) {
    const auto old = before.find(name);
    if ((old == before.end() || old->second != text) && !may_change(name))
      return (old == before.end() ? "writes " : "changes ") + printable(name);
  }
  for (const auto& [name, text] : before)
    if (after.count(name) == 0) return "removes " + printable(name);
  return "";
}

std::string shell_words(const CommandLine& line) {
  std::string all = line.program;
  for (const std::string& word : line.words) {
    std::string quoted;
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    all += " '" + quoted + "'";
  }
  return all;
}

CommandLine line_in(const fs::path& folder, long seed, long index) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  Random random(static_cast<std::uint64_t>(seed) * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(index));
  return command_line(folder.string(), random);
}

struct Tally {
  std::map<std::string, std::map<int, int>> codes;  ///< by verb
  int findings = 0;
};

void run_index(const Options& options, long index, const fs::path& scratch, Tally& tally) {
  const fs::path folder = scratch / "line";
  const CommandLine line = line_in(folder, options.seed, index);
  const auto before = contents_of(folder);
  const LineRun run = run_line(line, folder, scratch);
  const std::string wrong = wrong_with(run, line, before, contents_of(folder));
  ++tally.codes[line.verb][WIFEXITED(run.status) ? WEXITSTATUS(run.status) : 128 + WTERMSIG(run.status)];
  if (options.only >= 0)
    std::printf("%s\n%s%sstatus %d\n", shell_words(line).c_str(), run.out.c_str(), run.err.c_str(), run.status);
  if (wrong.empty()) return;
  ++tally.findings;
  const fs::path kept = fs::path(options.keep) / ("line-" + std::to_string(options.seed) + "-" + std::to_string(index));
  line_in(kept, options.seed, index);
  std::ofstream(kept / "command") << shell_words(line) << "\n";
  std::printf("line %ld of seed %ld: %s\n  %s\n%s  in %s\n", index, options.seed, wrong.c_str(),
              printable(shell_words(line), 1000).c_str(), run.err.substr(0, 3000).c_str(), kept.c_str());
  std::fflush(stdout);
}

/// A worker's tally, as text: the children of the driver are processes.
std::string text_of(const Tally& tally) {
  std::string text = std::to_string(tally.findings) + "\n";
  for (const auto& [verb, codes] : tally.codes)
    for (const auto& [code, count] : codes)
      text += std::to_string(code) + " " + std::to_string(count) + " " + verb + "\n";
  return text;
}

void add(Tally& tally, const fs::path& file) {
  std::ifstream in(file);
  int findings = 0, code = 0, count = 0;
  in >> findings;
  tally.findings += findings;
  for (std::string verb; in >> code >> count && std::getline(in, verb);) tally.codes[verb.substr(1)][code] += count;
}

void work(const Options& options, long first, const fs::path& scratch) {
  Tally tally;
  fs::create_directories(scratch);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
  for (long i = first; options.seconds > 0 || i < options.runs; i += options.jobs) {
    if (options.seconds > 0 && std::chrono::steady_clock::now() >= end) break;
    run_index(options, i, scratch, tally);
  }
  std::ofstream(scratch / "tally") << text_of(tally);
}

int run(int argc, char** argv) {
  Options options = options_of(argc, argv);
  if (options.wrong || options.jobs < 1) {
    std::fprintf(stderr, kUsage, argv[0]);
    return 2;
  }
  options.keep = fs::absolute(options.keep).string();
  setenv("ASAN_OPTIONS", ("exitcode=" + std::to_string(kSanitizersExit)).c_str(), 0);
  setenv("UBSAN_OPTIONS", ("print_stacktrace=1:exitcode=" + std::to_string(kSanitizersExit)).c_str(), 0);
  if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0);
  const TemporaryFolder scratch;
  const auto begin = std::chrono::steady_clock::now();
  Tally all;
  if (options.only >= 0) {
    run_index(options, options.only, scratch.path, all);
    return all.findings == 0 ? 0 : 1;
  }
  for (long job = 0; job < options.jobs; ++job) {
    std::fflush(stdout);
    if (fork() != 0) continue;
    work(options, job, scratch.path / std::to_string(job));
    std::fflush(stdout);
    _exit(0);
  }
  bool whole = true;
  for (long job = 0; job < options.jobs; ++job) {
    int status = 0;
    wait(&status);
    whole = whole && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  for (long job = 0; job < options.jobs; ++job) add(all, scratch.path / std::to_string(job) / "tally");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  int runs = 0;
  for (const auto& [verb, codes] : all.codes) {
    std::string counts;
    int lines = 0;
    for (const auto& [code, count] : codes) {
      counts += "  " + std::to_string(code) + ": " + std::to_string(count);
      lines += count;
    }
    std::printf("%-18s %6d lines; exit codes%s\n", verb.c_str(), lines, counts.c_str());
    runs += lines;
  }
  std::printf("%d command lines, %.1f /s, %d findings\n", runs, runs / took.count(), all.findings);
  return whole && all.findings == 0 ? 0 : 1;
}

}  // namespace
}  // namespace accosim

int main(int argc, char** argv) { return accosim::run(argc, argv); }
