// Is an output file whole or untouched, whatever falls in the middle of writing it?
#include "models/base/whole_file.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "models/base/errors.hpp"
#include "models/base/outputs.hpp"
#include "tests/support/program.hpp"
#include "tests/support/thrown.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunk = 40'000;
constexpr int kChunks = 12;
const std::string kOld = "what was there before\n";

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::string what_of(const std::function<void()>& body) { return thrown_by<std::exception>(body); }

/// A pipe in both directions, by which a child writes one chunk each time that it is told to.
struct Steps {
  std::array<int, 2> down{}, up{};
  Steps() {
    if (pipe(down.data()) != 0 || pipe(up.data()) != 0) std::abort();
  }
  ~Steps() {
    for (const int end : {down[0], down[1], up[0], up[1]}) close(end);
  }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  static void say(int to) {
    if (::write(to, "x", 1) != 1) _exit(120);
  }
  static bool hear(int from) {
    char byte = 0;
    return ::read(from, &byte, 1) == 1;
  }
};

/// Exit codes of a writing child that no signal ended.
constexpr int kCommitted = 0, kRefused = 1, kThrown = 2;

[[noreturn]] void write_in_steps(const std::string& path, WholeFile::Beside beside, const Steps& steps, int throw_at) {
  try {
    WholeFile file(path, beside);
    for (int chunk = 1; chunk <= kChunks; ++chunk) {
      file.stream() << std::string(kChunk, static_cast<char>('a' + chunk)) << std::flush;
      Steps::say(steps.up[1]);
      if (!Steps::hear(steps.down[0])) _exit(121);
      if (chunk == throw_at) throw std::logic_error("in the middle");
    }
    file.commit();
  } catch (const BadEnvironment&) {
    _exit(kRefused);
  } catch (const std::logic_error&) {
    _exit(kThrown);
  }
  _exit(kCommitted);
}

/// Bytes of the files in `folder` that a process has open and that have no name, or the name of a part.
std::size_t bytes_under_way(pid_t pid, const fs::path& folder) {
  struct stat at_folder {};
  stat(folder.c_str(), &at_folder);
  std::size_t most = 0;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    struct stat found {};
    if (stat(entry.path().c_str(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_dev != at_folder.st_dev)
      continue;
    std::error_code none;
    const std::string name = fs::read_symlink(entry.path(), none).string();
    if (name.rfind(folder.string(), 0) == 0) most = std::max(most, static_cast<std::size_t>(found.st_size));
  }
  return most;
}

/// What 200 interruptions did, by what fell.
struct Seen {
  std::map<std::string, int> in_the_middle;
  int lost = 0, left = 0;
};

/// One interruption by a signal (0: by an exception) after `chunks` chunks.
void interrupt(Seen& seen, int signal, WholeFile::Beside beside, int chunks) {
  const TemporaryFolder folder;
  const std::string path = folder.write("result.json", kOld);
  const Steps steps;
  const pid_t child = fork();
  if (child == 0) write_in_steps(path, beside, steps, signal == 0 ? chunks : 0);
  for (int done = 1; done <= chunks; ++done) {
    ASSERT_TRUE(Steps::hear(steps.up[0]));
    if (done < chunks) Steps::say(steps.down[1]);
  }
  // The child stands between two chunks now, with so much on its way.
  EXPECT_EQ(bytes_under_way(child, folder.path), static_cast<std::size_t>(chunks) * kChunk);
  EXPECT_EQ(names_in(folder.path).size(), beside == WholeFile::Beside::kNamed ? 2u : 1u);
  if (signal == 0)
    Steps::say(steps.down[1]);
  else
    kill(child, signal);
  int status = 0;
  waitpid(child, &status, 0);
  if (signal == 0) {
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kThrown) << status;
  } else {
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
  }
  ++seen.in_the_middle[signal == 0 ? "exception" : strsignal(signal)];
  if (text_of(path) != kOld) ++seen.lost;
  seen.left += static_cast<int>(names_in(folder.path).size()) - 1;
}

