// Text on a terminal: widths as a terminal shows them, wrapped sentences, and tables that break into blocks where the
// terminal is narrow instead of running over its edge.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace accosim {

struct ConsoleOptions {
  bool color = false;
  int width = 80;  ///< columns of the terminal
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

/// `text` as it may be printed: what would move the cursor or is not UTF-8 becomes '?'.
std::string printable(const std::string& text);
/// Columns that a terminal gives printable(text): 2 for wide East Asian characters and emoji, 0 for combining marks.
int display_width(const std::string& text);
/// printable(text), cut to `width` columns with an ellipsis at its end where it is wider.
std::string cut_to_width(const std::string& text, int width);
/// `text` in the colour of `style`, or as it is.
std::string styled(const std::string& text, Style style, bool color);

/// Longer lines of prose are hard to read.
inline constexpr int kProseWidth = 110;

/// Words of `text` in lines of at most `width` columns, and at most kProseWidth (a longer word has a line to itself).
/// The first line starts with `first`, the others with as many blanks. Ends with a newline.
void write_wrapped(std::ostream& out, const std::string& first, const std::string& text, int width);

/// A table whose first column names the rows. Where it is wider than the terminal it goes on in further blocks, each
/// with the first column again: no column is dropped, their order stays, and there are as few blocks as the width
/// allows, about equally wide. The names of the rows are cut to a third of the width (at least 12) where the table has
/// more than one block. So no line is wider than the terminal, but for a figure that is wider than the rest of it.
void write_table(std::ostream& out, const std::vector<Column>& columns, const ConsoleOptions& options);

}  // namespace accosim
