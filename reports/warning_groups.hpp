// Warnings of several schedules, each said once: for whom it holds, and where they differ in figures alone with the
// range of these.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/result/metrics.hpp"

namespace accosim {

struct WarningGroup {
  std::vector<std::size_t> results;  ///< that have all of these
  std::vector<Warning> warnings;     ///< "52 to 54 % of the compute time ..."
};
/// What holds for most first, and else in their order.
std::vector<WarningGroup> warning_groups(const std::vector<RunResult>& results);

}  // namespace accosim
