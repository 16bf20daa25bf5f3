// A knob as settings that anybody can repeat with --set: for schedules that stay in their scenario.
#pragma once

#include <cstddef>
#include <vector>

#include "models/read/load.hpp"
#include "sim/knobs/knob.hpp"
#include "sim/knobs/knob_table.hpp"

namespace accosim {

/// A knob of the table in settings alone. One of the schedules is of those of `indices`: each that has the alternative
/// takes it, and the others stay as they are. One alternative: there is nothing to choose.
Knob knob_in_settings(const LoadedScenario& loaded, const KnobRow& row, const std::vector<std::size_t>& indices);

}  // namespace accosim
