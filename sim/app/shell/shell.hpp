// What a shell and man know of accosim's verbs, from the declarations that the help comes from.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "sim/app/verb.hpp"

namespace accosim {

/// A completion script for the shell "bash", "zsh" or "fish". The names of what comes with accosim are those of now.
void write_completion(std::ostream& out, const std::string& shell, const std::vector<Verb>& verbs);

/// accosim.1 in the man macros of troff, section 1. The same bytes for the same verbs and version.
void write_man_page(std::ostream& out, const std::vector<Verb>& verbs);

}  // namespace accosim
