#include "sim/sweep/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "models/base/errors.hpp"
#include "models/base/quantity.hpp"
#include "models/base/statistics.hpp"
#include "sim/result/metric_table.hpp"

namespace accosim {
namespace {

/// Values in different units of one dimension, in SI units.
std::optional<std::vector<double>> quantities_of(const Axis& axis) {
  for (const Dimension dimension :
       {Dimension::kBandwidth, Dimension::kTime, Dimension::kData, Dimension::kCompute, Dimension::kPower}) {
    std::vector<double> values;
    for (const std::string& text : axis.values) {
      const ParsedQuantity parsed = parse_quantity(text, dimension);
      if (!parsed.error.empty()) break;
      values.push_back(parsed.value);
    }
    if (values.size() == axis.values.size()) return values;
  }
  return std::nullopt;
}

/// A point of a line along an axis with numbers.
struct LinePoint {
  double at = 0;             ///< the axis' number
  const Row* row = nullptr;  ///< nullptr: not played yet
};

/// Where two things are equal whose ratio has these logarithms at the two ends: it is linear in the logarithm of the
/// axis, or in the axis itself where an end is not above 0.
double crossing(double from, double to, double log_ratio_from, double log_ratio_to) {
  const double share = log_ratio_from / (log_ratio_from - log_ratio_to);
  if (from > 0 && to > 0) return from * std::pow(to / from, share);
  return from + share * (to - from);
}

/// Between neighbouring points of a line; nothing where the same schedule wins at both.
std::optional<Crossover> crossover_between(const LinePoint& a, const LinePoint& b, std::size_t axis,
                                           const Merit& merit) {
  const std::size_t first = *winner_of(*a.row, merit), second = *winner_of(*b.row, merit);
  if (first == second) return std::nullopt;
  const auto log_ratio = [&](const Row& row) -> std::optional<double> {
    const std::optional<double> one = score_of(row, first, merit.by), other = score_of(row, second, merit.by);
    return one && other ? std::optional(std::log(*one / *other)) : std::nullopt;
  };
  const std::optional<double> at_a = log_ratio(*a.row), at_b = log_ratio(*b.row);
  if (!at_a || !at_b || *at_a < 0 || *at_b > 0 || *at_a == *at_b)  // a caveat decides, not who is faster
    return Crossover{axis, first, second, a.at, b.at, 1};
  const double at = crossing(a.at, b.at, *at_a, *at_b);
  return Crossover{axis, first, second, at, at, 1};
}

/// Whether a column holds what an earlier one does: the best of some schedules is one of them as it is written.
bool repeats(const Row& row, std::size_t schedule) {
  const Metrics& figures = row.schedules[schedule];
  return std::any_of(
      row.schedules.begin(), row.schedules.begin() + static_cast<std::ptrdiff_t>(schedule), [&](const Metrics& each) {
        return each.tokens_per_second == figures.tokens_per_second && each.update_time == figures.update_time &&
               each.memory_resident == figures.memory_resident;
      });
}

/// The other schedules without a caveat of which the 80 % interval leaves open whether they are faster than the winner;
/// the fastest first.
std::vector<std::size_t> close_ones(const Row& row, const Standing& standing, const Merit& merit) {
  std::vector<std::size_t> close;
  if (!standing.winner) return close;
  const std::size_t winner = *standing.winner;
  for (std::size_t i = 0; i < row.schedules.size(); ++i) {
    const std::optional<double> score = score_of(row, i, merit.by);
    if (i == winner || !score || !standing.caveats[i].none() || repeats(row, i)) continue;
    const double ratio = *score_of(row, winner, merit.by) / *score;
    if (interval_80(ratio, ratio_spread(row.schedules[i].spread, row.schedules[winner].spread)).low <= 1)
      close.push_back(i);
  }
  std::ranges::stable_sort(
      close, [&](std::size_t a, std::size_t b) { return *score_of(row, a, merit.by) > *score_of(row, b, merit.by); });
  return close;
}

/// Along the axes with numbers of a grid: the points that differ in one axis alone, from its least value on.
void for_each_line(const SweepRows& rows,
                   const std::function<void(std::size_t axis, const std::vector<LinePoint>& line)>& visit) {
  const Heading& heading = rows.heading;
  if (!heading.grid) return;
  const std::vector<const Row*> all = by_index(rows);
  std::size_t stride = heading.points;  // points from one value of an axis to the next
  for (std::size_t axis = 0; axis < heading.axes.size(); ++axis) {
    const std::size_t span = stride;
    stride /= heading.axes[axis].values.size();
    const std::optional<Numbers> numbers = numbers_of(heading.axes[axis]);
    if (!numbers) continue;
    for (std::size_t first = 0; first < heading.points; ++first) {
      if (first % span >= stride) continue;  // a line begins at the axis' first value
      std::vector<LinePoint> line;
      for (std::size_t k = 0; k < numbers->values.size(); ++k)
        line.push_back({numbers->values[k], all[first + k * stride]});
      std::ranges::stable_sort(line, {}, &LinePoint::at);
      visit(axis, line);
    }
  }
}

Interval around(const Interval& interval, double value) {
  return {std::min(interval.low, value), std::max(interval.high, value)};
}

constexpr std::size_t kLeastFlat = 3;

/// What a change of would not be nothing.
std::vector<double> figures_of(const Row& row) {
  std::vector<double> figures;
  for (const Metrics& each : row.schedules)
    for (const double figure :
         {each.update_time.value, each.total_time.value, each.cost.value_or(0), static_cast<double>(each.fit.verdict)})
      figures.push_back(figure);
  return figures;
}

/// Widens the least and the greatest of each figure by those of one more point, where they stay as good as equal.
bool take_in(std::vector<Interval>& bands, const Row& row) {
  constexpr double kFlat = 1e-3;
  const std::vector<double> figures = figures_of(row);
  std::vector<Interval> wider;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    wider.push_back(around(bands[i], figures[i]));
    if (wider[i].high > (1 + kFlat) * wider[i].low) return false;
  }
  bands = std::move(wider);
  return true;
}

bool same(const FlatRange& a, const FlatRange& b) {
  return a.axis == b.axis && a.low == b.low && a.high == b.high && a.binds.has_value() == b.binds.has_value() &&
         (!a.binds || a.binds->term == b.binds->term);
}

/// By axis, and on each the most frequent first.
template <class Key, class Found>
std::vector<Found> most_frequent_first(const std::map<Key, Found>& found) {
  std::vector<Found> list;
  for (const auto& [key, each] : found) list.push_back(each);
  std::ranges::stable_sort(
      list, [](const Found& a, const Found& b) { return std::pair(a.axis, b.lines) < std::pair(b.axis, a.lines); });
  return list;
}

Side side_of(double ratio) {
  return ratio > kNoticeablyFaster ? Side::kFaster : 1 / ratio > kNoticeablyFaster ? Side::kSlower : Side::kEqual;
}

/// Of the numeric axes of a grid, on each the most frequent first.
std::vector<Course> courses_of(const SweepRows& rows, const RatioOf& ratio) {
  std::map<std::pair<std::size_t, std::vector<Side>>, Course> found;
  for_each_line(rows, [&](std::size_t axis, const std::vector<LinePoint>& line) {
    Course course{axis, {}, {}, 1, {}};
    double last_at = 0, last_ratio = 1;
    for (const LinePoint& point : line) {
      const std::optional<double> here = point.row == nullptr ? std::nullopt : ratio(*point.row);
      if (!here) continue;
      const Side side = side_of(*here);
      if (!course.sides.empty() && side != course.sides.back()) {
        const bool crosses = side != Side::kEqual && course.sides.back() != Side::kEqual;
        const double at = crosses ? crossing(last_at, point.at, std::log(last_ratio), std::log(*here)) : 0;
        const double until = crosses ? at : last_at, from = crosses ? at : point.at;
        course.bounds.push_back({{until, until}, {from, from}});
      }
      if (course.sides.empty() || side != course.sides.back()) course.sides.push_back(side);
      course.rows.push_back(point.row);
      last_at = point.at;
      last_ratio = *here;
    }
    if (course.bounds.empty()) return;
    const auto [entry, anew] = found.try_emplace({axis, course.sides}, course);
    if (anew) return;
    Course& known = entry->second;
    ++known.lines;
    known.rows.insert(known.rows.end(), course.rows.begin(), course.rows.end());
    for (std::size_t i = 0; i < known.bounds.size(); ++i) {
      known.bounds[i].until = around(known.bounds[i].until, course.bounds[i].until.low);
      known.bounds[i].from = around(known.bounds[i].from, course.bounds[i].from.low);
    }
  });
  return most_frequent_first(found);
}

}  // namespace

