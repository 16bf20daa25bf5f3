#include "models/draw/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/base/text.hpp"
#include "models/draw/glyphs.hpp"

namespace accosim {
namespace {

/// Advance widths of the printable ASCII characters in hundredths of the font's size: of each the larger of DejaVu Sans
/// and Liberation Sans (as wide as Arial and Helvetica).
constexpr std::array<int, 95> kAdvance = {32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36,  32, 34, 64, 64, 64,
                                          64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 56, 102, 68, 69, 72, 77, 67,
                                          61, 78, 75, 29, 50, 67, 56, 86, 75, 79, 67, 79, 72, 67,  61, 73, 68, 99, 69,
                                          67, 69, 39, 34, 39, 84, 56, 50, 61, 63, 55, 63, 62, 35,  63, 63, 28, 28, 58,
                                          28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59,  52, 64, 34, 64, 84};
constexpr double kOther = 0.85, kWide = 1.3;  // a letter of another alphabet, an ideograph or emoji
constexpr double kBold = 1.12;                // over the regular face
constexpr double kEllipsis = 1.0;

double advance(const Glyph& glyph, double size, bool bold) {
  const auto first = static_cast<unsigned char>(glyph.text[0]);
  const double em = glyph.columns == 0                   ? 0
                    : glyph.columns == 2                 ? kWide
                    : first >= 0x20 && first - 0x20 < 95 ? kAdvance[first - 0x20U] / 100.0
                                                         : kOther;
  return em * size * (bold ? kBold : 1);
}

const char* name_of(Anchor anchor) {
  return anchor == Anchor::kStart ? "start" : anchor == Anchor::kMiddle ? "middle" : "end";
}

std::string attributes(const Stroke& stroke) {
  if (stroke.colour == "none") return "";
  std::string text = fmt::format(" stroke=\"{}\"", stroke.colour);
  if (stroke.width != 1) text += fmt::format(" stroke-width=\"{}\"", pixels(stroke.width));
  if (!stroke.dashes.empty()) text += fmt::format(" stroke-dasharray=\"{}\"", stroke.dashes);
  return text;
}

struct Drawn {
  int tile;
  const char* shape;  ///< of a tile, as path commands
};

Drawn drawn(Pattern pattern) {
  switch (pattern) {
    case Pattern::kRising: return {6, "M-1 1l2-2M0 6l6-6M5 7l2-2"};
    case Pattern::kFalling: return {6, "M-1 5l2 2M0 0l6 6M5-1l2 2"};
    case Pattern::kHorizontal: return {4, "M0 2h4"};
    case Pattern::kVertical: return {4, "M2 0v4"};
    case Pattern::kDots: return {5, "M1.5 2.5h2"};
    case Pattern::kCross: return {6, "M0 0l6 6M0 6l6-6"};
    case Pattern::kPlain: break;
  }
  return {0, ""};
}

}  // namespace

const Ground& ground_of(Theme theme) {
  static constexpr Ground kLight = {"#ffffff", "#222222", "#666666", "#dddddd"};
  static constexpr Ground kDark = {"#16181d", "#e8e8e8", "#a3a7ae", "#3a3e46"};
  static constexpr Ground kPrint = {"#ffffff", "#000000", "#444444", "#cccccc"};
  return theme == Theme::kLight ? kLight : theme == Theme::kDark ? kDark : kPrint;
}

const char* colour_of(Hue hue, Theme theme) {
  if (hue == Hue::kPaper) return ground_of(theme).paper;
  if (hue == Hue::kInk) return ground_of(theme).ink;
  constexpr std::array<const char*, 9> kColour = {"#56b4e9", "#0072b2", "#009e73", "#cc79a7", "#f0e442",
                                                  "#d55e00", "#e69f00", "#8c8c8c", "#c3c8d0"};
  constexpr std::array<const char*, 9> kPrint = {"#dcdcdc", "#6e6e6e", "#a8a8a8", "#bcbcbc", "#ececec",
                                                 "#4a4a4a", "#c8c8c8", "#9c9c9c", "#ffffff"};
  return (theme == Theme::kPrint ? kPrint : kColour)[static_cast<std::size_t>(hue)];
}

double text_width(std::string_view text, double size, bool bold) {
  double width = 0;
  for (std::size_t at = 0; at < text.size();) width += advance(next_glyph(text, at), size, bold);
  return width;
}

std::string cut_to_pixels(std::string_view text, double width, double size, bool bold) {
  constexpr int kMostMarks = 2;  // on one character: more would tower over the lines above
  const double room = width - kEllipsis * size;
  std::string whole, cut;
  double used = 0;
  int marks = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Glyph glyph = next_glyph(text, at);
    marks = glyph.columns == 0 ? marks + 1 : 0;
    if (marks > kMostMarks) continue;
    used += advance(glyph, size, bold);
    if (used > width) return room > 0 ? cut + "\u2026" : "";
    whole += glyph.text;
    if (used <= room) cut = whole;
  }
  return whole;
}

