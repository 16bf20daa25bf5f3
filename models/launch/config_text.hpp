// Configuration files of trainers, YAML and TOML, as the tree that JSON is read into: every value knows its place.
#pragma once

#include <string>
#include <string_view>

#include "models/base/json.hpp"

namespace accosim {

inline constexpr std::size_t kMostConfigBytes = 1'000'000;

// Both answer errors as parse_json() does, "file:line:column: what is wrong", and take no more than a second: a text of
// more than a megabyte, values nested deeper than kMaxJsonDepth or more than kMaxJsonValues of them, copies by aliases
// counted, are an error. Members of one name all stay, of which the last is what the trainer would read.

/// One document of YAML 1.1 as PyYAML reads it; "<<" merges.
JsonDocument parse_yaml(std::string_view text, const std::string& source);
JsonDocument parse_toml(std::string_view text, const std::string& source);
/// By the ending of `path`: .yaml, .yml, .toml, else JSON.
JsonDocument parse_config(std::string_view text, const std::string& path, const std::string& source);

/// Puts values in the place of OmegaConf's "${...}": of other keys, of multiply, divide and add, and what stands for an
/// environment's variable. What is not known stays as it is.
void interpolate(JsonValue& root);

/// Whether the name is a configuration file's: .yaml, .yml or .toml.
bool is_config_name(std::string_view path);

}  // namespace accosim
