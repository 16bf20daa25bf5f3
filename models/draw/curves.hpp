// Curves over a common axis, in panels one above the other: losses over updates, or anything over anything. Told apart
// by colour and by dashes.
#pragma once

#include <string>
#include <vector>

#include "models/draw/axes.hpp"
#include "models/draw/svg.hpp"

namespace accosim {

struct ChartCurve {
  std::string name;
  int series = 0;                 ///< which colour and dashes: the same one in every panel
  std::vector<Point> points;      ///< values; what is above or below the panel is left out
  std::vector<double> low, high;  ///< of an interval at each point; none: empty
};

struct CurvePanel {
  std::string title, x_title;
  std::string y_unit;  ///< behind the numbers of the axis: " %"
  double most_x = 1, least_x = 0;
  std::vector<Tick> x_ticks{};  ///< empty: round numbers
  double low = 0, high = 1;
  std::vector<double> limits;  ///< dashed lines across
  std::vector<ChartCurve> curves;
};

/// `title` is for screen readers.
std::string curves_svg(const std::string& title, const std::vector<CurvePanel>& panels, Theme theme, double width);

}  // namespace accosim