std::optional<Numbers> numbers_of(const Axis& axis) {
  Numbers numbers;
  bool one_unit = true;
  for (const std::string& text : axis.values) {
    const std::optional<LeadingNumber> parsed = leading_number(text);
    if (!parsed) {
      one_unit = false;
      break;
    }
    if (numbers.values.empty()) numbers.unit = parsed->rest;
    if (parsed->rest != numbers.unit) one_unit = false;
    numbers.values.push_back(parsed->number);
  }
  if (one_unit) return numbers;
  const std::optional<std::vector<double>> values = quantities_of(axis);
  if (!values) return std::nullopt;
  // In the unit of the first.
  const std::optional<LeadingNumber> first = leading_number(axis.values.front());
  if (!first || first->number == 0 || values->front() == 0) return std::nullopt;
  numbers.unit = first->rest;
  numbers.values.clear();
  for (const double value : *values) numbers.values.push_back(value / values->front() * first->number);
  return numbers;
}

std::vector<std::string> short_names(const std::vector<Axis>& axes) {
  std::vector<std::vector<std::string>> keys;
  for (const Axis& axis : axes)
    keys.push_back(pointer_keys(axis.pointer).value_or(std::vector<std::string>{axis.pointer}));
  const auto ending = [&](std::size_t i, std::size_t count) {
    std::string name;
    for (std::size_t k = keys[i].size() - std::min(count, keys[i].size()); k < keys[i].size(); ++k)
      name += (name.empty() ? "" : "/") + keys[i][k];
    return name;
  };
  std::vector<std::string> names;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::size_t count = 1;
    const auto clashes = [&] {
      for (std::size_t j = 0; j < axes.size(); ++j)
        if (j != i && ending(j, count) == ending(i, count)) return true;
      return false;
    };
    while (count < keys[i].size() && clashes()) ++count;
    names.push_back(ending(i, count));
  }
  return names;
}

