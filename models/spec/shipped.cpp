#include "models/spec/shipped.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "build_info/project.hpp"
#include "models/base/text.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string>& folders_of(FileKind kind) {
  static const std::vector<std::string> kDevices = {"calibration/profiles"}, kModels = {"scenarios/llms"},
                                        kClusters = {"scenarios/clusters"},
                                        kScenarios = {"scenarios", "scenarios/mixes", "scenarios/paper"};
  switch (kind) {
    case FileKind::kDevice: return kDevices;
    case FileKind::kModel: return kModels;
    case FileKind::kCluster: return kClusters;
    case FileKind::kScenario: return kScenarios;
  }
  return kScenarios;
}

/// The last `parts` parts of a path, without ".json".
std::string end_of(const fs::path& path, int parts) {
  fs::path end = path.stem();
  fs::path folder = path.parent_path();
  for (int i = 1; i < parts; ++i, folder = folder.parent_path()) end = folder.filename() / end;
  return end.string();
}

/// A model's name without its owner, in small letters, and without the words of a release that say nothing of its
/// sizes: "meta-llama/Meta-Llama-3.1-8B-Instruct" is "llama-3.1-8b", "allenai/OLMo-2-1124-7B" is "olmo-2-7b".
std::string without_release(std::string_view name) {
  constexpr std::string_view kWords = " meta hf instruct chat base it pt bf16 ";
  const std::string bare = lower(name.substr(name.rfind('/') + 1));  // npos + 1 is 0
  std::istringstream words(bare);
  std::string kept;
  for (std::string word; std::getline(words, word, '-');) {
    const bool date = word.size() == 4 && word.find_first_not_of("0123456789") == std::string::npos;
    if (!date && kWords.find(" " + word + " ") == std::string_view::npos) kept += (kept.empty() ? "" : "-") + word;
  }
  return kept;
}

/// As people and the hub write them: in any case, with the owner and the words of a release.
std::vector<ShippedFile> models_called(std::string_view name) {
  const std::string bare = lower(name.substr(name.rfind('/') + 1)), meant = without_release(name);
  std::vector<ShippedFile> found;
  for (ShippedFile& file : shipped_files(FileKind::kModel)) {
    if (lower(file.name) == bare) return {file};
    if (lower(file.name) == meant) found.push_back(std::move(file));
  }
  return found;
}

}  // namespace

std::string other_kind_in_words(FileKind kind, std::string_view name) {
  for (const FileKind other : kFileKinds)
    if (other != kind && !shipped_as(other, name).empty())
      return kind == FileKind::kScenario
                 ? fmt::format("is a {}; a scenario names it, as README.md shows under \"Your own run\"",
                               name_of(other))
                 : fmt::format("is a {}, and a {} is asked for", name_of(other), name_of(kind));
  return "";
}

std::string program_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().string();
}

std::string data_dir() {
  const char* const set = std::getenv("ACCOSIM_DATA_DIR");
  if (set != nullptr && *set != '\0') return set;
  static const std::string kFound = [] {
    const fs::path installed = fs::path(program_folder()).parent_path() / kInstalledData;
    std::error_code error;
    return fs::exists(installed / "calibration/constants.json", error) ? installed.string()
                                                                       : std::string(kSourceFolder);
  }();
  return kFound;
}

std::vector<ShippedFile> shipped_files(FileKind kind) {
  const fs::path root = data_dir();
  std::vector<ShippedFile> files;
  for (const std::string& folder : folders_of(kind)) {
    const std::size_t first = files.size();
    std::error_code error;
    fs::directory_iterator entries(root / folder, error);
    for (const fs::directory_iterator end; !error && entries != end; entries.increment(error)) {
      const fs::path& file = entries->path();
      if (file.extension() == ".json" && file.stem().extension() != ".sweep")
        files.push_back({file.stem().string(), folder + "/" + file.filename().string()});
    }
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(first), files.end(),
              [](const ShippedFile& a, const ShippedFile& b) { return a.path < b.path; });
  }
  for (ShippedFile& file : files) {
    const std::string stem = end_of(file.path, 1);
    const auto same = [&](const ShippedFile& other) { return end_of(other.path, 1) == stem; };
    if (std::ranges::count_if(files, same) > 1) file.name = end_of(file.path, 2);
  }
  return files;
}

std::vector<ShippedFile> shipped_as(FileKind kind, std::string_view name) {
  // Looks for the file instead of through the folders: a cluster may name thousands of devices.
  const fs::path root = data_dir();
  const std::size_t slash = name.rfind('/');
  const std::string before = slash == std::string_view::npos ? "" : "/" + std::string(name.substr(0, slash));
  const std::string file = std::string(name.substr(slash + 1)) + ".json";  // npos + 1 is 0
  std::vector<ShippedFile> meant;
  int same = 0;
  for (const std::string& folder : folders_of(kind)) {
    std::error_code error;
    if (!fs::exists(root / folder / file, error)) continue;
    ++same;
    if (("/" + folder).ends_with(before)) meant.push_back({"", folder + "/" + file});
  }
  for (ShippedFile& one : meant) one.name = end_of(one.path, same > 1 ? 2 : 1);
  return meant.empty() && kind == FileKind::kModel ? models_called(name) : meant;
}

}  // namespace accosim
