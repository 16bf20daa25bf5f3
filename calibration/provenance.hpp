// What a document must say besides its numbers: where, with what and over which network they were made.
#pragma once

#include <string>

#include "calibration/spawn.hpp"

namespace accosim {

/// {"kind": "netns", "rates_bytes_per_s": [...], "payload_bytes_per_s": [...], "burst_bytes": [...]}
std::string network_document(const LaunchOptions& launch);

/// The JSON object of a run with "machine", "compiler", "commit", "date", "network" and "transport" added.
std::string with_provenance(const std::string& document, const LaunchOptions& launch);

}  // namespace accosim