std::vector<const Row*> by_index(const SweepRows& rows) {
  std::vector<const Row*> all(rows.heading.points, nullptr);
  for (const Row& row : rows.rows) all[row.index] = &row;
  return all;
}

bool is_spent(Score by) { return by == Score::kTime || by == Score::kCost; }

std::optional<Shown> shown_of(const Metrics& figures, Score by) {
  struct InUnit {
    const Metric& metric;
    double unit;
  };
  static const InUnit kFigures[] = {{metric_named("speedup"), 1},
                                    {metric_named("speedup_same_batch"), 1},
                                    {metric_named("speedup_over_best_synchronous"), 1},
                                    {metric_named("speedup_over_alone"), 1},
                                    {metric_named("total_time_s"), 3600},
                                    {metric_named("cost"), 1}};
  const auto& [metric, unit] = kFigures[static_cast<std::size_t>(by)];
  const std::optional<double> value = metric.figure.of(figures);
  if (!value) return std::nullopt;
  const Interval interval = metric.interval.of(figures).value_or(Interval{*value, *value});
  return Shown{*value / unit, interval.low / unit, interval.high / unit};
}

bool is_priced(const Row& row) {
  return std::ranges::any_of(row.schedules, [](const Metrics& each) { return each.cost.has_value(); });
}

bool are_priced(const SweepRows& rows) { return std::ranges::any_of(rows.rows, is_priced); }

std::string currency_of(const SweepRows& rows) {
  for (const Row& row : rows.rows)
    for (const Metrics& each : row.schedules)
      if (each.cost) return each.currency;
  return "";
}

std::string lacking(const Heading& heading, Score by, bool priced) {
  if (by == Score::kBestSynchronous && !heading.tuned)
    return fmt::format(
        "the rows of {} are not compared with the best synchronous schedule; play a sweep with a delayed "
        "or local schedule, without --no-tuned",
        in_quotes(heading.scenario, 100));
  if (by == Score::kAlone && !heading.fair)
    return fmt::format(
        "the rows of {} are not compared with parts alone; play the sweep anew with --fair, or write "
        "\"fair\": true in its file",
        in_quotes(heading.scenario, 100));
  if (by == Score::kCost && !priced)
    return "there is no cost to go by; write the node groups' \"price_per_gpu_hour\" and play the sweep anew, such as "
           "with --set '/cluster/nodes/*/price_per_gpu_hour=2.5'";
  return "";
}

void check_score(const Heading& heading, Score by, bool priced) {
  if (const std::string why = lacking(heading, by, priced); !why.empty()) throw BadInput(why);
}

std::string in_currency(const std::string& currency) {
  return currency.empty() ? "without a currency" : "in " + in_quotes(currency);
}

