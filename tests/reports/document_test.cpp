// Do the printers show everything that a document holds, whatever its texts are?
#include "reports/document.hpp"

#include <gtest/gtest.h>

#include "tests/support/printed.hpp"

namespace accosim {
namespace {

/// A part of each kind.
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
  EXPECT_EQ(on_page(sample()), R"(## What is \| in it

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
  Document script;
  script.say({link("javascript:a*b")});
  EXPECT_EQ(on_page(script), "javascript:a\\*b\n");
}

TEST(PrintTerminal, DividesHeadsThatAreWiderThanTheirCells) {
  EXPECT_EQ(on_terminal(sample()), R"(What is | in it

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
  const std::string text = on_terminal(sample(), {.width = 30});
  for (const char* part : {"8.6 %", "50.0 %", "+0.0 %", "x|y", "because"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  for (const std::string& line : lines_of(text)) EXPECT_LE(display_width(line), 30) << line;
}

TEST(PrintTerminal, ColoursWhatIsMarked) {
  Document document;
  document.say({Value("broken: ", Style::kBad), "it is"});
  document.say({Value("so it is", Style::kBold)});
  EXPECT_EQ(on_terminal(document, {.color = true, .width = 10}),
            "\033[31mbroken: \033[0mit\n        is\n\n\033[1mso it is\033[0m\n");
}

TEST(PrintDocument, WhatGoesOnStandsBelowAtOnceAndIsOneParagraphOfAPage) {
  Document document;
  document.say({"one thing"}, "* ");
  document.go_on({"and another"}, "* ");
  document.line("a line  that is as long as it is");
  document.add(Document::Figures{{{"time", "2 s", "of an update"}}});
  document.add(Document::Heading{3, "a heading of some words"});
  document.go_on({"what ", term("it"), " is"});
  EXPECT_EQ(on_terminal(document, {.width = 12}),
            "* one thing\n* and\n  another\na line  that is as long as it is\n\ntime: 2 s\n    of an\n    update\n\n"
            "a heading o\u2026\nwhat it is\n");
  EXPECT_EQ(on_page(document),
            "\\* one thing\n\\* and another\na line  that is as long as it is\n\n- time 2 s: of an update\n\n"
            "### a heading of some words\n\nwhat *it* is\n");
}

TEST(PrintDocument, HeadsOfTwoLinesAreOneOnAPageAndNumbersGoRight) {
  Table table({left("name"), right("GPU-", "hours"), right("tokens", "per s"), left("fits")});
  table.add({"a", "1", "2", "yes"});
  Document document;
  document.table(table);
  document.table(Table({"a table without rows"}));
  EXPECT_EQ(on_page(document), "| name | GPU-hours | tokens per s | fits |\n|---|--:|--:|---|\n| a | 1 | 2 | yes |\n");
}

}  // namespace
}  // namespace accosim
