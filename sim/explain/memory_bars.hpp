// What each kind of rank holds under each schedule, ready to be drawn against its capacity.
#pragma once

#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

struct MemoryBar {
  std::string label;        ///< of the schedule
  std::string device;       ///< of this kind of rank
  std::vector<int> stages;  ///< of a pipeline, which are alike
  int ranks = 0;
  MemoryParts parts;  ///< they add up to what is resident
  Bytes low, high;    ///< its 80 % interval
  Bytes capacity;
  Fit fit;
};

/// A bar for each kind of rank of each schedule.
std::vector<MemoryBar> memory_bars(const std::vector<RunResult>& results);

}  // namespace accosim
