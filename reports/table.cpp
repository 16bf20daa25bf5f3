#include "reports/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <locale>
#include <map>
#include <numeric>
#include <optional>
#include <ostream>
#include <sstream>

#include "models/draw/glyphs.hpp"

namespace accosim {
namespace {

constexpr int kLeastNames = 20;  // columns, for the names of rows beside all of their figures
constexpr int kFewestNames = 12;
std::string blanks(int count) { return std::string(static_cast<std::size_t>(std::max(count, 0)), ' '); }

std::string padded(const std::string& text, int width, bool left) {
  const std::string space = blanks(width - display_width(text));
  return left ? text + space : space + text;
}

void write_line(std::ostream& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

/// The two lines of a head, of which the second may be missing.
std::pair<std::string, std::optional<std::string>> lines_of(const Value& head) {
  const std::size_t end = head.text.rfind('\n');
  if (end == std::string::npos) return {head.text, std::nullopt};
  return {head.text.substr(0, end), head.text.substr(end + 1)};
}

/// A column as it is printed.
struct Printed {
  std::string head, sub_head;
  bool left = false;
  Values cells{};
  int width = 0;
};

int head_width(const Printed& column) { return std::max(display_width(column.head), display_width(column.sub_head)); }

/// Divides the head of a column where that makes it narrowest, if it is wider than its cells.
void divide(Printed& column) {
  const std::string head = column.head;
  for (std::size_t at = head.find(' '); at != std::string::npos; at = head.find(' ', at + 1)) {
    const Printed divided{head.substr(0, at), head.substr(at + 1), column.left};
    if (head_width(column) > column.width && head_width(divided) < head_width(column))
      column.head = divided.head, column.sub_head = divided.sub_head;
  }
}

std::vector<Printed> printed(const Table& table) {
  std::vector<Printed> columns;
  for (std::size_t i = 0; i < table.heads.size(); ++i) {
    const auto [head, sub_head] = lines_of(table.heads[i]);
    Printed column{head, sub_head.value_or(""), table.heads[i].kind != Value::Kind::kNumber};
    for (const Values& row : table.rows) {
      const Value& cell = column.cells.emplace_back(i < row.size() ? row[i] : Value());
      if (i > 0 && cell.kind == Value::Kind::kNumber) column.left = false;
      column.width = std::max(column.width, display_width(cell.text));
    }
    if (i > 0 && !sub_head) divide(column);  // the first has room: it is cut where the table is too wide
    column.width = std::max(column.width, head_width(column));
    columns.push_back(std::move(column));
  }
  return columns;
}

constexpr int kNamesOfSome = 22;  // columns, for the names of rows where not all columns are shown

/// Takes those columns away that find no room in their turn, and returns their heads.
std::vector<std::string> take_away(const Table& table, std::vector<Printed>& columns, int width) {
  std::map<int, int> widths;  // by turn
  for (std::size_t i = 1; i < columns.size(); ++i) widths[table.turns[i - 1]] += kGap + columns[i].width;
  const int names = std::min(kNamesOfSome, columns.front().width);
  int room = width - names;
  auto turn = widths.begin();
  for (; turn != widths.end(); ++turn) {
    room -= turn->second;
    // The first two, a time and a verdict, are worth more than whole names.
    const bool decides = std::distance(widths.begin(), turn) < 2;
    if (room + (decides ? std::max(0, names - kFewestNames) : 0) < 0) break;
  }
  std::vector<Printed> shown{columns.front()};
  std::vector<std::string> left_out;
  for (std::size_t i = 1; i < columns.size(); ++i) {
    if (turn == widths.end() || table.turns[i - 1] < turn->first)
      shown.push_back(std::move(columns[i]));
    else
      left_out.push_back(head_in_one_line(table.heads[i]));
  }
  columns = std::move(shown);
  return left_out;
}

/// Where each block of a table ends, one past its last column, when blocks are at most `width` wide or hold one column
/// besides the first.
std::vector<std::size_t> block_ends(const std::vector<int>& widths, int width) {
  std::vector<std::size_t> ends;
  std::size_t end = 1;
  do {
    int used = widths[0];
    for (const std::size_t begin = end; end < widths.size() && (end == begin || used + kGap + widths[end] <= width);) {
      used += kGap + widths[end++];
    }
    ends.push_back(end);
  } while (end < widths.size());
  return ends;
}

}  // namespace

std::string head_in_one_line(const Value& head) {
  const auto [first, second] = lines_of(head);
  return first + (second.value_or("").empty() || first.ends_with('-') ? "" : " ") + second.value_or("");
}

void Table::add(Values cells, Style style) {
  for (Value& cell : cells)
    if (cell.style == Style::kPlain) cell.style = style;
  rows.push_back(std::move(cells));
}

std::string printable(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) result += next_glyph(text, at).text;
  return result;
}

int display_width(const std::string& text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) width += next_glyph(text, at).columns;
  return width;
}

