// Whether the whole of an unlike cluster is faster than its fastest part alone.
#include <algorithm>
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

}  // namespace

Worth worth_of(const SweepRows& rows, std::optional<std::size_t> schedule, const WinnerRule& rule) {
  Worth worth;
  worth.over_alone = ratios_of(rows, [&](const Row& row) {
    const Metrics* const figures = figures_at(row, schedule, rule);
    return figures == nullptr ? std::nullopt : figures->over_alone;
  });
  std::vector<double> over_best;
  for (const Row& row : rows.rows) {
    const Metrics* const figures = figures_at(row, schedule, rule);
    if (figures == nullptr) continue;
    const std::optional<Interval>& interval = figures->over_alone_interval;
    worth.open += interval && interval->low < 1 && interval->high > 1 ? 1 : 0;
    if (figures->over_best_synchronous) over_best.push_back(*figures->over_best_synchronous);
  }
  if (!over_best.empty()) worth.over_best_synchronous = percentile(std::move(over_best), 0.5);
  return worth;
}

std::size_t only_together(const SweepRows& rows) {
  if (!rows.heading.fair) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(rows.rows, [](const Row& row) {
    return row.done() && !row.alone && standing_at(row, {Score::kTokens, {}}).best();
  }));
}

}  // namespace accosim
