// The validation report as JSON.
#include <fmt/format.h>

#include <ostream>

#include "models/base/json.hpp"
#include "reports/validation_report.hpp"

namespace accosim {
namespace {

std::string score_json(const std::string& name, const ValidationScore& score) {
  const bool any = score.cases > 0;
  const auto number = [&](double value) { return any ? digits_json(value) : std::string("null"); };
  return fmt::format(
      R"({{"name": {}, "cases": {}, "mean_absolute_error": {}, "bias": {}, "worst": {}, "worst_case": {}, )"
      R"("within_20_percent": {}, "inside_80_percent_interval": {}, "left_out": {}, "not_expressible": {}}})",
      quoted_json(name), score.cases, number(score.mean), number(score.bias), number(score.worst),
      any ? quoted_json(score.worst_id) : "null", number(score.within_20), number(score.inside), score.left_out,
      score.not_expressible);
}

const char* unit_name(ValidationUnit unit) {
  return unit == ValidationUnit::kSeconds ? "s" : unit == ValidationUnit::kBytes ? "B" : "1";
}

std::string row_json(const ValidationRow& row) {
  const auto number = [&](double value) { return row.expressed() ? digits_json(value) : std::string("null"); };
  std::string inferred;
  for (const std::string& text : row.inferred) inferred += (inferred.empty() ? "" : ", ") + quoted_json(text);
  return fmt::format(
      R"({{"id": {}, "group": {}, "source": {}, "device": {}, "configuration": {}, "metric": {}, "unit": "{}", )"
      R"("measured": {}, "predicted": {}, "low": {}, "high": {}, "error": {}, "scored": {}, "trust": "{}", )"
      R"("published": {}, "inferred": [{}], "explanation": {}, "left_out": {}, "not_expressible": {}}})",
      quoted_json(row.id), quoted_json(row.group), quoted_json(row.source), quoted_json(row.device),
      quoted_json(row.configuration), quoted_json(row.metric), unit_name(row.unit), number(row.measured),
      number(row.predicted), number(row.low), number(row.high), number(row.expressed() ? row.error() : 0), row.scored(),
      row.trust, quoted_json(row.published), inferred, quoted_json(row.explanation), quoted_json(row.left_out),
      quoted_json(row.not_expressible));
}

/// `items` one a line.
template <class Items, class Line>
void write_list(std::ostream& out, const char* name, const std::string& indent, const Items& items, const Line& line) {
  out << indent << '"' << name << "\": [";
  const char* separator = "\n";
  for (const auto& item : items) {
    out << separator << indent << "  " << line(item);
    separator = ",\n";
  }
  out << (items.empty() ? "]" : "\n" + indent + "]");
}

}  // namespace

void write_validation_json(std::ostream& out, const Validation& validation) {
  const auto part = [](const ValidationPart& each) { return score_json(each.name, each.score); };
  out << "{\n  \"schema\": \"accosim.validate/1\",\n  \"groups\": [";
  const char* separator = "\n";
  for (const ValidationGroup& group : validation.groups) {
    out << separator << "    {\n      \"score\": " << score_json(group.name, group.score) << ",\n";
    write_list(out, "devices", "      ", group.devices, part);
    out << ",\n";
    write_list(out, "sources", "      ", group.sources, part);
    out << ",\n";
    write_list(out, "series", "      ", group.series, part);
    out << "\n    }";
    separator = ",\n";
  }
  out << (validation.groups.empty() ? "],\n" : "\n  ],\n");
  write_list(out, "left_out", "  ", validation.left_out, [&](const LeftOutRow& row) {
    return fmt::format(R"({{"left_out": {}, "group": {}, "cases": {}, "with": {}, "without": {}}})",
                       quoted_json(row.left_out), quoted_json(row.group), row.cases, digits_json(row.mean_with),
                       digits_json(row.mean_without));
  });
  out << ",\n";
  write_list(out, "broken_bounds", "  ", validation.broken, [](const std::string& text) { return quoted_json(text); });
  out << ",\n";
  write_list(out, "cases", "  ", validation.rows, row_json);
  out << "\n}\n";
}

}  // namespace accosim
