// Two predictions, or a measured run and a prediction, and what explains their difference: parts that add up to it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "models/recorded/recorded_results.hpp"
#include "models/recorded/recorded_settings.hpp"
#include "models/recorded/recorded_trace.hpp"

namespace accosim {

/// B - A; 0 where that is what rounding leaves of two sums.
inline double apart(const std::array<double, 2>& value) {
  constexpr double kRounding = 1e-11;
  const double difference = value[1] - value[0];
  const double most = std::max(std::fabs(value[0]), std::fabs(value[1]));
  return std::fabs(difference) <= kRounding * most ? 0 : difference;
}

/// Index 0 is of the first of two files, A, and 1 of the second, B.
struct DifferencePart {
  std::string name;
  std::array<double, 2> value{};  ///< seconds of an update, or bytes
  std::array<double, 2> count{};  ///< of a trace: occurrences an update on a rank
  std::array<double, 2> each{};   ///< and what one lasts in seconds, also where computation hides it
  double difference() const { return apart(value); }
};

/// A figure and the parts that add up to it, those that differ most first.
struct FigureDifference {
  std::array<double, 2> value{};
  std::vector<DifferencePart> parts;
  double difference() const { return apart(value); }
};

struct ScheduleDifference {
  std::array<std::string, 2> label;
  std::array<double, 2> samples{};  ///< of an update; of traces not known, 0
  FigureDifference update_time;     ///< seconds
  FigureDifference memory;          ///< bytes; of traces without parts
};

struct Differences {
  bool of_traces = false;
  std::optional<SettingDifferences> settings{};  ///< of results
  std::vector<ScheduleDifference> schedules{};
  std::array<std::vector<std::string>, 2> alone{};  ///< labels that the other has not
};

/// Schedules are paired by their labels; where one of each is left over, these two. The GPUs are busy, or idle while
/// the rank communicates, or idle otherwise.
Differences difference_of(const std::vector<RecordedResult>& a, const std::vector<RecordedResult>& b);

/// Likewise, over the updates between the first and the last that end in the trace, as the mean of the ranks. Each
/// moment of a rank counts as the first of what it does then: it computes, copies, launches, communicates (which is
/// then exposed), waits for others, or is idle. Where one of the two was measured by accocal, ops go by accocal's
/// names, and what a rank waits for others counts as the collective.
Differences difference_of(const std::vector<RecordedSchedule>& a, const std::vector<RecordedSchedule>& b);

}  // namespace accosim
