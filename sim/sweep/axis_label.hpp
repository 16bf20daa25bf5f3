// What an axis is called in words and pictures, where the user gives it no label.
#pragma once

#include <string>
#include <vector>

#include "models/base/json.hpp"
#include "sim/sweep/space.hpp"

namespace accosim {

/// Gives each axis without a label one that its pointer and the scenario tell: "V100 nodes" for /cluster/nodes/1/count,
/// "adapter of A100 nodes" for /cluster/nodes/0/nics/bandwidth. `scenario` is a resolved one. Axes that would be called
/// the same keep none.
void add_labels(std::vector<Axis>& axes, const JsonValue& scenario);

/// What each is called: its label, else the last keys of the pointer that tell the axes apart, "nics/bandwidth".
std::vector<std::string> axis_names(const std::vector<Axis>& axes);

}  // namespace accosim
