// The validation report on a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

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

}  // namespace accosim
