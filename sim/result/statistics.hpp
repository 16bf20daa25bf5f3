// What a schedule does to the statistics of training, of which its time says nothing.
#pragma once

#include "models/price/price.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {

/// Copies of the parameters that may differ where replicas make updates by themselves.
int replicas_of(const Costs& costs);

/// By the schedule's row; a single replica does not drift.
Statistics statistics_of(const ScheduleSpec& spec, const Costs& costs);

}  // namespace accosim
