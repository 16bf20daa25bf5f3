// Runs a program of the system, such as `ip`, and tells how it went.
#pragma once

#include <string>
#include <vector>

namespace accocal {

/// Runs it with `input` as its standard input and waits. Empty, or what went wrong in one line. Programs are looked for
/// in the PATH and where system administration keeps them, which is not in every user's PATH.
std::string run_tool(const std::vector<std::string>& arguments, const std::string& input);

}  // namespace accocal
