// Does a table of measurements say where it is wrong?
#include "models/base/csv.hpp"

#include <gtest/gtest.h>

namespace accosim {
namespace {

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

}  // namespace
}  // namespace accosim
