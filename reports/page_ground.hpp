// What a prediction rests on, in words: the devices and links that were priced, and how well each is known.
#pragma once

#include "models/base/json.hpp"
#include "models/spec/scenario.hpp"

namespace accosim {

/// A list of {"what", "name", "figures", "known"}: one a device and a kind of links.
JsonValue ground_json(const Scenario& scenario);

}  // namespace accosim
