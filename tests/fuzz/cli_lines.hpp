// Command lines of every verb, right ones and nearly right ones, with the files that they name.
#pragma once

#include <string>
#include <vector>

#include "tests/support/random.hpp"

namespace accosim {

struct CommandLine {
  std::string program;             ///< accosim or accocal
  std::string verb;                ///< the line's template: what a summary counts by
  std::vector<std::string> words;  ///< without the program
};

/// Chooses a line and writes the files that it reads into `folder`, which is empty and is where the line is to run.
CommandLine command_line(const std::string& folder, Random& random);

/// Files that the line names to be written, as they are written in it.
std::vector<std::string> outputs_of(const CommandLine& line);

}  // namespace accosim
