// A schedule as accocal runs it, in the form that a scenario has: for scenarios that are made from measurements.
#pragma once

#include "models/base/json.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {

/// {"name": ...}: gradients reduced in one piece after the last micro-batch, micro-batches counted first.
JsonValue own_schedule(const ScheduleTraits& traits);

}  // namespace accosim
