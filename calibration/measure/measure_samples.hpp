// Pure functions that turn the times of ranks into samples.
#pragma once

#include <functional>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/measure/measure_rank.hpp"
#include "models/base/json.hpp"

namespace accocal {

struct Spread {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  int runs = 0;
};

/// Quantiles between neighbours by linear interpolation; zeros of nothing.
Spread spread_of(const std::vector<double>& values);
/// Adds "median_s", "p10_s", "p90_s" and "runs" to an object.
void put_spread(JsonValue& object, const Spread& spread);

/// Seconds of each counted run. Back to back, a run lasts from the moment when the last rank ended the run before to
/// the moment when the last rank ends this one; after a pause, from the last rank's begin.
std::vector<double> run_times(const std::vector<CellTimes>& ranks, bool after_idle);

/// Seconds that a rank waited for a processor in each counted run, the rank that waited longest.
std::vector<double> waits(const std::vector<CellTimes>& ranks);

/// One list of all ranks' values; `values` is where a rank has its own, such as &RankTimes::micro_batch.
template <typename Values>
std::vector<double> pooled(const std::vector<RankTimes>& ranks, const Values& values) {
  std::vector<double> all;
  for (const RankTimes& rank : ranks) {
    const std::vector<double> own = std::invoke(values, rank);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

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
