// Runs a program, or code of the test's own, on a terminal of its own, for tests of what only a terminal is shown.
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace accosim {

/// What a child with its standard streams on a new terminal of so many columns writes there, until it ends or the text
/// holds `until`. Then standard input has ended.
inline std::string on_terminal(int columns, const std::function<void()>& child, const std::string& until = "") {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return "no terminal could be made";
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
inline std::string program_on_terminal(int columns, const std::string& program, std::vector<std::string> words,
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

}  // namespace accosim
