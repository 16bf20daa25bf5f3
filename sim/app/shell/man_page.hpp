// The man page, from the declarations that the help comes from.
#pragma once

#include <iosfwd>
#include <vector>

#include "sim/app/verb.hpp"

namespace accosim {

/// accosim.1 in the man macros of troff, section 1. The same bytes for the same verbs and version.
void write_man_page(std::ostream& out, const std::vector<Verb>& verbs);

}  // namespace accosim
