#include "reports/sweep/sweep_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "models/base/outputs.hpp"
#include "reports/answer.hpp"
#include "reports/human.hpp"
#include "sim/result/metric_table.hpp"

namespace accosim {
namespace {

/// In the order of Score.
constexpr ScoreWords kScores[] = {
    {"fastest by tokens per second", "speedup over {}, per token", "per token"},
    {"fastest at equal samples an update", "speedup over {}, at equal samples an update", "at equal samples an update"},
    {"fastest against the best synchronous schedule",
     "speedup over the best synchronous schedule, at equal samples an update", "over the best synchronous schedule"},
    {"fastest against the fastest part alone", "speedup over the fastest part alone, per token", "per token"},
    {"the least time of all tokens", "time of all tokens, h", "by the time of all tokens", "fastest", "hours"},
    {"the least cost of all tokens", "cost of all tokens", "by the cost of all tokens", "cheapest", "cost"}};

/// Points of which the same is said.
struct Tally {
  std::size_t points = 0;
  const Row* first = nullptr;

  void add(const Row& row) {
    if (points++ == 0) first = &row;
  }
};

/// What is said, that of the most points first.
template <class Key>
std::vector<std::pair<Key, Tally>> most_first(const std::map<Key, Tally>& tallies) {
  std::vector<std::pair<Key, Tally>> all(tallies.begin(), tallies.end());
  std::ranges::stable_sort(all, std::ranges::greater(), [](const auto& each) { return each.second.points; });
  return all;
}

/// Of `most` sentences at most, and then how many `more` there are.
std::vector<std::string> first_of(std::vector<std::string> words, std::size_t most, const char* more) {
  if (words.size() <= most) return words;
  std::string rest = fmt::format("... and {} more{}.", words.size() - most, more);
  words.resize(most);
  words.push_back(std::move(rest));
  return words;
}

/// "from 4 V100 nodes on", "between 12 and 25 Gbit/s (adapter)", "above 25 Gbit/s (adapter)".
std::string from_in_words(const AxisWords& axis, double low, double high) {
  if (axis.whole) return fmt::format("from {} on", axis.named({std::ceil(low), std::ceil(high)}));
  const std::string least = axis.number(low), most = axis.number(high);
  return least == most ? fmt::format("above {} ({})", most, axis.name)
                       : fmt::format("between {} and {} ({})", least, most, axis.name);
}

/// "faster with up to 6 V100 nodes; equal at 7; slower beyond", "slower below 25 Gbit/s (adapter); faster above".
std::string course_in_words(const Course& course, const std::vector<AxisWords>& axes) {
  constexpr const char* kSides[] = {"faster", "equal", "slower"};
  const AxisWords& axis = axes[course.axis];
  const auto crosses = [&](std::size_t bound) {
    return course.sides[bound] != Side::kEqual && course.sides[bound + 1] != Side::kEqual;
  };
  // Between two whole numbers there is nothing.
  const auto until = [&](std::size_t bound) {
    const Interval& at = course.bounds[bound].until;
    return axis.whole && crosses(bound) ? Interval{std::ceil(at.low) - 1, std::ceil(at.high) - 1} : at;
  };
  const auto from = [&](std::size_t bound) {
    const Interval& at = course.bounds[bound].from;
    return axis.whole && crosses(bound) ? Interval{std::ceil(at.low), std::ceil(at.high)} : at;
  };
  const char* const up_to = axis.whole ? (axis.is_count() ? "with up to" : "up to") : crosses(0) ? "below" : "up to";
  std::string text =
      fmt::format("{} {} {}", kSides[static_cast<std::size_t>(course.sides[0])], up_to, axis.named(until(0)));
  bool known = true;  // where the side before ends, on every line
  for (std::size_t i = 1; i < course.sides.size(); ++i) {
    const char* const side = kSides[static_cast<std::size_t>(course.sides[i])];
    const Interval begin = from(i - 1);
    if (i + 1 == course.sides.size())
      return text + (known ? fmt::format("; {} {}", side, axis.whole ? "beyond" : "above")
                           : fmt::format("; {} from {} on", side, axis.range(begin)));
    const Interval end = until(i);
    known = begin.low == begin.high && end.low == end.high;
    text += !known                 ? fmt::format("; then {}", side)
            : begin.low == end.low ? fmt::format("; {} at {}", side, axis.range(begin))
                                   : fmt::format("; {} from {}", side, axis.range({begin.low, end.low}, " to "));
  }
  return text;
}

/// "V100 and T4" of "16 V100 and 8 T4".
std::string without_counts(const std::string& gpus) {
  std::string text;
  for (std::size_t at = 0; at < gpus.size();) {
    const std::size_t end = std::min(gpus.find(' ', at), gpus.size());
    const std::string word = gpus.substr(at, end - at);
    if (word.find_first_not_of("0123456789") != std::string::npos) text += (text.empty() ? "" : " ") + word;
    at = end + 1;
  }
  return text;
}

/// "the 64 V100", "the V100" of one; "the V100 or the A100" where they are not the same everywhere.
std::string gpus_in_words(const std::vector<const Row*>& rows, const std::string Alone::*gpus) {
  std::set<std::string> all;
  for (const Row* const row : rows) all.insert((*row->alone).*gpus);
  std::vector<std::string> names;
  for (const std::string& each : all) {
    const bool counted = all.size() == 1 && each.rfind("1 ", 0) != 0;
    std::string name = "the " + (counted ? each : without_counts(each));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return in_words(names, " or ");
}

std::string points_in_words(std::size_t count) { return so_many(count, "point"); }

std::string lines_in_words(std::size_t lines) { return lines > 1 ? fmt::format(" ({} lines of points)", lines) : ""; }

/// " Adding the 64 V100 to the 32 A100: faster with up to 6 V100 nodes; slower beyond."
std::string worth_course_in_words(const Course& course, const std::vector<AxisWords>& axes) {
  const std::string parts = gpus_in_words(course.rows, &Alone::part), where = course_in_words(course, axes);
  const bool swaps = parts.find(" or ") != std::string::npos;  // there may be so many others that these are the part
  return (swaps ? fmt::format(" Beside {} alone, whichever is faster, the whole cluster is {}", parts, where)
                : fmt::format(" Adding {} to {}: {}", gpus_in_words(course.rows, &Alone::others), parts, where)) +
         lines_in_words(course.lines) + ".";
}

constexpr std::size_t kMostCourses = 3;

/// Of the lines that go otherwise than those that are said.
std::string more_in_words(const std::vector<Course>& courses) {
  std::size_t lines = 0;
  for (std::size_t i = kMostCourses; i < courses.size(); ++i) lines += courses[i].lines;
  return lines == 0 ? "" : fmt::format(" On {} of points it goes otherwise.", so_many(lines, "more line"));
}

/// Of a schedule, or of the winner at each point; empty where no point has it.
std::vector<std::string> worth_in_words(const SweepRows& rows, std::optional<std::size_t> schedule,
                                        const WinnerRule& rule) {
  const Worth worth = worth_of(rows, schedule, rule);
  const std::size_t points = worth.over_alone.points, faster = worth.over_alone.faster;
  if (points == 0) return {};
  std::string text = schedule
                         ? fmt::format("With {} the whole cluster is faster at ", rows.heading.schedules[*schedule])
                         : "With the winner of each point the whole cluster is faster at ";
  if (faster == points)
    text += points == 1 ? "the only point" : fmt::format("all {} points", points);
  else
    text += faster == 0 ? fmt::format("none of {}", points_in_words(points))
                        : fmt::format("{} of {}", faster, points_in_words(points));
  if (worth.open > 0) text += fmt::format(" (at {} the interval leaves it open)", points_in_words(worth.open));
  text += ".";
  const std::vector<Course>& courses = worth.over_alone.courses;
  const std::vector<AxisWords> axes = axes_in_words(rows.heading);
  for (std::size_t i = 0; i < std::min(courses.size(), kMostCourses); ++i)
    text += worth_course_in_words(courses[i], axes);
  return {text + more_in_words(courses)};
}

/// Of a point that failed too: what it needs nobody knows.
bool fits_anywhere(const Row& row) {
  return !row.done() || std::ranges::any_of(row.schedules, [](const Metrics& figures) { return figures.fits(); });
}

/// " Into memory acco does not fit at 2 points, dpu at 1.", beside others that do; empty where all fit everywhere.
std::string unfit_in_words(const SweepRows& rows) {
  std::vector<std::string> unfit;
  for (std::size_t s = 0; s < rows.heading.schedules.size(); ++s) {
    const auto points = std::ranges::count_if(rows.rows, [&](const Row& row) {
      return row.done() && row.has(s) && fits_anywhere(row) && !row.schedules[s].fits();
    });
    if (points > 0)
      unfit.push_back(fmt::format("{}{} at {}", rows.heading.schedules[s], unfit.empty() ? " does not fit" : "",
                                  points_in_words(static_cast<std::size_t>(points))));
  }
  return unfit.empty() ? "" : fmt::format(" Into memory {} (-).", fmt::join(unfit, ", "));
}

/// " 1 point (cluster = mine) has no price_per_gpu_hour and takes no part."; empty where cost is not asked for.
std::string unpriced_in_words(const SweepRows& rows, const Merit& merit) {
  Tally unpriced;
  for (const Row& row : rows.rows)
    if (merit.by == Score::kCost && row.done() && !is_priced(row)) unpriced.add(row);
  if (unpriced.points == 0) return "";
  const bool one = unpriced.points == 1;
  return fmt::format(" {} ({}{}) {} no price_per_gpu_hour and {} no part.", points_in_words(unpriced.points),
                     one ? "" : "the first is ", point_in_words(rows, *unpriced.first), one ? "has" : "have",
                     one ? "takes" : "take");
}

/// " Faster at a price: dpu at 1006 points, with gradients one update late; acco at 12 points, at up to 33 times the
/// batch."
std::string faster_in_words(const SweepRows& rows, const Merit& merit) {
  std::vector<std::string> faster;
  for (const Faster& each : faster_ones(rows, merit))
    faster.push_back(fmt::format("{} at {}, {}", rows.heading.schedules[each.schedule], points_in_words(each.points),
                                 worst_in_words(each.caveats)));
  return faster.empty() ? "" : fmt::format(" Faster at a price: {}.", fmt::join(faster, "; "));
}

/// Whether points that are equal on `first` are so on `second`.
bool decides(const SweepRows& rows, std::size_t first, std::size_t second) {
  std::map<std::size_t, std::size_t> second_at;
  return std::ranges::all_of(rows.rows, [&](const Row& row) {
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
      " Points ask for updates of {} to {} samples, and larger ones communicate less often: a "
      "/training/global_batch_size that all can share out compares them at as many.",
      human_count(least), human_count(most));
}

/// A term of what binds as the subject of a sentence.
struct BindingWords {
  const char *term, *subject;
  bool of_network = false;
};
constexpr BindingWords kBindings[] = {{kComputing, "computation binds"},
                                      {"launch", "the launches of collectives bind"},
                                      {"slots", "the PCIe links of the GPUs bind"},
                                      {"inside nodes", "the links inside nodes bind"},
                                      {"cost of messages", "the host's cost of messages binds"},
                                      {"latency between nodes", "latency between nodes binds", true},
                                      {kWindow, "the in-flight window binds", true},
                                      {"wire", "the wire binds", true}};

/// "The best synchronous schedule is ddp at 2 points; zero1 at 1 point.": from the most often on.
std::string often_in_words(const SweepRows& rows, const char* title, std::string Row::*form) {
  std::map<std::string, Tally> forms;
  for (const Row& row : rows.rows)
    if (row.done() && !(row.*form).empty()) forms[row.*form].add(row);
  std::vector<std::string> often;
  for (const auto& [name, tally] : most_first(forms))
    often.push_back(fmt::format("{} at {}", name, points_in_words(tally.points)));
  return often.empty() ? "" : fmt::format("{}{}.", title, fmt::join(often, "; "));
}

}  // namespace

const ScoreWords& words_of(Score by) { return kScores[static_cast<std::size_t>(by)]; }

std::string shown_in_words(const SweepRows& rows, Score by) {
  const std::string currency = by == Score::kCost ? currency_of(rows) : "";
  return fmt::format(fmt::runtime(words_of(by).shown), rows.heading.baseline) +
         (currency.empty() ? "" : ", " + currency);
}

std::string trains_in_words(const Heading& heading) {
  const auto& [model, tokens, sequence] = heading.trains;
  std::string text = model;
  if (tokens > 0) text += fmt::format("{}{} tokens", text.empty() ? "" : " on ", human_count(tokens));
  if (sequence > 0) text += fmt::format("{}in sequences of {}", text.empty() ? "" : ", ", sequence);
  return text;
}

std::string counts_in_words(const SweepRows& rows, const Merit& merit) {
  std::size_t failed = 0, close = 0;
  std::map<std::pair<std::size_t, std::size_t>, Tally> open;  // winner and the next
  for (const Row& row : rows.rows) {
    const MapCell cell = map_cell(row, merit);
    failed += row.done() ? 0 : 1;
    if (!cell.schedule || !cell.close) continue;
    ++close;
    open[{*cell.schedule, *cell.close}].add(row);
  }
  const std::vector<std::string>& schedules = rows.heading.schedules;
  std::string text = fmt::format("{}: {} of {}", rows.heading.scenario, points_in_words(rows.rows.size()),
                                 so_many(schedules.size(), "schedule"));
  if (const std::string trains = trains_in_words(rows.heading); !trains.empty()) text += ", " + trains;
  if (rows.rows.size() < rows.heading.points) text += fmt::format(", of {} in all", rows.heading.points);
  text += failed > 0 ? fmt::format("; {} failed.", failed) : ".";
  text += unfit_in_words(rows) + unpriced_in_words(rows, merit);
  if (close == 0) return text;
  std::vector<std::string> pairs;
  for (const auto& [both, tally] : most_first(open))
    pairs.push_back(fmt::format("{} or {}{}", schedules[both.first], schedules[both.second],
                                open.size() == 1 ? "" : fmt::format(" at {}", tally.points)));
  constexpr std::size_t kMostPairs = 4;
  pairs.resize(std::min(pairs.size(), kMostPairs));
  return text + fmt::format(" At {} the interval leaves open which schedule is the {} (~): {}{}.",
                            points_in_words(close), words_of(merit.by).best, fmt::join(pairs, ", "),
                            open.size() > kMostPairs ? " and others" : "");
}

std::string winners_in_words(const SweepRows& rows, const Merit& merit) {
  std::map<std::size_t, Tally> wins, nearest;  // by schedule
  std::size_t points = 0, without_winner = 0;
  for (const Row& row : rows.rows) {
    const Standing standing = standing_at(row, merit);
    if (standing.winner) wins[*standing.winner].add(row);
    if (standing.nearest) nearest[*standing.nearest].add(row);
    points += standing.best() ? 1 : 0;
    without_winner += standing.nearest ? 1 : 0;
  }
  const bool played = std::ranges::any_of(rows.rows, &Row::done);
  if (points == 0) return played ? "No schedule fits at any point." : "No point could be played.";
  std::string text;
  for (const auto& [schedule, tally] : most_first(wins)) {
    const std::string& label = rows.heading.schedules[schedule];
    if (text.empty())
      text = fmt::format("{} is the {} at {}", label, words_of(merit.by).best,
                         tally.points < points ? fmt::format("{} of {} points", tally.points, points)
                         : points == 1         ? "the only point"
                                               : fmt::format("all {} points", points));
    else
      text += fmt::format(", {} at {}", label, tally.points);
  }
  if (!text.empty()) text += ".";
  std::vector<std::string> near;
  for (const auto& [schedule, tally] : most_first(nearest))
    near.push_back(fmt::format("{} at {}", rows.heading.schedules[schedule], tally.points));
  if (!near.empty())
    text += fmt::format("{}No schedule is without a caveat at {} (*); the nearest is {}.", text.empty() ? "" : " ",
                        points_in_words(without_winner), fmt::join(near, ", "));
  return text + faster_in_words(rows, merit);
}

std::vector<std::size_t> telling_axes(const SweepRows& rows) {
  std::vector<std::size_t> telling;
  for (std::size_t i = 0; i < rows.heading.axes.size(); ++i)
    if (!decided_by(rows, i)) telling.push_back(i);
  return telling;
}

std::string beside_in_words(const SweepRows& rows) {
  constexpr std::size_t kMostSaid = 12;
  const std::vector<AxisWords> axes = axes_in_words(rows.heading);
  std::string text;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const std::optional<std::size_t> by = decided_by(rows, axis);
    if (!by) continue;
    std::map<std::size_t, std::string> values;  // by the value of the other axis
    for (const Row& row : rows.rows) values.emplace(row.point[*by], rows.heading.axes[axis].values[row.point[axis]]);
    text += (text.empty() ? fmt::format("Beside {}: ", axes[*by].name) : "; ") + axes[axis].name + " ";
    std::size_t shown = 0;
    for (const auto& [at, value] : values)
      if (shown++ < kMostSaid) text += (shown == 1 ? "" : ", ") + value;
    if (values.size() > kMostSaid) text += ", ...";
  }
  return text.empty() ? text : text + ".";
}

std::string point_in_words(const SweepRows& rows, const Row& row) {
  const std::vector<AxisWords> axes = axes_in_words(rows.heading);
  std::vector<std::string> values;
  for (const std::size_t i : telling_axes(rows)) values.push_back(axes[i].value(row.point[i]));
  return fmt::format("{}", fmt::join(values, ", "));
}

std::vector<std::string> unfit_points_in_words(const SweepRows& rows) {
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::string> words;
  std::size_t points = 0;
  for (const Row& row : rows.rows) {
    if (fits_anywhere(row) || points++ >= kMostNamed) continue;
    const auto share = [](const Metrics& figures) {  // of one that is left out nobody knows
      return figures.memory_capacity > Bytes{0} ? figures.memory_resident / figures.memory_capacity
                                                : std::numeric_limits<double>::infinity();
    };
    const auto nearest = std::ranges::min_element(
        row.schedules, [&](const Metrics& a, const Metrics& b) { return share(a) < share(b); });
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
                            human_money(*figures.cost * way->total_time / figures.total_time.value, figures.currency));
      text += ".";
    } else {
      text += " No change that was tried makes one fit.";
    }
    words.push_back(std::move(text));
  }
  if (points > kMostNamed) words.push_back(fmt::format("Nor at {} more.", points_in_words(points - kMostNamed)));
  return words;
}

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
      "Of all points the {} is {}, with {}: all tokens in {} (80 %: {}), {} GPU-hours",
      cost ? "cheapest" : "fastest per token", point_in_words(rows, best),
      added ? fmt::format("{} ({})", label, best.best_synchronous) : label, human_clock(figures.total_time),
      human_range(human_clock(updates * figures.update_time_low), human_clock(updates * figures.update_time_high)),
      human_count(figures.gpu_hours));
  if (const std::optional<Interval> costs = metric_named("cost").interval.of(figures))
    text += fmt::format(", at a cost of {} ({})", human_money(*figures.cost, figures.currency),
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
  const std::vector<AxisWords> axes = axes_in_words(rows.heading);
  const std::vector<std::string>& schedules = rows.heading.schedules;
  std::vector<std::string> words;
  for (const Crossover& each : crossovers(rows, merit))
    words.push_back(fmt::format("{} takes over from {} {}{}.", schedules[each.above], schedules[each.below],
                                from_in_words(axes[each.axis], each.low, each.high), lines_in_words(each.lines)));
  return first_of(std::move(words), most, "");
}

