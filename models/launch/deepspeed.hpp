// A DeepSpeed configuration as parts of a scenario.
#pragma once

#include <optional>
#include <string>

#include "models/base/json.hpp"
#include "models/launch/draft.hpp"
#include "models/launch/launch_line.hpp"

namespace accosim {

/// A configuration that a script names, in a file beside it or one that it writes.
struct ConfigFile {
  JsonValue root{};
  std::string source{};  ///< as it is shown
  int first_line = 1;    ///< of it in that file

  /// The value at a pointer, where it is of this kind: "auto" and null are none.
  const JsonValue* find(const char* pointer, JsonKind kind) const;
  std::string origin(const JsonValue& value) const;  ///< "ds.json:12"
};

/// Reads the file at `path` as the script has it: what it writes itself, else a file in its folder. Nothing, and a word
/// of it, where there is none. Errors in it are refused.
std::optional<ConfigFile> read_config(const std::string& path, const LaunchLine& launch, int line, Draft& draft);

/// Writes what the configuration says of the schedule and of the training: stage, buckets, types, clipping, what is on
/// the host. A batch is the caller's to read.
void read_deepspeed(const ConfigFile& config, Draft& draft);

}  // namespace accosim