/// One file that grows past what there is room for, after some chunks.
void fill(Seen& seen, WholeFile::Beside beside, int chunks) {
  const TemporaryFolder folder;
  const std::string path = folder.write("result.json", kOld);
  const Steps steps;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit small{static_cast<rlim_t>(chunks) * kChunk + 100, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &small);
    write_in_steps(path, beside, steps, 0);
  }
  for (int done = 1; done <= chunks; ++done) {
    ASSERT_TRUE(Steps::hear(steps.up[0]));
    if (done == chunks) {
      EXPECT_EQ(bytes_under_way(child, folder.path), static_cast<std::size_t>(chunks) * kChunk);
    }
    Steps::say(steps.down[1]);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kRefused) << status;
  ++seen.in_the_middle["no room"];
  if (text_of(path) != kOld) ++seen.lost;
  seen.left += static_cast<int>(names_in(folder.path).size()) - 1;
}

TEST(WholeFile, TwoHundredInterruptionsLoseNothingAndLeaveNothing) {
  std::mt19937 random(20);
  Seen seen;
  const auto chunks = [&] { return 1 + static_cast<int>(random() % (kChunks - 1)); };
  for (int i = 0; i < 200; ++i) {
    const WholeFile::Beside beside = i % 2 == 0 ? WholeFile::Beside::kUnnamed : WholeFile::Beside::kNamed;
    switch (random() % 5) {
      case 0: interrupt(seen, SIGINT, beside, chunks()); break;
      case 1: interrupt(seen, SIGTERM, beside, chunks()); break;
      case 2: interrupt(seen, SIGHUP, beside, chunks()); break;
      case 3: fill(seen, beside, chunks()); break;
      default:
        // Nobody can clean up after this one; a file without a name need not be.
        interrupt(seen, beside == WholeFile::Beside::kUnnamed ? SIGKILL : 0, beside, chunks());
    }
    if (HasFailure()) break;
  }
  int all = 0;
  for (const auto& [what, count] : seen.in_the_middle) {
    std::cout << "  " << count << " by " << what << "\n";
    EXPECT_GE(count, 10) << what;
    all += count;
  }
  std::cout << "  " << all << " in the middle of writing, " << seen.lost << " targets lost, " << seen.left
            << " parts left\n";
  EXPECT_EQ(all, 200);
  EXPECT_EQ(seen.lost, 0);
  EXPECT_EQ(seen.left, 0);
}

