// Completion of the command line in a shell, from the declarations that the help comes from.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "sim/app/verb.hpp"

namespace accosim {

/// A script for the shell "bash", "zsh" or "fish". The names of what comes with accosim are those of now.
void write_completion(std::ostream& out, const std::string& shell, const std::vector<Verb>& verbs);

}  // namespace accosim
