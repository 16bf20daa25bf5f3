#include "reports/sweep/sweep_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "reports/caveats_text.hpp"
#include "reports/human.hpp"
#include "sim/result/metric_table.hpp"
#include "sim/sweep/summary.hpp"

namespace accosim {
namespace {

/// What is fast, and what a picture shows of it; {} is the baseline.
struct ScoreWords {
  const char *fastest, *shown;
};
constexpr ScoreWords kScores[] = {
    {"fastest by tokens per second", "speedup over {}, per token"},
    {"fastest at equal samples an update", "speedup over {}, at equal samples an update"},
    {"fastest against the best synchronous schedule",
     "speedup over the best synchronous schedule, at equal samples an update"},
    {"fastest against the fastest part alone", "speedup over the fastest part alone, per token"},
    {"the least time of all tokens", "time of all tokens, h"},
    {"the least cost of all tokens", "cost of all tokens"}};
const ScoreWords& words_of(Score by) { return kScores[static_cast<std::size_t>(by)]; }

/// Things that are counted: between two of them there is nothing.
bool are_whole(const Numbers& numbers) {
  return numbers.unit.empty() && std::all_of(numbers.values.begin(), numbers.values.end(),
                                             [](double value) { return value == std::floor(value); });
}

/// "from count = 4 on", "between 12 and 25 Gbit/s (adapter)", "above 25 Gbit/s (adapter)".
std::string from_in_words(const Axis& axis, const std::string& name, double low, double high) {
  const Numbers numbers = *numbers_of(axis);
  const bool whole = are_whole(numbers);
  const auto shown = [&](double at) { return whole ? fmt::format("{:g}", std::ceil(at)) : written(numbers, at); };
  const std::string least = shown(low), most = shown(high);
  if (whole) return fmt::format("from {} = {}{} on", name, least, least == most ? "" : " to " + most);
  return least == most ? fmt::format("above {} ({})", most, name)
                       : fmt::format("between {} and {} ({})", least, most, name);
}

/// The same of what ends there: "up to count = 4", "below 25 Gbit/s (adapter)".
std::string until_in_words(const Axis& axis, const std::string& name, double low, double high) {
  const Numbers numbers = *numbers_of(axis);
  const bool whole = are_whole(numbers);
  const auto shown = [&](double at) { return whole ? fmt::format("{:g}", std::ceil(at) - 1) : written(numbers, at); };
  const std::string least = shown(low), most = shown(high);
  if (whole) return fmt::format("up to {} = {}{}", name, least, least == most ? "" : " to " + most);
  return fmt::format("below {}{} ({})", least, least == most ? "" : " to " + most, name);
}

std::string place_in_words(const RatioChange& change, const Heading& heading, const std::vector<std::string>& names) {
  return (change.from ? from_in_words : until_in_words)(heading.axes[change.axis], names[change.axis], change.low,
                                                        change.high);
}

std::string points_in_words(std::size_t count) { return count == 1 ? "1 point" : fmt::format("{} points", count); }

std::string lines_in_words(std::size_t lines) { return lines > 1 ? fmt::format(" ({} lines of points)", lines) : ""; }

/// "The 64 V100-SXM2-32GB are worth it from count = 6 on; below, 32 A100-SXM4-80GB alone are faster."
std::string change_in_words(const WorthChange& change, const Heading& heading, const std::vector<std::string>& names) {
  std::string where = place_in_words(change.where, heading, names);
  if (where.rfind("between", 0) == 0) where = "from " + where + " on";
  const auto is_one = [](const std::string& gpus) { return gpus.rfind("1 ", 0) == 0; };
  std::string others = "The others are", part = "the fastest part alone is";
  if (!change.others.empty())
    others = is_one(change.others) ? "The " + change.others.substr(2) + " is" : "The " + change.others + " are";
  if (!change.part.empty()) part = change.part + (is_one(change.part) ? " alone is" : " alone are");
  return fmt::format("{} worth it {}{}; {}, {} faster.", others, where, lines_in_words(change.where.steps.size()),
                     change.where.from ? "below" : "above", part);
}

/// Of a schedule, or of the winner at each point.
void add_worth(std::vector<std::string>& words, const SweepRows& rows, std::optional<std::size_t> schedule,
               const WinnerRule& rule) {
  const Worth worth = worth_of(rows, schedule, rule);
  if (worth.points == 0) return;
  std::string text = schedule
                         ? fmt::format("With {} the whole cluster is faster at ", rows.heading.schedules[*schedule])
                         : "With the winner of each point the whole cluster is faster at ";
  if (worth.pays == worth.points)
    text += worth.points == 1 ? "the only point" : fmt::format("all {} points", worth.points);
  else
    text += worth.pays == 0 ? fmt::format("none of {}", points_in_words(worth.points))
                            : fmt::format("{} of {}", worth.pays, points_in_words(worth.points));
  if (worth.open > 0) text += fmt::format(" (at {} the interval leaves it open)", points_in_words(worth.open));
  const std::vector<std::string> names = axis_names(rows.heading.axes);
  const std::vector<WorthChange> changes = worth_changes(rows, schedule, rule);
  constexpr std::size_t kMostChanges = 3;
  text += ".";
  for (std::size_t i = 0; i < std::min(changes.size(), kMostChanges); ++i)
    text += " " + change_in_words(changes[i], rows.heading, names);
  words.push_back(std::move(text));
}

}  // namespace

std::string score_in_words(Score by) { return words_of(by).fastest; }

std::string shown_in_words(const SweepRows& rows, Score by) {
  return fmt::format(fmt::runtime(words_of(by).shown), rows.heading.baseline);
}

namespace {

/// Of a point that failed too: what it needs nobody knows.
bool fits_anywhere(const Row& row) {
  return !row.done() ||
         std::any_of(row.schedules.begin(), row.schedules.end(), [](const Metrics& figures) { return figures.fits(); });
}

/// " Into memory acco does not fit at 2 points, dpu at 1.", beside others that do; empty where all fit everywhere.
std::string unfit_in_words(const SweepRows& rows) {
  std::string text;
  for (std::size_t s = 0; s < rows.heading.schedules.size(); ++s) {
    const auto points = std::count_if(rows.rows.begin(), rows.rows.end(), [&](const Row& row) {
      return row.done() && fits_anywhere(row) && !row.schedules[s].fits();
    });
    if (points > 0)
      text += fmt::format("{}{}{} at {}", text.empty() ? " Into memory " : ", ", rows.heading.schedules[s],
                          text.empty() ? " does not fit" : "", points_in_words(static_cast<std::size_t>(points)));
  }
  return text.empty() ? text : text + " (-).";
}

/// " 1 point (cluster = mine) has no price_per_gpu_hour and takes no part."; empty where cost is not asked for.
std::string unpriced_in_words(const SweepRows& rows, const Merit& merit) {
  std::size_t points = 0;
  std::string first;
  for (const Row& row : rows.rows)
    if (merit.by == Score::kCost && row.done() && !row.schedules.front().cost && points++ == 0)
      first = point_in_words(rows, row);
  if (points == 0) return "";
  return fmt::format(" {} ({}) {} no price_per_gpu_hour and {} no part.", points_in_words(points),
                     points == 1 ? first : "the first is " + first, points == 1 ? "has" : "have",
                     points == 1 ? "takes" : "take");
}

}  // namespace

std::string trains_in_words(const Heading& heading) {
  const auto& [model, tokens, sequence] = heading.trains;
  std::string text = model;
  if (tokens > 0) text += fmt::format("{}{} tokens", text.empty() ? "" : " on ", human_count(tokens));
  if (sequence > 0) text += fmt::format("{}in sequences of {}", text.empty() ? "" : ", ", sequence);
  return text;
}

std::string counts_in_words(const SweepRows& rows, const Merit& merit) {
  std::size_t failed = 0, close = 0;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> open;  // winner and the next, points
  for (const Row& row : rows.rows) {
    const MapCell cell = map_cell(row, merit);
    failed += row.done() ? 0 : 1;
    if (!cell.schedule || !cell.close) continue;
    ++close;
    ++open[{*cell.schedule, *cell.close}];
  }
  std::string text = fmt::format("{}: {} of {} schedule{}", rows.heading.scenario, points_in_words(rows.rows.size()),
                                 rows.heading.schedules.size(), rows.heading.schedules.size() == 1 ? "" : "s");
  if (const std::string trains = trains_in_words(rows.heading); !trains.empty()) text += ", " + trains;
  if (rows.rows.size() < rows.heading.points) text += fmt::format(", of {} in all", rows.heading.points);
  text += failed > 0 ? fmt::format("; {} failed.", failed) : ".";
  text += unfit_in_words(rows) + unpriced_in_words(rows, merit);
  if (close == 0) return text;
  text += fmt::format(" At {} the interval leaves open which schedule is the {} (~)", points_in_words(close),
                      merit.by == Score::kCost ? "cheapest" : "fastest");
  std::vector<std::pair<std::size_t, std::string>> pairs;
  for (const auto& [both, points] : open)
    pairs.emplace_back(points, rows.heading.schedules[both.first] + " or " + rows.heading.schedules[both.second]);
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t kMostPairs = 4;
  for (std::size_t i = 0; i < std::min(pairs.size(), kMostPairs); ++i)
    text += fmt::format("{}{}{}", i == 0 ? ": " : ", ", pairs[i].second,
                        pairs.size() == 1 ? "" : fmt::format(" at {}", pairs[i].first));
  return text + (pairs.size() > kMostPairs ? " and others." : ".");
}

namespace {

/// Points by schedule, those with the most first; those without any left out.
std::vector<std::pair<std::size_t, std::size_t>> counted(std::vector<std::size_t> points) {
  std::vector<std::pair<std::size_t, std::size_t>> all;
  for (std::size_t s = 0; s < points.size(); ++s)
    if (points[s] > 0) all.emplace_back(points[s], s);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  return all;
}

/// " Faster at a price: dpu at 1006 points, with gradients one update late; acco at 12 points, at up to 33 times the
/// batch."
std::string faster_in_words(const SweepRows& rows, const Merit& merit) {
  std::string text;
  for (const Faster& each : faster_ones(rows, merit))
    text +=
        fmt::format("{}{} at {}, {}", text.empty() ? " Faster at a price: " : "; ",
                    rows.heading.schedules[each.schedule], points_in_words(each.points), worst_in_words(each.caveats));
  return text.empty() ? "" : text + ".";
}

}  // namespace

std::string winners_in_words(const SweepRows& rows, const Merit& merit) {
  std::vector<std::size_t> wins(rows.heading.schedules.size()), nearest(rows.heading.schedules.size());
  std::size_t points = 0;
  for (const Row& row : rows.rows) {
    const Standing standing = standing_at(row, merit);
    if (standing.winner) ++wins[*standing.winner];
    if (standing.nearest) ++nearest[*standing.nearest];
    points += standing.best() ? 1 : 0;
  }
  const bool played = std::any_of(rows.rows.begin(), rows.rows.end(), [](const Row& row) { return row.done(); });
  if (points == 0) return played ? "No schedule fits at any point." : "No point could be played.";
  std::string text;
  for (const auto& [count, schedule] : counted(wins)) {
    const std::string& label = rows.heading.schedules[schedule];
    if (text.empty())
      text = fmt::format("{} is the {} at {}", label, merit.by == Score::kCost ? "cheapest" : "fastest",
                         count < points ? fmt::format("{} of {} points", count, points)
                         : points == 1  ? "the only point"
                                        : fmt::format("all {} points", points));
    else
      text += fmt::format(", {} at {}", label, count);
  }
  if (!text.empty()) text += ".";
  std::string near;
  for (const auto& [count, schedule] : counted(nearest))
    near += fmt::format("{}{} at {}", near.empty() ? "" : ", ", rows.heading.schedules[schedule], count);
  if (!near.empty())
    text += fmt::format("{}No schedule is without a caveat at {} (*); the nearest is {}.", text.empty() ? "" : " ",
                        points_in_words(std::accumulate(nearest.begin(), nearest.end(), std::size_t{0})), near);
  return text + faster_in_words(rows, merit);
}

namespace {

bool ends_with_key(const Axis& axis, std::initializer_list<std::string_view> keys) {
  const std::string_view last = std::string_view(axis.pointer).substr(axis.pointer.rfind('/') + 1);
  return std::find(keys.begin(), keys.end(), last) != keys.end();
}

/// "dgx-h100-4x8", "2 nodes", "adapter = 100 Gbit/s".
std::string value_in_words(const Axis& axis, const std::string& name, std::size_t at) {
  const std::optional<Numbers> numbers = numbers_of(axis);
  std::string value = numbers ? axis.values[at] : labels_of(axis, name).values[at];
  if (!numbers && ends_with_key(axis, {"cluster", "model", "device"})) return value;
  const bool counts = numbers && are_whole(*numbers) &&
                      ends_with_key(axis, {"count", "gpus", "gradient_accumulation_steps", "global_batch_size",
                                           "micro_batch_size", "sequence_length", "tensor_parallel_size",
                                           "pipeline_parallel_size", "virtual_pipeline_stages"});
  return counts && name.rfind("count", 0) != 0 ? value + " " + name : fmt::format("{} = {}", name, value);
}

/// Whether points that are equal on `first` are so on `second`.
bool decides(const SweepRows& rows, std::size_t first, std::size_t second) {
  std::map<std::size_t, std::size_t> second_at;
  return std::all_of(rows.rows.begin(), rows.rows.end(), [&](const Row& row) {
    return second_at.emplace(row.point[first], row.point[second]).first->second == row.point[second];
  });
}

/// The axis of names that decides the numbers of another one.
std::optional<std::size_t> decided_by(const SweepRows& rows, std::size_t axis) {
  const std::vector<Axis>& axes = rows.heading.axes;
  if (!rows.heading.side_by_side || !numbers_of(axes[axis])) return std::nullopt;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (!numbers_of(axes[i]) && axes[i].values.size() > 1 && decides(rows, i, axis)) return i;
  return std::nullopt;
}

}  // namespace

std::vector<std::size_t> telling_axes(const SweepRows& rows) {
  std::vector<std::size_t> telling;
  for (std::size_t i = 0; i < rows.heading.axes.size(); ++i)
    if (!decided_by(rows, i)) telling.push_back(i);
  return telling;
}

std::string beside_in_words(const SweepRows& rows) {
  constexpr std::size_t kMostSaid = 12;
  const std::vector<Axis>& axes = rows.heading.axes;
  const std::vector<std::string> names = axis_names(axes);
  std::string text;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const std::optional<std::size_t> by = decided_by(rows, axis);
    if (!by) continue;
    std::map<std::size_t, std::string> values;  // by the value of the other axis
    for (const Row& row : rows.rows) values.emplace(row.point[*by], axes[axis].values[row.point[axis]]);
    text += (text.empty() ? fmt::format("Beside {}: ", names[*by]) : "; ") + names[axis] + " ";
    std::size_t shown = 0;
    for (const auto& [at, value] : values)
      if (shown++ < kMostSaid) text += (shown == 1 ? "" : ", ") + value;
    if (values.size() > kMostSaid) text += ", ...";
  }
  return text.empty() ? text : text + ".";
}

