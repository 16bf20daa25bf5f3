// --set /json/pointer=value: a value of the scenario replaced from the command line.
#pragma once

#include <string>

#include "models/json.hpp"
#include "models/reader.hpp"

namespace accosim {

/// Sets one value in the tree. The last key of an object may be new (the reader knows whether it is right); everything
/// before it must be there.
void apply_set(JsonValue& tree, const std::string& set, Diagnostics& diagnostics);

}  // namespace accosim
