// The summary of a sweep.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "reports/human.hpp"
#include "reports/metric_text.hpp"
#include "reports/sweep/sweep_report.hpp"
#include "reports/sweep/sweep_words.hpp"
#include "sim/result/metric_table.hpp"
#include "sim/sweep/summary.hpp"

namespace accosim {
namespace {

constexpr std::size_t kMostRows = 20;   ///< of a table or map
constexpr std::size_t kMostLines = 12;  ///< of crossovers
constexpr std::size_t kMostFailures = 5;
constexpr std::size_t kMostRanked = 8;

/// Which of `count` values a table shows: all, or so many evenly spread with both ends.
std::vector<std::size_t> shown_of(std::size_t count, std::size_t most) {
  std::vector<std::size_t> shown;
  const std::size_t rows = std::min(count, most);
  for (std::size_t i = 0; i < rows; ++i) shown.push_back(rows == 1 ? 0 : i * (count - 1) / (rows - 1));
  return shown;
}

void write_wins(std::ostream& out, const SweepRows& rows, std::size_t axis, const Merit& merit,
                const ConsoleOptions& options) {
  const std::vector<Wins> wins = wins_along(rows, axis, merit);
  const bool alone = telling_axes(rows).size() == 1;
  const AxisWords words = std::move(axes_in_words(rows.heading)[axis]);
  const std::vector<std::size_t> shown = shown_of(words.values.size(), kMostRows);
  TableOf<std::size_t> table(shown);
  table.add(words.title, "", [&](std::size_t at) { return words.values[at]; });
  for (std::size_t s = 0; s < rows.heading.schedules.size(); ++s)
    table.add(rows.heading.schedules[s], alone ? words_of(merit.by).figure : "fastest", [&](std::size_t at) {
      const Wins& here = wins[at];
      const bool most = here.points > 0 && std::ranges::max(here.share) == here.share[s];
      std::string text = "-";
      if (alone && !std::isnan(here.shown[s]))
        text = is_spent(merit.by) ? human_count(here.shown[s]) : human_factor(here.shown[s]);
      if (!alone && here.points > 0) text = fmt::format("{:.0f} %", 100 * here.share[s]);
      return Cell{text, most && text != "-" ? Style::kGood : Style::kPlain};
    });
  write_table_below(out, "", table.columns(), options);
  if (shown.size() < wins.size()) write_sentence(out, options, "{} of {} values are shown.", shown.size(), wins.size());
}

/// The points from the best on, with what they come to.
void write_ranking(std::ostream& out, const SweepRows& rows, const Merit& merit, const ConsoleOptions& options) {
  const std::vector<Ranked> ranking = ranking_of(rows, merit);
  if (ranking.size() < 2) return;
  const std::size_t count = std::min(ranking.size(), kMostRanked);
  std::vector<double> times;
  for (std::size_t i = 0; i < count; ++i) {
    const Metrics& figures = ranking[i].row->schedules[ranking[i].schedule];
    times.push_back(figures.total_time / figures.update_time *
                    std::max(figures.update_time, figures.update_time_high).value);
  }
  const ColumnText clock = column_text(Format::kClock, times);
  const std::vector<std::size_t> telling = telling_axes(rows);
  const std::size_t axis = telling.front();
  const bool priced = are_priced(rows), one = telling.size() == 1;
  const AxisWords words = std::move(axes_in_words(rows.heading)[axis]);
  std::vector<Column> columns{left(one ? words.title : fmt::format("the {} points", words_of(merit.by).best)),
                              left("schedule"),
                              right("all tokens", "h:mm:ss"),
                              right("80 %", "interval"),
                              right("tokens", "per s"),
                              right("GPU-", "hours")};
  if (priced) columns.push_back(right("cost"));
  if (merit.by == Score::kCost) columns.push_back(right("80 %", "interval"));
  Table table(columns);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [row, schedule, winner] = ranking[i];
    const Metrics& figures = row->schedules[schedule];
    const double updates = figures.total_time / figures.update_time;
    std::vector<std::string> cells{one ? words.values[row->point[axis]] : point_in_words(rows, *row),
                                   rows.heading.schedules[schedule] + (winner ? "" : " *"),
                                   clock.text_of(figures.total_time.value),
                                   human_range(clock.text_of(updates * figures.update_time_low.value),
                                               clock.text_of(updates * figures.update_time_high.value), " - "),
                                   human_count(figures.tokens_per_second),
                                   human_count(figures.gpu_hours)};
    if (priced) cells.push_back(figures.cost ? human_money(*figures.cost, figures.currency) : "-");
    if (merit.by == Score::kCost) {
      const Interval cost = *metric_named("cost").interval.of(figures);
      cells.push_back(fmt::format("{} - {}", human_count(cost.low), human_count(cost.high)));
    }
    table.add(Style::kPlain, cells);
  }
  write_table_below(out, "", table.columns(), options);
  if (count < ranking.size())
    write_sentence(out, options, "The first {} of {} points are shown; --csv has all.", count, ranking.size());
}

/// How often the whole cluster beats its fastest part alone, and by how much, under each schedule.
void write_worth(std::ostream& out, const SweepRows& rows, const WinnerRule& rule, const ConsoleOptions& options) {
  Table table({left("schedule"), right("faster than", "part alone"), right("interval", "open"),
               right("over part", "median"), right("over best", "synchr.")});
  for (std::size_t s = 0; s < rows.heading.schedules.size(); ++s) {
    const Worth worth = worth_of(rows, s, rule);
    const Ratios& over = worth.over_alone;
    if (over.points == 0) continue;
    const auto share = [&](std::size_t points) {
      return Cell{fmt::format("{:.0f} %", 100.0 * static_cast<double>(points) / static_cast<double>(over.points))};
    };
    table.add({{rows.heading.schedules[s]},
               share(over.faster),
               share(worth.open),
               {human_factor(over.median), over.median > 1 ? Style::kGood : Style::kPlain},
               {std::isnan(worth.over_best_synchronous) ? "-" : human_factor(worth.over_best_synchronous)}});
  }
  if (!table.empty()) write_table_below(out, "", table.columns(), options);
}

/// A letter for each schedule: the first of its own that no earlier one has.
std::vector<char> letters_of(const std::vector<std::string>& schedules) {
  std::vector<char> letters;
  for (const std::string& label : schedules) {
    char chosen = 0;
    for (const std::string& candidates : {label, std::string("abcdefghijklmnopqrstuvwxyz0123456789")})
      for (const char c : candidates) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (chosen == 0 && plain && std::ranges::find(letters, c) == letters.end()) chosen = c;
      }
    letters.push_back(chosen == 0 ? '?' : chosen);
  }
  return letters;
}

