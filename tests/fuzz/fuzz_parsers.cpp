// The fuzzer for any compiler: every parser with its seeds, or with so many mutated ones, which are the same on every
// machine: input i is a function of the seed, the parser and i. Parsers run in children, so that one that dies is told
// like the rest.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/parsers.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/support/program.hpp"

namespace accosim {
namespace {

constexpr const char* kUsage =
    "usage: %s [--parser NAME]... [--inputs N] [--seed S] [-j JOBS] [--keep FOLDER] [FILE...]\n"
    "Reads every seed; with --inputs so many mutated ones instead, in equal parts for each parser; with FILEs these, "
    "by\n"
    "the one --parser. What breaks a parser is written to FOLDER (fuzz-findings by default), and the exit code is 1. "
    "--list\n"
    "prints the parsers, --export FOLDER the seeds of each as files.\n";

struct Options {
  std::vector<std::string> parsers, files;
  std::uint64_t inputs = 0, seed = 1;
  int jobs = 1;
  std::string keep = "fuzz-findings", write_seeds;
  bool list = false, wrong = false;
};

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (++i < argc) return argv[i];
      options.wrong = true;
      return "";
    };
    if (word == "--parser") {
      options.parsers.push_back(value());
    } else if (word == "--inputs") {
      options.inputs = std::strtoull(value().c_str(), nullptr, 10);
    } else if (word == "--seed") {
      options.seed = std::strtoull(value().c_str(), nullptr, 10);
    } else if (word == "-j") {
      options.jobs = std::max(1, std::atoi(value().c_str()));
    } else if (word == "--keep") {
      options.keep = value();
    } else if (word == "--export") {
      options.write_seeds = value();
    } else if (word == "--list") {
      options.list = true;
    } else if (word.empty() || word[0] == '-') {
      options.wrong = true;
    } else {
      options.files.push_back(word);
    }
  }
  if (!options.files.empty() && options.parsers.size() != 1) options.wrong = true;
  return options;
}

/// What one parser is given: the seeds themselves, or mutated ones.
struct Inputs {
  const Parser* parser = nullptr;
  std::vector<Seed> seeds{};
  std::uint64_t seed = 0, mutated = 0;  ///< mutated: how many; 0: the seeds as they are

  std::uint64_t count() const { return mutated > 0 ? mutated : seeds.size(); }
  std::string text(std::uint64_t i) const {
    if (mutated == 0) return seeds[i].text;
    Random random(seed * 0x9e3779b97f4a7c15u + i);
    const Seed& from = seeds[random.bits() % seeds.size()];
    return accosim::mutated(from.text, parser->form, random);
  }
  std::string name(std::uint64_t i) const {
    return mutated == 0 ? seeds[i].name : "input " + std::to_string(i) + " of seed " + std::to_string(seed);
  }
};

/// By the processor's time, so that a busy machine makes no hang; and by the clock, for what waits.
void set_limit(int cpu_seconds, int seconds) {
  const itimerval cpu{{0, 0}, {cpu_seconds, 0}}, wall{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &cpu, nullptr);
  setitimer(ITIMER_REAL, &wall, nullptr);
}

struct Shared {
  std::uint64_t at = 0;                 ///< the input that is being read
  std::uint64_t read = 0, refused = 0;  ///< so far
};

/// In a child: inputs `from`, `from` + `step`, ...
[[noreturn]] void read_all(const Inputs& inputs, std::uint64_t from, std::uint64_t step, Shared& shared,
                           const std::string& log) {
  dup2(open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), STDERR_FILENO);
  for (std::uint64_t i = from; i < inputs.count(); i += step) {
    shared.at = i;
    set_limit(10, 120);
    ++shared.read;
    if (!try_parser(*inputs.parser, inputs.text(i))) ++shared.refused;
  }
  set_limit(0, 0);
  std::exit(0);  // with all that is checked at an exit
}

