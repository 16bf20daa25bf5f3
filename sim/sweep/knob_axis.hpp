// A knob of the table as an axis: its alternatives in words, each with its settings.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/read/load.hpp"
#include "sim/sweep/space.hpp"

namespace accosim {

/// For the schedules of these indices. Throws BadInput where there is no such knob, or nothing to choose.
Axis knob_axis(const LoadedScenario& loaded, const std::vector<std::size_t>& indices, const std::string& name);

/// Throws BadInput where two axes set the same, or one sets what holds what the other sets: a knob's settings are made
/// for the scenario as it is, and a part that is replaced by a later axis forgets what an earlier one set in it.
void check_apart(const std::vector<Axis>& axes);

}  // namespace accosim
