#include "reports/table.hpp"

#include <algorithm>
#include <cstddef>
#include <locale>
#include <numeric>
#include <ostream>
#include <sstream>

#include "models/draw/glyphs.hpp"

namespace accosim {
namespace {

constexpr int kLeastNames = 20;  // columns, for the names of rows beside all of their figures
std::string blanks(int count) { return std::string(static_cast<std::size_t>(std::max(count, 0)), ' '); }

std::string padded(const std::string& text, int width, bool left) {
  const std::string space = blanks(width - display_width(text));
  return left ? text + space : space + text;
}

void write_line(std::ostream& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
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

void Table::add(const std::vector<Cell>& cells) {
  for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].cells.push_back(i < cells.size() ? cells[i] : Cell{});
}

void Table::add(Style style, const std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < columns_.size(); ++i)
    columns_[i].cells.push_back({i < texts.size() ? texts[i] : "", style});
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

int display_width(const Column& column) {
  int width = std::max(display_width(column.head), display_width(column.sub_head));
  for (const Cell& cell : column.cells) width = std::max(width, display_width(cell.text));
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

void write_table(std::ostream& out, const std::vector<Column>& columns, const ConsoleOptions& options) {
  if (columns.empty()) return;
  std::vector<int> widths;
  int figures = 0;  // all columns but the first, each with its gap
  for (const Column& column : columns) {
    if (!widths.empty()) figures += kGap + display_width(column);
    widths.push_back(display_width(column));
  }
  // The names of the rows get what the figures leave in one block, or a third of the terminal and further blocks.
  const int left = options.width - figures;
  widths[0] = std::min(widths[0], left >= kLeastNames ? left : std::max(12, options.width / 3));
  const auto line = [&](std::size_t begin, std::size_t end, const auto& cell_of) {
    std::string result;
    for (std::size_t i = 0; i < end; i = i == 0 ? begin : i + 1) {
      const Cell cell = cell_of(columns[i]);
      const std::string text = padded(cut_to_width(cell.text, widths[i]), widths[i], columns[i].left);
      if (i > 0) result += blanks(kGap);
      result += styled(text, cell.style, options.color);
    }
    write_line(out, result);
  };
  const bool two_lines =
      std::any_of(columns.begin(), columns.end(), [](const Column& column) { return !column.sub_head.empty(); });
  // No wider than the blocks need, so that the last one does not hold a single column.
  int width = options.width;
  while (width > 0 && block_ends(widths, width - 1).size() == block_ends(widths, options.width).size()) --width;
  std::size_t begin = 1;
  for (const std::size_t end : block_ends(widths, width)) {
    const int used = std::accumulate(widths.begin() + begin, widths.begin() + end, widths[0],
                                     [](int sum, int more) { return sum + kGap + more; });
    if (begin > 1) out << '\n';
    line(begin, end, [](const Column& column) { return Cell{column.head, Style::kBold}; });
    if (two_lines) line(begin, end, [](const Column& column) { return Cell{column.sub_head, Style::kBold}; });
    std::string rule;
    for (int i = 0; i < used; ++i) rule += "\u2500";
    out << styled(rule, Style::kDim, options.color) << '\n';
    for (std::size_t row = 0; row < columns[0].cells.size(); ++row) {
      line(begin, end, [&](const Column& column) { return row < column.cells.size() ? column.cells[row] : Cell{}; });
    }
    begin = end;
  }
}

void write_table_below(std::ostream& out, const std::string& sentence, const std::vector<Column>& columns,
                       const ConsoleOptions& options) {
  out << '\n';
  if (!sentence.empty()) {
    write_sentence(out, options, sentence);
    out << '\n';
  }
  write_table(out, columns, options);
}

}  // namespace accosim
