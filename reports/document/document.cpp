#include "reports/document/document.hpp"

#include <fmt/format.h>

namespace accosim {

Value::Value(Format format, std::optional<double> number)
    : text(number ? in_words(format, *number) : "-"), kind(Kind::kNumber) {}

Value decimal(std::optional<double> number) {
  return {Value::Kind::kNumber, number ? fmt::format("{:.2f}", *number) : "-"};
}

void Document::Table::add(Values cells, Style style) {
  for (Value& cell : cells)
    if (cell.style == Style::kPlain) cell.style = style;
  rows.push_back(std::move(cells));
}

void Document::list(List list) {
  if (!list.items.empty()) nodes.emplace_back(std::move(list));
}

void Document::table(Table table) {
  if (!table.rows.empty()) nodes.emplace_back(std::move(table));
}

}  // namespace accosim
