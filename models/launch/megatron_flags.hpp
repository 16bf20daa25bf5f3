// Megatron-LM's arguments that are no part of a scenario: those without effect on the time of a step, those that change
// it in a way that is not modelled, and those that make another model or another training of it.
#pragma once

#include <string_view>
#include <vector>

#include "models/launch/draft.hpp"
#include "models/launch/flags.hpp"

namespace accosim {

/// Every name that is listed here or in `taken`.
std::vector<std::string_view> megatron_names(const std::vector<std::string_view>& taken);

/// Of the flags that nobody has read: each is passed over, told or refused.
void sort_unread(const Flags& flags, Draft& draft);

}  // namespace accosim
