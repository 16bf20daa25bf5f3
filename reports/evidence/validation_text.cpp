// The validation report on a terminal, and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>
#include <string>

#include "models/base/json.hpp"
#include "reports/evidence/validation_report.hpp"
#include "reports/human.hpp"
#include "sim/evidence/predict.hpp"
#include "sim/evidence/ratios.hpp"

namespace accosim {
namespace {

constexpr std::size_t kMostRows = 120;
constexpr std::size_t kWorst = 10;

std::string percent(double fraction) { return fmt::format("{:.1f}%", 100 * fraction); }
std::string signed_percent(double fraction) { return fmt::format("{:+.1f}%", 100 * fraction); }

/// Those with the largest errors first, by what a new case may rely on; those without a case last.
std::vector<ValidationPart> worst_first(std::vector<ValidationPart> parts) {
  const auto error = [](const ValidationPart& part) {
    return part.score.cases > 0 ? part.score.mean_without.value_or(part.score.mean) : -1;
  };
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const ValidationPart& a, const ValidationPart& b) { return error(a) > error(b); });
  return parts;
}

/// Of what its rows are: "group".
Table score_table(const char* of) {
  return Table({left(of), right("cases"), right("error with", "source out"), right("error", "fitted"), right("bias"),
                right("worst"), right("within", "20 %"), right("in 80 %", "interv."), right("median", "width"),
                right("log", "score"), right("left", "out"), right("not", "asked")});
}

void add_score(Table& rows, const std::string& label, const ValidationScore& score, Style style) {
  const auto known = [&](const std::string& text) { return score.cases > 0 ? text : "-"; };
  // With the source left out where it was: these are what a new case may rely on.
  const IntervalScore& interval = score.interval_without ? *score.interval_without : score.interval;
  rows.add(style, {label, std::to_string(score.cases), score.mean_without ? percent(*score.mean_without) : "-",
                   known(percent(score.mean)), known(signed_percent(score.bias)), known(signed_percent(score.worst)),
                   known(percent(score.within_20)), known(percent(interval.inside)),
                   known(fmt::format("{:.2f}x", interval.width)), known(fmt::format("{:+.2f}", interval.log_score)),
                   std::to_string(score.left_out), std::to_string(score.not_expressible)});
}

void add_parts(Table& rows, const char* kind, const std::vector<ValidationPart>& parts, Style style) {
  for (const ValidationPart& part : worst_first(parts))
    if (part.score.cases + part.score.left_out > 0) add_score(rows, kind + part.name, part.score, style);
}

void write_legend(std::ostream& out, const ConsoleOptions& options) {
  const auto line = [&](const char* column, const char* meaning) {
    write_wrapped(out, fmt::format("  {:<23}", column), meaning, options.width);
  };
  out << "\nWhat the columns say:\n";
  line("cases", "published figures that are scored");
  line("error with source out",
       "mean of the errors' sizes, each case by constants fitted without its source: what to "
       "expect of a new case");
  line("error fitted", "the same by the shipped constants, which may have seen the source");
  line("bias", "mean of the errors; + is predicted too large");
  line("worst", "the largest error either way");
  line("within 20 %", "share of the cases that are off by at most 20 %");
  line("in 80 % interv.", "share of the cases that their 80 % interval holds: 80 % would be right");
  line("median width", "upper over lower end of the intervals");
  line("log score", "how good the intervals are, in nats: less is better");
  line("left out", "compared but not scored, by a stated rule");
  line("not asked", "published but not expressible yet; --markdown says why");
}

/// The groups; then of each its devices and sources.
void write_scores(std::ostream& out, const std::vector<ValidationGroup>& groups, const ConsoleOptions& options) {
  Table all = score_table("group");
  for (const ValidationGroup& group : groups) add_score(all, group.name, group.score, Style::kBold);
  write_table(out, all.columns(), options);
  write_legend(out, options);
  for (const ValidationGroup& group : groups) {
    Table parts = score_table("by device, by source");
    add_parts(parts, "on ", group.devices, Style::kPlain);
    add_parts(parts, "of ", group.sources, Style::kDim);
    if (parts.empty()) continue;
    out << '\n' << styled(group.name + ", worst first", Style::kBold, options.color) << "\n\n";
    write_table(out, parts.columns(), options);
  }
}

void write_rows(std::ostream& out, const std::vector<const ValidationRow*>& rows, const ConsoleOptions& options) {
  Table table({left("case"), right("measured"), right("predicted"), right("error with", "source out"),
               right("error", "fitted"), right("80 %", "interval")});
  for (const ValidationRow* row : rows) {
    const Style style = !row->scored()                            ? Style::kDim
                        : std::abs(row->error()) > kToBeExplained ? Style::kBad
                                                                  : Style::kPlain;
    table.add(style, {row->id, row->expressed() ? value_text(*row, row->measured) : row->published,
                      row->expressed() ? value_text(*row, row->with.value) : "-",
                      row->without ? signed_percent(row->error_without()) : "-",
                      row->expressed() ? signed_percent(row->error()) : "-",
                      !row->expressed()                ? "-"
                      : row->with.holds(row->measured) ? "holds"
                                                       : "missed"});
  }
  write_table(out, table.columns(), options);
}

void write_left_out(std::ostream& out, const Validation& validation, const ConsoleOptions& options) {
  Table table({left(validation.left_out_by, "left out"), left("group"), right("cases"),
               right("mean |error|", "with it"), right("", "without it"), right("in 80 %", "interval")});
  std::vector<LeftOutRow> rows = left_out_totals(validation);
  rows.insert(rows.end(), validation.left_out.begin(), validation.left_out.end());
  for (const LeftOutRow& row : rows)
    table.add(Style::kPlain, {row.left_out, row.group, fmt::format("{}", row.cases), percent(row.mean_with),
                              percent(row.mean_without), percent(row.held_without)});
  write_table_below(out, "", table.columns(), options);
}

