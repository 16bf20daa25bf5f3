// What the pictures share: their style, heading and legend.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/draw/axes.hpp"
#include "models/draw/svg.hpp"

namespace accosim {

struct PlotStyle {
  Theme theme = Theme::kLight;
  double width = 1000;  ///< pixels, 96 an inch in print
  /// In place of the heading; empty: there is none.
  std::optional<std::string> title{};
  bool intervals = true;
};
inline constexpr double kPixelsPerMillimetre = 96 / 25.4;
inline constexpr double kLeastPlotWidth = 60 * kPixelsPerMillimetre, kMostPlotWidth = 10'000;

/// What a picture is of: the scenario, and below it what was simulated.
struct PlotHeading {
  std::string title;
  std::string subtitle;
};

inline constexpr double kPlotMargin = 14;  ///< pixels around everything

/// As the style has it.
PlotHeading titled(const PlotHeading& heading, const PlotStyle& style);
/// Returns where to go on, in pixels from the top.
double draw_heading(Svg& svg, const PlotHeading& heading);

struct LegendEntry {
  enum class Shape { kBox, kThickLine, kLine, kDashedLine, kWhisker, kNone };
  std::string name;
  Fill fill;
  Shape shape = Shape::kBox;
  double opacity = 1;
};
/// In as many lines as the width asks for. Returns where to go on.
double draw_legend(Svg& svg, const std::vector<LegendEntry>& entries, double top);

/// "#rrggbb" so far from one to the other, 0 to 1; and black or white, whichever is read better on one.
std::string mixed(const std::string& from, const std::string& to, double part);
const char* ink_over(const std::string& colour);

/// Whether a text has room in a box so wide, with a little around it.
bool label_fits(const std::string& label, double width, double size);
/// A text in the middle of a box that is filled so, where it has room; over a pattern on a plain ground.
void draw_label(Svg& svg, Box box, Fill fill, const std::string& label, double size);
/// In the middle of a plain box, whether it has room or not; `opacity` is that of the fill, over paper.
void draw_text_inside(Svg& svg, Box box, Fill fill, const std::string& text, double size, double opacity = 1);

/// What is written in so little room: the label or, where that does not fit, what the field shortens it to ("RS" for a
/// reduce-scatter), which is then added to `shortened`; empty where neither fits.
std::string label_for(const std::string& label, double width, double size, std::set<std::string>& shortened);
/// "AR: all-reduce; RS: reduce-scatter", of these.
std::string shortened_in_words(const std::set<std::string>& shortened);

/// Columns at round numbers of `unit`, in that of the scale, with room for their labels. Returns where the picture goes
/// on.
double draw_unit_columns(Svg& svg, const Scale& x, double unit, double top, double bottom, const std::string& title);

/// The line of an interval with its ends, from `low` to `high` pixels, around the height `y`.
void draw_whisker(Svg& svg, double low, double high, double y, double half_height);

}  // namespace accosim
