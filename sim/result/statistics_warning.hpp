// What a schedule does to the statistics of training, of which its time says nothing.
#pragma once

#include <optional>

#include "models/price/price.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// By the schedule's row; a single replica does not drift.
Statistics statistics_of(const ScheduleSpec& spec, const Costs& costs);

/// stale_gradients or replicas_drift; nothing where updates are those of synchronous training.
std::optional<Warning> statistics_warning(const ScheduleSpec& spec, const Costs& costs);

}  // namespace accosim
