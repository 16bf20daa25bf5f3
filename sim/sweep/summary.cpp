#include "sim/sweep/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "models/base/errors.hpp"
#include "models/base/json.hpp"
#include "models/base/quantity.hpp"
#include "models/base/statistics.hpp"
#include "models/base/text.hpp"

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

/// Rows by index of the point; nullptr where there is none.
std::vector<const Row*> by_index(const SweepRows& rows) {
  std::vector<const Row*> all(rows.heading.points, nullptr);
  for (const Row& row : rows.rows) all[row.index] = &row;
  return all;
}

/// Points of a grid from one value of an axis to the next.
std::size_t stride_of(const std::vector<Axis>& axes, std::size_t axis) {
  std::size_t stride = 1;
  for (std::size_t i = axis + 1; i < axes.size(); ++i) stride *= axes[i].values.size();
  return stride;
}

/// Between two neighbouring points; nothing where the same schedule wins, or one of the two has no score at both.
std::optional<std::pair<std::pair<std::size_t, std::size_t>, double>> change_between(const Step& step, Score by) {
  const std::optional<std::size_t> first = winner_of(*step.first, by), second = winner_of(*step.second, by);
  if (!first || !second || *first == *second) return std::nullopt;
  const auto log_ratio = [&](const Row& row) -> std::optional<double> {
    const std::optional<double> one = score_of(row, *first, by), other = score_of(row, *second, by);
    return one && other ? std::optional(std::log(*one / *other)) : std::nullopt;
  };
  const std::optional<double> at_a = log_ratio(*step.first), at_b = log_ratio(*step.second);
  if (!at_a || !at_b || *at_a - *at_b <= 0) return std::nullopt;
  return std::pair(std::pair(*first, *second), crossing(step.from, step.to, *at_a, *at_b));
}

