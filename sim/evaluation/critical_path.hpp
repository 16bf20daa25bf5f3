// Finds where the time of one update goes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/base/units.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/graph/graph.hpp"

namespace accosim {

/// Equal neighbouring ops of the critical path, merged.
struct PathStep {
  std::string name;
  OpClass cls = OpClass::kForward;
  int rank = 0;
  Seconds duration;  ///< of all `count`
  std::int64_t count = 1;
  Ranks ranks{};  ///< of a collective: which ranks make it
};

struct CriticalPath {
  Seconds update_time;
  std::vector<PathStep> steps;                          ///< in order, over one steady update
  std::vector<std::pair<std::string, Seconds>> causes;  ///< the same time summed by what it is, longest first
};

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

}  // namespace accosim
