#include "sim/sweep/worth.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "models/base/statistics.hpp"

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
  std::map<std::pair<std::size_t, bool>, WorthChange> found;
  for_each_step(rows, [&](const Step& step) {
    const Metrics *const first = figures_at(*step.first, schedule, rule), *const second =
                                                                              figures_at(*step.second, schedule, rule);
    if (first == nullptr || second == nullptr) return;
    const double before = std::log(*first->over_alone), after = std::log(*second->over_alone);
    if ((before > 0) == (after > 0)) return;
    const double at = crossing(step.from, step.to, before, after);
    const Alone& alone = *(before > 0 ? step.second : step.first)->alone;
    const auto [entry, anew] = found.try_emplace(
        {step.axis, after > 0}, WorthChange{step.axis, after > 0, at, at, 0, alone.part, alone.others});
    WorthChange& change = entry->second;
    change.low = std::min(change.low, at);
    change.high = std::max(change.high, at);
    ++change.lines;
    if (change.part != alone.part) change.part.clear();
    // Where the axis is their number they have none.
    if (change.others != alone.others || step.first->alone->others != step.second->alone->others) change.others.clear();
  });
  std::vector<WorthChange> list;
  for (const auto& [key, change] : found) list.push_back(change);
  std::stable_sort(list.begin(), list.end(), [](const WorthChange& a, const WorthChange& b) {
    return std::pair(a.axis, b.lines) < std::pair(b.axis, a.lines);
  });
  return list;
}

}  // namespace accosim