/// Order of the axis' values from the least to the greatest.
std::vector<std::size_t> ascending(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  return order;
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

std::string written(const Numbers& numbers, double value) { return fmt::format("{:.3g}{}", value, numbers.unit); }

Labels labels_of(const Axis& axis, const std::string& name) {
  const std::optional<Numbers> numbers = numbers_of(axis);
  const std::string unit = numbers ? numbers->unit : "";
  const auto has_unit = [&](const std::string& value) {
    return value.size() > unit.size() && value.compare(value.size() - unit.size(), unit.size(), unit) == 0;
  };
  if (unit.empty() || !std::all_of(axis.values.begin(), axis.values.end(), has_unit)) return {name, axis.values};
  Labels labels{fmt::format("{} ({})", name, unit.substr(unit.find_first_not_of(' '))), {}};
  for (const std::string& value : axis.values) labels.values.push_back(value.substr(0, value.size() - unit.size()));
  return labels;
}

std::vector<std::string> short_names(const std::vector<Axis>& axes) {
  std::vector<std::vector<std::string>> keys;
  for (const Axis& axis : axes) keys.push_back(pointer_keys(axis.pointer).value_or(std::vector<std::string>{}));
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

Speedup speedup_of(const Figures& figures, Score by) {
  switch (by) {
    case Score::kTokens: return {figures.speedup, figures.speedup_interval};
    case Score::kSameBatch: return {figures.speedup_same_batch, figures.speedup_same_batch_interval};
    case Score::kAlone: return {figures.over_alone, figures.over_alone_interval};
    case Score::kBalanced: return {figures.over_balanced, figures.over_balanced_interval};
  }
  return {};
}

void check_score(const Heading& heading, Score by) {
  if ((by == Score::kAlone || by == Score::kBalanced) && !heading.fair)
    throw BadInput(fmt::format(
        "the rows of {} are not compared with parts alone and a balanced baseline; play the sweep anew with "
        "--fair, or write \"fair\": true in its file",
        in_quotes(heading.scenario, 100)));
}

std::optional<double> score_of(const Row& row, std::size_t schedule, Score by) {
  if (!row.done() || !row.schedules[schedule].fits) return std::nullopt;
  const Figures& figures = row.schedules[schedule];
  return by == Score::kTokens ? std::optional(figures.tokens_per_second) : speedup_of(figures, by).value;
}

std::optional<std::size_t> winner_of(const Row& row, Score by) {
  std::optional<std::size_t> winner;
  double best = 0;
  for (std::size_t i = 0; i < row.schedules.size(); ++i)
    if (const std::optional<double> score = score_of(row, i, by); score && *score > best) {
      best = *score;
      winner = i;
    }
  return winner;
}

bool is_close(const Row& row, Score by) {
  if (by != Score::kTokens && by != Score::kAlone) return false;
  const std::optional<std::size_t> winner = winner_of(row, Score::kTokens);
  if (!winner) return false;
  for (std::size_t i = 0; i < row.schedules.size(); ++i)
    if (i != *winner && row.schedules[i].fits && row.schedules[i].behind_interval.low <= 1) return true;
  return false;
}

std::vector<Wins> wins_along(const SweepRows& rows, std::size_t axis, Score by) {
  const std::size_t schedules = rows.heading.schedules.size();
  std::vector<Wins> all(rows.heading.axes[axis].values.size(), Wins{0, std::vector<double>(schedules), {}});
  std::vector<std::vector<std::vector<double>>> speedups(all.size(), std::vector<std::vector<double>>(schedules));
  for (const Row& row : rows.rows) {
    const std::size_t at = row.point[axis];
    if (const std::optional<std::size_t> winner = winner_of(row, by)) {
      ++all[at].points;
      ++all[at].share[*winner];
    }
    for (std::size_t i = 0; i < row.schedules.size(); ++i) {
      const Figures& figures = row.schedules[i];
      const std::optional<double> speedup = speedup_of(figures, by).value;
      if (speedup && figures.fits) speedups[at][i].push_back(*speedup);
    }
  }
  for (std::size_t at = 0; at < all.size(); ++at)
    for (std::size_t i = 0; i < schedules; ++i) {
      if (all[at].points > 0) all[at].share[i] /= static_cast<double>(all[at].points);
      all[at].speedup.push_back(speedups[at][i].empty() ? std::numeric_limits<double>::quiet_NaN()
                                                        : percentile(speedups[at][i], 0.5));
    }
  return all;
}

double crossing(double from, double to, double log_ratio_from, double log_ratio_to) {
  const double share = log_ratio_from / (log_ratio_from - log_ratio_to);
  if (from > 0 && to > 0) return from * std::pow(to / from, share);
  return from + share * (to - from);
}

void for_each_step(const SweepRows& rows, const std::function<void(const Step&)>& visit) {
  const Heading& heading = rows.heading;
  if (!heading.grid) return;
  const std::vector<const Row*> all = by_index(rows);
  for (std::size_t axis = 0; axis < heading.axes.size(); ++axis) {
    const std::optional<Numbers> numbers = numbers_of(heading.axes[axis]);
    if (!numbers) continue;
    const std::vector<std::size_t> order = ascending(numbers->values);
    const std::size_t stride = stride_of(heading.axes, axis), span = stride * order.size();
    for (std::size_t line = 0; line < heading.points; ++line) {
      if (line % span >= stride) continue;  // a line begins at the axis' first value
      for (std::size_t k = 0; k + 1 < order.size(); ++k) {
        const std::size_t i = order[k], j = order[k + 1];
        const Row *const first = all[line + i * stride], *const second = all[line + j * stride];
        if (first != nullptr && second != nullptr) visit({axis, numbers->values[i], numbers->values[j], first, second});
      }
    }
  }
}

std::vector<Crossover> crossovers(const SweepRows& rows, Score by) {
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, Crossover> found;
  for_each_step(rows, [&](const Step& step) {
    const auto change = change_between(step, by);
    if (!change) return;
    const auto& [pair, at] = *change;
    const auto [entry, anew] = found.try_emplace({step.axis, pair.first, pair.second},
                                                 Crossover{step.axis, pair.first, pair.second, at, at, 0});
    Crossover& crossover = entry->second;
    crossover.low = std::min(crossover.low, at);
    crossover.high = std::max(crossover.high, at);
    ++crossover.lines;
  });
  std::vector<Crossover> list;
  for (const auto& [key, crossover] : found) list.push_back(crossover);
  std::stable_sort(list.begin(), list.end(), [](const Crossover& a, const Crossover& b) {
    return std::pair(a.axis, b.lines) < std::pair(b.axis, a.lines);
  });
  return list;
}

std::vector<Failure> failures_of(const SweepRows& rows) {
  std::map<std::string, Failure> found;
  for (const Row& row : rows.rows) {
    if (row.done()) continue;
    Failure& failure = found.try_emplace(row.failure, Failure{row.failure, 0, row.index}).first->second;
    ++failure.points;
  }
  std::vector<Failure> list;
  for (const auto& [why, failure] : found) list.push_back(failure);
  std::stable_sort(list.begin(), list.end(), [](const Failure& a, const Failure& b) { return a.points > b.points; });
  return list;
}

}  // namespace accosim
