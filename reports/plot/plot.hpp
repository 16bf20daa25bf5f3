// What the pictures share: their style, heading and legend.
#pragma once

#include <string>
#include <vector>

#include "models/draw/axes.hpp"
#include "models/draw/svg.hpp"

namespace accosim {

struct PlotStyle {
  Theme theme = Theme::kLight;
  double width = 1000;  ///< pixels
};
inline constexpr int kLeastPlotWidth = 480, kMostPlotWidth = 10'000;

/// What a picture is of: the scenario, and below it what was simulated.
struct PlotHeading {
  std::string title;
  std::string subtitle;
};

inline constexpr double kPlotMargin = 14;  ///< pixels around everything

/// Returns where to go on, in pixels from the top.
double draw_heading(Svg& svg, const PlotHeading& heading);

struct LegendEntry {
  enum class Shape { kBox, kThickLine, kLine, kDashedLine, kWhisker };
  std::string name;
  Fill fill;
  Shape shape = Shape::kBox;
};
/// In as many lines as the width asks for. Returns where to go on.
double draw_legend(Svg& svg, const std::vector<LegendEntry>& entries, double top);

/// Whether a text has room in a box so wide, with a little around it.
bool label_fits(const std::string& label, double width, double size);
/// A text in the middle of a box that is filled so, where it has room; over a pattern on a plain ground.
void draw_label(Svg& svg, Box box, Fill fill, const std::string& label, double size);
/// In the middle of a plain box, whether it has room or not; `opacity` is that of the fill, over paper.
void draw_text_inside(Svg& svg, Box box, Fill fill, const std::string& text, double size, double opacity = 1);

/// Columns at round numbers of `unit`, in that of the scale, with room for their labels.
void draw_unit_columns(Svg& svg, const Scale& x, double unit, double top, double bottom, const std::string& title);

/// The line of an interval with its ends, from `low` to `high` pixels, around the height `y`.
void draw_whisker(Svg& svg, double low, double high, double y, double half_height);

}  // namespace accosim
