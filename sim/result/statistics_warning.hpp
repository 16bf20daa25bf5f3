// What a schedule does to the statistics of training, of which its time says nothing.
#pragma once

#include <optional>

#include "models/price/costs.hpp"
#include "models/spec/spec.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// stale_gradients or replicas_drift, by the schedule's row; nothing where updates are those of synchronous training.
std::optional<Warning> statistics_warning(const ScheduleSpec& spec, const Costs& costs);

}  // namespace accosim
