// What each kind of rank holds under each schedule, ready to be drawn against its capacity.
#pragma once

#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "sim/evaluation/resident.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

struct MemoryBar : KindMemory {
  std::string label;  ///< of the schedule
  Bytes low, high;    ///< 80 % interval of what is resident
};

/// A bar for each kind of rank of each schedule.
std::vector<MemoryBar> memory_bars(const std::vector<RunResult>& results);

}  // namespace accosim
