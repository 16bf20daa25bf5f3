// All of accosim's verbs, each from a file of its own name.
#pragma once

#include <vector>

#include "sim/app/verb.hpp"

namespace accosim {

Verb compare_verb();
Verb run_verb();
Verb explain_verb();
Verb plot_verb();
Verb report_verb();
Verb diff_verb();
Verb advise_verb();
Verb sweep_verb();
Verb merge_verb();
Verb resolve_verb();
Verb inspect_verb();
Verb list_verb();
Verb fit_verb();
Verb import_verb();
Verb import_launch_verb();  ///< import launch
Verb validate_verb();
Verb completion_verb();
Verb man_verb();

/// In the order in which the help shows them.
std::vector<Verb> all_verbs();

}  // namespace accosim
