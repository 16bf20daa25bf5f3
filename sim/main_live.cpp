// The verb `validate --live`: the whole chain on this machine, with the accocal that was built beside this program.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "models/scenario.hpp"
#include "reports/live_report.hpp"
#include "sim/live.hpp"
#include "sim/main.hpp"

namespace accosim {
namespace {

/// A folder of its own, gone afterwards.
struct Folder {
  std::string path;
  Folder() {
    path = (std::filesystem::temp_directory_path() / "accosim-live-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) throw EnvironmentError(path + " cannot be made; set TMPDIR to a folder");
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code gone;
    std::filesystem::remove_all(path, gone);
  }
};

}  // namespace

bool validate_on_this_machine(const Arguments& arguments) {
  if (arguments.json || !arguments.directory.empty() || !arguments.leave_out.empty() ||
      !arguments.validate.group.empty() || !arguments.validate.id.empty())
    throw ScenarioError({"--live makes runs of its own; of the other options it takes --markdown and --check"});
  LiveOptions options;
  options.accocal = (std::filesystem::canonical("/proc/self/exe").parent_path() / "accocal").string();
  if (!std::filesystem::exists(options.accocal))
    throw EnvironmentError(fmt::format("{} is not there; build the target accocal too", options.accocal));
  const std::size_t colon = arguments.live_network.find(':');
  options.network = arguments.live_network.substr(0, colon);
  options.rate = colon == std::string::npos ? "" : arguments.live_network.substr(colon + 1);
  options.quick = arguments.quick;
  options.progress = [](const std::string& text) { std::cerr << "accosim: " << text << '\n'; };
  const Folder folder;
  options.folder = folder.path;
  const LiveResult result = validate_live(options);
  if (arguments.markdown)
    write_live_markdown(std::cout, result);
  else
    write_live(std::cout, result, console_options());
  constexpr double kMost = 0.10;
  if (!arguments.check || live_worst_mean(result) <= kMost) return true;
  std::cerr << fmt::format("accosim: the mean error of some kind of run is {:.1f} %, above {:.0f} %\n",
                           100 * live_worst_mean(result), 100 * kMost);
  return false;
}

}  // namespace accosim