std::vector<std::string> lines_in_pixels(std::string_view text, double width, double size, bool bold,
                                         std::size_t most) {
  std::vector<std::string> lines;
  std::string line;
  constexpr std::size_t kMostText = 2000;  // bytes: more fill no picture
  std::string_view rest = text.substr(0, kMostText);
  while (!rest.empty()) {
    const std::size_t blank = std::min(rest.find(' '), rest.size());
    const std::string longer = (line.empty() ? "" : line + " ") + std::string(rest.substr(0, blank));
    const bool last = lines.size() + 1 == most;
    if (line.empty() || text_width(longer, size, bold) <= width) {
      line = longer;
      rest.remove_prefix(std::min(blank + 1, rest.size()));
    } else if (last) {
      line += " " + std::string(rest);
      break;
    } else {
      lines.push_back(cut_to_pixels(line, width, size, bold));
      line.clear();
    }
  }
  if (!line.empty()) lines.push_back(cut_to_pixels(line, width, size, bold));
  return lines;
}

std::string pixels(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

Svg::Svg(Theme theme, double width, const std::string& title) : theme_(theme), width_(width), title_(title) {}

std::string Svg::paint(Fill fill) {
  std::string colour = colour_of(fill.hue, theme_);
  if (theme_ == Theme::kPrint && fill.hue == Hue::kOrange && fill.pattern == Pattern::kPlain)
    fill.pattern = Pattern::kFalling;  // its grey is near the sky's
  if (fill.pattern == Pattern::kPlain) return colour;
  // Named by what it is: where several drawings stand on one page, equal names mean the same.
  const std::string line = colour == ground().paper ? ground().dim : ground().paper;
  const std::string id = fmt::format("fill-{}-{}-{}", static_cast<int>(fill.pattern), colour.substr(1), line.substr(1));
  if (std::ranges::find(defined_, id) == defined_.end()) {
    const Drawn tile = drawn(fill.pattern);
    defs_ += fmt::format(
        "<pattern id=\"{0}\" width=\"{1}\" height=\"{1}\" patternUnits=\"userSpaceOnUse\"><rect width=\"{1}\" "
        "height=\"{1}\" fill=\"{2}\"/><path d=\"{3}\" stroke=\"{4}\" stroke-width=\"1.3\"/></pattern>\n",
        id, tile.tile, colour, tile.shape, line);
    defined_.push_back(id);
  }
  return fmt::format("url(#{})", id);
}

void Svg::rect(Box box, const std::string& fill, const Stroke& stroke) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}/>\n", pixels(box.x),
                       pixels(box.y), pixels(box.width), pixels(box.height), fill, attributes(stroke));
}

void Svg::line(double x1, double y1, double x2, double y2, const Stroke& stroke) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"{}/>\n", pixels(x1), pixels(y1), pixels(x2),
                       pixels(y2), attributes(stroke));
}

void Svg::path(const std::string& shape, const std::string& fill, const Stroke& stroke, double opacity) {
  if (shape.empty()) return;
  const std::string opaque = opacity < 1 ? fmt::format(" fill-opacity=\"{}\"", pixels(opacity)) : "";
  body_ += fmt::format("<path d=\"{}\" fill=\"{}\"{}{}/>\n", shape, fill, opaque, attributes(stroke));
}

void Svg::text(double x, double y, std::string_view text, const TextStyle& style) {
  body_ += fmt::format("<text x=\"{}\" y=\"{}\"", pixels(x), pixels(y));
  if (style.size != TextStyle().size) body_ += fmt::format(" font-size=\"{}\"", pixels(style.size));
  if (style.anchor != Anchor::kStart) body_ += fmt::format(" text-anchor=\"{}\"", name_of(style.anchor));
  if (!style.colour.empty()) body_ += fmt::format(" fill=\"{}\"", style.colour);
  if (style.bold) body_ += " font-weight=\"bold\"";
  if (style.halo) body_ += fmt::format(" stroke=\"{}\" stroke-width=\"3\" paint-order=\"stroke\"", ground().paper);
  body_ += ">" + in_xml(text) + "</text>\n";
}

double Svg::lines(double x, double y, const std::vector<std::string>& texts, const TextStyle& style) {
  constexpr double kApart = 1.25;  // of the letters' size
  for (const std::string& each : texts) {
    text(x, y, each, style);
    y += kApart * style.size;
  }
  return y;
}

std::string Svg::take(double height) const {
  const std::string title = in_xml(cut_to_pixels(title_, 1000, 12));
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
             "font-family=\"sans-serif\" font-size=\"12\" fill=\"{2}\" role=\"img\">\n<title>{3}</title>\n{4}\n",
             pixels(width_), pixels(height), ground().ink, title, kDrawnByUs) +
         (defs_.empty() ? "" : "<defs>\n" + defs_ + "</defs>\n") +
         fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", pixels(width_), pixels(height),
                     ground().paper) +
         body_ + "</svg>\n";
}

std::string box_shape(Box box) {
  return fmt::format("M{} {}h{}v{}h{}z", pixels(box.x), pixels(box.y), pixels(box.width), pixels(box.height),
                     pixels(-box.width));
}

std::string line_shape(const std::vector<Point>& points) {
  std::string shape;
  for (const Point& point : points)
    shape += fmt::format("{}{} {}", shape.empty() ? "M" : "L", pixels(point.x), pixels(point.y));
  return shape;
}

}  // namespace accosim
