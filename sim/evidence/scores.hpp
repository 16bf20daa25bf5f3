// How far predictions are from what others measured: rows, and what they come to by group, device and source. Plain
// values, for the reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/fit/published_case.hpp"
#include "models/price/interval.hpp"
#include "sim/evidence/fits_of_runs.hpp"

namespace accosim {

/// A predicted value with its 80 % interval, in the unit of what was asked.
struct ValidationPrediction {
  double value = 0, low = 0, high = 0;
  Spread spread{};  ///< of a training step: what its interval is made of

  double error(double measured) const { return value / measured - 1; }  ///< above 0: predicted too large
  bool holds(double measured) const { return low <= measured && measured <= high; }
  /// Negative log of the predictive density of y = log(measured / value): the interval's log-normal makes y normal,
  /// with mean m = log(low high) / 2 - log(value) and standard deviation s = log(high / low) / (2 x 1.28155), so log(s
  /// sqrt(2 pi)) + ((y - m) / s)^2 / 2, in nats; less is better. A proper score (Gneiting and Raftery 2007, "Strictly
  /// Proper Scoring Rules, Prediction, and Estimation", JASA 102, section 4.1): wide intervals, which always hold, pay
  /// for it in log(s), and narrow ones for what they miss. s is at least 0.001: no prediction is surer.
  double log_score(double measured) const;
};

/// One published measurement beside its prediction.
struct ValidationRow : PublishedCase {
  ValidationPrediction with{};                    ///< by the shipped constants, some of which are fitted to this source
  std::optional<ValidationPrediction> without{};  ///< by constants fitted to all other sources, where that was asked

  bool expressed() const { return not_expressible.empty(); }
  double error() const { return with.error(measured); }
  double error_without() const { return without.value().error(measured); }
};

/// How good 80 % intervals are.
struct IntervalScore {
  double inside = 0;     ///< share of the measurements in their interval
  double width = 1;      ///< median of high over low
  double log_score = 0;  ///< mean of ValidationPrediction::log_score
};

/// The score of those rows that are scored. Of no meaning where there is none.
struct ValidationScore {
  int cases = 0;
  std::optional<double> mean_without;             ///< of the errors' absolute values, each with its source left out
  std::optional<IntervalScore> interval_without;  ///< likewise; both only where every case has such a prediction
  double mean = 0;                                ///< of the absolute values, by the shipped constants, as what follows
  double bias = 0;                                ///< mean of the errors
  double worst = 0;                               ///< the error that is largest either way
  std::string worst_id;
  double within_20 = 0;  ///< share of the cases whose error is at most 20 % either way
  IntervalScore interval;
  int left_out = 0;  ///< expressed, and not scored by a stated rule
  int not_expressible = 0;
};

/// A score by what its rows have in common.
struct ValidationPart {
  std::string name;
  ValidationScore score;
};

struct ValidationGroup : ValidationPart {
  std::vector<ValidationPart> devices, sources, series;

  /// The middle one of the sources' mean errors, each source counting once however many cases it has.
  double median_of_sources() const;
  /// The same with each left out; where the score has such a mean.
  std::optional<double> median_of_sources_without() const;
};

/// The largest mean error that a group may have; committed in scenarios/validation/bounds.json.
struct ValidationBound {
  std::string group;
  double mean = 0;
  int cases = 0;                         ///< least number of scored cases
  std::optional<double> mean_without{};  ///< the largest with the source left out
};

/// A group's error on what was left out of the fits, beside the error of the same cases with everything in.
struct LeftOutRow {
  std::string left_out;  ///< a source, a device or a generation
  std::string group;
  int cases = 0;
  double mean_with = 0, mean_without = 0;  ///< mean absolute errors
  double held_without = 0;                 ///< share of the cases that their 80 % interval then holds
};

/// The ratio of two published steps that differ in one knob beside what is predicted of it.
struct RatioRow {
  std::string publisher, knob;
  std::string a, b;        ///< ids of the cases
  bool in_spreads = true;  ///< whether the spread of ratios is fitted to it
  double measured = 1;     ///< time of `a` over that of `b`
  ValidationPrediction predicted{};
  double apart = 0;  ///< spread_apart() of the two
};

/// Of the ratios that differ in the same knob, each publisher weighing the same.
struct RatioPart {
  std::string name;
  int pairs = 0, publishers = 0;
  double mean = 0;  ///< of the errors' absolute values
  IntervalScore interval;
};

struct Validation {
  std::vector<PublishedSource> sources{};
  std::vector<ValidationRow> rows{};
  std::vector<ValidationGroup> groups{};
  std::vector<ValidationBound> bounds{};
  std::vector<std::string> broken{};  ///< bounds that do not hold, in words
  std::string left_out_by{};          ///< "source" or "device", where it was asked for
  std::vector<LeftOutRow> left_out{};
  std::vector<RatioRow> ratios{};
  std::vector<RunFit> runs{};  ///< every published training run with its verdict on memory
};

ValidationScore score_of(const std::vector<const ValidationRow*>& rows);
/// Scores by group (in the order of `names`), and in each by device, source and series, in the order of appearance.
std::vector<ValidationGroup> groups_of(const std::vector<ValidationRow>& rows, const std::vector<std::string>& names);
/// A group's mean above its bound, fewer scored cases than it had, a group without a bound, and (`explained` groups) a
/// case over 25 % without an explanation, and broken_fits(), of which the bound kFalseVerdicts says how many there may
/// be: a sentence each. Groups without rows are not checked.
std::vector<std::string> broken_bounds(const Validation& validation, const std::vector<std::string>& explained);

inline constexpr double kToBeExplained = 0.25;

/// Rows of the same name and group in one, means weighted by cases, sorted by name; groups in the order of `names`.
std::vector<LeftOutRow> left_out_rows(const std::vector<LeftOutRow>& rows, const std::vector<std::string>& names);

/// One row a group, over all that was left out ("each"), means weighted by cases.
std::vector<LeftOutRow> left_out_totals(const Validation& validation);

}  // namespace accosim