std::string cut_to_width(const std::string& text, int width) {
  if (display_width(text) <= width) return printable(text);
  std::string result;
  int used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Glyph glyph = next_glyph(text, at);
    if (used + glyph.columns > width - 1) break;
    result += glyph.text;
    used += glyph.columns;
  }
  return width > 0 ? result + "\u2026" : "";
}

std::string styled(const std::string& text, Style style, bool color) {
  if (!color || style == Style::kPlain) return text;
  const char* code = style == Style::kBold ? "1" : style == Style::kDim ? "2" : style == Style::kGood ? "32" : "31";
  std::string result = "\033[";
  result.append(code).append("m").append(text).append("\033[0m");
  return result;
}

void write_wrapped(std::ostream& out, const std::string& first, const std::string& text, int width) {
  width = std::min(width, kProseWidth);
  const std::string indent = blanks(display_width(first));
  std::string line = first;
  bool empty = true;  // nothing but the indent yet
  std::istringstream words(text);
  words.imbue(std::locale::classic());
  for (std::string word; words >> word;) {
    word = printable(word);
    if (!empty && display_width(line) + 1 + display_width(word) > width) {
      write_line(out, line);
      line = indent;
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
  }
  write_line(out, line);
}

void write_sentence(std::ostream& out, const ConsoleOptions& options, const std::string& text) {
  write_wrapped(out, "", text, options.width);
}

void write_table(std::ostream& out, const Table& table, const ConsoleOptions& options) {
  std::vector<Printed> columns = printed(table);
  if (columns.empty()) return;
  std::vector<std::string> left_out;
  if (!table.turns.empty() && !options.wide) left_out = take_away(table, columns, options.width);
  std::vector<int> widths;
  for (const Printed& column : columns) widths.push_back(column.width);
  const int figures =
      std::accumulate(widths.begin() + 1, widths.end(), 0, [](int sum, int more) { return sum + kGap + more; });
  // The names of the rows get what the figures leave in one block, or a third of the terminal and further blocks.
  const int left = options.width - figures;
  widths[0] = std::min(widths[0], left >= kLeastNames ? left : std::max(kFewestNames, options.width / 3));
  const auto line = [&](std::size_t begin, std::size_t end, const auto& cell_of) {
    std::string result;
    for (std::size_t i = 0; i < end; i = i == 0 ? begin : i + 1) {
      const Value cell = cell_of(columns[i]);
      const std::string text = padded(cut_to_width(cell.text, widths[i]), widths[i], columns[i].left);
      if (i > 0) result += blanks(kGap);
      result += styled(text, cell.style, options.color);
    }
    write_line(out, result);
  };
  const bool two_lines = std::ranges::any_of(columns, [](const Printed& column) { return !column.sub_head.empty(); });
  // No wider than the blocks need, so that the last one does not hold a single column.
  int width = options.width;
  while (width > 0 && block_ends(widths, width - 1).size() == block_ends(widths, options.width).size()) --width;
  std::size_t begin = 1;
  for (const std::size_t end : block_ends(widths, width)) {
    const int used = std::accumulate(widths.begin() + begin, widths.begin() + end, widths[0],
                                     [](int sum, int more) { return sum + kGap + more; });
    if (begin > 1) out << '\n';
    line(begin, end, [](const Printed& column) { return Value(column.head, Style::kBold); });
    if (two_lines) line(begin, end, [](const Printed& column) { return Value(column.sub_head, Style::kBold); });
    std::string rule;
    for (int i = 0; i < used; ++i) rule += "\u2500";
    out << styled(rule, Style::kDim, options.color) << '\n';
    for (std::size_t row = 0; row < table.rows.size(); ++row)
      line(begin, end, [&](const Printed& column) { return column.cells[row]; });
    begin = end;
  }
  if (!left_out.empty())
    write_wrapped(out, "--wide also shows: ", fmt::format("{}", fmt::join(left_out, ", ")), options.width);
}

void write_table_below(std::ostream& out, const std::string& sentence, const Table& table,
                       const ConsoleOptions& options) {
  out << '\n';
  if (!sentence.empty()) {
    write_sentence(out, options, sentence);
    out << '\n';
  }
  write_table(out, table, options);
}

}  // namespace accosim
