// Finds where the time of one update goes.
#pragma once

#include "models/price/costs.hpp"
#include "sim/result/explain.hpp"
#include "sim/result/run.hpp"

namespace accosim {

/// The chain of ops that made the last steady update as long as it is: from its end back to its begin, at every op to
/// what it started after, be that on its own lane, on one it waited for, or on the rank that came last to a collective.
CriticalPath critical_path(const SteadyPlay& play);

/// The operators of a kind of rank, equal ones of equal layers in one row.
OperatorTable operator_table(const RankKind& kind);

Explanation explain(const ScheduleSpec& spec, const SteadyPlay& play);

}  // namespace accosim
