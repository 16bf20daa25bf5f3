// Ranks of unequal speed make each other wait where they meet. Which rank waits cannot be told from the GPUs alone: a
// slow one with a small micro-batch waits for a fast one with a large one. So it is read off the simulation, and advice
// is simulated before it is given.
#pragma once

#include <cstddef>
#include <optional>

#include "sim/evaluation/steady.hpp"
#include "sim/result/metrics.hpp"
#include "sim/what_if/what_if.hpp"

namespace accosim {

/// The warning "ranks_wait", where some ranks are idle for much of an update and others for clearly less. Its advice
/// holds a --set where another micro-batch of a node group raises tokens per second and fits.
std::optional<Warning> ranks_wait(const WhatIf& what_if, std::size_t schedule, const SteadyPlay& play);

}  // namespace accosim