void check_score(const SweepRows& rows, Score by) {
  check_score(rows.heading, by, are_priced(rows));
  const std::string currency = currency_of(rows);
  for (const Row& row : rows.rows)
    for (const Metrics& each : row.schedules)
      if (by == Score::kCost && each.cost && each.currency != currency)
        throw BadInput(
            fmt::format("costs {} and {} are not compared; write all prices in one \"currency\" of the cluster",
                        in_currency(currency), in_currency(each.currency)));
}

std::optional<double> score_of(const Row& row, std::size_t schedule, Score by) {
  if (!row.done() || !row.schedules[schedule].fits()) return std::nullopt;
  const Metrics& figures = row.schedules[schedule];
  // As compare() ranks: against one opponent at everybody's batch; where one of them has no speedup at the same batch,
  // all per token.
  const auto all_have = [&](std::optional<double> Metrics::*speedup) {
    return std::ranges::all_of(row.schedules,
                               [&](const Metrics& each) { return !each.fits() || (each.*speedup).has_value(); });
  };
  if (by == Score::kSameBatch && all_have(&Metrics::over_best_synchronous)) return figures.over_best_synchronous;
  const bool per_token = by == Score::kSameBatch && !all_have(&Metrics::speedup_same_batch);
  if (by == Score::kTokens || per_token) return figures.tokens_per_second;
  const std::optional<Shown> shown = shown_of(figures, by);
  if (!shown) return std::nullopt;
  if (!is_spent(by)) return shown->value;
  return shown->value > 0 ? std::optional(1 / shown->value) : std::nullopt;  // none where it costs nothing
}

Standing standing_at(const Row& row, const Merit& merit) {
  std::vector<Contender> contenders;
  for (std::size_t i = 0; i < row.schedules.size(); ++i)
    contenders.push_back(contender_of(row.schedules[i], score_of(row, i, merit.by)));
  return standing_of(contenders, merit.rule);
}

std::optional<std::size_t> winner_of(const Row& row, const Merit& merit) { return standing_at(row, merit).winner; }

MapCell map_cell(const Row& row, const Merit& merit) {
  if (!row.done()) return {std::nullopt, "!"};
  const Standing standing = standing_at(row, merit);
  if (!standing.best()) return {std::nullopt, "x"};
  if (!standing.winner) return {standing.best(), "*"};
  const std::vector<std::size_t> close = close_ones(row, standing, merit);
  if (close.empty()) return {standing.best(), ""};
  return {standing.best(), "~", close.front()};
}

std::vector<Ranked> ranking_of(const SweepRows& rows, const Merit& merit) {
  const Score by = merit.by == Score::kCost ? Score::kCost : Score::kTime;
  std::vector<std::pair<double, Ranked>> all;
  for (const Row& row : rows.rows) {
    if (!row.done()) continue;
    const Standing standing = standing_at(row, {by, merit.rule});
    if (!standing.best()) continue;
    all.push_back({*score_of(row, *standing.best(), by), {&row, *standing.best(), standing.winner.has_value()}});
  }
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) {
    return a.second.winner != b.second.winner ? a.second.winner : a.first > b.first;
  });
  std::vector<Ranked> ranking;
  for (const auto& [score, ranked] : all) ranking.push_back(ranked);
  return ranking;
}

std::vector<Faster> faster_ones(const SweepRows& rows, const Merit& merit) {
  std::vector<Faster> all(rows.heading.schedules.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i].schedule = i;
  for (const Row& row : rows.rows) {
    const Standing standing = standing_at(row, merit);
    for (const std::size_t i : standing.faster) {
      if (repeats(row, i)) continue;
      const Caveats& here = standing.caveats[i];
      Caveats& worst = all[i].caveats;
      ++all[i].points;
      worst.statistics = std::max(worst.statistics, here.statistics);
      worst.updates_late = std::max(worst.updates_late, here.updates_late);
      worst.batch_growth = std::max(worst.batch_growth, here.batch_growth);
      worst.fit_probability = std::min(worst.fit_probability, here.fit_probability);
    }
  }
  std::erase_if(all, [](const Faster& each) { return each.points == 0; });
  std::ranges::stable_sort(all, [](const Faster& a, const Faster& b) { return a.points > b.points; });
  return all;
}

