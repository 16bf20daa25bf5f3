// Medians and percentiles over runs, the slowest rank of each run counting.
#include "calibration/measure/measure_samples.hpp"

#include <algorithm>

#include "models/base/statistics.hpp"

namespace accocal {
namespace {

double last(const std::vector<CellTimes>& ranks, std::vector<double> CellTimes::*times, std::size_t run) {
  double latest = (ranks[0].*times)[run];
  for (const CellTimes& rank : ranks) latest = std::max(latest, (rank.*times)[run]);
  return latest;
}

}  // namespace

Spread spread_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  return {percentile(values, 0.5), percentile(values, 0.1), percentile(values, 0.9), static_cast<int>(values.size())};
}

void put_spread(JsonValue& object, const Spread& spread) {
  object.set("median_s", spread.median);
  object.set("p10_s", spread.p10);
  object.set("p90_s", spread.p90);
  object.set("runs", spread.runs);
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

Theft theft_of(const std::vector<RankTimes>& ranks) {
  const auto spread = [&](std::vector<double> TheftTimes::*values) {
    return spread_of(pooled(ranks, [&](const RankTimes& rank) { return rank.theft.*values; }));
  };
  Theft theft{.compute_alone = spread(&TheftTimes::compute_alone),
              .collective_alone = spread(&TheftTimes::collective_alone),
              .collective_beside = spread(&TheftTimes::collective_beside)};
  theft.compute_slowdown = spread(&TheftTimes::compute_beside).median / theft.compute_alone.median;
  theft.collective_slowdown = theft.collective_beside.median / theft.collective_alone.median;
  return theft;
}

}  // namespace accocal
