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
    worth.pays += side_of(*figures->over_alone) == Side::kFaster ? 1 : 0;
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
  return static_cast<std::size_t>(std::ranges::count_if(rows.rows, [](const Row& row) {
    return row.done() && !row.alone && standing_at(row, {Score::kTokens, {}}).best();
  }));
}

std::vector<WorthCourse> worth_courses(const SweepRows& rows, std::optional<std::size_t> schedule,
                                       const WinnerRule& rule) {
  std::vector<WorthCourse> list;
  for (Course& course : courses_of(rows, [&](const Row& row) {
         const Metrics* const figures = figures_at(row, schedule, rule);
         return figures == nullptr ? std::nullopt : figures->over_alone;
       })) {
    const auto each_once = [&](const std::string Alone::*name) {
      std::vector<std::string> names;
      for (const Row* const row : course.rows) names.push_back((*row->alone).*name);
      std::ranges::sort(names);
      names.erase(std::unique(names.begin(), names.end()), names.end());
      return names;
    };
    std::vector<std::string> parts = each_once(&Alone::part), others = each_once(&Alone::others);
    list.push_back({std::move(course), std::move(parts), std::move(others)});
  }
  return list;
}

}  // namespace accosim
