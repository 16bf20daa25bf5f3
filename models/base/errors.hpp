// The ways in which a program fails that are not its own bugs, each with an exit code of its own.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace accosim {

/// What a program's process returns.
enum class ExitCode : std::uint8_t { kDone = 0, kBadInput = 1, kBadCommandLine = 2, kOurBug = 3, kEnvironment = 4 };

/// Something the user wrote cannot be: what, and what to write instead. Exit code 1.
class BadInput : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The machine is in the way: a permission, a network, a full disk; what, and what to do. Exit code 4.
class BadEnvironment : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace accosim