TEST(WholeFile, ASignalAtAnyMomentLeavesOneWholeText) {
  // Whatever it falls on: the writing, the sync, the link, the rename.
  std::mt19937 random(7);
  const std::string a(200'000, 'a'), b(300'000, 'b');
  for (int i = 0; i < 40; ++i) {
    const TemporaryFolder folder;
    const std::string path = folder.write("result.json", a);
    const pid_t child = fork();
    if (child == 0) {
      for (;;) {
        for (const std::string& text : {b, a}) {
          WholeFile file(path, i % 2 == 0 ? WholeFile::Beside::kUnnamed : WholeFile::Beside::kNamed);
          file.write(text);
          file.commit();
        }
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    const int signal = std::array{SIGINT, SIGTERM, SIGHUP}[random() % 3];
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    const std::string text = text_of(path);
    EXPECT_TRUE(text == a || text == b) << text.size();
    EXPECT_EQ(names_in(folder.path).size(), 1u);
  }
}

TEST(WholeFile, AFullDiskKeepsTheOldFile) {
  const TemporaryFolder folder;
  const std::string disk = folder.path / "disk", path = disk + "/result.json";
  fs::create_directory(disk);
  const uid_t user = getuid();
  const gid_t group = getgid();
  const pid_t child = fork();
  if (child == 0) {
    const auto into = [](const char* file, const std::string& text) { std::ofstream(file) << text; };
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(77);
    into("/proc/self/setgroups", "deny");
    into("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
    into("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
    if (mount("none", disk.c_str(), "tmpfs", 0, "size=256k") != 0) _exit(77);
    int wrong = 0;
    for (const auto beside : {WholeFile::Beside::kUnnamed, WholeFile::Beside::kNamed}) {
      std::ofstream(path) << kOld;
      std::size_t written = 0;
      std::string error;
      try {
        WholeFile file(path, beside);
        for (; written < 1'000'000; written += kChunk) file.write(std::string(kChunk, 'x'));
        file.commit();
      } catch (const BadEnvironment& full) {
        error = full.what();
      }
      wrong += written > 0 && error == path + ": cannot be written: the disk is full; make room" ? 0 : 1;
      wrong += text_of(path) == kOld && names_in(disk).size() == 1 ? 0 : 1;
    }
    _exit(wrong);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no disk of its own may be mounted here";
  EXPECT_EQ(status, 0);
}

TEST(WholeFile, ReplacesOrLeavesWhatWasThere) {
  for (const auto beside : {WholeFile::Beside::kUnnamed, WholeFile::Beside::kNamed}) {
    const TemporaryFolder folder;
    const std::string path = folder.write("result", "old");
    WholeFile file(path, beside);
    file.stream() << "new and " << 1 << "nger";
    EXPECT_EQ(text_of(path), "old");
    file.commit();
    EXPECT_EQ(text_of(path), "new and 1nger");
    { WholeFile(path, beside).stream() << "never"; }
    EXPECT_EQ(text_of(path), "new and 1nger");
    EXPECT_EQ(names_in(folder.path), std::vector<std::string>{"result"});
  }
}

TEST(WholeFile, WhatCouldNotBeWrittenIsNeverCommitted) {
  const TemporaryFolder folder;
  const std::string path = folder.write("result", "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  WholeFile file(path);
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(file.stream() << std::string(100'000, 'x') << std::flush, BadEnvironment);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THROW(file.commit(), BadEnvironment);
  EXPECT_EQ(text_of(path), "old");
}

TEST(WholeFile, KeepsLinksAndPermissions) {
  for (const auto beside : {WholeFile::Beside::kUnnamed, WholeFile::Beside::kNamed}) {
    const TemporaryFolder folder, other;
    const auto write = [&](const std::string& path, const std::string& text) {
      WholeFile file(path, beside);
      file.write(text);
      file.commit();
    };
    const std::string target = other.write("target", "old");
    chmod(target.c_str(), 0640);
    const std::string link = folder.path / "link", second = folder.path / "second", ahead = folder.path / "ahead";
    fs::create_symlink(target, link);
    fs::create_symlink("link", second);
    write(second, "new");
    EXPECT_TRUE(fs::is_symlink(link) && fs::is_symlink(second));
    EXPECT_EQ(text_of(target), "new");
    struct stat found {};
    stat(target.c_str(), &found);
    EXPECT_EQ(found.st_mode & 07777U, 0640U);
    fs::create_symlink(other.path / "made", ahead);
    write(ahead, "made");
    EXPECT_EQ(text_of(other.path / "made"), "made");
    EXPECT_EQ(names_in(other.path), (std::vector<std::string>{"made", "target"}));
    // A new file is made as any other is.
    const mode_t mask = umask(0);
    umask(mask);
    stat((other.path / "made").c_str(), &found);
    EXPECT_EQ(found.st_mode & 07777U, 0666U & ~mask);
  }
}

TEST(WholeFile, RefusesWhatCannotBeReplaced) {
  const TemporaryFolder folder;
  const std::string at = folder.path.string();
  const auto error = [&](const std::string& path) { return what_of([&] { check_writable(path); }); };
  EXPECT_EQ(error(at), at + ": cannot be written: is a folder; name a file in it");
  EXPECT_EQ(error(at + "/none/file"),
            at + "/none/file: cannot be written: there is no folder " + at + "/none; make it first");
  EXPECT_EQ(error(folder.write("file", "") / "more"),
            at + "/file/more: cannot be written: a part of its path is a file, and no folder; check the path");
  EXPECT_EQ(error(""), ": cannot be written: it is no path; name a file");
  fs::create_symlink("circle", folder.path / "circle");
  EXPECT_EQ(error(at + "/circle"),
            at + "/circle: cannot be written: its symbolic links lead in a circle; name the file itself");
  const int listens = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (at + "/socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listens, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(listens);
  EXPECT_EQ(error(at + "/socket"),
            at + "/socket: cannot be written: it is a socket or a pipe without a reader; name a file");
  if (getuid() != 0) {  // who may write everything is refused nothing
    chmod(folder.write("kept", "old").c_str(), 0444);
    EXPECT_EQ(error(at + "/kept"),
              at + "/kept: cannot be written: this user may not; change its permissions, or name another file");
  }
}

TEST(WholeFile, WritesDevicesAndPipesDirectly) {
  const TemporaryFolder folder;
  write_whole("/dev/null", "text");
  EXPECT_EQ(what_of([] { write_whole("/dev/full", "text"); }),
            "/dev/full: cannot be written: the disk is full; make room");
  const std::string pipe = folder.path / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  check_writable(pipe);  // waits for nobody
  std::string read;
  std::thread reader([&] { read = text_of(pipe); });
  write_whole(pipe, "through it");
  reader.join();
  EXPECT_EQ(read, "through it");
  EXPECT_EQ(names_in(folder.path), std::vector<std::string>{"pipe"});
}

const OutputKind kList = {"it is a list, JSON", ".json", R"({"list":)", "by us"};

std::string refusal(const std::vector<Output>& outputs, const std::vector<std::string>& inputs = {},
                    bool force = false) {
  return what_of([&] { check_outputs(outputs, inputs, force); });
}

TEST(Outputs, OnlyWhatTheSameVerbWroteIsReplaced) {
  const TemporaryFolder folder;
  const auto at = [&](const std::string& text) {
    return std::vector<Output>{{"-o", folder.write("a.json", text).string(), kList}};
  };
  EXPECT_EQ(refusal({{"-o", (folder.path / "new.json").string(), kList}}), "");
  EXPECT_EQ(refusal(at("")), "");
  EXPECT_EQ(refusal(at(" {\n \"list\" : [1], \"made\": \"byus\"}")), "");
  for (const char* other : {"my own notes", R"({"list":[1]})", R"([{"list":"by us"}])"}) {
    EXPECT_EQ(refusal(at(other)), "-o " + (folder.path / "a.json").string() +
                                      ": a file that this verb did not write is there, and is left as it is; name "
                                      "another, or add --force to replace it");
    EXPECT_EQ(refusal(at(other), {}, true), "");
  }
  std::vector<Output> by_design = at("my own notes");
  by_design[0].in_place = true;
  EXPECT_EQ(refusal(by_design), "");
  // Through a link it is the same file.
  fs::create_symlink("a.json", folder.path / "link");
  EXPECT_NE(refusal({{"-o", (folder.path / "link").string(), kList}}), "");
  EXPECT_EQ(names_in(folder.path).size(), 2u);
}

TEST(Outputs, AnInputOrAnotherOutputIsNoOutputEvenByForce) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.json", ""), b = folder.path / "b.json", link = folder.path / "link.json",
                    hard = folder.path / "hard.json";
  fs::create_symlink("a.json", link);
  fs::create_hard_link(a, hard);
  for (const std::string& name : {a, link, hard, (folder.path / "." / "a.json").string()})
    EXPECT_EQ(refusal({{"-o", name, kList}}, {"", a}, true), "-o " + name + ": is what is read; name another file");
  // Of two that are not there yet the names decide.
  const std::string again = folder.path / ".." / folder.path.filename() / "b.json";
  EXPECT_EQ(refusal({{"-o", b, kList}, {"--trace", again, kList}}, {}, true),
            "--trace " + again + ": is the file of -o too; name another for one");
  EXPECT_EQ(refusal({{"-o", "/dev/null", kList}, {"--trace", "/dev/null", kList}}), "");
}

TEST(Outputs, ANameThatPromisesAnotherKindIsRefused) {
  const TemporaryFolder folder;
  const auto named = [&](const std::string& name) {
    return refusal({{"--trace", (folder.path / name).string(), trace_kind()}}, {}, true);
  };
  EXPECT_EQ(named("x.svg"), "--trace " + (folder.path / "x.svg").string() +
                                ": a trace is JSON for Perfetto, and no svg; name it " +
                                (folder.path / "x.json").string());
  for (const char* name : {"x.PNG", "x.pdf", "x.html", "x.csv"}) EXPECT_NE(named(name), "") << name;
  for (const char* name : {"x.json", "x", "x.trace", "x.perfetto"}) EXPECT_EQ(named(name), "") << name;
  EXPECT_NE(refusal({{"-o", (folder.path / "x.json").string(), table_kind("a,b\n")}}), "");
  EXPECT_TRUE(names_in(folder.path).empty());
}

}  // namespace
}  // namespace accosim
