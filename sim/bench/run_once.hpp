// Runs of the program as a user starts it, for benchmarks: what they take of processors and memory.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace accosim {

using Words = std::vector<std::string>;

struct Use {
  double seconds = 0;  ///< of processors, children included
  double mib = 0;      ///< the most at once
};

/// One run. Ends the program where it fails.
inline Use run_once(const Words& words) {
  const pid_t pid = fork();
  if (pid == 0) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fmt::print(stderr, "failed:");
    for (const std::string& word : words) fmt::print(stderr, " '{}'", word);
    fmt::print(stderr, "\n");
    std::exit(1);
  }
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<double>(usage.ru_maxrss) / 1024};
}

}  // namespace accosim
