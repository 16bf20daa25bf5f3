// The validation report as JSON.
#include <fmt/format.h>

#include <optional>
#include <ostream>
#include <string>

#include "models/base/json.hpp"
#include "reports/evidence/validation_report.hpp"
#include "sim/evidence/predict.hpp"
#include "sim/evidence/ratios.hpp"

namespace accosim {
namespace {

std::string optional_json(const std::optional<double>& value) { return value ? digits_json(*value) : "null"; }

std::string interval_json(const std::optional<IntervalScore>& score) {
  if (!score) return "null";
  return fmt::format(R"({{"inside": {}, "median_width": {}, "log_score": {}}})", digits_json(score->inside),
                     digits_json(score->width), digits_json(score->log_score));
}

std::string score_json(const std::string& name, const ValidationScore& score) {
  const bool any = score.cases > 0;
  const auto number = [&](double value) { return any ? digits_json(value) : std::string("null"); };
  return fmt::format(
      R"({{"name": {}, "cases": {}, "error_without_source": {}, "mean_absolute_error": {}, "bias": {}, "worst": {}, )"
      R"("worst_case": {}, "within_20_percent": {}, "interval_80_percent_without_source": {}, )"
      R"("interval_80_percent": {}, "left_out": {}, "not_expressible": {}}})",
      quoted_json(name), score.cases, optional_json(score.mean_without), number(score.mean), number(score.bias),
      number(score.worst), any ? quoted_json(score.worst_id) : "null", number(score.within_20),
      interval_json(score.interval_without), interval_json(any ? std::optional(score.interval) : std::nullopt),
      score.left_out, score.not_expressible);
}

const char* unit_of(Asked asked) { return asked == Asked::kSpeedup ? "1" : is_memory(asked) ? "B" : "s"; }

std::string row_json(const ValidationRow& row) {
  const auto number = [&](double value) { return row.expressed() ? digits_json(value) : std::string("null"); };
  const auto without = [&](double ValidationPrediction::*member) {
    return row.without ? digits_json((*row.without).*member) : std::string("null");
  };
  std::string inferred;
  for (const std::string& text : row.inferred) inferred += (inferred.empty() ? "" : ", ") + quoted_json(text);
  return fmt::format(
      R"({{"id": {}, "group": {}, "source": {}, "device": {}, "configuration": {}, "metric": {}, "unit": "{}", )"
      R"("measured": {}, "predicted": {}, "low": {}, "high": {}, "error": {}, "predicted_without_source": {}, )"
      R"("low_without_source": {}, "high_without_source": {}, "error_without_source": {}, "scored": {}, "trust": "{}", )"
      R"("published": {}, "inferred": [{}], "explanation": {}, "left_out": {}, "not_expressible": {}}})",
      quoted_json(row.id), quoted_json(row.group), quoted_json(row.source), quoted_json(row.device),
      quoted_json(row.configuration), quoted_json(name_of(row.asked)), unit_of(row.asked), number(row.measured),
      number(row.with.value), number(row.with.low), number(row.with.high), number(row.expressed() ? row.error() : 0),
      without(&ValidationPrediction::value), without(&ValidationPrediction::low), without(&ValidationPrediction::high),
      optional_json(row.without ? std::optional(row.error_without()) : std::nullopt), row.scored(), row.trust,
      quoted_json(row.published), inferred, quoted_json(row.explanation), quoted_json(row.left_out),
      quoted_json(row.not_expressible));
}

/// A member behind another one: `items` one a line.
template <class Items, class Line>
std::string list_json(const char* name, const std::string& indent, const Items& items, const Line& line) {
  std::string text = fmt::format(",\n{}\"{}\": [", indent, name);
  const char* separator = "\n";
  for (const auto& item : items) {
    text += separator + indent + "  " + line(item);
    separator = ",\n";
  }
  return text + (items.empty() ? "]" : "\n" + indent + "]");
}

}  // namespace

void write_validation_json(std::ostream& out, const Validation& validation) {
  const auto part = [](const ValidationPart& each) { return score_json(each.name, each.score); };
  out << "{\n  \"schema\": \"accosim.validate/1\"";
  out << list_json("groups", "  ", validation.groups, [&](const ValidationGroup& group) {
    return "{\n      \"score\": " + score_json(group.name, group.score) +
           list_json("devices", "      ", group.devices, part) + list_json("sources", "      ", group.sources, part) +
           list_json("series", "      ", group.series, part) + "\n    }";
  });
  out << list_json("left_out", "  ", validation.left_out, [&](const LeftOutRow& row) {
    return fmt::format(R"({{"left_out": {}, "group": {}, "cases": {}, "with": {}, "without": {}, "held": {}}})",
                       quoted_json(row.left_out), quoted_json(row.group), row.cases, digits_json(row.mean_with),
                       digits_json(row.mean_without), digits_json(row.held_without));
  });
  out << list_json("broken_bounds", "  ", validation.broken, [](const std::string& text) { return quoted_json(text); });
  out << list_json("runs", "  ", validation.runs, [](const RunFit& run) {
    const KindMemory& kind = run.kind;
    const Interval interval = resident_interval(kind.parts);
    return fmt::format(R"({{"id": {}, "memory_resident_bytes": {}, "memory_resident_bytes_low": {}, )"
                       R"("memory_resident_bytes_high": {}, "memory_capacity_bytes": {}, "fit_verdict": "{}", )"
                       R"("fit_probability": {}, "explanation": {}}})",
                       quoted_json(run.id), digits_json(kind.parts.total().value), digits_json(interval.low),
                       digits_json(interval.high), digits_json(kind.capacity.value), name_of(kind.fit.verdict),
                       digits_json(kind.fit.probability), quoted_json(run.explanation));
  });
  out << list_json("ratios", "  ", ratio_parts(validation.ratios), [](const RatioPart& of) {
    return fmt::format(
        R"({{"name": {}, "pairs": {}, "publishers": {}, "mean_absolute_error": {}, "interval_80_percent": {}}})",
        quoted_json(of.name), of.pairs, of.publishers, digits_json(of.mean), interval_json(of.interval));
  });
  out << list_json("pairs", "  ", validation.ratios, [](const RatioRow& row) {
    return fmt::format(
        R"({{"knob": {}, "a": {}, "b": {}, "measured": {}, "predicted": {}, "low": {}, "high": {}, "fitted": {}}})",
        quoted_json(row.knob), quoted_json(row.a), quoted_json(row.b), digits_json(row.measured),
        digits_json(row.predicted.value), digits_json(row.predicted.low), digits_json(row.predicted.high),
        is_fitted(row));
  });
  out << list_json("cases", "  ", validation.rows, row_json);
  out << "\n}\n";
}

}  // namespace accosim
