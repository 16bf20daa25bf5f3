// Finds where the time of one update goes.
#pragma once

#include <vector>

#include "models/price/price.hpp"
#include "models/spec/schedule.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/result/explain.hpp"

namespace accosim {

/// The chain of ops that made the last steady update as long as it is: from its end back to its begin, at every op to
/// what it started after, be that on its own lane, on one it waited for, or on the rank that came last to a collective.
CriticalPath critical_path(const SteadyPlay& play);

/// What the chain goes through on one lane of a rank of the folded graph.
struct PathStretch {
  int rank = 0, lane = 0;
  Seconds begin, end;
};

/// The same chain for a drawing, in order: what led to the end of update `last` (from 0), back to `from`. Between two
/// stretches nothing led on.
std::vector<PathStretch> critical_stretches(const SteadyPlay& play, int last, Seconds from);

/// The operators of a kind of rank, equal ones of equal layers in one row.
OperatorTable operator_table(const RankKind& kind);

Explanation explain(const ScheduleSpec& spec, const SteadyPlay& play);

}  // namespace accosim
