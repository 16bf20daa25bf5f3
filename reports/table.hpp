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

/// A text, or a number as people read it.
struct Value {
  enum class Kind {
    kText,
    kCode,    ///< what a user may type
    kLink,    ///< an address
    kTerm,    ///< what the words behind it explain
    kNumber,  ///< in a table aligned right
  };
  std::string text;
  Kind kind = Kind::kText;
  Style style = Style::kPlain;

  Value() = default;
  // Implicit, so that texts stand among numbers. NOLINTBEGIN(google-explicit-constructor)
  Value(const char* words) : text(words) {}
  Value(std::string words, Style marked = Style::kPlain) : text(std::move(words)), style(marked) {}
  // NOLINTEND(google-explicit-constructor)
  Value(Kind of, std::string words) : text(std::move(words)), kind(of) {}
};
using Values = std::vector<Value>;
using Cell = Value;
using Column = Value;  ///< its head

/// The head of a column of texts, which are aligned left, and of one of numbers, in two lines of which the second may
/// be empty. (A head that is just a text is divided where the column is narrower, and the cells say how it is aligned.)
inline Value left(const std::string& head, const std::string& sub_head = "") { return {head + '\n' + sub_head}; }
inline Value right(const std::string& head, const std::string& sub_head = "") {
  return {Value::Kind::kNumber, head + '\n' + sub_head};
}
/// "tokens per s"; "GPU-hours".
std::string head_in_one_line(const Value& head);

/// Rows under heads of columns. The first column names the rows.
struct Table {
  Values heads{};
  std::vector<Values> rows{};  ///< of as many cells as there are heads, or fewer: then the rest is empty
  /// Empty, or of each column but the first how soon it gets room: those with the least number first, and those of one
  /// number together or not at all. What finds no room is named below the table, but for ConsoleOptions::wide.
  std::vector<int> turns{};

  Table() = default;
  Table(Values of) : heads(std::move(of)) {}  // NOLINT(google-explicit-constructor): a table may be just its heads

  void add(Values cells, Style style = Style::kPlain);  ///< those that are not marked get the row's style
  void add(Style style, const std::vector<std::string>& texts) { add(Values(texts.begin(), texts.end()), style); }
  bool empty() const { return rows.empty(); }
  const Table& columns() const { return *this; }  ///< as write_table() takes it
};

/// Column by column: of each item what a column says of it, a text or a Value. The first is aligned left.
template <typename Item>
class TableOf : public Table {
 public:
  explicit TableOf(const std::vector<Item>& items) : items_(items) { rows.resize(items.size()); }

  template <typename CellOf>
  void add(const std::string& head, const std::string& sub_head, const CellOf& cell_of, bool text = false) {
    heads.push_back(text || heads.empty() ? left(head, sub_head) : right(head, sub_head));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(Value{cell_of(items_[i])});
  }

 private:
  const std::vector<Item>& items_;
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
/// The same with nothing before it: the text, or what fmt::format() makes of it.
void write_sentence(std::ostream& out, const ConsoleOptions& options, const std::string& text);
template <typename... Args>
void write_sentence(std::ostream& out, const ConsoleOptions& options, fmt::format_string<Args...> text,
                    Args&&... args) {
  write_sentence(out, options, fmt::vformat(text, fmt::make_format_args(args...)));
}

/// Where a table is wider than the terminal it goes on in further blocks, each with the first column again: no column
/// is dropped (but by the table's `turns`), their order stays, and there are as few blocks as the width allows, about
/// equally wide. The names of the rows are cut to a third of the width (at least 12) where the table has more than one
/// block. So no line is wider than the terminal, but for a figure that is wider than the rest of it.
void write_table(std::ostream& out, const Table& table, const ConsoleOptions& options);
/// The same below an empty line and, where there is one, a sentence and another empty line.
void write_table_below(std::ostream& out, const std::string& sentence, const Table& table,
                       const ConsoleOptions& options);

}  // namespace accosim
