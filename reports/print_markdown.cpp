// A document as a page of Markdown. Whatever a text holds, it can neither end a cell nor make markup.
#include <fmt/format.h>

#include <ostream>
#include <string_view>

#include "models/base/text.hpp"
#include "reports/document.hpp"

namespace accosim {
namespace {

/// An address between angle brackets, by which a viewer makes a link of it; of anything but http and https the text.
std::string in_link(const std::string& url) {
  if (url.rfind("https://", 0) != 0 && url.rfind("http://", 0) != 0) return in_markdown(url);
  std::string out = "<";
  for (const char c : printable(url, kAllOfIt)) {
    if (std::string_view("<> ").find(c) == std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned>(c));
  }
  return out + ">";
}

std::string marked_up(const Value& value) {
  if (value.kind == Value::Kind::kCode) return in_code(value.text);
  if (value.kind == Value::Kind::kLink) return in_link(value.text);
  const std::string text = in_markdown(value.text);
  if (value.kind == Value::Kind::kTerm) return "*" + text + "*";
  return value.style == Style::kBold ? "**" + text + "**" : text;
}

std::string marked_up(const Values& words) {
  std::string text;
  for (const Value& value : words) text += marked_up(value);
  return text;
}

/// In code and in addresses a bar still ends the cell, unless it is escaped.
std::string in_cell(const Value& value) {
  std::string text = marked_up(value);
  if (value.kind != Value::Kind::kCode && value.kind != Value::Kind::kLink) return text;
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
  return text;
}

struct MarkdownPrinter {
  std::ostream& out;

  void operator()(const Document::Heading& heading) const {
    out << std::string(heading.level, '#') << ' ' << in_markdown(heading.text) << '\n';
  }
  void operator()(const Document::Paragraph& paragraph) const {
    out << in_markdown(paragraph.first) << marked_up(paragraph.words) << '\n';
  }
  void operator()(const Document::List& list) const {
    int number = 0;
    for (const auto& item : list.items) {
      out << (list.numbered ? std::to_string(++number) + ". " : "- ");
      if (!item.term.empty()) out << in_markdown(item.term) << ": ";
      out << marked_up(item.words) << '\n';
    }
  }
  void operator()(const Document::Figures& figures) const {
    for (const auto& row : figures.rows)
      out << "- " << in_markdown(fmt::format("{} {}: {}", row.name, row.value, row.meaning)) << '\n';
  }
  void operator()(const Document::Table& table) const {
    const auto line = [&](const Values& cells) {
      out << '|';
      for (const Value& cell : cells) out << ' ' << in_cell(cell) << " |";
      out << '\n';
    };
    Values heads;
    for (const Value& head : table.heads) heads.emplace_back(head_in_one_line(head));
    line(heads);
    out << '|';
    for (const Value& head : table.heads) out << (head.kind == Value::Kind::kNumber ? "--:|" : "---|");
    out << '\n';
    for (const Values& row : table.rows) line(row);
  }
};

}  // namespace

void print_markdown(std::ostream& out, const Document& document) {
  bool below_sentence = false;
  for (const Document::Part& part : document.parts) {
    const bool is_sentence = std::holds_alternative<Document::Paragraph>(part.what);
    const bool goes_on = is_sentence && below_sentence && part.above == Above::kNothing;
    if (&part != &document.parts.front() && !goes_on) out << '\n';
    std::visit(MarkdownPrinter{out}, part.what);
    below_sentence = is_sentence;
  }
}

}  // namespace accosim
