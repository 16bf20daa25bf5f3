// Do the parts of a drawing hold whatever they are given: texts that would break out, values of any size?
#include "models/draw/svg.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>

#include "models/draw/axes.hpp"
#include "models/draw/curves.hpp"
#include "models/draw/looks.hpp"
#include "tests/support/random.hpp"
#include "tests/support/xml.hpp"

namespace accosim {
namespace {

std::vector<std::string> labels(const std::vector<Tick>& ticks) { return mapped<std::string>(ticks, &Tick::label); }

TEST(Axes, TicksAreRoundNumbers) {
  using Labels = std::vector<std::string>;
  EXPECT_EQ(labels(nice_ticks(0, 6.61, 8)), (Labels{"0", "1", "2", "3", "4", "5", "6"}));
  EXPECT_EQ(labels(nice_ticks(0, 2.3, 5)), (Labels{"0.0", "0.5", "1.0", "1.5", "2.0"}));
  EXPECT_EQ(labels(nice_ticks(-3, 8, 6)), (Labels{"-2", "0", "2", "4", "6", "8"}));
  EXPECT_EQ(labels(nice_ticks(2.05, 2.95, 10)),
            (Labels{"2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "2.9"}));
  EXPECT_TRUE(nice_ticks(1, 1, 5).empty());
  EXPECT_TRUE(nice_ticks(0, HUGE_VAL, 5).empty());
}

TEST(Axes, LogarithmicTicksAreOneTwoAndFive) {
  using Labels = std::vector<std::string>;
  EXPECT_EQ(labels(log_ticks(10, 800, 8)), (Labels{"10", "20", "50", "100", "200", "500"}));
  EXPECT_EQ(labels(log_ticks(15.6, 381, 8)), (Labels{"20", "50", "100", "200"}));
  EXPECT_EQ(labels(log_ticks(0.1, 100, 4)), (Labels{"0.1", "1", "10", "100"}))
      << "the powers alone where that is too many";
  EXPECT_EQ(labels(log_ticks(1, 1e8, 4)), (Labels{"1", "100", "1e+04", "1e+06", "1e+08"}));
  EXPECT_TRUE(log_ticks(0, 10, 4).empty());
  EXPECT_TRUE(log_ticks(5, 5, 4).empty());
}

TEST(Axes, TicksAreWithinAndAsManyAsAskedForAtMost) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const double low = random.uniform(-1, 1), high = low + std::pow(10.0, random.uniform(-9, 9));
    const int most = random.integer(1, 20);
    const std::vector<Tick> ticks = nice_ticks(low, high, most);
    EXPECT_LE(ticks.size(), static_cast<std::size_t>(most) + 1);  // one more where both ends are round
    EXPECT_GE(static_cast<int>(ticks.size()), most / 5 - 1);      // the next step is at most 2.5 times as wide
    for (const Tick& tick : ticks) {
      EXPECT_GE(tick.value, low - 1e-8 * (high - low));
      EXPECT_LE(tick.value, high + 1e-8 * (high - low));
    }
  }
}

TEST(Axes, TimesHaveAUnitThatKeepsTheNumbersShort) {
  const auto unit = [](double seconds) { return std::string(time_unit(Seconds{seconds}).name); };
  EXPECT_EQ(unit(6.6), "s");
  EXPECT_EQ(unit(1.9), "ms");  // 1900 of them, rather than one tick at 1
  EXPECT_EQ(unit(3e-3), "ms");
  EXPECT_EQ(unit(3e-6), "us");
  EXPECT_EQ(unit(3e-9), "ns");
  EXPECT_EQ(unit(200), "s");
  EXPECT_EQ(unit(240), "min");
  EXPECT_EQ(unit(1e5), "h");
  EXPECT_EQ(unit(1e7), "days");
  const Scale scale{10, 20, 100, 0};
  EXPECT_EQ(scale.at(10), 100);
  EXPECT_EQ(scale.at(15), 50);
}

TEST(Svg, TextIsAsWideAsItsCharacters) {
  // DejaVu Sans, the wider of the two for these: "i" 0.28 em, "W" 0.99 em.
  EXPECT_DOUBLE_EQ(text_width("iW", 10), 2.8 + 9.9);
  EXPECT_GT(text_width("iW", 10, true), text_width("iW", 10));
  EXPECT_EQ(text_width("e\u0301", 10), text_width("e", 10));  // a combining accent
  EXPECT_GT(text_width("\u5B57", 10), 10);
}

TEST(Svg, TextIsCutWithAnEllipsisAndNeverWiderThanItsRoom) {
  EXPECT_EQ(cut_to_pixels("short", 100, 12), "short");
  const std::string cut = cut_to_pixels(std::string(10'000, 'W'), 100, 12);
  // 7 of 11.88 pixels and the ellipsis of 12; an eighth would be at 107.
  EXPECT_EQ(cut, "WWWWWWW\u2026");
  EXPECT_EQ(cut_to_pixels("WWW", 5, 12), "");
  // Never inside a character, nor between a letter and its accent.
  for (int width = 0; width < 200; ++width) {
    const std::string some =
        cut_to_pixels("\U0001F600a\u0301\u202E</script>\"&' \u05D0\u05D1 \xFF\x01 \u5B57\u5B57", width, 12);
    EXPECT_EQ(first_invalid_utf8(some), some.size());
    EXPECT_LE(text_width(some, 12), std::max(width, 12) + 1e-9);
  }
  // A tower of accents is no taller than two.
  std::string tower = "a";
  for (int i = 0; i < 1000; ++i) tower += "\u0301";
  EXPECT_EQ(cut_to_pixels(tower, 100, 12), "a\u0301\u0301");
}

TEST(Svg, IsXmlWhateverTheTextsHold) {
  for (const std::string& hostile :
       {std::string("</text></svg><script>alert(1)</script>"), std::string("\"'&<>]]>&#0;"),
        std::string("\x01\x1B[2J\xFF\xC0"), std::string("\uFFFE\uFFFF\u202Egnp.\u2066"),
        std::string("\U0001F600\u05D0\u05D1\u5B57"), std::string(10'000, '<'), std::string("a\0b", 3)}) {
    Svg svg(Theme::kDark, 300, hostile);
    svg.text(1, 2, cut_to_pixels(hostile, 200, 12));
    svg.text(1, 2, hostile, {.anchor = Anchor::kEnd, .bold = true});
    const std::string document = svg.take(100);
    EXPECT_EQ(wrong_in_xml(document), "") << document;
    EXPECT_EQ(document.find("<script"), std::string::npos);
  }
}

TEST(Svg, AllThatCanBeDrawnByHand) {
  Svg svg(Theme::kLight, 100, "all");
  svg.rect({1, 2, 3.456, 4}, svg.paint({Hue::kBlue}), {"#000000", 2, "5 4"});
  svg.line(0, 0, 1.001, -0.001, {"#dddddd"});
  svg.path(box_shape({1, 2, 3, 4}) + line_shape({{0, 0}, {1, 2}}), "none", {"#000000"});
  svg.path("", "none");
  svg.text(1, 2, "a<b", {.size = 10, .anchor = Anchor::kMiddle, .colour = "#ffffff"});
  svg.text(3, 4, "c", {.halo = true});
  EXPECT_EQ(svg.take(50),
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"50\" viewBox=\"0 0 100 50\" "
            "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222222\" "
            "role=\"img\">\n<title>all</title>\n<desc>drawn by accosim</desc>\n"
            "<rect width=\"100\" height=\"50\" fill=\"#ffffff\"/>\n"
            "<rect x=\"1\" y=\"2\" width=\"3.46\" height=\"4\" fill=\"#0072b2\" stroke=\"#000000\" stroke-width=\"2\" "
            "stroke-dasharray=\"5 4\"/>\n"
            "<line x1=\"0\" y1=\"0\" x2=\"1\" y2=\"0\" stroke=\"#dddddd\"/>\n"
            "<path d=\"M1 2h3v4h-3zM0 0L1 2\" fill=\"none\" stroke=\"#000000\"/>\n"
            "<text x=\"1\" y=\"2\" font-size=\"10\" text-anchor=\"middle\" fill=\"#ffffff\">a&lt;b</text>\n"
            "<text x=\"3\" y=\"4\" stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\">c</text>\n</svg>\n");
}

TEST(Curves, NamesStandAtTheEndsALineApartAndInsideTheirPanel) {
  // A panel as high as half the width, 300 pixels, for 0 to 1. Without titles it begins at 14 + 12 - 6 = 20 and ends at
  // 320. Three that end at 0 would be at 320, so the upper two move up a line of 15 each.
  CurvePanel panel{.most_x = 10};
  const auto ends_at = [](const std::string& name, double y) {
    return ChartCurve{name, {}, {{0, 1}, {10, y}}, {}, {}};
  };
  panel.curves = {ends_at("a", 0), ends_at("b", 0), ends_at("c", 0), ends_at("with a band", 0.5), ends_at("</svg>", 7)};
  panel.curves[3].low = {0.9, 0.4};
  panel.curves[3].high = {1, 0.6};
  const std::string svg = curves_svg("curves", {panel}, Theme::kLight, 600);
  EXPECT_EQ(wrong_in_xml(svg), "");
  EXPECT_LT(svg.size(), 10'000U);
  const auto name_at = [&](const std::string& name, double y) {
    return svg.find("y=\"" + pixels(y + 4) + "\">" + name + "<") != std::string::npos;
  };
  EXPECT_TRUE(name_at("c", 320)) << svg;
  EXPECT_TRUE(name_at("b", 305));
  EXPECT_TRUE(name_at("a", 290));
  EXPECT_TRUE(name_at("&lt;/svg&gt;", 20));  // above the panel: at its edge
  EXPECT_NE(svg.find("fill-opacity"), std::string::npos);
  // A name that needs more than a third of the width, and all where the picture is narrow, stand below the panel.
  panel.curves.push_back(ends_at(std::string(10'000, 'W'), 0.5));
  const std::string below = curves_svg("curves", {panel}, Theme::kLight, 600);
  EXPECT_EQ(wrong_in_xml(below), "");
  EXPECT_LT(below.size(), 10'000U);
  EXPECT_EQ(below.find("y=\"324\">c<"), std::string::npos);
  EXPECT_NE(below.find(">c<"), std::string::npos);
  EXPECT_EQ(wrong_in_xml(curves_svg("none", {}, Theme::kDark, 600)), "");
}

TEST(Svg, LinesBreakAtBlanksAndCutOnlyWhatHasNoRoom) {
  using Lines = std::vector<std::string>;
  const double wide = text_width("best synchronous:", 12);
  EXPECT_EQ(lines_in_pixels("best synchronous: zero3", wide, 12), (Lines{"best synchronous:", "zero3"}));
  EXPECT_EQ(lines_in_pixels("", wide, 12), Lines{});
  // The last line that is allowed takes the rest, and is cut.
  const Lines cut = lines_in_pixels("one two three four five six seven", text_width("one two", 12), 12, false, 2);
  ASSERT_EQ(cut.size(), 2U);
  EXPECT_EQ(cut[0], "one two");
  EXPECT_NE(cut[1].find("\u2026"), std::string::npos);
  EXPECT_LT(lines_in_pixels(std::string(10'000, 'x'), 100, 12)[0].size(), 100U);
}

TEST(Svg, LooksAreApartInColourAndInPrint) {
  // Every schedule, two forms of one, and labels that are of none.
  std::vector<std::string> labels = {
      "zero1", "acco",         "dpu", "zero3", "ddp", "best synchronous", "best delayed or local", "zero1 overlapped",
      "mine",  "acco, drained"};
  const std::vector<SeriesLook> looks = looks_of(labels);
  std::set<std::pair<Hue, int>> own;  // a schedule that was added without a look has the one of another
  for (const std::string& name : schedule_names()) {
    const SeriesLook look = looks_of({name}).front();
    EXPECT_TRUE(own.emplace(look.hue, look.turn).second) << name;
  }
  EXPECT_TRUE(looks.back().again);
  EXPECT_FALSE(looks.front().again);
  for (const Theme theme : {Theme::kLight, Theme::kDark, Theme::kPrint})
    for (std::size_t i = 0; i < looks.size(); ++i)
      for (std::size_t k = 0; k < i; ++k) {
        const Stroke one = stroke_of(looks[i], theme), other = stroke_of(looks[k], theme);
        EXPECT_TRUE(one.colour != other.colour || one.dashes != other.dashes) << i << ' ' << k;
        const Fill fill = fill_of(looks[i], theme), before = fill_of(looks[k], theme);
        EXPECT_TRUE(fill.hue != before.hue || fill.pattern != before.pattern) << i << ' ' << k;
      }
}

TEST(Svg, APatternIsDefinedOnceAndByWhatItIs) {
  Svg svg(Theme::kLight, 100, "patterns"), other(Theme::kLight, 100, "patterns");
  const std::string paint = svg.paint({Hue::kVermillion, Pattern::kRising});
  EXPECT_EQ(svg.paint({Hue::kVermillion, Pattern::kRising}), paint);
  EXPECT_NE(svg.paint({Hue::kVermillion, Pattern::kDots}), paint);
  other.paint({Hue::kGreen, Pattern::kCross});
  EXPECT_EQ(other.paint({Hue::kVermillion, Pattern::kRising}), paint);
  const std::string document = svg.take(10);
  EXPECT_EQ(wrong_in_xml(document), "");
  std::size_t defined = 0;
  for (std::size_t at = 0; (at = document.find("<pattern ", at)) != std::string::npos; ++at) ++defined;
  EXPECT_EQ(defined, 2U);
  // In print, the grey of what is orange elsewhere is told from the sky's by lines.
  Svg print(Theme::kPrint, 100, "patterns");
  EXPECT_NE(print.paint({Hue::kOrange}).find("url(#"), std::string::npos);
}

TEST(Xml, TheReaderOfTheTestsFindsWhatIsWrong) {
  EXPECT_EQ(wrong_in_xml("<a b=\"c\"><d/>x &amp; y</a>\n"), "");
  for (const char* const wrong :
       {"<a>", "<a></b>", "<a/><a/>", "<a>&x;</a>", "<a b=\"<\"/>", "<a b=c/>", "x<a/>", "<a>\x01</a>", ""})
    EXPECT_NE(wrong_in_xml(wrong), "") << wrong;
}

}  // namespace
}  // namespace accosim
