// What a schedule does to the statistics of training, of which its time says nothing.
#pragma once

#include <cstddef>

#include "models/price/price.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {

/// That an update is of, where parameters are not the same on all GPUs all the time.
std::size_t replicas_of(const ScheduleSpec& spec, const Costs& costs);

/// By the schedule's row; a single replica does not drift.
Statistics statistics_of(const ScheduleSpec& spec, const Costs& costs);

}  // namespace accosim
