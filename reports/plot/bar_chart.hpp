// Bars of parts that add up, a bar a row: what time or memory goes into.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/plot/plot.hpp"

namespace accosim {

struct BarPart {
  std::string name;
  double value = 0;
  std::string text;   ///< the value as it is written
  std::string brief;  ///< the same in the unit of the axis, where there is little room; empty: there is none
  Fill fill;
};

struct Bar {
  std::string name, detail;  ///< the second in a line below
  std::vector<BarPart> parts;
  std::string total;            ///< behind the bar
  double low = 0, high = 0;     ///< interval of the sum
  std::optional<double> limit;  ///< a line across
};

struct BarChart {
  PlotHeading heading;
  std::vector<Bar> bars;
  std::vector<LegendEntry> legend;
  double unit = 1;   ///< of the axis, in that of the values
  std::string axis;  ///< "time (s)"
};

/// Parts that are too narrow for their number are listed below their bar.
std::string bar_chart_svg(const BarChart& chart, const PlotStyle& style);

}  // namespace accosim
