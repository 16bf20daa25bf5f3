// The answer of a sweep over one number: from where to where each schedule is the best, and what binds there.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "reports/sweep/sweep_words.hpp"

namespace accosim {
namespace {

constexpr std::size_t kMostRuns = 6;

/// Neighbouring points of which the same is said.
struct Run {
  std::string said;
  const Row *first, *last;
};

std::vector<Run> runs_of(const std::vector<const Row*>& points, const std::function<std::string(const Row&)>& said) {
  std::vector<Run> runs;
  for (const Row* const point : points) {
    std::string here = said(*point);
    if (runs.empty() || runs.back().said != here)
      runs.push_back({std::move(here), point, point});
    else
      runs.back().last = point;
  }
  return runs;
}

/// "zero3, micro-batch 8 (best synchronous)": of a tuned row what it is there.
std::string best_in_words(const SweepRows& rows, const Row& row, const Merit& merit) {
  if (!row.done()) return "what failed";
  const MapCell cell = map_cell(row, merit);
  if (!cell.schedule) return "nothing that fits";
  const std::vector<std::string>& labels = rows.heading.schedules;
  std::string form;
  if (rows.heading.tuned && *cell.schedule + 1 == labels.size()) form = row.best_synchronous;
  if (rows.heading.tuned && *cell.schedule + 2 == labels.size()) form = row.best_delayed;
  const std::string& label = labels[*cell.schedule];
  return (form.empty() || form == label ? label : fmt::format("{} ({})", form, label)) +
         (std::string(cell.mark) == "*" ? ", with a caveat,"
          : cell.close                  ? ", which the interval leaves open,"
                                        : "");
}

}  // namespace

std::vector<std::string> along_in_words(const SweepRows& rows, const Merit& merit) {
  const std::vector<std::size_t> telling = telling_axes(rows);
  if (telling.size() != 1 || rows.rows.size() < 2) return {};
  const std::size_t at = telling.front();
  const AxisWords axis = std::move(axes_in_words(rows.heading)[at]);
  if (!axis.numbers) return {};
  const auto number = [&](const Row* row) { return axis.numbers->values[row->point[at]]; };
  std::vector<const Row*> points = mapped<const Row*>(rows.rows, [](const Row& row) { return &row; });
  std::ranges::stable_sort(points, {}, number);
  const auto where = [&](const Run& run) {
    return run.first == run.last
               ? "at " + axis.number(number(run.first))
               : fmt::format("from {} to {}", axis.digits(number(run.first)), axis.number(number(run.last)));
  };
  std::vector<std::string> words;
  const std::vector<Run> best = runs_of(points, [&](const Row& row) { return best_in_words(rows, row, merit); });
  std::string text = best.size() == 1
                         ? fmt::format("The best is the same at all {} values of {}: ", points.size(), axis.name)
                         : fmt::format("The best changes along {}: ", axis.name);
  for (std::size_t i = 0; i < std::min(best.size(), kMostRuns); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : "; ", best[i].said, where(best[i]));
  words.push_back(text + (best.size() > kMostRuns ? fmt::format("; {} more.", best.size() - kMostRuns) : "."));
  std::erase_if(points, [](const Row* row) { return !row->binds; });
  const std::vector<Run> bound =
      runs_of(points, [&](const Row& row) { return binding_in_words(*row.binds, axis.pointer()); });
  if (bound.empty()) return words;
  // What is said last holds beyond, and comes first.
  text = bound.size() == 1 ? fmt::format("At all of them {}", bound.back().said)
                           : fmt::format("From {} on {}", axis.number(number(bound.back().first)), bound.back().said);
  for (std::size_t i = 1; i < std::min(bound.size(), kMostRuns); ++i) {
    const Run& run = bound[bound.size() - 1 - i];
    text += fmt::format("{}{} {}", i == 1 ? "; before that, " : "; ", run.said, where(run));
  }
  words.push_back(text + ".");
  return words;
}

}  // namespace accosim
