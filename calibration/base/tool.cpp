// fork, exec, a pipe for what it says. The child dies with its parent.
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

[[noreturn]] void become(const std::vector<std::string>& arguments, int input, int output) {
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
  _exit(kNotFound);
}

}  // namespace

std::string run_tool(const std::vector<std::string>& arguments, const std::string& input) {
  // A file in memory rather than a pipe: the tool may end without having read it.
  const Descriptor from(memfd_create("input", MFD_CLOEXEC));
  std::array<int, 2> ends{};
  if (!from || write(from.get(), input.data(), input.size()) != static_cast<ssize_t>(input.size()) ||
      lseek(from.get(), 0, SEEK_SET) != 0 || pipe2(ends.data(), O_CLOEXEC) != 0)
    return fmt::format("{} cannot be started: {}", arguments[0], std::strerror(errno));
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const pid_t child = fork();
  if (child < 0) return fmt::format("{} cannot be started: {}", arguments[0], std::strerror(errno));
  if (child == 0) become(arguments, from.get(), writing.get());
  writing.close();
  std::string said;
  std::array<char, 512> more{};
  for (ssize_t got = 0; (got = read(reading.get(), more.data(), more.size())) > 0;)
    said.append(more.data(), static_cast<std::size_t>(got));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotFound)
    return fmt::format("there is no program \"{}\"", arguments[0]);
  return fmt::format("{}: {}", arguments[0], said.empty() ? "failed" : first_line(said));
}

}  // namespace accocal
