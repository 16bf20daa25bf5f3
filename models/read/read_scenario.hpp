// A whole scenario from its expanded tree.
#pragma once

#include <string>

#include "models/base/reader.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {

/// A whole scenario from its expanded tree; `path` gives it a name where it has none.
Scenario read_scenario(JsonValue& tree, const std::string& path, Diagnostics& diagnostics);

// The same in two steps, of a tree that may lack what the other step reads.
/// Model, cluster and training.
Scenario read_ground(JsonValue& tree, Diagnostics& diagnostics);
/// The schedules of the tree on such ground.
Scenario read_alone(const Scenario& on, JsonValue& tree, Diagnostics& diagnostics);

/// A schedule as accocal runs it, as a scenario has it: {"name": ...}, gradients reduced in one piece after the last
/// micro-batch, micro-batches counted first.
JsonValue own_schedule(const ScheduleTraits& traits);

}  // namespace accosim
