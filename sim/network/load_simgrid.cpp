// SimGrid's library brings fourteen others along, which the dynamic loader takes longer to join than a prediction
// takes. So what knows SimGrid is a library of its own beside the program, loaded when the first shared link is played.
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "build_info/project.hpp"
#include "models/base/errors.hpp"
#include "models/base/text.hpp"
#include "models/spec/shipped.hpp"
#include "sim/network/network.hpp"

namespace accosim {
namespace {

using MakeNetwork = Network* (*)(const EventGraph*);

MakeNetwork loaded() {
  std::error_code error;
  const std::filesystem::path folder = program_folder();
  std::filesystem::path library = folder / kSimgridLibrary;
  if (!std::filesystem::exists(library, error)) library = folder.parent_path() / kInstalledLibraries / kSimgridLibrary;
  const std::string name = library.string();
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const symbol = handle == nullptr ? nullptr : dlsym(handle, "accosim_simgrid_network");
  if (symbol != nullptr) return reinterpret_cast<MakeNetwork>(symbol);
  const char* const why = dlerror();
  throw BadEnvironment(
      fmt::format("the library that plays links which several flows share cannot be loaded: {}; keep it beside the "
                  "program, or choose --network reference, where each flow has its path to itself",
                  printable(why == nullptr ? "" : why, 300)));
}

MakeNetwork maker() {
  static const MakeNetwork kMade = loaded();
  return kMade;
}

}  // namespace

void load_simgrid() { maker(); }

std::unique_ptr<Network> make_simgrid_network(const EventGraph& graph) {
  return std::unique_ptr<Network>(maker()(&graph));
}

}  // namespace accosim