std::string point_in_words(const SweepRows& rows, const Row& row) {
  const std::vector<Axis>& axes = rows.heading.axes;
  const std::vector<std::string> names = axis_names(axes);
  std::string text;
  for (const std::size_t i : telling_axes(rows))
    text += (text.empty() ? "" : ", ") + value_in_words(axes[i], names[i], row.point[i]);
  return text;
}

std::vector<std::string> unfit_points_in_words(const SweepRows& rows) {
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::string> words;
  std::size_t points = 0;
  for (const Row& row : rows.rows) {
    if (fits_anywhere(row) || points++ >= kMostNamed) continue;
    const auto share = [](const Metrics& figures) { return figures.memory_resident / figures.memory_capacity; };
    const auto nearest = std::min_element(row.schedules.begin(), row.schedules.end(),
                                          [&](const Metrics& a, const Metrics& b) { return share(a) < share(b); });
    std::string text =
        fmt::format("Nothing fits at {}: {}, which comes nearest, needs {} of {} a GPU.", point_in_words(rows, row),
                    rows.heading.schedules[static_cast<std::size_t>(nearest - row.schedules.begin())],
                    human_memory(nearest->memory_resident), human_memory(nearest->memory_capacity));
    if (const std::optional<FittingWay>& way = row.way_to_fit) {
      const Metrics& figures = row.schedules[way->schedule];
      text += fmt::format(" {} fits with {}: about {}", rows.heading.schedules[way->schedule], way->change,
                          human_clock(Seconds{way->total_time}));
      if (figures.cost)
        text += fmt::format(", at a cost of about {}",
                            human_count(*figures.cost * way->total_time / figures.total_time.value));
      text += ".";
    } else {
      text += " No change that was tried makes one fit.";
    }
    words.push_back(std::move(text));
  }
  if (points > kMostNamed) words.push_back(fmt::format("Nor at {} more.", points_in_words(points - kMostNamed)));
  return words;
}

