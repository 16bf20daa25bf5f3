// What a document must say besides its numbers: where, with what and over which network they were made.
#pragma once

#include <string>

#include "calibration/base/names.hpp"
#include "calibration/ranks/spawn.hpp"
#include "models/base/json.hpp"

namespace accocal {

/// {"kind": "netns", "rates_bytes_per_s": [...], "payload_bytes_per_s": [...], "burst_bytes": [...]}
JsonValue network_json(const LaunchOptions& launch);
/// {"cpu": "...", "cores": 2, "kernel": "..."}
JsonValue machine_json();

/// The JSON object of a run with "machine", "compiler", "commit", "date", "network" and "transport" added, before its
/// long lists, which begin with "updates".
std::string with_provenance(const std::string& document, const LaunchOptions& launch);

}  // namespace accocal
