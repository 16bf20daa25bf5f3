#include "reports/document.hpp"

#include <fmt/format.h>

namespace accosim {

Value figure(Format format, std::optional<double> number) {
  return {Value::Kind::kNumber, number ? in_words(format, *number) : "-"};
}

Value decimal(std::optional<double> number) {
  return {Value::Kind::kNumber, number ? fmt::format("{:.2f}", *number) : "-"};
}

void Document::say_each(const std::vector<std::string>& sentences) {
  for (const std::string& sentence : sentences)
    add(Paragraph{{sentence}}, &sentence == &sentences.front() ? Above::kEmptyLine : Above::kNothing);
}

void Document::list(List list) {
  if (list.items.empty()) return;
  const bool belongs = !parts.empty() && std::holds_alternative<Paragraph>(parts.back().what);
  add(std::move(list), belongs ? Above::kNothing : Above::kEmptyLine);
}

void Document::table(Table table, Above above) {
  if (!table.empty()) add(std::move(table), above);
}

}  // namespace accosim