std::string how_it_ended(int status) {
  if (WIFEXITED(status)) return "exit code " + std::to_string(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  if (signal == SIGPROF || signal == SIGALRM) return "a hang";
  return std::string("signal ") + strsignal(signal);
}

/// A number of the text, so that a finding has the same name in every run.
std::string number_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

void tell(const Options& options, const char* program, const Inputs& inputs, std::uint64_t at, int status,
          const std::string& log) {
  const std::string text = inputs.text(at);
  const std::string path = options.keep + "/" + inputs.parser->name + "-" + number_of(text);
  std::filesystem::create_directories(options.keep);
  std::ofstream(path, std::ios::binary) << text;
  std::string said = text_of(log);
  if (said.size() > 4000) said.resize(4000);
  std::printf("\n%s: %s: %s\n%s  again: %s --parser %s %s\n", inputs.parser->name, inputs.name(at).c_str(),
              how_it_ended(status).c_str(), said.c_str(), program, inputs.parser->name, path.c_str());
}

struct Found {
  int findings = 0;                     ///< inputs that broke the parser; gives up after some
  std::uint64_t read = 0, refused = 0;  ///< inputs
};
Found findings_of(const Options& options, const char* program, const Inputs& inputs, const std::string& scratch) {
  constexpr int kMostFindings = 5;
  struct Child {
    std::uint64_t lane = 0;
    Shared* shared = nullptr;
    std::string log;
  };
  const auto jobs = static_cast<std::uint64_t>(options.jobs);
  std::map<pid_t, Child> children;
  const auto start = [&](const Child& child, std::uint64_t from) {
    std::fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) read_all(inputs, from, jobs, *child.shared, child.log);
    children[pid] = child;
  };
  for (std::uint64_t lane = 0; lane < jobs; ++lane) {
    void* const shared = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) std::abort();
    start({lane, new (shared) Shared, scratch + "/log" + std::to_string(lane)}, lane);
  }
  Found found;
  while (!children.empty()) {
    int status = 0;
    const pid_t pid = wait(&status);
    const auto ended = children.find(pid);
    if (ended == children.end()) continue;
    const Child child = ended->second;
    children.erase(ended);
    found.read += std::exchange(child.shared->read, 0);
    found.refused += std::exchange(child.shared->refused, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    ++found.findings;
    const std::uint64_t at = child.shared->at;
    tell(options, program, inputs, at, status, child.log);
    if (found.findings < kMostFindings && at + jobs < inputs.count() && !WIFEXITED(status)) start(child, at + jobs);
  }
  return found;
}

Inputs inputs_of(const Options& options, const Parser& parser, std::size_t number_of_parsers) {
  Inputs inputs{.parser = &parser};
  if (!options.files.empty()) {
    for (const std::string& file : options.files) inputs.seeds.push_back({file, text_of(file)});
    return inputs;
  }
  inputs.seeds = seeds_of(parser);
  if (options.inputs == 0) {
    for (Seed& deep : deep_seeds(parser)) inputs.seeds.push_back(std::move(deep));
    return inputs;
  }
  constexpr std::size_t kLong = 100'000;
  const auto is_long = [](const Seed& seed) { return seed.text.size() > kLong; };
  inputs.seeds.erase(std::remove_if(inputs.seeds.begin(), inputs.seeds.end(), is_long), inputs.seeds.end());
  inputs.mutated = std::max<std::uint64_t>(1, options.inputs / number_of_parsers);
  inputs.seed = options.seed;
  for (const char* c = parser.name; *c != '\0'; ++c) inputs.seed = inputs.seed * 31 + static_cast<unsigned char>(*c);
  return inputs;
}

void write_seeds(const Parser& parser, const std::string& folder) {
  const std::filesystem::path into = std::filesystem::path(folder) / parser.name;
  std::filesystem::create_directories(into);
  for (const Seed& seed : seeds_of(parser)) std::ofstream(into / number_of(seed.text), std::ios::binary) << seed.text;
}

int run(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  std::vector<const Parser*> chosen;
  for (const Parser& parser : parsers())
    if (options.parsers.empty() || std::ranges::count(options.parsers, parser.name) > 0) chosen.push_back(&parser);
  if (options.wrong || chosen.size() < options.parsers.size()) {
    std::fprintf(stderr, kUsage, argv[0]);
    return 2;
  }
  if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0);
  const TemporaryFolder scratch;
  setenv("TMPDIR", scratch.path.c_str(), 1);  // also of children that die
  int findings = 0;
  for (const Parser* parser : chosen) {
    if (options.list) {
      std::printf("%s\n", parser->name);
    } else if (!options.write_seeds.empty()) {
      write_seeds(*parser, options.write_seeds);
    } else {
      const Inputs inputs = inputs_of(options, *parser, chosen.size());
      const auto begin = std::chrono::steady_clock::now();
      const Found found = findings_of(options, argv[0], inputs, scratch.path.string());
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      std::printf("%-16s %9llu inputs, %9llu refused  %7.0f /s  %d findings\n", parser->name,
                  static_cast<unsigned long long>(found.read), static_cast<unsigned long long>(found.refused),
                  static_cast<double>(found.read) / took.count(), found.findings);
      findings += found.findings;
    }
  }
  return findings == 0 ? 0 : 1;
}

}  // namespace
}  // namespace accosim

int main(int argc, char** argv) { return accosim::run(argc, argv); }
