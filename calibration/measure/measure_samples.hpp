// Pure functions that turn the times of ranks into samples.
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

/// Seconds of each counted run. Back to back, a run lasts from the moment when the last rank ended the run before to
/// the moment when the last rank ends this one; after a pause, from the last rank's begin.
std::vector<double> run_times(const std::vector<CellTimes>& ranks, bool after_idle);

/// Seconds that a rank waited for a processor in each counted run, the rank that waited longest.
std::vector<double> waits(const std::vector<CellTimes>& ranks);

/// One list of all ranks' values.
std::vector<double> pooled(const std::vector<RankTimes>& ranks, std::vector<double> RankTimes::*values);

/// How much computation and communication on one rank slow each other down: time of both together over time alone, by
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
