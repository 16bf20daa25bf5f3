// Runs the built program as a user would, for tests of what it prints and how it exits.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace accosim {

struct ProgramRun {
  int exit_code = -1;  ///< 128 + the signal where one ended it
  std::string out{}, err{};
  long peak_kib = 0;  ///< of memory
};

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A folder of its own, gone afterwards.
struct TemporaryFolder {
  std::filesystem::path path;
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "accosim-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path); }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
    return path / name;
  }
};

/// Runs `program` with `arguments`, in the folder `from`; stdout goes to `out_file` where one is named. `meanwhile` is
/// called once it has been started. Ended after 500 s.
inline ProgramRun run_program(const std::string& program, const std::vector<std::string>& arguments,
                              const std::filesystem::path& from, const std::string& out_file = "",
                              const std::function<void(pid_t)>& meanwhile = nullptr) {
  const TemporaryFolder folder;
  const std::string out = out_file.empty() ? (folder.path / "out").string() : out_file;
  const std::string err = (folder.path / "err").string();
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    if (chdir(from.c_str()) == 0) {
      alarm(500);  // for what hangs
      execv(program.c_str(), argv.data());
    }
    _exit(127);
  }
  if (meanwhile) meanwhile(pid);
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  ProgramRun run{.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
  if (out_file.empty()) run.out = text_of(out);
  run.err = text_of(err);
  run.peak_kib = usage.ru_maxrss;
  return run;
}

}  // namespace accosim