namespace {

/// Of two points, whose errors are taken to be independent: "1.28 times as much (80 %: 1.09 to 1.50)".
std::string times_in_words(const Metrics& more, const Metrics& less, double times, const char* as) {
  const Interval interval = interval_80(times, std::hypot(more.spread.total(), less.spread.total()));
  return fmt::format("{:.3g} times as {} (80 %: {:.3g} to {:.3g}){}", times, as, interval.low, interval.high,
                     interval.low < 1 ? ", too near to tell the two apart" : "");
}

/// " Updates are of 128 to 256 samples: ..."; empty where all points ask for as many.
std::string samples_in_words(const std::vector<Ranked>& ranking) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Ranked& each : ranking) {
    const Metrics& figures = each.row->schedules[each.schedule];
    const double asked = figures.samples_per_update / figures.batch_inflation;
    least = std::min(least, asked);
    most = std::max(most, asked);
  }
  if (most < 1.001 * least) return "";
  return fmt::format(
      " Points ask for updates of {} to {} samples, and larger ones communicate less often: --set "
      "/training/global_batch_size={:.0f} compares them at as many.",
      human_count(least), human_count(most), most);
}

}  // namespace

std::string ranking_in_words(const SweepRows& rows, const Merit& merit) {
  std::vector<Ranked> ranking = ranking_of(rows, merit);
  std::erase_if(ranking, [](const Ranked& each) { return !each.winner; });
  if (ranking.size() < 2) return "";
  const bool cost = merit.by == Score::kCost;
  const char* const as = cost ? "much" : "long";
  const auto figures_of = [](const Ranked& at) -> const Metrics& { return at.row->schedules[at.schedule]; };
  const Metrics& figures = figures_of(ranking.front());
  const auto times = [&](const Ranked& at) {
    return cost ? *figures_of(at).cost / *figures.cost : figures_of(at).total_time / figures.total_time;
  };
  const Row& best = *ranking.front().row;
  const std::string& label = rows.heading.schedules[ranking.front().schedule];
  const bool added = rows.heading.tuned && ranking.front().schedule + 1 == rows.heading.schedules.size();
  const double updates = figures.total_time / figures.update_time;
  std::string text = fmt::format(
      "Of all points the {} is {}, with {}: all tokens in {} (80 %: {}), {} GPU-hours", cost ? "cheapest" : "fastest",
      point_in_words(rows, best), added ? fmt::format("{} ({})", label, best.best_synchronous) : label,
      human_clock(figures.total_time),
      human_range(human_clock(updates * figures.update_time_low), human_clock(updates * figures.update_time_high)),
      human_count(figures.gpu_hours));
  if (const std::optional<Interval> costs = metric_named("cost").interval.of(figures))
    text += fmt::format(", at a cost of {} ({})", human_count(*figures.cost),
                        human_range(human_count(costs->low), human_count(costs->high)));
  // Of equal ones the first is named, and how many come to the same.
  std::size_t equal = 1;
  while (equal < ranking.size() && times(ranking[equal]) < kNoticeablyFaster) ++equal;
  if (equal > 1) text += fmt::format("; {} more {} to the same", equal - 1, equal == 2 ? "comes" : "come");
  text += ".";
  if (equal < ranking.size())
    text += fmt::format(" The next, {}, takes {}.", point_in_words(rows, *ranking[equal].row),
                        times_in_words(figures_of(ranking[equal]), figures, times(ranking[equal]), as));
  if (equal + 1 < ranking.size())
    text += fmt::format(" The {} takes {:.3g} times as {}.", cost ? "dearest" : "slowest", times(ranking.back()), as);
  return text + samples_in_words(ranking);
}