/// How the verdicts on memory of what ran come out, and which are wrong.
void write_runs(std::ostream& out, const std::vector<RunFit>& runs, const ConsoleOptions& options) {
  if (runs.empty()) return;
  out << '\n';
  write_sentence(out, options, runs_in_words(runs));
  Table table({left("run"), right("memory"), right("of"), right("fits with", "probability")});
  for (const RunFit& run : runs)
    if (run.wrong())
      table.add({{run.id},
                 {human_memory(run.resident)},
                 {human_memory(run.capacity)},
                 {in_percent(run.fit.probability), Style::kBad}});
  if (!table.empty()) write_table_below(out, "", table.columns(), options);
}

/// Each source counts once, however many sizes it measured.
void write_medians(std::ostream& out, const Validation& validation, const ConsoleOptions& options) {
  Table table(
      {left("median of the sources' errors"), right("sources"), right("with", "source out"), right("", "fitted")});
  for (const ValidationGroup& group : validation.groups) {
    if (group.sources.size() < 2 || group.score.cases == 0) continue;
    const std::optional<double> out_of = group.median_of_sources_without();
    table.add(Style::kPlain, {group.name, fmt::format("{}", group.sources.size()), out_of ? percent(*out_of) : "-",
                              percent(group.median_of_sources())});
  }
  if (!table.empty()) write_table_below(out, "", table.columns(), options);
}

/// Of two steps that differ in one setting.
void write_ratios(std::ostream& out, const Validation& validation, const ConsoleOptions& options) {
  Table table({left("ratios of two steps", "that differ in"), right("pairs"), right("sources"),
               right("error of", "ratio"), right("in 80 %", "interv."), right("median", "width"),
               right("log", "score")});
  for (const RatioPart& part : ratio_parts(validation.ratios))
    table.add(Style::kPlain,
              {part.name, fmt::format("{}", part.pairs), fmt::format("{}", part.publishers), percent(part.mean),
               percent(part.interval.inside), fmt::format("{:.2f}x", part.interval.width),
               fmt::format("{:+.2f}", part.interval.log_score)});
  if (!table.empty()) write_table_below(out, "", table.columns(), options);
}

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

std::string runs_in_words(const std::vector<RunFit>& runs) {
  const auto count = [&](FitVerdict verdict) {
    return std::count_if(runs.begin(), runs.end(), [&](const RunFit& run) { return run.fit.verdict == verdict; });
  };
  return fmt::format("Of {} training runs, which ran, {} are said to fit, {} to be tight and {} not to fit.",
                     runs.size(), count(FitVerdict::kFits), count(FitVerdict::kTight), count(FitVerdict::kDoesNotFit));
}

std::string value_text(const ValidationRow& row, double value) {
  if (row.asked == Asked::kSpeedup) return human_factor(value);
  return is_memory(row.asked) ? human_memory(Bytes{value}) : human_time(Seconds{value});
}

void write_validation(std::ostream& out, const Validation& validation, const ConsoleOptions& options) {
  write_scores(out, validation.groups, options);
  write_medians(out, validation, options);
  write_ratios(out, validation, options);
  std::vector<const ValidationRow*> rows;
  for (const ValidationRow& row : validation.rows) rows.push_back(&row);
  if (rows.size() > kMostRows) {
    rows.erase(std::remove_if(rows.begin(), rows.end(), [](const ValidationRow* row) { return !row->scored(); }),
               rows.end());
    std::stable_sort(rows.begin(), rows.end(), [](const ValidationRow* a, const ValidationRow* b) {
      return std::abs(a->error()) > std::abs(b->error());
    });
    const std::size_t scored = rows.size();
    rows.resize(std::min(rows.size(), kWorst));
    out << '\n';
    write_sentence(out, options,
                   "The {} worst of {} scored; --group and --case choose, --json has all, --markdown why "
                   "others are not:",
                   rows.size(), scored);
  } else {
    out << '\n';
  }
  if (!rows.empty()) write_rows(out, rows, options);
  if (rows.size() == 1) {
    const ValidationRow& row = *rows.front();
    out << '\n';
    write_wrapped(out, "configuration  ", row.configuration, options.width);
    write_wrapped(out, "published      ", row.published + ", " + row.url, options.width);
    for (const std::string& text : row.inferred) write_wrapped(out, "inferred       ", text, options.width);
    for (const std::string* text : {&row.explanation, &row.left_out, &row.not_expressible})
      if (!text->empty()) write_wrapped(out, "note           ", *text, options.width);
  }
  write_runs(out, validation.runs, options);
  if (!validation.left_out.empty()) write_left_out(out, validation, options);
  for (const std::string& line : validation.broken)
    write_wrapped(out, "\n" + styled("bound broken: ", Style::kBad, options.color), line, options.width);
}

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
    return fmt::format(R"({{"id": {}, "memory_resident_bytes": {}, "memory_resident_bytes_low": {}, )"
                       R"("memory_resident_bytes_high": {}, "memory_capacity_bytes": {}, "fit_verdict": "{}", )"
                       R"("fit_probability": {}, "explanation": {}}})",
                       quoted_json(run.id), digits_json(run.resident.value), digits_json(run.interval.low),
                       digits_json(run.interval.high), digits_json(run.capacity.value), name_of(run.fit.verdict),
                       digits_json(run.fit.probability), quoted_json(run.explanation));
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
