// Medians and percentiles over runs, the slowest rank of each run counting.
#include "calibration/measure/measure_samples.hpp"

#include <algorithm>

#include "calibration/base/statistics.hpp"

namespace accocal {
namespace {

double last(const std::vector<CellTimes>& ranks, std::vector<double> CellTimes::*times, std::size_t run) {
  double latest = (ranks[0].*times)[run];
  for (const CellTimes& rank : ranks) latest = std::max(latest, (rank.*times)[run]);
  return latest;
}

Spread pooled_theft(const std::vector<RankTimes>& ranks, std::vector<double> TheftTimes::*values) {
  std::vector<double> all;
  for (const RankTimes& rank : ranks) {
    const std::vector<double>& more = rank.theft.*values;
    all.insert(all.end(), more.begin(), more.end());
  }
  return spread_of(all);
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.5), quantile(values, 0.1), quantile(values, 0.9), static_cast<int>(values.size())};
}

std::vector<double> run_times(const std::vector<CellTimes>& ranks, bool after_idle) {
  std::vector<double> times;
  for (std::size_t run = 1; run < ranks[0].end.size(); ++run)
    times.push_back(last(ranks, &CellTimes::end, run) -
                    (after_idle ? last(ranks, &CellTimes::begin, run) : last(ranks, &CellTimes::end, run - 1)));
  return times;
}

std::vector<double> waits(const std::vector<CellTimes>& ranks) {
  std::vector<double> longest(ranks[0].waited.size() - 1);
  for (const CellTimes& rank : ranks)
    for (std::size_t run = 0; run < longest.size(); ++run)
      longest[run] = std::max(longest[run], rank.waited[run + 1] - rank.waited[run]);
  return longest;
}

std::vector<double> pooled(const std::vector<RankTimes>& ranks, std::vector<double> RankTimes::*values) {
  std::vector<double> all;
  for (const RankTimes& rank : ranks) all.insert(all.end(), (rank.*values).begin(), (rank.*values).end());
  return all;
}

Theft theft_of(const std::vector<RankTimes>& ranks) {
  Theft theft;
  theft.compute_alone = pooled_theft(ranks, &TheftTimes::compute_alone);
  theft.collective_alone = pooled_theft(ranks, &TheftTimes::collective_alone);
  theft.collective_beside = pooled_theft(ranks, &TheftTimes::collective_beside);
  theft.compute_slowdown = pooled_theft(ranks, &TheftTimes::compute_beside).median / theft.compute_alone.median;
  theft.collective_slowdown = theft.collective_beside.median / theft.collective_alone.median;
  return theft;
}

}  // namespace accocal
