// A document on a terminal, as wide as that is.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <sstream>

#include "reports/document.hpp"

namespace accosim {
namespace {

std::string in_one(const Values& words) {
  std::string text;
  for (const Value& value : words) text += value.text;
  return text;
}

struct TerminalPrinter {
  std::ostream& out;
  const ConsoleOptions& options;

  void operator()(const Document::Heading& heading) const {
    const std::string text = heading.level < 3 ? printable(heading.text) : cut_to_width(heading.text, options.width);
    out << styled(text, Style::kBold, options.color) << '\n';
  }
  void operator()(const Document::Paragraph& paragraph) const {
    const Values& words = paragraph.words;
    const Style style = words.empty() ? Style::kPlain : words.front().style;
    if (style == Style::kPlain) return write_wrapped(out, printable(paragraph.first), in_one(words), options.width);
    // Coloured afterwards, since what colours has no width.
    const bool alone = words.size() == 1;
    const std::string first = printable(paragraph.first + (alone ? "" : words.front().text));
    std::ostringstream lines;
    write_wrapped(lines, first, alone ? words.front().text : in_one({words.begin() + 1, words.end()}), options.width);
    const std::string text = lines.str();
    const std::size_t marked = alone ? text.size() - 1 : first.size();  // all but the end of the last line
    out << styled(text.substr(0, marked), style, options.color) << text.substr(marked);
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
  void operator()(const Document::Figures& figures) const {
    constexpr int kLeast = 64;  // a meaning beside its figure needs some 20 columns
    for (const auto& [name, value, meaning] : figures.rows) {
      if (options.width >= kLeast) {
        write_wrapped(out, fmt::format("{:<29} {:>11}  ", name, value), meaning, options.width);
        continue;
      }
      write_sentence(out, options, value.empty() ? name : fmt::format("{}: {}", name, value));
      write_wrapped(out, "    ", meaning, options.width);
    }
  }
  void operator()(const Document::Table& table) const { write_table(out, table, options); }
};

}  // namespace

void print_terminal(std::ostream& out, const Document& document, const ConsoleOptions& options) {
  for (const Document::Part& part : document.parts) {
    if (&part != &document.parts.front() && part.above == Above::kEmptyLine) out << '\n';
    std::visit(TerminalPrinter{out, options}, part.what);
  }
}

}  // namespace accosim
