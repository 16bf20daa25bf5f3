// What a document must say besides its numbers: where, with what and over which network they were made.
#pragma once

#include "calibration/base/names.hpp"
#include "calibration/ranks/spawn.hpp"
#include "models/base/json.hpp"

namespace accocal {

/// {"cpu": "...", "cores": 2, "kernel": "..."}
JsonValue machine_json();

/// "machine", "compiler", "commit", "date", "network" and "transport" of a run. `experiment`: it is no measurement of
/// the devices' own links.
JsonValue run_provenance(const LaunchOptions& launch, bool on_device, bool experiment);

}  // namespace accocal
