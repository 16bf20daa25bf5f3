#include "models/launch/config_file.hpp"

#include <fmt/format.h>

#include <utility>

#include "models/base/text.hpp"
#include "models/base/text_file.hpp"
#include "models/launch/config_text.hpp"

namespace accosim {

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
