// Axes of a drawing: from values to pixels, round numbers to mark, and lines that lead the eye from them.
#pragma once

#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/draw/svg.hpp"

namespace accosim {

/// From values to pixels, in a straight line.
struct Scale {
  double low = 0, high = 1;  ///< values
  double from = 0, to = 1;   ///< pixels of the two
  double at(double value) const;
};

/// Multiples of 1, 2 or 5 times a power of ten from `low` to `high`, at most `most` of them, as they are written.
struct Tick {
  double value = 0;
  std::string label;
};
std::vector<Tick> nice_ticks(double low, double high, int most);
/// For a logarithmic axis: 1, 2 and 5 times the powers of ten from `low` > 0 to `high`, or the powers alone where these
/// are more than `most`, or every second, third... of them.
std::vector<Tick> log_ticks(double low, double high, int most);

/// The unit in which times up to `longest` are written on an axis.
struct TimeUnit {
  Seconds size{1};
  const char* name = "s";
};
TimeUnit time_unit(Seconds longest);

/// Lines across at the ticks, from `left` to `right` pixels, with their labels left of them.
void draw_rows(Svg& svg, const std::vector<Tick>& ticks, const Scale& y, double left, double right,
               const std::string& unit = "");
/// Pixels that the labels of draw_rows() need left of the axis.
double room_for_rows(const std::vector<Tick>& ticks, const std::string& unit = "");
/// Lines down at the ticks, from `top` to `bottom` pixels, with their labels below, and `title` below these. Returns
/// where the picture goes on.
double draw_columns(Svg& svg, const std::vector<Tick>& ticks, const Scale& x, double top, double bottom,
                    const std::string& title);

}  // namespace accosim
