// Megatron-LM's arguments that are no part of a scenario: those without effect on the time of a step, those that change
// it in a way that is not modelled, and those that make another model or another training of it.
#pragma once

#include "models/launch/flags.hpp"

namespace accosim {

const FlagLists& megatron_flags();

}  // namespace accosim
