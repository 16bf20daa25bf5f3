// From the times of ranks to samples: pure functions.
#pragma once

#include <vector>

#include "calibration/measure/measure_rank.hpp"

namespace accocal {

struct Spread {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  int runs = 0;
};

/// Quantiles between neighbours by linear interpolation; zeros of nothing.
Spread spread_of(std::vector<double> values);

/// Seconds of each counted run. Back to back a run lasts from the end of the one before, on whichever rank that was
/// last, to its own last end; after a pause from the last rank's begin.
std::vector<double> run_times(const std::vector<CellTimes>& ranks, bool after_idle);

/// Seconds that a rank waited for a processor in each counted run, the rank that waited longest.
std::vector<double> waits(const std::vector<CellTimes>& ranks);

/// One list of all ranks' values.
std::vector<double> pooled(const std::vector<RankTimes>& ranks, std::vector<double> RankTimes::*values);

/// What computation and communication on one rank take from each other: times beside each other over times alone, of
/// medians over all ranks.
struct Theft {
  double compute_slowdown = 1;
  double collective_slowdown = 1;
  Spread compute_alone;
  Spread collective_alone;
  Spread collective_beside;
};
Theft theft_of(const std::vector<RankTimes>& ranks);

}  // namespace accocal
