// The caveats of a schedule in words, as they follow "1.08 times as fast, ".
#pragma once

#include <string>

#include "models/base/json.hpp"
#include "sim/what_if/winner.hpp"

namespace accosim {

/// "with gradients one update late and at 1.5 times the batch"; empty without a caveat.
std::string in_words(const Caveats& caveats);
/// The same of the worst of several: "at up to 33 times the batch".
std::string worst_in_words(const Caveats& caveats);

/// The figures that count against it, by the keys that they have in results.
JsonValue caveats_json(const Caveats& caveats);

}  // namespace accosim
