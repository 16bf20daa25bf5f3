// Children of this process that have one thing to do and to say: a part of ours, or a program of the system such as
// `ip`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace accocal {

/// How a child ended, as waitpid() has it, and what it wrote.
struct ChildEnd {
  int status = 0;
  std::string said;
};

/// Forks and waits. The child writes to the descriptor that `body` gets, and ends with the exit code that it returns.
/// Nothing, and errno, where there could be no child.
std::optional<ChildEnd> run_child(const std::function<int(int output)>& body);

/// Runs it with `input` as its standard input and waits. Empty, or what went wrong in one line. Programs are looked for
/// in the PATH and where system administration keeps them, which is not in every user's PATH.
std::string run_tool(const std::vector<std::string>& arguments, const std::string& input);

}  // namespace accocal
