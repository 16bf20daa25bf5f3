// The verb `validate` with --live: the whole chain on this machine, with the accocal that was built beside this
// program.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "models/base/errors.hpp"
#include "models/base/standard_streams.hpp"
#include "reports/evidence/live_report.hpp"
#include "sim/app/modes.hpp"
#include "sim/app/terminal.hpp"
#include "sim/evidence/live.hpp"

namespace accosim {
namespace {

/// A folder of its own, gone afterwards, however this process ends: a child waits for that and removes it.
struct Folder {
  std::string path;
  int alive = -1;  ///< the child reads its end of file when nobody holds this any more
  pid_t child = -1;
  Folder() {
    path = (std::filesystem::temp_directory_path() / "accosim-live-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) throw BadEnvironment(path + " cannot be made; set TMPDIR to a folder");
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw BadEnvironment("no pipe could be made");
    alive = ends[1];
    child = fork();
    if (child != 0) {
      close(ends[0]);
      return;
    }
    close(ends[1]);
    setsid();  // a Ctrl-C is for the others
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(stream);
    char byte = 0;
    while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
    }
    std::error_code gone;
    std::filesystem::remove_all(path, gone);
    _exit(0);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    close(alive);
    while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
};

}  // namespace

ExitCode validate_on_this_machine(const Arguments& arguments) {
  LiveOptions options;
  options.accocal = (std::filesystem::canonical("/proc/self/exe").parent_path() / "accocal").string();
  if (!std::filesystem::exists(options.accocal))
    throw BadEnvironment(fmt::format("{} is not there; build the target accocal too", options.accocal));
  const std::string& network = arguments.text("--live-network");
  const std::size_t colon = network.find(':');
  options.network = network.substr(0, colon);
  options.rate = colon == std::string::npos ? "" : network.substr(colon + 1);
  options.quick = arguments.flag("--quick");
  options.progress = [](const std::string& text) { tell("accosim: ", text); };
  const Folder folder;
  options.folder = folder.path;
  const LiveResult result = validate_live(options);
  if (arguments.flag("--markdown"))
    write_live_markdown(std::cout, result);
  else
    write_live(std::cout, result, console_options());
  if (!arguments.flag("--check")) return ExitCode::kDone;
  constexpr double kMost = 0.10;
  const LiveCheck check = live_check(result);
  if (check.disturbed > 0)
    std::cerr << fmt::format(
        "accosim: judged {} of {} runs; the others found the machine busy with something else in each of three tries\n",
        check.judged, check.judged + check.disturbed);
  if (check.worst_mean <= kMost) return ExitCode::kDone;
  std::cerr << fmt::format("accosim: the mean error of some kind of run is {:.1f} %, above {:.0f} %\n",
                           100 * check.worst_mean, 100 * kMost);
  return ExitCode::kBadInput;
}

}  // namespace accosim
