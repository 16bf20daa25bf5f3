// Is what the program prints for people as wide as their terminal, coloured only there, and is a long wait told there?
#include "sim/app/terminal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "build_info/programs.hpp"
#include "models/base/stages.hpp"
#include "models/read/library.hpp"
#include "sim/app/help_text.hpp"
#include "sim/app/verbs.hpp"
#include "tests/programs/told.hpp"
#include "tests/support/accosim_program.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

const std::string kNoTerminal = "no terminal could be made";

/// What a child with its standard streams on a new terminal of so many columns writes there, until it ends or the text
/// holds `until`. Then standard input has ended.
std::string on_terminal(int columns, const std::function<void()>& child, const std::string& until = "") {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return kNoTerminal;
  const std::string name = ptsname(master);
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = 24;
  ioctl(master, TIOCSWINSZ, &size);
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    const int terminal = open(name.c_str(), O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(terminal, stream);
    close(master);
    alarm(500);  // for what hangs
    child();
    _exit(0);
  }
  std::string text;
  char chunk[4096];
  while (until.empty() || text.find(until) == std::string::npos) {
    const ssize_t got = read(master, chunk, sizeof chunk);
    if (got <= 0) break;  // EIO: nobody has the terminal open
    text.append(chunk, static_cast<std::size_t>(got));
  }
  close(master);  // hangs up on a child that still waits
  waitpid(pid, nullptr, 0);
  return text;
}

/// The same of a program.
std::string program_on_terminal(int columns, const std::string& program, std::vector<std::string> words,
                                const std::string& until = "") {
  words.insert(words.begin(), program);
  return on_terminal(
      columns,
      [&] {
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        execv(program.c_str(), argv.data());
        _exit(127);
      },
      until);
}

/// A variable of the environment, until the object goes; null: not set.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = {true, before};
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(before_.first ? before_.second.c_str() : nullptr); }

 private:
  void set(const char* value) {
    if (value == nullptr)
      unsetenv(name_);
    else
      setenv(name_, value, 1);
  }

  const char* name_;
  std::pair<bool, std::string> before_{false, ""};
};

/// The widest line.
int width_of(const std::string& text, std::string* line = nullptr) {
  int widest = 0;
  std::istringstream in(text);
  for (std::string each; std::getline(in, each);) {
    if (display_width(each) <= widest) continue;
    widest = display_width(each);
    if (line != nullptr) *line = each;
  }
  return widest;
}

Terminal terminal(bool present, int columns, const char* asked, const char* no_color = nullptr,
                  const char* term = nullptr) {
  return {present, columns, asked, no_color, term};
}

TEST(TerminalOptions, WidthIsThatOfColumnsElseOfTheTerminalElseEighty) {
  EXPECT_EQ(console_options(terminal(false, 0, nullptr)).width, 80);
  EXPECT_EQ(console_options(terminal(true, 132, nullptr)).width, 132);
  EXPECT_EQ(console_options(terminal(true, 132, "60")).width, 60);
  EXPECT_EQ(console_options(terminal(false, 0, "60")).width, 60);
  for (const char* const wrong : {"", "wide", "19", "1001", "-80", "80x", "99999999999999999999"})
    EXPECT_EQ(console_options(terminal(true, 132, wrong)).width, 132) << wrong;
  EXPECT_EQ(console_options(terminal(true, 5, nullptr)).width, 80) << "no terminal is so narrow";
}

TEST(TerminalOptions, ColourIsForTerminalsThatWantIt) {
  EXPECT_TRUE(console_options(terminal(true, 80, nullptr)).color);
  EXPECT_FALSE(console_options(terminal(false, 0, nullptr)).color);
  EXPECT_FALSE(console_options(terminal(true, 80, nullptr, "1")).color);
  EXPECT_TRUE(console_options(terminal(true, 80, nullptr, "")).color) << "set to nothing, which is not set";
  EXPECT_FALSE(console_options(terminal(true, 80, nullptr, nullptr, "dumb")).color);
}

TEST(TerminalOptions, TheProgramAsksItsOwnTerminal) {
  if (on_terminal(80, [] {}) == kNoTerminal) GTEST_SKIP() << "this machine gives no pseudo-terminal";
  const Variable columns("COLUMNS", nullptr), term("TERM", "xterm");
  const std::vector<std::string> words{"compare", kRoot / "scenarios/paper/finetune_2x4_a100.json"};
  {
    const Variable color("NO_COLOR", nullptr);
    const std::string text = program_on_terminal(100, kAccosimProgram, words);
    EXPECT_TRUE(holds(text, "\033[1m"));
  }
  const Variable color("NO_COLOR", "1");
  const std::string plain = program_on_terminal(100, kAccosimProgram, words);
  EXPECT_EQ(plain.find("\033[1m"), std::string::npos);
  EXPECT_TRUE(holds(plain, "times as fast as DDP as released"));
  EXPECT_EQ(accosim(words).out.find('\033'), std::string::npos);
}

TEST(TerminalOptions, NothingThatComesWithItIsWiderThanEightyColumns) {
  const Variable columns("COLUMNS", nullptr);
  std::size_t scenarios = 0;
  for (const LibraryEntry& entry : list_library()) {
    if (entry.kind != "scenario" || !thorough(scenarios++)) continue;
    // The largest two take half a minute a verb under a sanitizer.
    const bool large = entry.name == "gpt3_175b_1024_a100" || entry.name == "llama_3_405b_16384_h100";
    if (kSanitized && large) continue;
    for (const char* const verb : {"compare", "explain"}) {
      const ProgramRun run = accosim_done({verb, entry.path});
      std::string line;
      EXPECT_LE(width_of(run.out, &line), 80) << verb << " " << entry.path << "\n" << line;
    }
  }
  EXPECT_GE(scenarios, 8u);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"list"}, {"help"}, {"explain", "finetune_2x4_a100", "--ladder", "ddp", "acco"}})
    EXPECT_LE(width_of(accosim(words).out), 80) << words[0];
}

