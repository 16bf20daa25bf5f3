// The page of a sweep.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "build_info/project.hpp"
#include "models/base/errors.hpp"
#include "models/base/text.hpp"
#include "models/draw/looks.hpp"
#include "reports/page.hpp"
#include "reports/sweep/sweep_report.hpp"
#include "reports/sweep/sweep_words.hpp"
#include "sim/result/metric_table.hpp"
#include "sim/sweep/summary.hpp"

namespace accosim {
namespace {

constexpr std::size_t kMostFailed = 200, kMostRanked = 50;  ///< points in the tables
constexpr std::size_t kMostReasons = 20, kMostCrossovers = 20;

/// Five digits: more than a chart shows.
JsonValue short_number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return {};
  JsonValue number(*value);
  number.text = fmt::format("{:.5g}", *value);
  return number;
}

/// A list that has a value a point, of text that has been written already, which stands where the digits of a number
/// do: a JsonValue for each would take a hundred times as much memory.
JsonValue written_list(const std::string& values) {
  JsonValue list(0.0);
  list.text = "[" + values + "]";
  return list;
}
void add_to_list(std::string& values, const std::string& written) {
  if (!values.empty()) values += ',';
  values += written;
}

/// Of each value of an axis what --set takes, as it is typed; a knob has none.
JsonValue settings_json(const Axis& axis) {
  if (is_knob_name(axis.pointer)) return {};
  return mapped<JsonValue>(axis.values, [&](const std::string& value) { return in_shell(axis.pointer + "=" + value); });
}

JsonValue axes_json(const SweepRows& rows) {
  const std::vector<std::size_t> telling = telling_axes(rows);
  std::vector<JsonValue> axes;
  for (const AxisWords& axis : axes_in_words(rows.heading))
    axes.push_back(json_object({{"pointer", axis.pointer()},
                                {"name", axis.name},
                                {"title", axis.title},
                                {"values", axis.values},
                                {"set", settings_json(rows.heading.axes[axes.size()])},
                                {"numbers", axis.numbers.has_value()},
                                {"telling", std::ranges::find(telling, axes.size()) != telling.end()}}));
  return axes;
}

/// Of each value of an axis: the share of the points that each schedule wins.
JsonValue wins_json(const SweepRows& rows, const Merit& merit) {
  std::vector<JsonValue> axes;
  for (std::size_t axis = 0; axis < rows.heading.axes.size(); ++axis)
    axes.push_back(mapped<JsonValue>(wins_along(rows, axis, merit), [](const Wins& wins) {
      return mapped<JsonValue>(wins.share,
                               [&](double share) { return wins.points > 0 ? short_number(share) : JsonValue(); });
    }));
  return axes;
}

/// Value, low and high of each point after the other; null where there is none.
JsonValue speedups_json(const std::vector<const Row*>& all, std::size_t schedule, Score by) {
  std::string numbers;
  for (const Row* const row : all) {
    const bool there = row != nullptr && row->done() && row->schedules[schedule].fits();
    const std::optional<Shown> shown = there ? shown_of(row->schedules[schedule], by) : std::nullopt;
    for (double Shown::*const figure : {&Shown::value, &Shown::low, &Shown::high})
      add_to_list(numbers, dump_json(shown ? short_number((*shown).*figure) : JsonValue()));
  }
  return written_list(numbers);
}

/// By point: the number of the schedule that wins or is the nearest, and the mark of its cell (MapCell) behind it; ""
/// where it was not played.
JsonValue winners_json(const std::vector<const Row*>& all, const Merit& merit) {
  std::string winners;
  for (const Row* const row : all) {
    const MapCell cell = row == nullptr ? MapCell{} : map_cell(*row, merit);
    add_to_list(winners, fmt::format("\"{}{}\"", cell.schedule ? fmt::format("{}", *cell.schedule) : "", cell.mark));
  }
  return written_list(winners);
}

/// In the order in which they can be picked.
constexpr Score kScores[] = {Score::kSameBatch, Score::kTokens, Score::kBestSynchronous,
                             Score::kTime,      Score::kCost,   Score::kAlone};

JsonValue score_json(const SweepRows& rows, const std::vector<const Row*>& all, const Merit& merit) {
  std::vector<JsonValue> speedups;
  for (std::size_t s = 0; s < rows.heading.schedules.size(); ++s) speedups.push_back(speedups_json(all, s, merit.by));
  std::vector<std::string> changes = along_in_words(rows, merit);
  for (std::string& crossing : crossovers_in_words(rows, merit, kMostCrossovers))
    changes.push_back(std::move(crossing));
  for (std::string& flat : flat_in_words(rows, kMostCrossovers)) changes.push_back(std::move(flat));
  return json_object({{"name", name_of(merit.by)},
                      {"speedup", shown_in_words(rows, merit.by)},
                      {"format", is_spent(merit.by) ? "count" : "factor"},
                      {"fastest", words_of(merit.by).fastest},
                      {"answer", winners_in_words(rows, merit)},
                      {"crossovers", changes},
                      {"wins", wins_json(rows, merit)},
                      {"speedups", std::move(speedups)},
                      {"winners", winners_json(all, merit)}});
}

/// The line and the area of each schedule, as the pictures have it; a line in ink has no colour.
JsonValue looks_json(const Heading& heading) {
  return mapped<JsonValue>(looks_of(heading.schedules), [](const SeriesLook& look) {
    const Stroke stroke = stroke_of(look, Theme::kLight);
    std::vector<JsonValue> dash;
    std::string_view rest = stroke.dashes;
    for (std::optional<LeadingNumber> one = leading_number(rest); one; one = leading_number(rest)) {
      dash.push_back(one->number);
      rest = trimmed(one->rest);
    }
    return json_object({{"colour", look.hue == Hue::kInk ? JsonValue() : JsonValue(stroke.colour)},
                        {"dash", std::move(dash)},
                        {"fill", colour_of(fill_of(look, Theme::kLight).hue, Theme::kLight)}});
  });
}

JsonValue worth_json(const SweepRows& rows, const WinnerRule& rule) {
  std::vector<JsonValue> schedules;
  for (std::size_t s = 0; s < rows.heading.schedules.size(); ++s) {
    const Worth worth = worth_of(rows, s, rule);
    if (worth.over_alone.points == 0) continue;
    const auto points = static_cast<double>(worth.over_alone.points);
    schedules.push_back(json_object({{"label", rows.heading.schedules[s]},
                                     {"pays", static_cast<double>(worth.over_alone.faster) / points},
                                     {"open", static_cast<double>(worth.open) / points},
                                     {"over_alone", short_number(worth.over_alone.median)},
                                     {"over_best_synchronous", short_number(worth.over_best_synchronous)}}));
  }
  return json_object({{"words", worth_in_words(rows, rule)}, {"schedules", std::move(schedules)}});
}

/// The points with what they come to, from the least cost on where that is asked for, else from the least time on.
/// `asked`: the page is about that, and begins with it.
JsonValue ranking_json(const SweepRows& rows, const Merit& asked) {
  const Merit merit{asked.by == Score::kCost ? Score::kCost : Score::kTime, asked.rule};
  std::vector<JsonValue> points;
  for (const auto& [row, schedule, winner] : ranking_of(rows, merit)) {
    if (points.size() == kMostRanked) break;
    const Metrics& figures = row->schedules[schedule];
    std::string label = rows.heading.schedules[schedule];
    const JsonValue places =
        mapped<JsonValue>(row->point, [](std::size_t at) { return static_cast<std::int64_t>(at); });
    if (rows.heading.tuned && schedule + 1 == rows.heading.schedules.size()) label += ": " + row->best_synchronous;
    JsonValue point = json_object(
        {{"at", point_in_words(rows, *row)}, {"point", places}, {"schedule", std::move(label)}, {"winner", winner}});
    for (const char* const key : {"total_time_s", "tokens_per_s", "gpu_hours", "cost"}) {
      const Metric& metric = metric_named(key);
      point.set(key, short_number(metric.figure.of(figures)));
      const std::optional<Interval> interval =
          metric.interval.of != nullptr ? metric.interval.of(figures) : std::nullopt;
      if (!interval) continue;
      point.set(std::string(key) + "_low", short_number(interval->low));
      point.set(std::string(key) + "_high", short_number(interval->high));
    }
    if (!figures.currency.empty()) point.set("currency", figures.currency);
    points.push_back(std::move(point));
  }
  return json_object(
      {{"words", ranking_in_words(rows, merit)},
       {"title", fmt::format("From the least {} of all tokens on", merit.by == Score::kCost ? "cost" : "time")},
       {"asked", is_spent(asked.by)},
       {"also", merit.by == Score::kCost ? ranking_in_words(rows, {Score::kTime, asked.rule}) : std::string()},
       {"points", std::move(points)}});
}

JsonValue failed_json(const SweepRows& rows) {
  std::vector<JsonValue> points;
  for (const Row& row : rows.rows) {
    if (row.done() || points.size() == kMostFailed) continue;
    std::vector<std::string> at;
    for (std::size_t i = 0; i < row.point.size(); ++i) at.push_back(rows.heading.axes[i].values[row.point[i]]);
    points.push_back(json_object({{"index", static_cast<std::int64_t>(row.index)}, {"at", at}, {"why", row.failure}}));
  }
  return points;
}

}  // namespace