std::string binding_in_words(const Binding& binds, const std::string& pointer) {
  const auto* const known = std::find_if(std::begin(kBindings), std::end(kBindings),
                                         [&](const BindingWords& each) { return binds.term == each.term; });
  const bool found = known != std::end(kBindings);
  std::string text = found ? known->subject : binds.term + " bind";
  if (binds.copied)
    text = fmt::format("the host's copies ({:.3g} GB/s each way of a node) bind", 1e-9 * binds.copied->value);
  const auto is_of = [&](const char* part) { return pointer.find(part) != std::string::npos; };
  const bool says_it = (is_of("/nics/") || is_of("/fabric/")) && !(found && known->of_network);
  return text + (says_it ? ", not the network" : "");
}

std::vector<std::string> flat_in_words(const SweepRows& rows, std::size_t most) {
  const std::vector<AxisWords> axes = axes_in_words(rows.heading);
  std::vector<std::string> words;
  for (const FlatRange& range : flat_ranges(rows)) {
    const AxisWords& axis = axes[range.axis];
    const std::string low = axis.digits(range.low), high = axis.number(range.high);
    const std::string from = axis.whole ? fmt::format("From {} = {} to {}", axis.name, low, high)
                                        : fmt::format("From {} to {} ({})", low, high, axis.name);
    const std::string binds = range.binds ? ": " + binding_in_words(*range.binds, axis.pointer()) : "";
    words.push_back(from + " nothing changes" + binds + lines_in_words(range.lines) + ".");
  }
  return first_of(std::move(words), most, " such");
}

