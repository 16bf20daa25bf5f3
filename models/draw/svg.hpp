// The parts that every picture is drawn with: an SVG document written piece by piece, colours that colour-blind people
// tell apart, patterns that are told apart in grey, and how wide a text will be. Text stays text, in whatever
// sans-serif font is there, so widths are those of the wider of two common fonts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace accosim {

enum class Theme : std::uint8_t { kLight, kDark, kPrint };  ///< print: black, white and greys

/// What all else is drawn on, and with.
struct Ground {
  const char* paper;
  const char* ink;
  const char* dim;   ///< lesser text
  const char* grid;  ///< lines that carry nothing
};
const Ground& ground_of(Theme theme);

/// The colours of Okabe and Ito (jfly.uni-koeln.de/color), which differ for all kinds of colour vision. In print,
/// greys. A shade is what areas have whose lines are in ink.
enum class Hue : std::uint8_t {
  kSky,
  kBlue,
  kGreen,
  kPurple,
  kYellow,
  kVermillion,
  kOrange,
  kGrey,
  kShade,
  kInk,
  kPaper
};
const char* colour_of(Hue hue, Theme theme);

/// Lines over a colour.
enum class Pattern : std::uint8_t { kPlain, kRising, kFalling, kHorizontal, kVertical, kDots, kCross };

struct Fill {
  Hue hue = Hue::kGrey;
  Pattern pattern = Pattern::kPlain;
};

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

struct Stroke {
  std::string colour = "none";
  double width = 1;
  std::string dashes = {};  ///< "5 4"; empty: drawn through
};

enum class Anchor : std::uint8_t { kStart, kMiddle, kEnd };

struct TextStyle {
  double size = 12;  ///< pixels
  Anchor anchor = Anchor::kStart;
  std::string colour = {};  ///< empty: the theme's ink
  bool bold = false;
  bool halo = false;  ///< a rim of the paper's colour, so that lines behind it do not cross it
};

/// Pixels that a text takes at most in common sans-serif fonts.
double text_width(std::string_view text, double size, bool bold = false);
/// The text, cut with an ellipsis at its end where it is wider than `width` pixels. Harmful characters are "?".
std::string cut_to_pixels(std::string_view text, double width, double size, bool bold = false);

/// The text in lines of at most `width` pixels, broken at blanks; a longer word, and what would be more than `most`
/// lines, is cut.
std::vector<std::string> lines_in_pixels(std::string_view text, double width, double size, bool bold = false,
                                         std::size_t most = 6);
/// Letters of this size are printed at 7 points: nothing is smaller.
inline constexpr double kLeastLetters = 7 * 96.0 / 72;

/// Stands near the begin of every document, so that a file of ours is known again.
inline constexpr const char* kDrawnByUs = "<desc>drawn by accosim</desc>";

/// A number of pixels, to a hundredth.
std::string pixels(double value);

/// One document. Texts may hold anything: they are escaped.
class Svg {
 public:
  /// `title` is what a screen reader says.
  Svg(Theme theme, double width, const std::string& title);

  Theme theme() const { return theme_; }
  const Ground& ground() const { return ground_of(theme_); }
  double width() const { return width_; }
  /// What an attribute `fill` takes; a pattern is defined on its first use.
  std::string paint(Fill fill);

  void rect(Box box, const std::string& fill, const Stroke& stroke = {});
  void line(double x1, double y1, double x2, double y2, const Stroke& stroke);
  /// `shape` in SVG's path commands.
  void path(const std::string& shape, const std::string& fill, const Stroke& stroke = {}, double opacity = 1);
  void text(double x, double y, std::string_view text, const TextStyle& style = {});
  /// Lines below each other, the first with its base at `y`; returns where the next one would be.
  double lines(double x, double y, const std::vector<std::string>& texts, const TextStyle& style = {});
  /// The whole document, so high.
  std::string take(double height) const;

 private:
  Theme theme_;
  double width_;
  std::string title_;
  std::string defs_, body_;
  std::vector<std::string> defined_;
};

/// SVG's path commands of a rectangle, and of a line through points.
std::string box_shape(Box box);
struct Point {
  double x = 0, y = 0;
};
std::string line_shape(const std::vector<Point>& points);

}  // namespace accosim