TEST(TerminalOptions, OtherWidthsHoldToo) {
  for (const char* const width : {"40", "60", "100", "160"}) {
    const Variable columns("COLUMNS", width);
    for (const char* const verb : {"compare", "explain", "run"}) {
      const std::string text = accosim({verb, "finetune_2x4_a100"}).out;
      std::string line;
      EXPECT_LE(width_of(text, &line), std::stoi(width)) << verb << "\n" << line;
    }
  }
}

TEST(Help, FitsTheTerminalAndNamesEveryOption) {
  for (const Verb& verb : all_verbs()) {
    for (const int width : {60, 80, 120}) {
      std::ostringstream out;
      write_help(out, verb.name, verb, width);
      std::string line;
      EXPECT_LE(width_of(out.str(), &line), width) << line;
      for (const Option& option : verb.options) {
        if (is_positional(option)) continue;
        EXPECT_TRUE(holds(out.str(), name_of(option))) << verb.name;
      }
    }
  }
}

TEST(Help, SaysWhatAnOptionTakes) {
  EXPECT_EQ(option_in_words({.names = "-o,--output", .help = "", .takes = "FILE"}), "-o, --output FILE");
  EXPECT_EQ(option_in_words({.names = "--kind", .help = "", .choices = {"a", "b"}}), "--kind a|b");
  EXPECT_EQ(option_in_words({.names = "--all", .help = "", .value = false}), "--all");
  EXPECT_EQ(option_in_words({.names = "--ladder", .help = "", .value = Texts(), .words = 2, .takes = "LABEL"}),
            "--ladder LABEL LABEL");
  EXPECT_EQ(option_in_words({.names = "scenario", .help = "", .required = true, .takes = "SCENARIO"}), "SCENARIO");
  EXPECT_EQ(option_in_words({.names = "kind", .help = "", .choices = {"a", "b"}}), "[KIND]");
  EXPECT_EQ(meaning_of({.names = "kind", .help = "Only these", .choices = {"a", "b"}}), "Only these (a, b)");
  EXPECT_EQ(option_in_words({.names = "files", .help = "", .value = Texts(), .takes = "FILE"}), "[FILE...]");
  EXPECT_EQ(
      meaning_of(
          {.names = "--n", .help = "Number", .value = 3, .least = 1, .most = 9, .default_shown = true, .needs = "--x"}),
      "Number (1 to 9; default: 3; needs --x)");
}

TEST(ProgressLine, NamesWhatIsUnderWayAndFits) {
  EXPECT_EQ(progress_line("playing acco", 3, 80), "accosim: playing acco (3 s)");
  EXPECT_EQ(display_width(progress_line(std::string(200, 'x'), 3, 79)), 79);
}

TEST(ProgressLine, ShowsOnATerminalAndGoesAgain) {
  if (on_terminal(80, [] {}) == kNoTerminal) GTEST_SKIP() << "this machine gives no pseudo-terminal";
  const Variable term("TERM", "xterm"), columns("COLUMNS", nullptr);
  const std::string waiting = on_terminal(
      80,
      [] {
        const Progress progress("counting");
        pause();  // until the other end has seen enough
      },
      "accosim: counting (1 s)");
  EXPECT_TRUE(holds(waiting, "accosim: counting (1 s)"));
  EXPECT_EQ(on_terminal(80, [] { const Progress progress("short"); }), "") << "what ends at once is not told";
}

TEST(ProgressLine, SaysHowMuchOfItsStepsIsOver) {
  if (on_terminal(80, [] {}) == kNoTerminal) GTEST_SKIP() << "this machine gives no pseudo-terminal";
  const Variable term("TERM", "xterm"), columns("COLUMNS", nullptr);
  const auto work = [] {
    const Progress progress("counting");
    Steps steps(4);
    steps.over();
    pause();  // until the other end has seen enough
  };
  const std::string seen = on_terminal(80, work, " left (");
  EXPECT_TRUE(holds(seen, "accosim: counting: 25 %, "));
}

TEST(ProgressLine, SaysWhatTakesLongAndHowFarItIs) {
  if (on_terminal(80, [] {}) == kNoTerminal) GTEST_SKIP() << "this machine gives no pseudo-terminal";
  const Variable term("TERM", "xterm"), columns("COLUMNS", nullptr);
  const std::string playing = "accosim: playing every message of acco (1 s)", seeds = " of 10000";
  const std::string messages = program_on_terminal(
      80, kAccosimProgram,
      {"explain", "finetune_2x4_a100", "--messages", "--schedule", "acco", "--set", "/cluster/nodes/0/count=2000"},
      playing);
  EXPECT_TRUE(holds(messages, playing));
  const std::string compared =
      program_on_terminal(80, kAccosimProgram,
                          {"compare", "finetune_2x4_a100", "--seeds", "10000", "--schedule", "acco", "--no-tuned",
                           "--network", "reference", "--set", R"(/training/compute_jitter={"micro_batch": 0.1})"},
                          seeds);
  EXPECT_TRUE(holds(compared, "accosim: playing 1 schedule, seed "));
  EXPECT_TRUE(holds(compared, seeds));
}

TEST(ProgressLine, IsForNobodyElse) {  // of what takes longer than a second, when a terminal is told
  const ProgramRun run =
      accosim({"compare", "finetune_2x4_a100", "--seeds", "30", "--schedule", "acco", "--no-tuned", "--network",
               "reference", "--set", R"(/training/compute_jitter={"micro_batch": 0.1})"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err.find("playing"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace accosim
