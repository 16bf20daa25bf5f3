// How what a fit writes stands in its file: constants with as many digits as they are known to.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "models/base/json.hpp"

namespace accosim {

/// A number as it is written: a few digits are all that a fit is good for.
inline JsonValue rounded(double value, int digits = 4) {
  JsonValue json = json_number(value, {});
  json.text = fmt::format("{:.{}g}", value, digits);
  return json;
}

/// The member, an empty object where there was none.
inline JsonValue& object_at(JsonValue& parent, const std::string& key) {
  if (parent.find(key) == nullptr) parent.set(key, json_object({}));
  return *parent.find(key);
}

/// The text of a profile, its sources at the end, where a reader looks for them.
inline std::string profile_text(JsonValue profile) {
  if (const JsonValue* sources = profile.find("sources")) {
    JsonValue moved = *sources;
    profile.erase("sources");
    profile.set("sources", std::move(moved));
  }
  return write_json(profile) + "\n";
}

}  // namespace accosim
