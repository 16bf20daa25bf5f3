// Does text that somebody else wrote stay text, on a terminal, in a page and in a drawing?
#include "models/base/text.hpp"

#include <gtest/gtest.h>

namespace accosim {
namespace {

TEST(Text, NothingThatATerminalObeysIsPrinted) {
  EXPECT_EQ(printable("a\x1b[31m\x07\x7f\n\t"), "a\\x1b[31m\\x07\\x7f\\n\\t");
  EXPECT_EQ(printable("\xc2\x9b"), "\\x9b");                           // U+009B, another way to begin a sequence
  EXPECT_EQ(printable("\xff\xc0\xaf"), "\\xff\\xc0\\xaf");             // no UTF-8
  EXPECT_EQ(printable("\u00e9\u4e2d"), "\u00e9\u4e2d");                // letters stay
  EXPECT_EQ(printable("a\u202eb\u2066c"), "a\\u202eb\\u2066c");        // and what would turn the line round does not
  EXPECT_EQ(printable("\u202a\u2069\u202f"), "\\u202a\\u2069\u202f");  // up to the neighbours
}

TEST(Text, IsTrimmedOfBlanksAndTabsAtItsEnds) {
  EXPECT_EQ(trimmed(" \ta b\t "), "a b");
  EXPECT_EQ(trimmed(" \t "), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(Text, ANumberIsReadUpToWhatIsBehindIt) {
  const std::optional<LeadingNumber> rate = leading_number("-2.5e2 Gbit/s");
  ASSERT_TRUE(rate);
  EXPECT_EQ(rate->number, -250);
  EXPECT_EQ(rate->rest, " Gbit/s");
  for (const char* const none : {"", "Gbit/s", " 1", "inf", "nan"}) EXPECT_FALSE(leading_number(none)) << none;
}

TEST(Text, MarkupIsNoMarkupInAPage) {
  EXPECT_EQ(in_markdown("a|b"), "a\\|b");
  EXPECT_EQ(in_markdown("`x` <script> [a](b) *c* \\"), "\\`x\\` \\<script> [a\\](b) \\*c\\* \\\\");
  EXPECT_EQ(in_markdown("ranks [8, 32]"), "ranks [8, 32]");
  EXPECT_EQ(in_markdown("one\ntwo\r\n"), "one two  ");
  EXPECT_EQ(in_markdown("a\u2028b\u2029c\u2027"), "a b c\u2027") << "separators of lines and paragraphs";
  EXPECT_EQ(in_markdown("\x1b[0m"), "\\x1b[0m");
  EXPECT_EQ(in_code("a`b`|c"), "`a'b'|c`");
}

TEST(Text, MarkupIsNoMarkupInADrawing) {
  EXPECT_EQ(in_xml("<a href=\"x\">&</a>"), "&lt;a href=&quot;x&quot;&gt;&amp;&lt;/a&gt;");
  EXPECT_EQ(in_xml("DDP's \x02"), "DDP's \\x02");
}

TEST(Text, AWholeNumberIsDigitsAlone) {
  EXPECT_EQ(whole_number("0"), 0);
  EXPECT_EQ(whole_number("007"), 7);
  EXPECT_EQ(whole_number("999999999"), 999'999'999) << "nine digits fit into every int";
  for (const char* const none : {"", "1000000000", "-1", "+1", "1 ", " 1", "1.0", "1e3", "0x1"})
    EXPECT_EQ(whole_number(none), std::nullopt) << none;
}

TEST(Text, AWordOfAShellIsAsItIsOrInQuotes) {
  EXPECT_EQ(in_shell("/training/micro_batch_size=8"), "/training/micro_batch_size=8");
  EXPECT_EQ(in_shell("10 Gbit/s"), "'10 Gbit/s'");
  EXPECT_EQ(in_shell("it's"), "'it'\\''s'");
  EXPECT_EQ(in_shell(""), "''");
}

}  // namespace
}  // namespace accosim
