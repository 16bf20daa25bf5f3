// The exit codes of accocal, one for each way in which a program fails (models/errors.hpp).
#pragma once

#include <cstdint>

#include "models/errors.hpp"

namespace accosim {

/// What accocal's process returns.
enum class ExitCode : std::uint8_t { kDone = 0, kBadInput = 1, kBadCommandLine = 2, kOurBug = 3, kEnvironment = 4 };

}  // namespace accosim
