// The options of the verbs that name a winner: what it is held to.
#pragma once

#include <vector>

#include "sim/app/verb.hpp"
#include "sim/what_if/winner.hpp"

namespace accosim {

/// --batch-growth and --fit-probability.
std::vector<Option> winner_options();
WinnerRule winner_rule_of(const Arguments& arguments);

}  // namespace accosim
