#include "reports/table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <locale>
#include <numeric>
#include <ostream>
#include <sstream>

namespace accosim {
namespace {

struct Glyph {
  std::string text;
  int width;
};

bool within(std::uint32_t code, std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; }

/// The main blocks of zero and double width of Unicode's East Asian Width; enough for labels, not a text engine.
int width_of(std::uint32_t code) {
  if (within(code, 0x300, 0x36F) || within(code, 0x200B, 0x200D) || within(code, 0x20D0, 0x20FF) ||
      within(code, 0xFE00, 0xFE0F) || code == 0xFEFF) {
    return 0;
  }
  if (within(code, 0x1100, 0x115F) || within(code, 0x2E80, 0xA4CF) || within(code, 0xAC00, 0xD7A3) ||
      within(code, 0xF900, 0xFAFF) || within(code, 0xFE30, 0xFE6F) || within(code, 0xFF00, 0xFF60) ||
      within(code, 0xFFE0, 0xFFE6) || within(code, 0x1F300, 0x1F64F) || within(code, 0x1F680, 0x1F6FF) ||
      within(code, 0x1F900, 0x1F9FF) || within(code, 0x20000, 0x3FFFD)) {
    return 2;
  }
  return 1;
}

/// Controls, and the marks that reverse the direction of what follows.
bool harmful(std::uint32_t code) {
  return code < 0x20 || within(code, 0x7F, 0x9F) || within(code, 0x2028, 0x202E) || within(code, 0x2066, 0x2069);
}

/// The character at `at`, moving it on. A byte that is no UTF-8, or a harmful character, is "?".
Glyph next_glyph(const std::string& text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(at);
  const std::size_t length = lead < 0x80                ? 1
                             : within(lead, 0xC2, 0xDF) ? 2
                             : within(lead, 0xE0, 0xEF) ? 3
                             : within(lead, 0xF0, 0xF4) ? 4
                                                        : 0;
  std::uint32_t code = length == 1 ? lead : length == 0 ? 0 : lead & (0x7FU >> length);
  bool valid = length != 0 && at + length <= text.size();
  for (std::size_t i = 1; valid && i < length; ++i) {
    valid = (byte(at + i) & 0xC0U) == 0x80;
    code = (code << 6) | (byte(at + i) & 0x3FU);
  }
  valid = valid && !(length == 3 && (code < 0x800 || within(code, 0xD800, 0xDFFF))) &&
          !(length == 4 && !within(code, 0x10000, 0x10FFFF));
  const std::size_t used = valid ? length : 1;
  at += used;
  if (!valid || harmful(code)) return {"?", 1};
  return {text.substr(at - used, used), width_of(code)};
}

std::string blanks(int count) { return std::string(static_cast<std::size_t>(std::max(count, 0)), ' '); }

std::string padded(const std::string& text, int width, bool left) {
  const std::string space = blanks(width - display_width(text));
  return left ? text + space : space + text;
}

void write_line(std::ostream& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

constexpr int kGap = 2;  // between two columns

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

std::string printable(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) result += next_glyph(text, at).text;
  return result;
}

int display_width(const std::string& text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) width += next_glyph(text, at).width;
  return width;
}

std::string cut_to_width(const std::string& text, int width) {
  if (display_width(text) <= width) return printable(text);
  std::string result;
  int used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Glyph glyph = next_glyph(text, at);
    if (used + glyph.width > width - 1) break;
    result += glyph.text;
    used += glyph.width;
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

void write_table(std::ostream& out, const std::vector<Column>& columns, const ConsoleOptions& options) {
  if (columns.empty()) return;
  // The names of the rows get at most a third of the terminal, so that figures have room.
  const int most = std::max(12, options.width / 3);
  std::vector<int> widths;
  for (const Column& column : columns) {
    int width = std::max(display_width(column.head), display_width(column.sub_head));
    for (const Cell& cell : column.cells) width = std::max(width, display_width(cell.text));
    widths.push_back(widths.empty() ? std::min(width, most) : width);
  }
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
    const int used = std::accumulate(widths.begin() + static_cast<std::ptrdiff_t>(begin),
                                     widths.begin() + static_cast<std::ptrdiff_t>(end), widths[0],
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

}  // namespace accosim
