// fork, exec, a pipe for what it says. A tool dies with its parent.
#include "calibration/base/tool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "calibration/base/names.hpp"
#include "models/base/descriptor.hpp"

namespace accocal {
namespace {

constexpr int kNotFound = 127;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Returns only where there is no such program.
void become(const std::vector<std::string>& arguments, int input, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const char* path = std::getenv("PATH");
  setenv("PATH", fmt::format("{}:/usr/sbin:/sbin", path == nullptr ? "/usr/bin:/bin" : path).c_str(), 1);
  setenv("LC_ALL", "C", 1);
  execvp(argv[0], argv.data());
}

}  // namespace

std::optional<ChildEnd> run_child(const std::function<int(int output)>& body) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) _exit(body(writing.get()));
  writing.close();
  ChildEnd end;
  std::array<char, 512> more{};
  for (;;) {
    const ssize_t got = read(reading.get(), more.data(), more.size());
    if (got > 0) end.said.append(more.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) break;
  }
  while (waitpid(child, &end.status, 0) < 0 && errno == EINTR) {
  }
  return end;
}

std::string run_tool(const std::vector<std::string>& arguments, const std::string& input) {
  // A file in memory rather than a pipe: the tool may end without having read it.
  const Descriptor from(memfd_create("input", MFD_CLOEXEC));
  const bool given = from && write(from.get(), input.data(), input.size()) == static_cast<ssize_t>(input.size()) &&
                     lseek(from.get(), 0, SEEK_SET) == 0;
  const auto tool = [&](int output) {
    become(arguments, from.get(), output);
    return kNotFound;
  };
  const std::optional<ChildEnd> end = given ? run_child(tool) : std::nullopt;
  if (!end) return fmt::format("{} cannot be started: {}", arguments[0], std::strerror(errno));
  if (WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0) return "";
  if (WIFEXITED(end->status) && WEXITSTATUS(end->status) == kNotFound)
    return fmt::format("there is no program \"{}\"", arguments[0]);
  return fmt::format("{}: {}", arguments[0], end->said.empty() ? "failed" : first_line(end->said));
}

}  // namespace accocal
