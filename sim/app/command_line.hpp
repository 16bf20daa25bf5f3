// From the words of a command line to the verb that they name, run.
#pragma once

#include "sim/app/verb.hpp"

namespace accosim {

/// `words` without the program's name. Help, versions and what is wrong with the line are printed here; what goes wrong
/// in the verb is thrown.
ExitCode run_command_line(Texts words, const std::vector<Verb>& verbs);

}  // namespace accosim
