#include "models/launch/config_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "models/base/text.hpp"
#include "models/base/text_file.hpp"
#include "models/launch/config_text.hpp"

namespace accosim {
namespace {

/// Beside the script, or in a folder above it; empty: nowhere. Of "$(dirname "$0")/x.yaml" and "$DIR/x.yaml" it is
/// x.yaml, and of a path that is not there the file of its name beside the script.
std::string found_near(const std::string& script, std::string path) {
  std::error_code none;
  std::filesystem::path folder = std::filesystem::path(script).parent_path();
  if (path.starts_with('$'))
    path.erase(0, path.find('/', path.find(')') == std::string::npos ? 0 : path.find(')')) + 1);
  for (int above = 0; above < 10; ++above, folder = folder.parent_path()) {
    const std::filesystem::path each = folder / path;
    if (std::filesystem::is_regular_file(each, none)) return each.string();
    if (folder.empty() || folder == folder.root_path()) break;
  }
  const std::filesystem::path beside =
      std::filesystem::path(script).parent_path() / std::filesystem::path(path).filename();
  return std::filesystem::is_regular_file(beside, none) ? beside.string() : "";
}

}  // namespace

std::optional<ConfigFile> read_config(const std::string& path, const LaunchLine& launch, const TextPlace& place,
                                      Draft& draft) {
  ConfigFile config;
  std::string text, shown = draft.source();
  if (const auto written = launch.script.files.find(path); written != launch.script.files.end()) {
    text = written->second.text;
    config.first_line = written->second.line;
  } else {
    const std::string near = found_near(draft.source(), path);
    std::string wrong = "is no file here";
    if (!near.empty()) {
      shown = printable(near, 300);
      wrong = read_text_file(near, text, kMostConfigBytes);
    }
    if (!wrong.empty()) {
      draft.not_modelled(place, fmt::format("{} {}: what else is said is taken", printable(path, 300), wrong));
      return {};
    }
  }
  JsonDocument document = parse_config(text, path, shown);
  for (const std::string& error : document.errors) draft.refuse(place, error);
  config.root = std::move(document.root);
  config.file = std::make_shared<const std::string>(shown);
  return config;
}

}  // namespace accosim
