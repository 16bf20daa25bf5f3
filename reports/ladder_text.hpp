// How one schedule becomes another: the verb `explain --ladder`, as a table with a bar a change.
#pragma once

#include <string>

#include "models/base/json.hpp"
#include "reports/document.hpp"
#include "sim/what_if/ladder.hpp"

namespace accosim {

Document ladder_document(const Ladder& ladder);

/// How fast the last is, and which change brings most of it.
std::string ladder_in_words(const Ladder& ladder);

/// Schema accosim.ladder/1: "from", "to" and "rungs", each with its "change", times in seconds and factors; a factor
/// that cannot be known is null.
JsonValue ladder_json(const Ladder& ladder);

}  // namespace accosim