std::string sweep_page_json(const SweepRows& rows, const std::string& command, const Merit& merit) {
  const Heading& heading = rows.heading;
  const std::vector<const Row*> all = by_index(rows);
  std::vector<JsonValue> scores;
  for (const Score by : kScores)
    if (lacking(heading, by, are_priced(rows)).empty())
      scores.insert(by == merit.by ? scores.begin() : scores.end(), score_json(rows, all, {by, merit.rule}));
  JsonValue sweep = json_object({{"scenario", heading.scenario},
                                 {"baseline", heading.baseline},
                                 {"grid", heading.grid},
                                 {"points", static_cast<std::int64_t>(heading.points)},
                                 {"point_command", heading.point_command},
                                 {"counts", counts_in_words(rows, merit)},
                                 {"axes", axes_json(rows)},
                                 {"schedules", heading.schedules},
                                 {"looks", looks_json(heading)},
                                 {"scores", std::move(scores)},
                                 {"failed", failed_json(rows)},
                                 {"unfit", unfit_points_in_words(rows)},
                                 {"beside", beside_in_words(rows)},
                                 {"cautions", cautions_in_words(rows)},
                                 {"left_out", left_out_in_words(rows, kMostReasons)},
                                 {"failures", failures_in_words(rows, kMostReasons)}});
  sweep.set("ranking", ranking_json(rows, merit));
  if (heading.tuned) sweep.set("tuned", tuned_in_words(rows));
  if (heading.fair) sweep.set("worth", worth_json(rows, merit.rule));
  return dump_json(json_object(
      {{"schema", "accosim.page/1"}, {"version", heading.version}, {"command", command}, {"sweep", std::move(sweep)}}));
}

void check_page_takes(const Heading& heading) {
  if (heading.points * heading.schedules.size() > kMostOnPage)
    throw BadInput(fmt::format(
        "{} points of {} schedules are more than a page takes; draw them with accosim plot --kind map, or sweep fewer",
        heading.points, heading.schedules.size()));
}

void write_sweep_page(std::ostream& out, const SweepRows& rows, const std::string& command, const Merit& merit) {
  if (rows.rows.empty()) throw BadInput("there are no rows yet; play the sweep first");
  check_page_takes(rows.heading);
  write_page_around(out, sweep_page_json(rows, command, merit));
}

}  // namespace accosim
