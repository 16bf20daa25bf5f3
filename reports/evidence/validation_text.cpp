// The validation report on a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "reports/evidence/validation_report.hpp"
#include "reports/human.hpp"

namespace accosim {
namespace {

constexpr std::size_t kMostRows = 120;
constexpr std::size_t kWorst = 10;

std::string percent(double fraction) { return fmt::format("{:.1f}%", 100 * fraction); }
std::string signed_percent(double fraction) { return fmt::format("{:+.1f}%", 100 * fraction); }

Column column(const char* head, const char* sub_head = "", bool left = false) { return {head, sub_head, {}, left}; }

/// Those with the largest errors first, by what a new case may rely on; those without a case last.
std::vector<ValidationPart> worst_first(std::vector<ValidationPart> parts) {
  const auto error = [](const ValidationPart& part) {
    return part.score.cases > 0 ? part.score.mean_without.value_or(part.score.mean) : -1;
  };
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const ValidationPart& a, const ValidationPart& b) { return error(a) > error(b); });
  return parts;
}

struct ScoreTable {
  Column name, cases = column("cases"), without = column("error with", "source out"), mean = column("error", "fitted"),
               bias = column("bias"), worst = column("worst"), within = column("within", "20 %"),
               inside = column("in 80 %", "interv."), width = column("median", "width"),
               log_score = column("log", "score"), out = column("left", "out"), no = column("not", "asked");

  /// Of what its rows are: "group".
  explicit ScoreTable(const char* of) : name(column(of, "", true)) {}

  void add_part(const char* kind, const ValidationPart& part, Style style = Style::kPlain) {
    if (part.score.cases + part.score.left_out > 0) add(std::string(kind) + part.name, part.score, style);
  }
  void add(const std::string& label, const ValidationScore& score, Style style = Style::kPlain) {
    const bool any = score.cases > 0;
    name.cells.push_back({label, style});
    cases.cells.push_back({fmt::format("{}", score.cases), style});
    without.cells.push_back({score.mean_without ? percent(*score.mean_without) : "-", style});
    mean.cells.push_back({any ? percent(score.mean) : "-", style});
    bias.cells.push_back({any ? signed_percent(score.bias) : "-", style});
    worst.cells.push_back({any ? signed_percent(score.worst) : "-", style});
    within.cells.push_back({any ? percent(score.within_20) : "-", style});
    // With the source left out where it was: these are what a new case may rely on.
    const IntervalScore& interval = score.interval_without ? *score.interval_without : score.interval;
    inside.cells.push_back({any ? percent(interval.inside) : "-", style});
    width.cells.push_back({any ? fmt::format("{:.2f}x", interval.width) : "-", style});
    log_score.cells.push_back({any ? fmt::format("{:+.2f}", interval.log_score) : "-", style});
    out.cells.push_back({fmt::format("{}", score.left_out), style});
    no.cells.push_back({fmt::format("{}", score.not_expressible), style});
  }
  void write(std::ostream& stream, const ConsoleOptions& options) const {
    write_table(stream, {name, cases, without, mean, bias, worst, within, inside, width, log_score, out, no}, options);
  }
};

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
  ScoreTable all("group");
  for (const ValidationGroup& group : groups) all.add(group.name, group.score, Style::kBold);
  all.write(out, options);
  write_legend(out, options);
  for (const ValidationGroup& group : groups) {
    ScoreTable parts("by device, by source");
    for (const ValidationPart& part : worst_first(group.devices)) parts.add_part("on ", part);
    for (const ValidationPart& part : worst_first(group.sources)) parts.add_part("of ", part, Style::kDim);
    if (parts.name.cells.empty()) continue;
    out << '\n' << styled(group.name + ", worst first", Style::kBold, options.color) << "\n\n";
    parts.write(out, options);
  }
}