std::vector<Wins> wins_along(const SweepRows& rows, std::size_t axis, const Merit& merit) {
  const std::size_t schedules = rows.heading.schedules.size();
  std::vector<Wins> all(rows.heading.axes[axis].values.size(), Wins{0, std::vector<double>(schedules), {}});
  std::vector<std::vector<std::vector<double>>> shown(all.size(), std::vector<std::vector<double>>(schedules));
  for (const Row& row : rows.rows) {
    const std::size_t at = row.point[axis];
    if (const std::optional<std::size_t> winner = winner_of(row, merit)) {
      ++all[at].points;
      ++all[at].share[*winner];
    }
    for (std::size_t i = 0; i < row.schedules.size(); ++i) {
      const Metrics& figures = row.schedules[i];
      const std::optional<Shown> figure = shown_of(figures, merit.by);
      if (figure && figures.fits()) shown[at][i].push_back(figure->value);
    }
  }
  for (std::size_t at = 0; at < all.size(); ++at)
    for (std::size_t i = 0; i < schedules; ++i) {
      if (all[at].points > 0) all[at].share[i] /= static_cast<double>(all[at].points);
      all[at].shown.push_back(shown[at][i].empty() ? std::numeric_limits<double>::quiet_NaN()
                                                   : percentile(shown[at][i], 0.5));
    }
  return all;
}

std::vector<Crossover> crossovers(const SweepRows& rows, const Merit& merit) {
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, Crossover> found;
  for_each_line(rows, [&](std::size_t axis, const std::vector<LinePoint>& line) {
    const LinePoint* last = nullptr;
    for (const LinePoint& point : line) {
      if (point.row == nullptr || !winner_of(*point.row, merit)) continue;
      const LinePoint* const before = std::exchange(last, &point);
      if (before == nullptr) continue;
      const std::optional<Crossover> here = crossover_between(*before, point, axis, merit);
      if (!here) continue;
      const auto [entry, anew] = found.try_emplace({axis, here->below, here->above}, *here);
      if (anew) continue;
      Crossover& crossover = entry->second;
      crossover.low = std::min(crossover.low, here->low);
      crossover.high = std::max(crossover.high, here->high);
      ++crossover.lines;
    }
  });
  return most_frequent_first(found);
}

bool may_be_flat(const Heading& heading) {
  return heading.grid && std::ranges::any_of(heading.axes, [](const Axis& axis) {
           return axis.values.size() >= kLeastFlat && numbers_of(axis);
         });
}

std::vector<FlatRange> flat_ranges(const SweepRows& rows) {
  std::vector<FlatRange> ranges;
  for_each_line(rows, [&](std::size_t axis, const std::vector<LinePoint>& line) {
    const auto played = [&](std::size_t k) { return line[k].row != nullptr && line[k].row->done(); };
    std::size_t next = 0;
    for (std::size_t first = 0; first < line.size(); first = next) {
      next = first + 1;
      if (!played(first)) continue;
      std::vector<Interval> bands;
      for (const double figure : figures_of(*line[first].row)) bands.push_back({figure, figure});
      while (next < line.size() && played(next) && take_in(bands, *line[next].row)) ++next;
      if (next - first < kLeastFlat) continue;
      const LinePoint& last = line[next - 1];
      const FlatRange range{axis, line[first].at, last.at, last.row->binds, 1};
      const auto known = std::ranges::find_if(ranges, [&](const FlatRange& each) { return same(each, range); });
      if (known == ranges.end())
        ranges.push_back(range);
      else
        ++known->lines;
    }
  });
  std::ranges::stable_sort(ranges, [](const FlatRange& a, const FlatRange& b) {
    return std::pair(a.axis, a.low) < std::pair(b.axis, b.low);
  });
  return ranges;
}

Ratios ratios_of(const SweepRows& rows, const RatioOf& ratio) {
  Ratios ratios;
  std::vector<double> values;
  for (const Row& row : rows.rows) {
    const std::optional<double> value = ratio(row);
    if (!value) continue;
    values.push_back(*value);
    ratios.faster += side_of(*value) == Side::kFaster ? 1 : 0;
  }
  ratios.courses = courses_of(rows, ratio);
  ratios.points = values.size();
  if (values.empty()) return ratios;
  ratios.least = std::ranges::min(values);
  ratios.most = std::ranges::max(values);
  ratios.median = percentile(std::move(values), 0.5);
  return ratios;
}

Ratios over_best(const SweepRows& rows, std::size_t schedule) {
  return ratios_of(rows, [&](const Row& row) {
    return row.done() && row.schedules[schedule].fits() ? row.schedules[schedule].over_best_synchronous : std::nullopt;
  });
}

}  // namespace accosim
