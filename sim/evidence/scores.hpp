// How far predictions are from what others measured: rows, and what they come to by group, device and source. Plain
// values, for the reports.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace accosim {

enum class ValidationUnit { kSeconds, kBytes, kRatio };

/// One published measurement beside its prediction.
struct ValidationRow {
  std::string id, group, source, url, device, series, configuration, metric, published;
  char trust = 'A';
  std::vector<std::string> inferred;
  std::string explanation;      ///< why the prediction is off
  std::string left_out;         ///< why it is not scored
  std::string not_expressible;  ///< why there is no prediction
  ValidationUnit unit = ValidationUnit::kSeconds;
  double measured = 0, predicted = 0;
  double low = 0, high = 0;  ///< 80 % interval of the prediction

  bool expressed() const { return not_expressible.empty(); }
  bool scored() const { return expressed() && left_out.empty(); }
  double error() const { return predicted / measured - 1; }  ///< above 0: predicted too large
  bool inside() const { return low <= measured && measured <= high; }
};

/// The score of those rows that are scored. All zero where there is none.
struct ValidationScore {
  int cases = 0;
  double mean = 0;   ///< of the errors' absolute values
  double bias = 0;   ///< mean of the errors
  double worst = 0;  ///< the error that is largest either way
  std::string worst_id;
  double within_20 = 0;  ///< share of the cases whose error is at most 20 % either way
  double inside = 0;     ///< share of the cases in their 80 % interval
  int left_out = 0;      ///< expressed, and not scored by a stated rule
  int not_expressible = 0;
};

/// A score by what its rows have in common.
struct ValidationPart {
  std::string name;
  ValidationScore score;
};

struct ValidationGroup {
  std::string name;
  ValidationScore score;
  std::vector<ValidationPart> devices, sources, series;
};

/// The largest mean error that a group may have; committed in scenarios/validation/bounds.json.
struct ValidationBound {
  std::string group;
  double mean = 0;
  int cases = 0;  ///< least number of scored cases
};

struct ValidationSource {
  std::string key, title, url, commit, licence, description;
};

/// A group's error on what was left out of the fits, beside the error of the same cases with everything in.
struct LeftOutRow {
  std::string left_out;  ///< a device or a source
  std::string group;
  int cases = 0;
  double mean_with = 0, mean_without = 0;
};

struct Validation {
  std::vector<ValidationSource> sources;
  std::vector<ValidationRow> rows;
  std::vector<ValidationGroup> groups;
  std::vector<ValidationBound> bounds;
  std::vector<std::string> broken;  ///< bounds that do not hold, in words
  std::string left_out_by;          ///< "source" or "device", where it was asked for
  std::vector<LeftOutRow> left_out;
};

ValidationScore score_of(const std::vector<const ValidationRow*>& rows);
/// Scores by group (in the order of `names`), and in each by device, source and series, in the order of appearance.
std::vector<ValidationGroup> groups_of(const std::vector<ValidationRow>& rows, const std::vector<std::string>& names);
/// A group's mean above its bound, fewer scored cases than it had, a group without a bound, and (`explained` groups) a
/// case over 25 % without an explanation: a sentence each. Groups without rows are not checked.
std::vector<std::string> broken_bounds(const Validation& validation, const std::vector<std::string>& explained);

inline constexpr double kToBeExplained = 0.25;

/// One row a group, over all that was left out ("each"), means weighted by cases.
std::vector<LeftOutRow> left_out_totals(const Validation& validation);

}  // namespace accosim
