#include "reports/plot/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace accosim {
namespace {

/// 0 to 1, of "#rrggbb" (ITU-R BT.709, without the gamma: enough to choose between black and white).
double brightness(const char* colour) {
  const long rgb = std::strtol(colour + 1, nullptr, 16);
  return (0.2126 * static_cast<double>(rgb >> 16 & 0xFF) + 0.7152 * static_cast<double>(rgb >> 8 & 0xFF) +
          0.0722 * static_cast<double>(rgb & 0xFF)) /
         255;
}

constexpr double kMiddle = 0.5;

/// Black or white, whichever is read better on the colour over paper.
const char* ink_on(Hue hue, Theme theme, double opacity) {
  const double paper = brightness(ground_of(theme).paper), colour = brightness(colour_of(hue, theme));
  return opacity * colour + (1 - opacity) * paper > kMiddle ? "#000000" : "#ffffff";
}

constexpr double kSwatch = 16;

void draw_swatch(Svg& svg, const LegendEntry& entry, double x, double y) {
  const std::string ink = svg.ground().ink;
  using Shape = LegendEntry::Shape;
  switch (entry.shape) {
    case Shape::kBox:
      svg.path(box_shape({x, y - 10, kSwatch, 11}), svg.paint(entry.fill), {svg.ground().dim, 0.5}, entry.opacity);
      break;
    case Shape::kThickLine: svg.line(x, y - 4, x + kSwatch, y - 4, {ink, 3}); break;
    case Shape::kLine: svg.line(x + kSwatch / 2, y - 11, x + kSwatch / 2, y + 2, {ink, 1.5}); break;
    case Shape::kDashedLine: svg.line(x + kSwatch / 2, y - 11, x + kSwatch / 2, y + 2, {ink, 1.2, "2 2"}); break;
    case Shape::kNone: break;
    case Shape::kWhisker: draw_whisker(svg, x, x + kSwatch, y - 4, 4); break;
  }
}

}  // namespace

std::string mixed(const std::string& from, const std::string& to, double part) {
  std::string colour = "#";
  for (const std::size_t at : {1U, 3U, 5U}) {
    const auto channel = [&](const std::string& of) {
      return static_cast<double>(std::strtol(of.substr(at, 2).c_str(), nullptr, 16));
    };
    colour += fmt::format("{:02x}", std::lround((1 - part) * channel(from) + part * channel(to)));
  }
  return colour;
}

const char* ink_over(const std::string& colour) { return brightness(colour.c_str()) > kMiddle ? "#000000" : "#ffffff"; }

PlotHeading titled(const PlotHeading& heading, const PlotStyle& style) {
  return style.title ? PlotHeading{*style.title, ""} : heading;
}

double draw_heading(Svg& svg, const PlotHeading& heading) {
  const double room = svg.width() - 2 * kPlotMargin;
  constexpr double kNarrow = 400;
  const double size = svg.width() < kNarrow ? 13 : 15, lesser = svg.width() < kNarrow ? 10.5 : 12;
  double y = kPlotMargin + size - 2;
  y = svg.lines(kPlotMargin, y, lines_in_pixels(heading.title, room, size, true), {.size = size, .bold = true});
  y = svg.lines(kPlotMargin, y, lines_in_pixels(heading.subtitle, room, lesser),
                {.size = lesser, .colour = svg.ground().dim});
  return y - 3;
}

double draw_legend(Svg& svg, const std::vector<LegendEntry>& entries, double top) {
  constexpr double kLine = 18, kSize = 11, kGap = 16;
  double x = kPlotMargin, y = top + 12;
  for (const LegendEntry& entry : entries) {
    const double swatch = entry.shape == LegendEntry::Shape::kNone ? 0 : kSwatch + 5;
    const std::vector<std::string> lines = lines_in_pixels(entry.name, svg.width() - 2 * kPlotMargin - swatch, kSize);
    double wide = 0;
    for (const std::string& line : lines) wide = std::max(wide, swatch + text_width(line, kSize));
    if (x > kPlotMargin && x + wide > svg.width() - kPlotMargin) {
      x = kPlotMargin;
      y += kLine;
    }
    draw_swatch(svg, entry, x, y);
    const double next = svg.lines(x + swatch, y, lines, {.size = kSize});
    if (lines.size() > 1) y = next - 1.25 * kSize;
    x += wide + kGap;
  }
  return entries.empty() ? top : y + 12;
}

bool label_fits(const std::string& label, double width, double size) {
  constexpr double kPadding = 3;
  return !label.empty() && text_width(label, size) + 2 * kPadding <= width;
}

void draw_label(Svg& svg, Box box, Fill fill, const std::string& label, double size) {
  if (!label_fits(label, box.width, size)) return;
  const double wide = text_width(label, size);
  const double middle = box.x + box.width / 2;
  const double high = std::min(box.height - 2, 1.6 * size);
  if (fill.pattern != Pattern::kPlain)  // as much as the letters need
    svg.rect({middle - wide / 2 - 2, box.y + (box.height - high) / 2, wide + 4, high},
             colour_of(fill.hue, svg.theme()));
  draw_text_inside(svg, box, fill, label, size);
}

void draw_text_inside(Svg& svg, Box box, Fill fill, const std::string& text, double size, double opacity) {
  const double middle = box.x + box.width / 2, base = box.y + box.height / 2 + 0.36 * size;
  svg.text(middle, base, text,
           {.size = size, .anchor = Anchor::kMiddle, .colour = ink_on(fill.hue, svg.theme(), opacity)});
}

namespace {
struct ShortWord {
  const char *whole, *brief;
};
constexpr ShortWord kShortWords[] = {{"all-reduce", "AR"},       {"reduce-scatter", "RS"}, {"all-gather", "AG"},
                                     {"broadcast", "BC"},        {"forward", "F"},         {"backward", "B"},
                                     {"communication", "comm."}, {"optimizer", "opt."}};
}  // namespace

std::string label_for(const std::string& label, double width, double size, std::set<std::string>& shortened) {
  if (label_fits(label, width, size)) return label;
  for (const ShortWord& word : kShortWords) {
    const std::size_t at = label.find(word.whole);
    if (at == std::string::npos) continue;
    std::string brief = label;
    for (const std::string& shorter :
         {brief.replace(at, std::string_view(word.whole).size(), word.brief), std::string(word.brief)}) {
      if (!label_fits(shorter, width, size)) continue;
      shortened.insert(word.whole);
      return shorter;
    }
    break;
  }
  return "";
}

std::string shortened_in_words(const std::set<std::string>& shortened) {
  std::string words;
  for (const ShortWord& word : kShortWords)
    if (shortened.contains(word.whole))
      words += fmt::format("{}{}: {}", words.empty() ? "" : "; ", word.brief, word.whole);
  return words;
}

double draw_unit_columns(Svg& svg, const Scale& x, double unit, double top, double bottom, const std::string& title) {
  constexpr double kApart = 60, kLeast = 4;  // pixels; ticks
  std::vector<Tick> ticks =
      nice_ticks(x.low / unit, x.high / unit, static_cast<int>(std::max(kLeast, (x.to - x.from) / kApart)));
  for (Tick& tick : ticks) tick.value *= unit;
  return draw_columns(svg, ticks, x, top, bottom, title);
}

void draw_whisker(Svg& svg, double low, double high, double y, double half_height) {
  const Stroke ink{svg.ground().ink, 1.2};
  svg.line(low, y, high, y, ink);
  svg.line(low, y - half_height, low, y + half_height, ink);
  svg.line(high, y - half_height, high, y + half_height, ink);
}

}  // namespace accosim