/// Two axes of a grid with the most values, in their order, the others at their first values.
void write_map(std::ostream& out, const SweepRows& rows, const Merit& merit, const ConsoleOptions& options) {
  const Heading& heading = rows.heading;
  if (!heading.grid || heading.axes.size() < 2) return;
  const std::vector<std::size_t> longest = longest_first(heading.axes);
  const auto [down, across] = std::minmax(longest[0], longest[1]);
  const auto is_other = [down = down, across = across](std::size_t axis) { return axis != down && axis != across; };
  const std::vector<AxisWords> axes = axes_in_words(heading);
  const AxisWords &downward = axes[down], &sideways = axes[across];
  const std::vector<char> letters = letters_of(heading.schedules);
  std::vector<std::vector<std::string>> cells(downward.values.size(),
                                              std::vector<std::string>(sideways.values.size(), " "));
  for (const Row& row : rows.rows) {
    bool here = true;
    for (std::size_t i = 0; i < row.point.size(); ++i) here = here && (!is_other(i) || row.point[i] == 0);
    if (!here) continue;
    const MapCell shown = map_cell(row, merit);
    cells[row.point[down]][row.point[across]] =
        (shown.schedule ? std::string(1, letters[*shown.schedule]) : std::string()) + shown.mark;
  }
  const std::vector<std::size_t> rows_shown = shown_of(cells.size(), kMostRows);
  TableOf<std::size_t> table(rows_shown);
  table.add(downward.title, "", [&](std::size_t r) { return downward.values[r]; });
  std::size_t wide = 2;
  for (const std::string& value : sideways.values) wide = std::max(wide, value.size());
  const std::size_t room =
      static_cast<std::size_t>(std::max(0, options.width - static_cast<int>(downward.title.size())));
  for (const std::size_t c : shown_of(cells[0].size(), std::max<std::size_t>(2, room / (wide + 2))))
    table.add(sideways.values[c], "", [&](std::size_t r) { return cells[r][c]; });
  std::string legend = fmt::format("{} (across: {}", words_of(merit.by).fastest, sideways.title);
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (is_other(i)) legend += fmt::format("; {} = {}", axes[i].name, heading.axes[i].values[0]);
  legend += "): ";
  for (std::size_t s = 0; s < letters.size(); ++s)
    legend += fmt::format("{}{} {}", s == 0 ? "" : ", ", letters[s], heading.schedules[s]);
  write_table_below(out, legend + "; * none without a caveat, x none fits, ! failed", table.columns(), options);
}

}  // namespace

void write_sweep_summary(std::ostream& out, const SweepRows& rows, const Merit& merit, const ConsoleOptions& options) {
  bool begun = false;
  const auto say = [&](std::vector<std::string> words) {
    std::erase(words, "");
    if (begun && !words.empty()) out << '\n';
    for (const std::string& sentence : words) write_sentence(out, options, sentence);
    begun = begun || !words.empty();
  };
  // Whoever asks for the least time or cost asks which point, and then which schedule.
  const std::string ranking = ranking_in_words(rows, merit);
  if (is_spent(merit.by)) say({ranking});
  say(along_in_words(rows, merit));
  say({winners_in_words(rows, merit)});
  say({counts_in_words(rows, merit)});
  say(unfit_points_in_words(rows));
  if (!is_spent(merit.by)) say({ranking});
  say(cautions_in_words(rows));
  write_ranking(out, rows, merit, options);
  for (const std::size_t axis : telling_axes(rows)) write_wins(out, rows, axis, merit, options);
  say({beside_in_words(rows)});
  say(crossovers_in_words(rows, merit, kMostLines));
  say(flat_in_words(rows, kMostLines));
  write_map(out, rows, merit, options);
  say(tuned_in_words(rows));
  say(worth_in_words(rows, merit.rule));
  if (rows.heading.fair) write_worth(out, rows, merit.rule, options);
  say(left_out_in_words(rows, kMostFailures));
  say(failures_in_words(rows, kMostFailures));
}

}  // namespace accosim