std::vector<std::string> tuned_in_words(const SweepRows& rows) {
  std::vector<std::string> words;
  if (!rows.heading.tuned) return words;
  words.push_back(often_in_words(rows, "The best synchronous schedule is ", &Row::best_synchronous));
  if (words.front().empty()) return {};
  const std::vector<AxisWords> axes = axes_in_words(rows.heading);
  for (std::size_t s = 0; s + 1 < rows.heading.schedules.size(); ++s) {
    const Ratios over = over_best(rows, s);
    if (over.faster == 0) continue;
    std::string said =
        fmt::format("{} is faster than that at {} of {} ({:.2f} to {:.2f} times as fast at equal samples)",
                    rows.heading.schedules[s], over.faster, points_in_words(over.points), over.least, over.most);
    for (std::size_t i = 0; i < std::min(over.courses.size(), kMostCourses); ++i)
      said += fmt::format("{} {}{}", i == 0 ? ":" : ", or", course_in_words(over.courses[i], axes),
                          lines_in_words(over.courses[i].lines));
    words.push_back(said + "." + more_in_words(over.courses));
  }
  if (words.size() == 1) words.emplace_back("At no point is any other schedule faster than that.");
  if (std::string other = often_in_words(rows, "The best delayed or local one is ", &Row::best_delayed); !other.empty())
    words.push_back(std::move(other));
  return words;
}

