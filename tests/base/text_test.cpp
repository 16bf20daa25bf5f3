// Does text that somebody else wrote stay text, on a terminal, in a page and in a drawing?
#include "models/base/text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "models/base/csv.hpp"
#include "models/base/quantity.hpp"

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

// Does a table of measurements say where it is wrong?

TEST(Csv, SkipsCommentsAndTrimsCells) {
  Diagnostics diagnostics;
  const CsvTable table = parse_csv("# from somewhere\nname, bytes ,time_us\n\n a ,1024, 3.5\r\n", "t.csv", diagnostics);
  EXPECT_TRUE(diagnostics.errors.empty());
  ASSERT_EQ(table.rows.size(), 1u);
  CsvRowReader row(table, table.rows[0], diagnostics);
  EXPECT_EQ(row.text("name"), "a");
  EXPECT_EQ(row.number("bytes", Range{0, 1e9}), 1024);
  EXPECT_EQ(row.number("time_us", Range{0, 1e9, true}), 3.5);
  EXPECT_EQ(row.number("nodes", Range{1, 8}, 1), 1);  // no such column: the fallback
  EXPECT_FALSE(row.has("nodes"));
  EXPECT_TRUE(diagnostics.errors.empty());
}

/// The errors of reading bytes and name of the only row.
std::string errors_of(const std::string& text) {
  Diagnostics diagnostics;
  const CsvTable table = parse_csv(text, "t.csv", diagnostics);
  for (const CsvRow& written : table.rows) {
    CsvRowReader row(table, written, diagnostics);
    row.text("name");
    row.number("bytes", Range{0, 100, true});
  }
  std::string all;
  for (const std::string& error : diagnostics.errors) all += error + "\n";
  return all;
}

// A heading is a file's own words, which may be anything.
TEST(Csv, AColumnIsPrintedSafely) {
  Diagnostics diagnostics;
  const CsvTable table = parse_csv("kin\xfb\ngemm\n", "t.csv", diagnostics);
  CsvRowReader(table, table.rows.at(0), diagnostics).fail(table.columns.at(0), "is wrong");
  EXPECT_EQ(diagnostics.errors, std::vector<std::string>{"t.csv:2:1: kin\\xfb: is wrong"});
}

TEST(Csv, ErrorsNameLineAndColumn) {
  EXPECT_EQ(errors_of("name,bytes\na,x\n"), "t.csv:2:3: bytes: \"x\" is no number above 0, at most 100\n");
  EXPECT_EQ(errors_of("name,bytes\n# a\na, 101\n"), "t.csv:3:4: bytes: \"101\" is no number above 0, at most 100\n");
  EXPECT_EQ(errors_of("name,bytes\na,0\n"), "t.csv:2:3: bytes: \"0\" is no number above 0, at most 100\n");
  EXPECT_EQ(errors_of("name,bytes\n,1\n"), "t.csv:2:1: name: is empty; write a text\n");
  EXPECT_EQ(errors_of("name,bytes\na\n"),
            "t.csv:2:1: has 1 cells; write 2, as the heading has\nt.csv: holds no rows; write one below the heading\n");
  EXPECT_EQ(errors_of("name,name,bytes\na,b,1\n"), "t.csv:1:6: two columns are named \"name\"; rename one\n");
  EXPECT_EQ(errors_of("name,,bytes\na,b,1\n"), "t.csv:1:6: a column without a name; name it\n");
  EXPECT_EQ(errors_of("name,bites\na,1\n"), "t.csv:1:1: bytes: there is no such column; did you mean \"bites\"?\n");
  EXPECT_EQ(errors_of("# nothing\n"), "t.csv: holds no rows; write one below the heading\n");
  EXPECT_EQ(errors_of("name,bytes\na,nan\n"), "t.csv:2:3: bytes: \"nan\" is no number above 0, at most 100\n");
}

