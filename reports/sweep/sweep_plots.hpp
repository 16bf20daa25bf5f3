// Pictures of a sweep: schedules along one axis; over two which is the fastest, or what one comes to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/draw/looks.hpp"
#include "reports/plot/plot.hpp"
#include "sim/sweep/summary.hpp"

namespace accosim {

/// The part of a grid that a picture shows: one or two axes, and the others at one value each.
struct Cut {
  std::vector<std::size_t> axes;  ///< of a curve the one across; of a map the one across, then the one upward
  Coordinates at;                 ///< of every axis; what it says of `axes` is not used
};
/// The axes by their pointers or short names; none given: those with the most values. `at` holds "axis=value", for the
/// other axes; one that is not named is at its first value. Throws BadInput, also where the points are no grid.
Cut cut_of(const SweepRows& rows, std::size_t axes, const std::vector<std::string>& named,
           const std::vector<std::string>& at);

/// The rows with what a picture shows of their schedules: those that `schedules` names in that order, or all, called as
/// `labels` ("SCHEDULE=TEXT") say; each in its look. Throws BadInput.
struct DrawnRows {
  SweepRows rows;
  std::vector<SeriesLook> looks;  ///< by schedule
};
DrawnRows drawn_rows(SweepRows rows, const std::vector<std::string>& schedules, const std::vector<std::string>& labels);

/// What a value of a picture is.
enum class PlotValue : std::uint8_t { kSpeedup, kTime, kCost, kTokens };
template <>
inline constexpr const char* kNames<PlotValue>[] = {"speedup", "time", "cost", "tokens"};
/// What a speedup is over, of rows before a choice among their schedules.
struct Over {
  std::string label;
  std::map<std::size_t, double> tokens_per_second;  ///< by index of the point, where the schedule fits
};
Over over_of(const SweepRows& rows, std::size_t schedule, const std::string& label);
struct ValueAsked {
  PlotValue value = PlotValue::kSpeedup;
  Score by = Score::kSameBatch;     ///< of a speedup: what it is over, as kTime and kCost are not
  std::optional<std::size_t> of{};  ///< schedule of a map; none: the best at each point
  std::optional<Over> over{};       ///< a speedup is over this one, per token
};

struct SweepPicture {
  std::string svg, csv;
};
/// A value along an axis that has numbers, a curve a schedule with its interval. Throws BadInput.
SweepPicture draw_curve(const DrawnRows& drawn, const Cut& cut, const ValueAsked& asked, const PlotStyle& style);
/// Which schedule is the best, a cell a point.
SweepPicture draw_map(const DrawnRows& drawn, const Cut& cut, const Merit& merit, const PlotStyle& style);
/// A value, a cell a point, with a line where a speedup is 1.
SweepPicture draw_value_map(const DrawnRows& drawn, const Cut& cut, const ValueAsked& asked, const Merit& merit,
                            const PlotStyle& style);

}  // namespace accosim
