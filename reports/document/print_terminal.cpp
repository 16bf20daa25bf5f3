// A document on a terminal, as wide as that is.
#include <algorithm>
#include <ostream>
#include <sstream>

#include "reports/document/document.hpp"

namespace accosim {
namespace {

std::string in_one(const Values& words) {
  std::string text;
  for (const Value& value : words) text += value.text;
  return text;
}

/// Divides the head of a column where that makes it narrowest, if it is wider than `cells`.
void divide(Column& column, int cells) {
  const std::string head = column.head;
  for (std::size_t at = head.find(' '); at != std::string::npos; at = head.find(' ', at + 1)) {
    const std::string above = head.substr(0, at), below = head.substr(at + 1);
    const int width = std::max(display_width(above), display_width(below));
    const int now = std::max(display_width(column.head), display_width(column.sub_head));
    if (now > cells && width < now) column.head = above, column.sub_head = below;
  }
}

struct TerminalPrinter {
  std::ostream& out;
  const ConsoleOptions& options;

  void operator()(const Document::Heading& heading) const {
    out << styled(printable(heading.text), Style::kBold, options.color) << '\n';
  }
  void operator()(const Document::Paragraph& paragraph) const {
    const Values& words = paragraph.words;
    const Style style = words.front().style;
    if (style == Style::kPlain) return write_sentence(out, options, in_one(words));
    // Coloured afterwards, since what colours has no width.
    const std::string first = printable(words.front().text);
    std::ostringstream lines;
    write_wrapped(lines, first, in_one({words.begin() + 1, words.end()}), options.width);
    out << styled(first, style, options.color) << lines.str().substr(first.size());
  }
  void operator()(const Document::List& list) const {
    int widest = 0, number = 0;
    for (const auto& item : list.items) widest = std::max(widest, display_width(item.term));
    for (const auto& item : list.items) {
      std::string first = list.numbered ? std::to_string(++number) + ". " : "  ";
      if (widest > 0) first += printable(item.term) + std::string(widest + kGap - display_width(item.term), ' ');
      write_wrapped(out, first, in_one(item.words), options.width);
    }
  }
  void operator()(const Document::Table& table) const {
    std::vector<Column> columns;
    for (std::size_t i = 0; i < table.heads.size(); ++i) {
      Column column{"", "", {}, true};
      for (const Values& row : table.rows) {
        column.cells.push_back({row.at(i).text, row[i].style});
        if (i > 0 && row[i].kind == Value::Kind::kNumber) column.left = false;
      }
      const int cells = display_width(column);
      column.head = table.heads[i].text;
      if (i > 0) divide(column, cells);  // the first has room: it is cut where the table is too wide
      columns.push_back(std::move(column));
    }
    write_table(out, columns, options);
  }
};

}  // namespace

void print_terminal(std::ostream& out, const Document& document, const ConsoleOptions& options) {
  for (std::size_t i = 0; i < document.nodes.size(); ++i) {
    // A list belongs to the sentence above it.
    const bool belongs = i > 0 && std::holds_alternative<Document::List>(document.nodes[i]) &&
                         std::holds_alternative<Document::Paragraph>(document.nodes[i - 1]);
    if (i > 0 && !belongs) out << '\n';
    std::visit(TerminalPrinter{out, options}, document.nodes[i]);
  }
}

}  // namespace accosim