std::vector<std::string> crossovers_in_words(const SweepRows& rows, const Merit& merit, std::size_t most) {
  const std::vector<std::string> names = axis_names(rows.heading.axes);
  const std::vector<Crossover> all = crossovers(rows, merit);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i) {
    const Crossover& each = all[i];
    words.push_back(fmt::format("{} takes over from {} {}{}.", rows.heading.schedules[each.above],
                                rows.heading.schedules[each.below],
                                from_in_words(rows.heading.axes[each.axis], names[each.axis], each.low, each.high),
                                lines_in_words(each.lines)));
  }
  if (all.size() > most) words.push_back(fmt::format("... and {} more.", all.size() - most));
  return words;
}

namespace {

/// "The best synchronous schedule is ddp at 2 points; zero1 at 1 point.": from the most often on.
std::string often_in_words(const SweepRows& rows, const char* title, std::string Row::*form) {
  std::map<std::string, std::size_t> forms;
  for (const Row& row : rows.rows)
    if (row.done() && !(row.*form).empty()) ++forms[row.*form];
  std::vector<std::pair<std::string, std::size_t>> often(forms.begin(), forms.end());
  std::stable_sort(often.begin(), often.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, points] : often)
    text += fmt::format("{}{} at {}", text.empty() ? title : "; ", name, points_in_words(points));
  return text.empty() ? text : text + ".";
}

}  // namespace

