// The ladder that `explain` prints and `plot` draws: its option, and the two schedules that it names.
#pragma once

#include "models/spec/scenario.hpp"
#include "sim/app/verb.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/what_if/ladder.hpp"

namespace accosim {

/// --ladder FROM TO.
Option ladder_option();

/// Between the two schedules of --ladder. Throws ScenarioError where they are not two of the scenario's.
Ladder ladder_asked_for(Scenario scenario, const Evaluations& evaluations, const Arguments& arguments);

}  // namespace accosim
