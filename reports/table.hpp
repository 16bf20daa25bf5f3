// Text on a terminal: widths as a terminal shows them, wrapped sentences, and tables that break into blocks where the
// terminal is narrow instead of running over its edge.
#pragma once

#include <fmt/core.h>

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace accosim {

inline constexpr int kGap = 2;  ///< blanks between two columns of a table

struct ConsoleOptions {
  bool color = false;
  int width = 80;     ///< columns of the terminal
  bool wide = false;  ///< of a comparison: every column, in further blocks where the terminal is narrow
};

enum class Style { kPlain, kBold, kDim, kGood, kBad };

struct Cell {
  std::string text;
  Style style = Style::kPlain;
};

struct Column {
  std::string head;      ///< first line of the heading
  std::string sub_head;  ///< second line
  std::vector<Cell> cells;
  bool left = false;  ///< aligned left, as text is; numbers go right
};

/// Column by column: of each item what a column says of it, a text or a Cell. The first is aligned left.
template <typename Item>
class TableOf {
 public:
  explicit TableOf(const std::vector<Item>& items) : items_(items) {}

  template <typename CellOf>
  void add(const std::string& head, const std::string& sub_head, const CellOf& cell_of, bool left = false) {
    Column& column = columns_.emplace_back(Column{head, sub_head, {}, left || columns_.empty()});
    for (const Item& item : items_) column.cells.push_back(Cell{cell_of(item)});
  }
  const std::vector<Column>& columns() const { return columns_; }

 private:
  const std::vector<Item>& items_;
  std::vector<Column> columns_;
};

/// Row by row, under columns without cells.
class Table {
 public:
  explicit Table(std::vector<Column> heads) : columns_(std::move(heads)) {}

  /// As many as there are columns, or fewer: then the rest is empty. Of more the rest is not shown.
  void add(const std::vector<Cell>& cells);
  void add(Style style, const std::vector<std::string>& texts);
  bool empty() const { return columns_.front().cells.empty(); }
  const std::vector<Column>& columns() const { return columns_; }

 private:
  std::vector<Column> columns_;
};
/// The head of a column of texts, which are aligned left, and of one of numbers.
inline Column left(const std::string& head, const std::string& sub_head = "") { return {head, sub_head, {}, true}; }
inline Column right(const std::string& head, const std::string& sub_head = "") { return {head, sub_head, {}, false}; }

/// `text` as it may be printed: what would move the cursor or is not UTF-8 becomes '?'.
std::string printable(const std::string& text);
/// Columns that a terminal gives printable(text): 2 for wide East Asian characters and emoji, 0 for combining marks.
int display_width(const std::string& text);
/// What all of a column's lines have room in.
int display_width(const Column& column);
/// printable(text), cut to `width` columns with an ellipsis at its end where it is wider.
std::string cut_to_width(const std::string& text, int width);
/// `text` in the colour of `style`, or as it is.
std::string styled(const std::string& text, Style style, bool color);

/// Longer lines of prose are hard to read.
inline constexpr int kProseWidth = 110;

/// Words of `text` in lines of at most `width` columns, and at most kProseWidth (a longer word has a line to itself).
/// The first line starts with `first`, the others with as many blanks. Ends with a newline.
void write_wrapped(std::ostream& out, const std::string& first, const std::string& text, int width);
/// The same with nothing before it: the text, or what fmt::format() makes of it.
void write_sentence(std::ostream& out, const ConsoleOptions& options, const std::string& text);
template <typename... Args>
void write_sentence(std::ostream& out, const ConsoleOptions& options, fmt::format_string<Args...> text,
                    Args&&... args) {
  write_sentence(out, options, fmt::vformat(text, fmt::make_format_args(args...)));
}

/// A table whose first column names the rows. Where it is wider than the terminal it goes on in further blocks, each
/// with the first column again: no column is dropped, their order stays, and there are as few blocks as the width
/// allows, about equally wide. The names of the rows are cut to a third of the width (at least 12) where the table has
/// more than one block. So no line is wider than the terminal, but for a figure that is wider than the rest of it.
void write_table(std::ostream& out, const std::vector<Column>& columns, const ConsoleOptions& options);
/// The same below an empty line and, where there is one, a sentence and another empty line.
void write_table_below(std::ostream& out, const std::string& sentence, const std::vector<Column>& columns,
                       const ConsoleOptions& options);

}  // namespace accosim
