// The same comparison under several seeds: how far what was drawn decides its figures.
#pragma once

#include <vector>

#include "models/spec/scenario.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// Results of the same schedules under several seeds, the scenario's own first: the first, each with its bands over
/// all. Speedups are over the baseline under the same seed.
std::vector<RunResult> with_bands(const std::vector<std::vector<RunResult>>& by_seed);

/// The scenario under the seed `number` places after its own.
Scenario with_seed(const Scenario& scenario, int number);

}  // namespace accosim
