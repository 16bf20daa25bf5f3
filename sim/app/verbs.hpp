// All of accosim's verbs, each from a file of its own name.
#pragma once

#include <vector>

#include "sim/app/verb.hpp"

namespace accosim {

Verb compare_verb();
Verb run_verb();
Verb explain_verb();
Verb resolve_verb();
Verb list_verb();
Verb fit_verb();
Verb import_verb();
Verb validate_verb();

/// In the order in which the help shows them.
std::vector<Verb> all_verbs();

}  // namespace accosim
