// What a sweep found: which schedule is fastest where, and where that changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "sim/sweep/rows.hpp"
#include "sim/what_if/winner.hpp"

namespace accosim {

/// What is called fast.
enum class Score : std::uint8_t {
  kTokens,           ///< tokens per second
  kSameBatch,        ///< the speedup over the baseline at equal samples an update
  kBestSynchronous,  ///< the speedup over the best synchronous schedule, likewise
  kAlone,            ///< the speedup over the fastest part alone, per token
  kTime,             ///< the least time of all tokens
  kCost,             ///< the least cost of all tokens
};
template <>
inline constexpr const char* kNames<Score>[] = {"tokens", "same-batch", "best-synchronous", "alone", "time", "cost"};
/// Time or money, of which less is better, and which is drawn by itself and not over a baseline.
bool is_spent(Score by);
/// Whether a row has a cost, and whether any has.
bool is_priced(const Row& row);
bool are_priced(const SweepRows& rows);
/// What the costs are in; empty: it is not said.
std::string currency_of(const SweepRows& rows);
/// Why rows have no such score and what to do about it; empty where they have it. `priced`: they have a cost.
std::string lacking(const Heading& heading, Score by, bool priced);
/// Throws that as BadInput; of rows also where they go by costs in several currencies.
void check_score(const Heading& heading, Score by, bool priced = true);
void check_score(const SweepRows& rows, Score by);

/// What is called fast, and what the winner is held to.
struct Merit {
  Score by = Score::kSameBatch;
  WinnerRule rule{};
};

/// What a picture shows of a schedule: a speedup (by tokens over the baseline as it is written), or what is spent, in
/// hours or money.
struct Shown {
  double value, low, high;  ///< the ends of its 80 % interval, or the value again where it has none
};
std::optional<Shown> shown_of(const Metrics& figures, Score by);

/// Rows by index of the point; nullptr where there is none.
std::vector<const Row*> by_index(const SweepRows& rows);

/// The number of each value of an axis, in one unit; nothing where a value is none.
struct Numbers {
  std::vector<double> values;
  std::string unit;  ///< " Gbit/s"
};
std::optional<Numbers> numbers_of(const Axis& axis);

/// "bandwidth of the adapters of node group 0"-like names are the user's to give: the last keys of the pointer that
/// tell the axes apart, "nics/bandwidth".
std::vector<std::string> short_names(const std::vector<Axis>& axes);

/// Gives each axis without a label one that its pointer and the scenario tell: "V100 nodes" for /cluster/nodes/1/count,
/// "adapter of A100 nodes" for /cluster/nodes/0/nics/bandwidth. `scenario` is a resolved one. Axes that would be called
/// the same keep none.
void add_labels(std::vector<Axis>& axes, const JsonValue& scenario);
/// What each is called: its label, else its short name.
std::vector<std::string> axis_names(const std::vector<Axis>& axes);

/// The score of a schedule at a point; nothing where it does not fit, or has none.
std::optional<double> score_of(const Row& row, std::size_t schedule, Score by);
/// Who is the fastest at a point; nobody where it failed or none fits.
Standing standing_at(const Row& row, const Merit& merit);
/// The schedule that wins there; nothing where none is without a caveat.
std::optional<std::size_t> winner_of(const Row& row, const Merit& merit);
/// A point as maps show it.
struct MapCell {
  std::optional<std::size_t> schedule;  ///< the winner, or the nearest to it
  /// "!": the point failed; "x": none fits; "*": none is without a caveat; "~": another is close; "" otherwise.
  const char* mark = "";
  std::optional<std::size_t> close{};  ///< the fastest that is
};
MapCell map_cell(const Row& row, const Merit& merit);

/// A point with what is best there.
struct Ranked {
  const Row* row = nullptr;
  std::size_t schedule = 0;  ///< the winner; where none is without a caveat, the nearest to it
  bool winner = true;
};
/// Points that were played and where something fits, from the least time of all tokens on (or cost, where that is the
/// merit), each with its winner by that.
std::vector<Ranked> ranking_of(const SweepRows& rows, const Merit& merit);

/// How often a schedule is faster than the winner, and at what price: the largest batch, the least probability to fit.
struct Faster {
  std::size_t schedule = 0;
  std::size_t points = 0;
  Caveats caveats;
};
/// The most frequent first.
std::vector<Faster> faster_ones(const SweepRows& rows, const Merit& merit);

/// A schedule's part in the points at one value of an axis.
struct Wins {
  std::size_t points = 0;     ///< that have a winner
  std::vector<double> share;  ///< by schedule: of these points, those that it wins
  std::vector<double> shown;  ///< by schedule: the median of shown_of(); NaN where it has none
};
/// By value of the axis.
std::vector<Wins> wins_along(const SweepRows& rows, std::size_t axis, const Merit& merit);

/// Along one axis, all else equal, one schedule wins below and another above. Where the two are equal is found between
/// the nearest points at which that changes; where a caveat comes or goes it is somewhere between the
/// two.
struct Crossover {
  std::size_t axis = 0;
  std::size_t below = 0, above = 0;  ///< schedules
  double low = 0, high = 0;          ///< least and greatest of all lines on which it happens
  std::size_t lines = 0;             ///< on which it happens
};
/// Of the numeric axes of a grid, the most frequent first.
std::vector<Crossover> crossovers(const SweepRows& rows, const Merit& merit);

/// What is as fast to kNoticeablyFaster is equal.
enum class Side : std::uint8_t { kFaster, kEqual, kSlower };

/// What a ratio does along one axis, all else equal, from the axis' least value on: on lines that go through the same
/// sides. Points without a ratio are passed over.
struct Course {
  /// Between two sides: where the one ends and the next begins, least and greatest of all lines. From faster to slower
  /// and back both are where the ratio is 1, as for a Crossover; beside equal ones they are points.
  struct Bound {
    Interval until, from;
  };
  std::size_t axis = 0;
  std::vector<Side> sides;    ///< two or more, each unlike the one before
  std::vector<Bound> bounds;  ///< one less
  std::size_t lines = 0;
  std::vector<const Row*> rows;  ///< of all of them
};
/// Absent where a row has none.
using RatioOf = std::function<std::optional<double>(const Row&)>;

/// A ratio at the points that have it.
struct Ratios {
  std::size_t points = 0, faster = 0;  ///< of them those at which it is above 1
  double least = 0, most = 0;
  double median = std::numeric_limits<double>::quiet_NaN();  ///< where no point has it
  std::vector<Course> courses;                               ///< on each axis the most frequent first
};
Ratios ratios_of(const SweepRows& rows, const RatioOf& ratio);

/// A schedule beside the best synchronous one of each point (Heading::tuned), at equal samples.
Ratios over_best(const SweepRows& rows, std::size_t schedule);

/// Neighbouring points along one axis with numbers, all else equal, between which nothing changes: of every schedule
/// the time of an update and of all tokens, its cost and whether it fits, to 0.1 %. As many points as can be, three or
/// more.
struct FlatRange {
  std::size_t axis = 0;
  double low = 0, high = 0;
  std::optional<Binding> binds;  ///< at its last point
  std::size_t lines = 1;         ///< on which it is the same
};
/// Of a grid: whether any of its axes can have one.
bool may_be_flat(const Heading& heading);
/// By axis, from low to high.
std::vector<FlatRange> flat_ranges(const SweepRows& rows);

// Of unlike clusters (Heading::fair): is the whole cluster faster than its fastest part alone, and where does that
// change?

/// Points at which a schedule trains an unlike cluster, compared per token with the part under the part's own best
/// schedule.
struct Worth {
  Ratios over_alone;     ///< of the whole over the part
  std::size_t open = 0;  ///< points where the 80 % interval leaves open which is faster
  /// The median, at equal samples an update; NaN where no point has it.
  double over_best_synchronous = std::numeric_limits<double>::quiet_NaN();
};
/// No schedule: the winner of each point, or the nearest to it, per token.
Worth worth_of(const SweepRows& rows, std::optional<std::size_t> schedule, const WinnerRule& rule);

/// Points of unlike clusters that train, and of which no part has room for the training.
std::size_t only_together(const SweepRows& rows);

}  // namespace accosim
