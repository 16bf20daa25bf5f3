// What the pauses of a play cost, as results list them.
#pragma once

#include <vector>

#include "sim/evaluation/steady.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

std::vector<PauseResult> pause_results(const SteadyPlay& play);

}  // namespace accosim