// Are quantities read as people mean them, printed so that they read back, and refused where they are ambiguous?

double parsed(const std::string& text, Dimension dimension) {
  const ParsedQuantity result = parse_quantity(text, dimension);
  EXPECT_EQ(result.error, "") << text;
  return result.value;
}
std::string error_of(const std::string& text, Dimension dimension) {
  const ParsedQuantity result = parse_quantity(text, dimension);
  EXPECT_NE(result.error, "") << text;
  return result.error;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Quantity, BitsAreAnEighthOfBytes) {
  EXPECT_EQ(parsed("100 Gbit/s", Dimension::kBandwidth), 12.5e9);
  for (const char* text : {"100 Gb/s", "100Gbps", "100 Gbit/s", "1e2 Gb/s", " 100\tGbit/s "}) {
    EXPECT_EQ(parsed(text, Dimension::kBandwidth), 12.5e9) << text;
  }
  EXPECT_EQ(parsed("100 GB/s", Dimension::kBandwidth), 100e9);
  EXPECT_EQ(parsed("100 GBps", Dimension::kBandwidth), 100e9);
  EXPECT_EQ(parsed("8 bit", Dimension::kData), 1);
}

TEST(Quantity, DecimalAndBinaryMultiplesDiffer) {
  EXPECT_EQ(parsed("80 GB", Dimension::kData), 80e9);
  EXPECT_EQ(parsed("80 GiB", Dimension::kData), 80.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(parsed("1 kB", Dimension::kData), 1000);
  EXPECT_EQ(parsed("1 KiB", Dimension::kData), 1024);
}

TEST(Quantity, MicrosecondsHaveThreeSpellings) {
  EXPECT_EQ(parsed("3 us", Dimension::kTime), 3e-6);
  EXPECT_EQ(parsed("3 \u00B5s", Dimension::kTime), 3e-6);  // micro sign
  EXPECT_EQ(parsed("3 \u03BCs", Dimension::kTime), 3e-6);  // Greek mu
  EXPECT_EQ(parsed("2 h", Dimension::kTime), 7200);
  EXPECT_EQ(parsed("1.5 min", Dimension::kTime), 90);
}

TEST(Quantity, LongTimesAreHoursAndMinutes) {
  EXPECT_EQ(parsed("3 h 46 min", Dimension::kTime), 3 * 3600 + 46 * 60);
  EXPECT_EQ(parsed(" 14h 41min ", Dimension::kTime), 14 * 3600 + 41 * 60);
  EXPECT_EQ(parsed("0 h 25 min", Dimension::kTime), 25 * 60);
  // Not a sum of any two: minutes are below 60, hours come first, and both are whole.
  for (const char* text : {"3 h 60 min", "46 min 3 h", "3.5 h 1 min", "3 h 1.5 min", "3 h 46", "3 h 46 s",
                           "3 h 46 min 5 s", "1234567 h 1 min", "3 h min"})
    error_of(text, Dimension::kTime);
  error_of("3 h 46 min", Dimension::kData);
}

TEST(Quantity, FlopRatesHaveTwoSpellings) {
  EXPECT_EQ(parsed("312 TFLOP/s", Dimension::kCompute), 312e12);
  EXPECT_EQ(parsed("312 TFLOPS", Dimension::kCompute), 312e12);
}

// 2.7 * 1e-6 is one ulp off 2.7e-6 in doubles; what is written in decimal shall be what is meant.
TEST(Quantity, ADecimalUnitGivesTheNearestDouble) {
  EXPECT_EQ(parsed("2.7 us", Dimension::kTime), 2.7e-6);
  EXPECT_EQ(parsed("0.1 ns", Dimension::kTime), 1e-10);
  EXPECT_EQ(parsed("19.5 TFLOP/s", Dimension::kCompute), 19.5e12);
  EXPECT_EQ(parsed("1.3e-2 ms", Dimension::kTime), 1.3e-5);
}

TEST(Quantity, AnAmountIsNoRateAndTheErrorSaysWhatToWrite) {
  EXPECT_EQ(error_of("100 GB", Dimension::kBandwidth),
            "\"100 GB\" is an amount of data; a bandwidth is written \"100 GB/s\" (bytes) or \"100 Gbit/s\" (bits)");
  EXPECT_TRUE(has(error_of("3 us", Dimension::kData), "is a time"));
  EXPECT_TRUE(has(error_of("3 GB/s", Dimension::kTime), "is a bandwidth"));
}

TEST(Quantity, AmbiguousSpellingsAreRefusedWithBothMeanings) {
  for (const char* text : {"100 gb/s", "100 GB/S", "100 gbps"}) {
    const std::string error = error_of(text, Dimension::kBandwidth);
    EXPECT_TRUE(has(error, "100 GB/s")) << error;
    EXPECT_TRUE(has(error, "bits")) << error;
  }
  EXPECT_TRUE(has(error_of("5 MBS", Dimension::kBandwidth), "5 MB/s"));
  EXPECT_TRUE(has(error_of("5 KB", Dimension::kData), "1024 is Ki"));
  EXPECT_TRUE(has(error_of("5 Tflops", Dimension::kCompute), "5 TFLOP/s"));
}

TEST(Quantity, WhatIsNoQuantityIsRefused) {
  for (const char* text : {"",           " ",          "GB/s",       "100",         "-1 GB/s",
                           "inf GB/s",   "nan GB/s",   "1e400 GB/s", "1e-400 GB/s", "1,000 GB/s",
                           "1_000 GB/s", "100 GB/s x", "100 GB/s/s", "0x10 GB/s",   "1e GB/s",
                           "1.2.3 GB/s", "+-3 GB/s",   "5 %",        ". GB/s",      "1e999999999999999999999 GB/s"}) {
    const ParsedQuantity result = parse_quantity(text, Dimension::kBandwidth);
    EXPECT_NE(result.error, "") << text;
    EXPECT_EQ(result.error.find('\n'), std::string::npos) << text;
  }
}

TEST(Quantity, ErrorsNeverEchoRawBytesNorMuchOfThem) {
  const std::string error = error_of(std::string("1 \x1b[31m\xff\n").append(100000, 'x'), Dimension::kTime);
  EXPECT_LT(error.size(), 400U);
  for (char c : error) EXPECT_GE(static_cast<unsigned char>(c), 0x20U);
}

TEST(Quantity, IsPrintedAsPeopleWriteIt) {
  EXPECT_EQ(to_text(Seconds{3e-6}), "3 us");
  EXPECT_EQ(to_text(Bytes{80.0 * 1024 * 1024 * 1024}), "80 GiB");
  EXPECT_EQ(to_text(BytesPerSecond{12.5e9}), "12.5 GB/s");
  EXPECT_EQ(to_text(FlopsPerSecond{312e12}), "312 TFLOP/s");
  EXPECT_EQ(to_text(Seconds{0}), "0 s");
}

// Random mantissas over 60 decades, in every dimension: whatever is printed reads back as the same double.
TEST(Quantity, PrintedTextReadsBackAsTheSameDouble) {
  std::uint64_t state = 42;
  const auto next = [&] { return state = state * 6364136223846793005U + 1442695040888963407U; };
  for (int i = 0; i < 2000; ++i) {
    const double mantissa = 1.0 + static_cast<double>(next() >> 12) * 0x1p-52;
    const double value = std::ldexp(mantissa, static_cast<int>(next() >> 33) % 200 - 100);
    for (Dimension d : {Dimension::kTime, Dimension::kData, Dimension::kBandwidth, Dimension::kCompute}) {
      const std::string text = print_quantity(value, d);
      EXPECT_EQ(parsed(text, d), value) << text;
    }
  }
}

}  // namespace
}  // namespace accosim