std::vector<std::string> worth_in_words(const SweepRows& rows, const WinnerRule& rule) {
  if (!rows.heading.fair) return {};
  const std::vector<std::string> best = worth_in_words(rows, std::nullopt, rule);
  const std::size_t together = only_together(rows);
  if (best.empty() && together == 0)
    return {rows.rows.empty() ? "There are no rows yet."
                              : "At no point do unlike GPUs or node groups train under a schedule that fits: there is "
                                "nothing to compare a part with."};
  std::vector<std::string> words{
      "Is the slower part worth adding? Per token, the whole cluster beside its fastest part alone, which does as many "
      "samples an update as are asked of the whole, under the schedule that wins there."};
  words.insert(words.end(), best.begin(), best.end());
  const std::vector<std::string>& schedules = rows.heading.schedules;
  const auto baseline = std::ranges::find(schedules, rows.heading.baseline);
  if (schedules.size() > 1 && baseline != schedules.end())
    for (std::string& each : worth_in_words(rows, static_cast<std::size_t>(baseline - schedules.begin()), rule))
      words.push_back(std::move(each));
  if (together > 0)
    words.push_back(fmt::format("At {} no part alone has room for the training.", points_in_words(together)));
  return words;
}

std::vector<std::string> cautions_in_words(const SweepRows& rows) {
  const auto played = static_cast<std::size_t>(std::ranges::count_if(rows.rows, &Row::done));
  std::map<std::string, Tally> cautions;
  for (const Row& row : rows.rows)
    for (const std::string& said : row.cautions) cautions[said].add(row);
  std::vector<std::string> words;
  for (const auto& [said, tally] : most_first(cautions)) {
    const std::size_t colon = std::min(said.find(": "), said.size());
    words.push_back(fmt::format("Caution at {}{}: {} ({})", tally.points == played && played > 1 ? "all " : "",
                                points_in_words(tally.points), said.substr(std::min(colon + 2, said.size())),
                                said.substr(0, colon)));
  }
  return words;
}

