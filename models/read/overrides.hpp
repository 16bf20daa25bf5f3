// --set /json/pointer=value: a value of the scenario replaced from the command line, or by a case of the validation.
#pragma once

#include <string>

#include "models/base/json.hpp"
#include "models/base/reader.hpp"

namespace accosim {

/// A value for a place in the tree, that knows its origin.
struct Setting {
  std::string pointer;
  JsonValue value;
};

/// Sets the origin of the value and of everything inside it.
void give_origin(JsonValue& value, const JsonOrigin& origin);

/// Sets one value in the tree, or with a key "*" that of every element of the list there. The last key of an object may
/// be new (the reader knows whether it is right); everything before it must be there.
void apply_set(JsonValue& tree, const std::string& set, Diagnostics& diagnostics);

/// The same with the value as a tree that knows its origin; mistakes are told at `origin`.
void set_at(JsonValue& tree, const std::string& pointer, JsonValue value, const JsonOrigin& origin,
            Diagnostics& diagnostics);

}  // namespace accosim