void write_rows(std::ostream& out, const std::vector<const ValidationRow*>& rows, const ConsoleOptions& options) {
  Column id = column("case", "", true), measured = column("measured"), predicted = column("predicted"),
         without = column("error with", "source out"), error = column("error", "fitted"),
         interval = column("80 %", "interval");
  for (const ValidationRow* row : rows) {
    const Style style = !row->scored()                            ? Style::kDim
                        : std::abs(row->error()) > kToBeExplained ? Style::kBad
                                                                  : Style::kPlain;
    id.cells.push_back({row->id, style});
    measured.cells.push_back({row->expressed() ? value_text(*row, row->measured) : row->published, style});
    predicted.cells.push_back({row->expressed() ? value_text(*row, row->with.value) : "-", style});
    without.cells.push_back({row->without ? signed_percent(row->error_without()) : "-", style});
    error.cells.push_back({row->expressed() ? signed_percent(row->error()) : "-", style});
    interval.cells.push_back({!row->expressed() ? "-" : row->with.holds(row->measured) ? "holds" : "missed", style});
  }
  write_table(out, {id, measured, predicted, without, error, interval}, options);
}

void write_left_out(std::ostream& out, const Validation& validation, const ConsoleOptions& options) {
  Column name = column(validation.left_out_by.c_str(), "left out", true), group = column("group", "", true),
         cases = column("cases"), with = column("mean |error|", "with it"), without = column("", "without it");
  std::vector<LeftOutRow> rows = left_out_totals(validation);
  rows.insert(rows.end(), validation.left_out.begin(), validation.left_out.end());
  for (const LeftOutRow& row : rows) {
    name.cells.push_back({row.left_out});
    group.cells.push_back({row.group});
    cases.cells.push_back({fmt::format("{}", row.cases)});
    with.cells.push_back({percent(row.mean_with)});
    without.cells.push_back({percent(row.mean_without)});
  }
  out << '\n';
  write_table(out, {name, group, cases, with, without}, options);
}

/// How the verdicts on memory of what ran come out, and which are wrong.
void write_runs(std::ostream& out, const std::vector<RunFit>& runs, const ConsoleOptions& options) {
  if (runs.empty()) return;
  out << '\n';
  write_wrapped(out, "", runs_in_words(runs), options.width);
  Column id = column("run", "", true), memory = column("memory"), capacity = column("of"),
         fits = column("fits with", "probability");
  for (const RunFit& run : runs) {
    if (!run.wrong()) continue;
    id.cells.push_back({run.id});
    memory.cells.push_back({human_memory(run.resident)});
    capacity.cells.push_back({human_memory(run.capacity)});
    fits.cells.push_back({in_percent(run.fit.probability), Style::kBad});
  }
  if (id.cells.empty()) return;
  out << '\n';
  write_table(out, {id, memory, capacity, fits}, options);
}

/// Each source counts once, however many sizes it measured.
void write_medians(std::ostream& out, const Validation& validation, const ConsoleOptions& options) {
  Column name = column("median of the sources' errors", "", true), sources = column("sources"),
         without = column("with", "source out"), with = column("", "fitted");
  for (const ValidationGroup& group : validation.groups) {
    if (group.sources.size() < 2 || group.score.cases == 0) continue;
    const std::optional<double> out_of = group.median_of_sources_without();
    name.cells.push_back({group.name});
    sources.cells.push_back({fmt::format("{}", group.sources.size())});
    without.cells.push_back({out_of ? percent(*out_of) : "-"});
    with.cells.push_back({percent(group.median_of_sources())});
  }
  if (name.cells.empty()) return;
  out << '\n';
  write_table(out, {name, sources, without, with}, options);
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
  switch (row.unit) {
    case ValidationUnit::kSeconds: return human_time(Seconds{value});
    case ValidationUnit::kBytes: return human_memory(Bytes{value});
    case ValidationUnit::kRatio: return human_factor(value);
  }
  return "";
}

void write_validation(std::ostream& out, const Validation& validation, const ConsoleOptions& options) {
  write_scores(out, validation.groups, options);
  write_medians(out, validation, options);
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
    write_wrapped(out, "",
                  fmt::format("The {} worst of {} scored; --group and --case choose, --json has all, --markdown why "
                              "others are not:",
                              rows.size(), scored),
                  options.width);
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
