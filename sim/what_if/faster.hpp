// What a schedule whose communication is exposed could change to hide more of it or to need less: tried, and ranked.
#pragma once

#include <cstddef>
#include <string>

#include "sim/what_if/what_if.hpp"

namespace accosim {

/// "shard_group node (0.48 x the time); ...": of its own keys, the usual sharded schedule, other micro-batches and more
/// accumulation the fastest few that fit, by their time per sample without contention; empty: none is clearly faster.
std::string ways_to_hide(const WhatIf& what_if, std::size_t schedule);

}  // namespace accosim
