// Curves over a common axis, in panels one above the other: losses over updates, or anything over anything. Told apart
// by colour and by dashes.
#pragma once

#include <string>
#include <vector>

#include "models/draw/axes.hpp"
#include "models/draw/looks.hpp"
#include "models/draw/svg.hpp"

namespace accosim {

struct ChartCurve {
  std::string name;
  SeriesLook look{};
  std::vector<Point> points;      ///< values; what is above or below the panel is left out
  std::vector<double> low, high;  ///< of an interval at each point; none: empty
};

struct CurvePanel {
  std::string title{}, x_title{};
  std::string y_title{};  ///< above the axis
  std::string y_unit{};   ///< behind the numbers of the axis: " %"
  double most_x = 1, least_x = 0;
  std::vector<Tick> x_ticks{};  ///< empty: round numbers
  double low = 0, high = 1;
  std::vector<double> limits{};  ///< dashed lines across
  std::vector<ChartCurve> curves{};
};

/// Names stand beside the ends of their curves or, where these have too little room so, below the panel. `title` is for
/// screen readers.
std::string curves_svg(const std::string& title, const std::vector<CurvePanel>& panels, Theme theme, double width);

}  // namespace accosim