std::vector<std::string> tuned_in_words(const SweepRows& rows) {
  std::vector<std::string> words;
  if (!rows.heading.tuned) return words;
  words.push_back(often_in_words(rows, "The best synchronous schedule is ", &Row::best_synchronous));
  if (words.front().empty()) return {};
  const std::vector<std::string> names = axis_names(rows.heading.axes);
  for (std::size_t s = 0; s + 1 < rows.heading.schedules.size(); ++s) {
    const OverBest over = over_best(rows, s);
    if (over.faster == 0) continue;
    std::string said =
        fmt::format("{} is faster than that at {} of {}: {:.2f} to {:.2f} times as fast at equal samples",
                    rows.heading.schedules[s], over.faster, points_in_words(over.points), over.least, over.most);
    for (const RatioChange& change : over.changes)
      said += fmt::format("; faster {}{}", place_in_words(change, rows.heading, names),
                          lines_in_words(change.steps.size()));
    words.push_back(said + ".");
  }
  if (words.size() == 1) words.emplace_back("At no point is any other schedule faster than that.");
  if (std::string other = often_in_words(rows, "The best delayed or local one is ", &Row::best_delayed); !other.empty())
    words.push_back(std::move(other));
  return words;
}

std::vector<std::string> worth_in_words(const SweepRows& rows, const WinnerRule& rule) {
  std::vector<std::string> words;
  if (!rows.heading.fair) return words;
  const Worth best = worth_of(rows, std::nullopt, rule);
  const std::size_t together = only_together(rows);
  if (best.points == 0 && together == 0) {
    words.emplace_back(rows.rows.empty() ? "There are no rows yet."
                                         : "At no point do unlike GPUs or node groups train under a schedule that "
                                           "fits: there is nothing to compare a part with.");
    return words;
  }
  words.emplace_back(
      "Is the slower part worth adding? Per token, the whole cluster beside its fastest part alone, which does as many "
      "samples an update as are asked of the whole, under the schedule that wins there.");
  add_worth(words, rows, std::nullopt, rule);
  const std::vector<std::string>& schedules = rows.heading.schedules;
  const auto baseline = std::find(schedules.begin(), schedules.end(), rows.heading.baseline);
  if (schedules.size() > 1 && baseline != schedules.end())
    add_worth(words, rows, static_cast<std::size_t>(baseline - schedules.begin()), rule);
  if (together > 0)
    words.push_back(fmt::format("At {} no part alone has room for the training.", points_in_words(together)));
  return words;
}

std::vector<std::string> cautions_in_words(const SweepRows& rows) {
  const auto played = std::count_if(rows.rows.begin(), rows.rows.end(), [](const Row& row) { return row.done(); });
  std::vector<std::string> words;
  for (const auto& [said, points] : cautions_in(rows)) {
    const std::size_t colon = std::min(said.find(": "), said.size());
    const bool all = points == static_cast<std::size_t>(played);
    words.push_back(fmt::format("Caution at {}{}: {} ({})", all && points > 1 ? "all " : "", points_in_words(points),
                                said.substr(std::min(colon + 2, said.size())), said.substr(0, colon)));
  }
  return words;
}

std::vector<std::string> failures_in_words(const SweepRows& rows, std::size_t most) {
  const std::vector<Failure> failures = failures_of(rows);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(failures.size(), most); ++i)
    words.push_back(fmt::format("Failed: {}, the first of them {}: {}", points_in_words(failures[i].points),
                                failures[i].first, failures[i].why));
  if (failures.size() > most) words.push_back(fmt::format("... and {} more reasons.", failures.size() - most));
  return words;
}

}  // namespace accosim