std::vector<std::string> failures_in_words(const SweepRows& rows, std::size_t most) {
  std::map<std::string, Tally> failures;
  for (const Row& row : rows.rows)
    if (!row.done()) failures[row.failure].add(row);
  std::vector<std::string> words;
  for (const auto& [why, tally] : most_first(failures))
    words.push_back(
        fmt::format("Failed: {}, the first of them {}: {}", points_in_words(tally.points), tally.first->index, why));
  return first_of(std::move(words), most, " reasons");
}

std::vector<std::string> left_out_in_words(const SweepRows& rows, std::size_t most) {
  std::map<std::pair<std::size_t, std::string>, Tally> left_out;  // by schedule and reason
  for (const Row& row : rows.rows)
    for (std::size_t s = 0; s < row.left_out.size(); ++s)
      if (!row.has(s)) left_out[{s, row.left_out[s]}].add(row);
  std::vector<std::string> words;
  for (const auto& [what, tally] : left_out) {
    const std::string first = point_in_words(rows, *tally.first);
    words.push_back(fmt::format("Left out: {} at {}{}: {}", rows.heading.schedules[what.first],
                                points_in_words(tally.points),
                                tally.points > 1 ? ", the first of them " + first : " (" + first + ")", what.second));
  }
  return first_of(std::move(words), most, " reasons");
}

}  // namespace accosim
