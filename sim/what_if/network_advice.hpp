// What makes an update that communicates slower than it need be: where NCCL's own choice is not the fastest, what a
// schedule could change to hide more or to need less, and what else of the network helps. Everything that is advised
// was tried.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "sim/evaluation/steady.hpp"
#include "sim/result/metrics.hpp"
#include "sim/what_if/what_if.hpp"

namespace accosim {

/// That NCCL's choice for a collective between nodes is slow, with the faster one and both times. Nothing where no
/// setting that forces another gains 1 % of the update.
std::optional<Warning> slow_choice(const WhatIf& what_if, std::size_t schedule, const SteadyPlay& play);

/// "shard_group node (0.48 x the time); ...": of its own keys, the usual sharded schedule, other micro-batches and more
/// accumulation the fastest few that fit, by their time per sample without contention; empty: none is clearly faster.
std::string ways_to_hide(const WhatIf& what_if, std::size_t schedule);

/// "GPUDirect (infiniband) (0.43 x the time) or twice the NICs (0.71 x the time)": of GPUDirect where hosts copy, more
/// NICs and faster ones those that gain 3 %; empty: none does. Nothing where none can be tried.
std::optional<std::string> network_that_helps(const WhatIf& what_if, std::size_t schedule);

/// That NCCL's search finds fewer channels than a node has NICs, so that some carry nothing.
std::optional<Warning> idle_nics(const Cluster& cluster);

}  // namespace accosim
