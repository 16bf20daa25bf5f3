// The ways in which a program fails that are not its own bugs, each with an exit code of its own.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace accosim {

/// What a program's process returns.
enum class ExitCode : std::uint8_t { kDone = 0, kBadInput = 1, kBadCommandLine = 2, kOurBug = 3, kEnvironment = 4 };

/// What the user asked for is impossible; what() says what is wrong and what to write instead. Exit code 1.
class BadInput : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The environment prevents the work: a permission, a network, a full disk. what() says what is in the way and what to
/// do. Exit code 4.
class BadEnvironment : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace accosim
