// A whole scenario from its expanded tree.
#pragma once

#include <string>

#include "models/base/reader.hpp"
#include "models/spec/scenario.hpp"

namespace accosim {

/// A whole scenario from its expanded tree; `path` gives it a name where it has none.
Scenario read_scenario(JsonValue& tree, const std::string& path, Diagnostics& diagnostics);

}  // namespace accosim
