// Where the files of each kind lie in the tree.
#include "tests/fuzz/seeds.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "models/read/load.hpp"
#include "models/spec/shipped.hpp"

namespace accosim {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none))
    if (entry.is_regular_file() && entry.path().extension() != ".md") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

/// Files, or folders of them.
const std::map<std::string, std::vector<std::string>>& shipped() {
  static const std::map<std::string, std::vector<std::string>> kShipped = {
      {"json", {"scenarios/paper", "scenarios/clusters"}},
      {"csv", {"calibration/tables"}},
      {"scenario", {"scenarios/paper"}},
      {"model", {"scenarios/llms"}},
      {"cluster", {"scenarios/clusters"}},
      {"device", {"calibration/profiles"}},
      {"published", {"scenarios/validation"}},
      {"bounds", {"scenarios/validation/bounds.json"}},
      {"kernels", {"calibration/tables"}},
      {"convergence", {"reports/published/convergence.json"}},
      {"text-to-learn", {"calibration/data/devils_dictionary.txt"}}};
  return kShipped;
}

/// The first lines of a long table say as much as all of them.
std::string shortened(std::string text, InputForm form) {
  constexpr std::size_t kLong = 8'000;
  if (form == InputForm::kJson || text.size() <= kLong) return text;
  const std::size_t end = text.rfind('\n', kLong);
  text.resize(end == std::string::npos ? kLong : end + 1);
  return text;
}

fs::path corpus() { return fs::path(data_dir()) / "tests/fuzz/corpus"; }

}  // namespace

std::string seed_named(const std::string& parser, const std::string& name) {
  std::string text = text_of(corpus() / parser / name);
  require(!text.empty(), "no seed " + name + " of " + parser);
  return text;
}

std::vector<Seed> seeds_of(const Parser& parser) {
  const std::string kind = parser.name;
  std::vector<Seed> seeds;
  for (const fs::path& path : files_in(corpus() / kind)) {
    if (path.extension() != ".lines") {
      seeds.push_back({path.filename().string(), text_of(path)});
      continue;
    }
    std::istringstream lines(text_of(path));
    for (std::string line; std::getline(lines, line);) seeds.push_back({path.filename().string(), line});
  }
  if (shipped().count(kind) > 0) {
    for (const std::string& place : shipped().at(kind)) {
      const fs::path path = fs::path(data_dir()) / place;
      for (const fs::path& file : fs::is_directory(path) ? files_in(path) : std::vector<fs::path>{path})
        seeds.push_back({file.filename().string(), shortened(text_of(file), parser.form)});
    }
  }
  if (kind == "scenario")  // with everything in one file
    for (const char* folder : {"scenarios", "scenarios/paper"})
      for (const fs::path& file : files_in(fs::path(data_dir()) / folder))
        if (file.stem().extension() != ".sweep")
          seeds.push_back({"resolved " + file.filename().string(), load_scenario(file.string(), {}).resolved()});
  require(!seeds.empty(), "no seed of " + kind);
  return seeds;
}

std::vector<Seed> deep_seeds(const Parser& parser) {
  if (parser.form == InputForm::kTable) return {};
  constexpr std::size_t kDeep = 160'000;
  std::string objects;
  for (std::size_t i = 0; i < kDeep; ++i) objects += "{\"a\":";
  const std::string lists = std::string(kDeep, '[') + std::string(kDeep, ']');
  std::vector<Seed> deep = {{"160000 lists that do not end", std::string(kDeep, '[')},
                            {"160000 lists", lists},
                            {"160000 objects", objects + "0" + std::string(kDeep, '}')}};
  const std::string text = seeds_of(parser).front().text;
  for (std::size_t at = 0, members = 0; members < 5 && (at = text.find("\": ", at + 1)) != std::string::npos; ++members)
    deep.push_back({"160000 lists in a seed", text.substr(0, at + 3) + lists + ", \"more\": " + text.substr(at + 3)});
  return deep;
}

}  // namespace accosim
