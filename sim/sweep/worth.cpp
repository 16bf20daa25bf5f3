// Whether the whole of an unlike cluster is faster than its fastest part alone.
#include <algorithm>
#include <limits>
#include <utility>

#include "models/base/statistics.hpp"
#include "sim/sweep/summary.hpp"

namespace accosim {
namespace {

bool is_unlike(const Row& row) { return row.alone && !row.alone->part.empty(); }

/// Of a schedule, or of the winner or the nearest to it, where it fits on an unlike cluster.
const Metrics* figures_at(const Row& row, std::optional<std::size_t> schedule, const WinnerRule& rule) {
  if (!row.done() || !is_unlike(row)) return nullptr;
  if (!schedule) schedule = standing_at(row, {Score::kTokens, rule}).best();
  if (!schedule || !row.schedules[*schedule].fits() || !row.schedules[*schedule].over_alone) return nullptr;
  return &row.schedules[*schedule];
}

double median_of(const std::vector<double>& values) {
  return values.empty() ? std::numeric_limits<double>::quiet_NaN() : percentile(values, 0.5);
}

}  // namespace

Worth worth_of(const SweepRows& rows, std::optional<std::size_t> schedule, const WinnerRule& rule) {
  Worth worth;
  std::vector<double> over_alone, over_best;
  for (const Row& row : rows.rows) {
    const Metrics* const figures = figures_at(row, schedule, rule);
    if (figures == nullptr) continue;
    ++worth.points;
    worth.pays += *figures->over_alone > 1 ? 1 : 0;
    const std::optional<Interval>& interval = figures->over_alone_interval;
    worth.open += interval && interval->low < 1 && interval->high > 1 ? 1 : 0;
    over_alone.push_back(*figures->over_alone);
    if (figures->over_best_synchronous) over_best.push_back(*figures->over_best_synchronous);
  }
  worth.over_alone = median_of(over_alone);
  worth.over_best_synchronous = median_of(over_best);
  return worth;
}

std::size_t only_together(const SweepRows& rows) {
  if (!rows.heading.fair) return 0;
  return static_cast<std::size_t>(std::count_if(rows.rows.begin(), rows.rows.end(), [](const Row& row) {
    return row.done() && !row.alone && standing_at(row, {Score::kTokens, {}}).best();
  }));
}

std::vector<WorthChange> worth_changes(const SweepRows& rows, std::optional<std::size_t> schedule,
                                       const WinnerRule& rule) {
  std::vector<WorthChange> list;
  for (RatioChange& change : ratio_changes(rows, [&](const Row& row) {
         const Metrics* const figures = figures_at(row, schedule, rule);
         return figures == nullptr ? std::nullopt : figures->over_alone;
       })) {
    const auto alone = [&](const Step& step) -> const Alone& {
      return *(change.from ? step.first : step.second)->alone;
    };
    std::string part = alone(change.steps.front()).part, others = alone(change.steps.front()).others;
    for (const Step& step : change.steps) {
      if (alone(step).part != part) part.clear();
      // Where the axis is their number they have none.
      if (alone(step).others != others || step.first->alone->others != step.second->alone->others) others.clear();
    }
    list.push_back({std::move(change), std::move(part), std::move(others)});
  }
  std::stable_sort(list.begin(), list.end(), [](const WorthChange& a, const WorthChange& b) {
    return std::pair(a.where.axis, b.where.steps.size()) < std::pair(b.where.axis, a.where.steps.size());
  });
  return list;
}

}  // namespace accosim
