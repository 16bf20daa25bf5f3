// A configuration file that a launch line names.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/base/json.hpp"
#include "models/launch/draft.hpp"
#include "models/launch/launch_line.hpp"

namespace accosim {

struct ConfigFile {
  JsonValue root{};
  std::shared_ptr<const std::string> file{};  ///< as it is shown
  int first_line = 1;                         ///< of it in that file
};

/// The file at `path` as the script has it: what it writes itself, else one that is found near it. Nothing, and a word
/// of it, where there is none. Errors in it are refused.
std::optional<ConfigFile> read_config(const std::string& path, const LaunchLine& launch, const TextPlace& place,
                                      Draft& draft);

}  // namespace accosim
