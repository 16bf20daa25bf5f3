// Do the printers show everything that a document holds, whatever its texts are?
#include "reports/document/document.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace accosim {
namespace {

std::string page_of(const Document& document) {
  std::ostringstream out;
  print_markdown(out, document);
  return out.str();
}

std::string text_of(const Document& document, const ConsoleOptions& options = {}) {
  std::ostringstream out;
  print_terminal(out, document, options);
  return out.str();
}

/// One node of each kind.
Document sample() {
  Document document;
  document.heading("What is | in it");
  document.say(
      {"Written by ", code("accosim | cat"), " in ", duration(Seconds{1.5}), ", see ", link("http://a b"), "."});
  document.list({{{"bias", {"which way"}}, {"log score", {"how good"}}}});
  document.list({{{"", {"one"}}, {"", {"*two*"}}}, true});
  Document::Table table{{"name", "mean absolute error", "bias", "as typed", "why"}};
  table.add({"a|b", percent(0.0863), relative_error({}), code("x|y"), "because"}, Style::kBad);
  table.add({Value("c", Style::kBold), percent(0.5), relative_error(-0.00001), "", ""});
  document.table(std::move(table));
  return document;
}

TEST(PrintMarkdown, EscapesWhatWouldBeMarkup) {
  EXPECT_EQ(page_of(sample()), R"(## What is \| in it

Written by `accosim | cat` in 1.50 s, see <http://a%20b>.

- bias: which way
- log score: how good

1. one
2. \*two\*

| name | mean absolute error | bias | as typed | why |
|---|---|---|---|---|
| a\|b | 8.6 % | - | `x\|y` | because |
| **c** | 50.0 % | +0.0 % |  |  |
)");
  EXPECT_EQ(page_of({{Document::Paragraph{{link("javascript:a*b")}}}}), "javascript:a\\*b\n");
}

TEST(PrintTerminal, DividesHeadsThatAreWiderThanTheirCells) {
  EXPECT_EQ(text_of(sample()), R"(What is | in it

Written by accosim | cat in 1.50 s, see http://a b.
  bias       which way
  log score  how good

1. one
2. *two*

name  mean absolute    bias  as     why
              error          typed
───────────────────────────────────────────
a|b           8.6 %       -  x|y    because
c            50.0 %  +0.0 %
)");
}

TEST(PrintTerminal, NarrowTerminalsLoseNoColumn) {
  const std::string text = text_of(sample(), {.width = 30});
  for (const char* part : {"8.6 %", "50.0 %", "+0.0 %", "x|y", "because"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 30) << line;
}

TEST(PrintTerminal, ColoursWhatIsMarked) {
  Document document;
  document.say({Value("broken: ", Style::kBad), "it is"});
  EXPECT_EQ(text_of(document, {.color = true}), "\033[31mbroken: \033[0mit is\n");
}

}  // namespace
}  // namespace accosim
