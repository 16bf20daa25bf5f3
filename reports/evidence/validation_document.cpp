// The validation report: what a terminal shows, and the page that is committed. They share their tables.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "reports/evidence/validation_report.hpp"
#include "sim/evidence/predict.hpp"
#include "sim/evidence/ratios.hpp"
#include "sim/evidence/validate.hpp"

namespace accosim {
namespace {

constexpr std::size_t kMostRows = 120;
constexpr std::size_t kWorst = 10;

using Rows = std::vector<const ValidationRow*>;

Rows expressed_rows(const Validation& validation, const std::string& group) {
  Rows rows;
  for (const ValidationRow& row : validation.rows)
    if (row.group == group && row.expressed()) rows.push_back(&row);
  return rows;
}

/// Those with the largest errors first, by what a new case may rely on; those without a case last.
std::vector<ValidationPart> worst_first(std::vector<ValidationPart> parts) {
  const auto error = [](const ValidationPart& part) {
    return part.score.cases > 0 ? part.score.mean_without.value_or(part.score.mean) : -1;
  };
  std::ranges::stable_sort(parts,
                           [&](const ValidationPart& a, const ValidationPart& b) { return error(a) > error(b); });
  return parts;
}

/// Of what its rows are: "group".
Document::Table score_table(const std::string& of) {
  return {{of, "cases", "error with source out", "error fitted", "bias", "worst", "within 20 %", "in 80 % interval",
           "median width", "log score", "left out", "not asked"}};
}

Values interval_cells(const std::optional<IntervalScore>& score) {
  if (!score) return {"-", "-", "-"};
  return {percent(score->inside), factor(score->width), decimal(score->log_score)};
}

void add_score(Document::Table& table, const std::string& name, const ValidationScore& score) {
  Values cells{name, count(score.cases), percent(score.mean_without)};
  if (score.cases > 0)
    append(cells,
           {percent(score.mean), relative_error(score.bias), relative_error(score.worst), percent(score.within_20)});
  else
    append(cells, {"-", "-", "-", "-"});
  // With the source left out where it was: these are what a new case may rely on.
  const IntervalScore& interval = score.interval_without ? *score.interval_without : score.interval;
  append(cells, interval_cells(score.cases > 0 ? std::optional(interval) : std::nullopt));
  append(cells, {count(score.left_out), count(score.not_expressible)});
  table.add(std::move(cells));
}

void add_parts(Document::Table& table, const std::string& kind, const std::vector<ValidationPart>& parts) {
  for (const ValidationPart& part : parts)
    if (part.score.cases + part.score.left_out > 0) add_score(table, kind + part.name, part.score);
}

/// The groups, but for what other programs printed, where there is anything else.
void add_scores(Document& document, const Validation& validation) {
  Document::Table groups = score_table("group");
  for (const ValidationGroup& group : validation.groups)
    if (group.name != kSimulatorGroup || validation.groups.size() == 1) add_score(groups, group.name, group.score);
  document.table(std::move(groups));
  document.say({"What the columns say:"});
  document.list(
      {{{"cases", {"published figures that are scored"}},
        {"error with source out",
         {"mean of the errors' sizes, each case by constants fitted without its source: what to expect of a new case"}},
        {"error fitted",
         {"the same by the shipped constants, which may have seen the source; so are bias, worst and within 20 %"}},
        {"bias", {"mean of the errors; + is predicted too large"}},
        {"worst", {"the largest error either way"}},
        {"within 20 %", {"share of the cases that are off by at most 20 %"}},
        {"in 80 % interval",
         {"share of the cases that their 80 % interval holds, with the source out where it was: 80 % would be right"}},
        {"median width", {"upper over lower end of the intervals"}},
        {"log score", {"how good the intervals are, in nats: less is better"}},
        {"left out", {"compared but not scored, by a stated rule"}},
        {"not asked", {"published but not expressible yet"}}}});
}

/// A heading, a sentence and a table; nothing where that has no rows.
void add_section(Document& document, const std::string& heading, Values words, Document::Table table) {
  if (table.rows.empty()) return;
  document.heading(heading);
  document.say(std::move(words));
  document.table(std::move(table));
}

void add_medians(Document& document, const Validation& validation) {
  Document::Table table{{"group", "sources", "with source out", "fitted"}};
  for (const ValidationGroup& group : validation.groups)
    if (group.sources.size() >= 2 && group.score.cases > 0)
      table.add({group.name, count(group.sources.size()), percent(group.median_of_sources_without()),
                 percent(group.median_of_sources())});
  add_section(document, "The median source",
              {"The middle one of the sources' mean absolute errors, in which each counts once, however many cases it "
               "has."},
              std::move(table));
}

/// Which of two steps is the faster, and by how much.
void add_ratios(Document& document, const Validation& validation) {
  Document::Table table{
      {"setting", "pairs", "sources", "error of the ratio", "in 80 % interval", "median width", "log score"}};
  for (const RatioPart& part : ratio_parts(validation.ratios)) {
    Values cells{part.name, count(part.pairs), count(part.publishers), percent(part.mean)};
    append(cells, interval_cells(part.interval));
    table.add(std::move(cells));
  }
  add_section(
      document, "Ratios of two steps",
      {R"(Every two steps of one source that differ in one setting, on one kind of GPU and of network: how far off
the predicted ratio of their times is, and how often its 80 % interval holds. Each source is left out of all fits, and of
the fit of the spread, which is made to the pairs on the same GPUs alone. Sources weigh the same, whether they have one
pair or fifty. )",
       code("compare"), " has this interval of its speedups: inside it two schedules cannot be told apart."},
      std::move(table));
}

/// Of every group that is scored, with each source left out and with everything fitted.
void add_intervals(Document& document, const Validation& validation) {
  Document::Table table{
      {"group", "inside, source left out", "width", "log score", "inside, fitted", "width", "log score"}};
  for (const ValidationGroup& group : validation.groups) {
    if (group.score.cases == 0) continue;
    Values cells{group.name};
    append(cells, interval_cells(group.score.interval_without));
    append(cells, interval_cells(group.score.interval));
    table.add(std::move(cells));
  }
  add_section(
      document, "How good the intervals are",
      {R"(Of each case's 80 % interval: the share of measurements inside, which should be 80 %; the median of its
upper end over its lower one; and the mean log score, less being better: wide intervals pay for their width, narrow ones
for what they miss (the negative log density of log(measured / predicted) under the interval's log-normal, in nats;
Gneiting and Raftery 2007, JASA 102).)"},
      std::move(table));
}

/// How the verdicts on memory of what ran come out, and those that are wrong; on the page those that are tight, too.
void add_runs(Document& document, const std::vector<RunFit>& runs, bool page) {
  if (runs.empty()) return;
  const auto said = [&](FitVerdict verdict) {
    return std::ranges::count_if(runs, [&](const RunFit& run) { return run.kind.fit.verdict == verdict; });
  };
  document.heading("Does it fit?");
  document.say(
      {fmt::format("Of {} training runs, which ran, {} are said to fit, {} to be tight and {} not to fit. "
                   "Tight: the 80 % interval of what is resident holds the capacity. Each run that is said "
                   "not to fit is a mistake of ours.",
                   runs.size(), said(FitVerdict::kFits), said(FitVerdict::kTight), said(FitVerdict::kDoesNotFit))});
  Document::Table table{{"run", "resident", "80 % interval", "of", "verdict", "probability"}};
  if (page) append(table.heads, {"configuration", "why"});
  for (const RunFit& run : runs) {
    if (run.kind.fit.verdict == FitVerdict::kFits || (!run.wrong() && !page)) continue;
    Values cells = memory_cells(run.id, run.kind);
    if (page) append(cells, {run.configuration, run.wrong() ? run.explanation : ""});
    table.add(std::move(cells), !page && run.wrong() ? Style::kBad : Style::kPlain);
  }
  document.table(std::move(table));
}

Document::Table left_out_table(const Validation& validation) {
  Document::Table table{{validation.left_out_by, "group", "cases", "with it", "without it", "in 80 % interval"}};
  std::vector<LeftOutRow> rows = left_out_totals(validation);
  rows.insert(rows.end(), validation.left_out.begin(), validation.left_out.end());
  for (const LeftOutRow& row : rows)
    table.add({row.left_out, row.group, count(row.cases), percent(row.mean_with), percent(row.mean_without),
               percent(row.held_without)});
  return table;
}

/// A value of the row in its unit.
Value value_of(const ValidationRow& row, double value) {
  if (row.asked == Asked::kSpeedup) return factor(value);
  return is_memory(row.asked) ? memory(Bytes{value}) : duration(Seconds{value});
}

const Values kCaseHeads{"case", "measured", "predicted", "error with source out", "error fitted"};

/// Under kCaseHeads.
Values case_cells(const ValidationRow& row) {
  if (!row.expressed()) return {row.id, row.published, percent({}), percent({}), percent({})};
  return {row.id, value_of(row, row.measured), value_of(row, row.with.value),
          relative_error(row.without ? std::optional(row.error_without()) : std::nullopt), relative_error(row.error())};
}

/// All of few cases, of many the worst; the only one in full.
void add_few_cases(Document& document, const Validation& validation) {
  Rows rows;
  for (const ValidationRow& row : validation.rows) rows.push_back(&row);
  if (rows.size() > kMostRows) {
    std::erase_if(rows, [](const ValidationRow* row) { return !row->scored(); });
    std::ranges::stable_sort(rows, [](const ValidationRow* a, const ValidationRow* b) {
      return std::abs(a->error()) > std::abs(b->error());
    });
    const std::size_t scored = rows.size();
    rows.resize(std::min(rows.size(), kWorst));
    document.say(
        {fmt::format("The {} worst of {} scored; --group and --case choose, --json has all, --markdown why "
                     "others are not:",
                     rows.size(), scored)});
  }
  Document::Table table{kCaseHeads};
  table.heads.push_back("80 % interval");
  for (const ValidationRow* row : rows) {
    Values cells = case_cells(*row);
    cells.push_back(!row->expressed() ? "-" : row->with.holds(row->measured) ? "holds" : "missed");
    const bool unexplained = row->scored() && std::abs(row->error()) > kToBeExplained;
    table.add(std::move(cells), !row->scored() ? Style::kDim : unexplained ? Style::kBad : Style::kPlain);
  }
  document.table(std::move(table));
  if (rows.size() != 1) return;
  const ValidationRow& row = *rows.front();
  Document::List list{{{"configuration", {row.configuration}}, {"published", {row.published, ", ", link(row.url)}}}};
  for (const std::string& text : row.inferred) list.items.push_back({"inferred", {text}});
  for (const std::string* text : {&row.explanation, &row.left_out, &row.not_expressible})
    if (!text->empty()) list.items.push_back({"note", {*text}});
  document.list(std::move(list));
}

/// One row a case; the numbers in `inferred` are those of the texts below the table.
void add_cases(Document& document, const Rows& rows) {
  Document::List notes{{}, true};
  const auto note = [&](const std::string& text) {
    const auto is_it = [&](const Document::List::Item& item) { return item.words.front().text == text; };
    const auto at = std::ranges::find_if(notes.items, is_it) - notes.items.begin();
    if (at == std::ssize(notes.items)) notes.items.push_back({"", {text}});
    return fmt::format("{}", at + 1);
  };
  Document::Table table{kCaseHeads};
  append(table.heads, {"80 % interval", "trust", "configuration", "inferred", "why"});
  for (const ValidationRow* row : rows) {
    std::string inferred;
    for (const std::string& text : row->inferred) inferred += (inferred.empty() ? "" : ", ") + note(text);
    Values cells = case_cells(*row);
    append(cells, {fmt::format("{} to {}{}", value_of(*row, row->with.low).text, value_of(*row, row->with.high).text,
                               row->with.holds(row->measured) ? "" : " (missed)"),
                   std::string(1, row->trust), row->configuration, inferred,
                   row->left_out.empty() ? row->explanation : "not scored: " + row->left_out});
    table.add(std::move(cells));
  }
  document.table(std::move(table));
  if (notes.items.empty()) return;
  document.say({"Inferred:"});
  document.list(std::move(notes));
}

/// Mean of the errors' sizes, and of the errors.
std::pair<double, double> mean_and_bias(const Rows& rows) {
  double mean = 0, bias = 0;
  for (const ValidationRow* row : rows) mean += std::abs(row->error()), bias += row->error();
  const double n = static_cast<double>(rows.size());
  return {mean / n, bias / n};
}

/// Beside another program's figures, which say nothing of what is true.
void add_simulated(Document& document, const Validation& validation, const Rows& rows) {
  document.say({"What other programs printed, not what anybody measured: compared, never scored, and in no fit."});
  Document::List sources;
  for (const PublishedSource& source : validation.sources)
    if (!source.simulated.empty()) sources.items.push_back({"", {code(source.key), ": " + source.simulated}});
  document.list(std::move(sources));
  if (rows.empty()) return;
  const auto [mean, bias] = mean_and_bias(rows);
  document.say({count(rows.size()), " compared: we are off from them by ", percent(mean),
                " in the mean, with a bias of ", relative_error(bias), "."});
  Document::Table table{{"case", "configuration", "theirs", "ours", "difference"}};
  for (const ValidationRow* row : rows)
    table.add({row->id, row->configuration, value_of(*row, row->measured), value_of(*row, row->with.value),
               relative_error(row->error())});
  document.table(std::move(table));
}

void add_group(Document& document, const Validation& validation, const ValidationGroup& group) {
  document.heading(static_cast<char>(std::toupper(group.name[0])) + group.name.substr(1));
  const Rows rows = expressed_rows(validation, group.name);
  if (group.name == kSimulatorGroup) return add_simulated(document, validation, rows);
  const std::pair<const char*, const std::vector<ValidationPart>&> all_parts[] = {
      {"device", group.devices}, {"source", group.sources}, {"series", group.series}};
  for (const auto& [of, parts] : all_parts) {
    Document::Table table = score_table(of);
    add_parts(table, "", parts);
    document.table(std::move(table));
  }
  if (group.series.empty()) add_cases(document, rows);
}

void add_reasons(Document& document, const Validation& validation) {
  std::map<std::string, Rows> left_out, not_expressible;
  for (const ValidationRow& row : validation.rows) {
    if (!row.expressed())
      not_expressible[row.not_expressible].push_back(&row);
    else if (!row.scored() && row.group != kSimulatorGroup)
      left_out[row.left_out].push_back(&row);
  }
  document.heading("Left out of the scores, by rule");
  Document::Table rules{{"rule", "cases", "their mean error", "bias"}};
  for (const auto& [reason, rows] : left_out) {
    const auto [mean, bias] = mean_and_bias(rows);
    rules.add({reason, count(rows.size()), percent(mean), relative_error(bias)});
  }
  document.table(std::move(rules));
  document.heading("Not yet expressible");
  for (const auto& [reason, rows] : not_expressible) {
    document.say(
        {Value(reason, Style::kBold), fmt::format(" ({} {}):", rows.size(), rows.size() == 1 ? "case" : "cases")});
    Document::List cases;
    std::vector<std::pair<std::string, int>> series;  // rows of tables, a line a series
    for (const ValidationRow* row : rows) {
      if (row->series.empty()) {
        cases.items.push_back({row->id, {row->configuration + "; " + row->published}});
        continue;
      }
      const std::string name = row->source + ": " + row->series;
      if (series.empty() || series.back().first != name) series.emplace_back(name, 0);
      ++series.back().second;
    }
    for (const auto& [name, rows_of_it] : series) cases.items.push_back({name, {count(rows_of_it), " rows"}});
    document.list(std::move(cases));
  }
}

void add_sources(Document& document, const Validation& validation) {
  document.heading("Sources");
  Document::List sources;
  for (const PublishedSource& source : validation.sources) {
    Values words{code(source.key), ": " + source.title + ", ", link(source.url)};
    if (!source.commit.empty()) words.push_back(", commit " + source.commit);
    if (!source.licence.empty()) words.push_back(", " + source.licence);
    sources.items.push_back({"", std::move(words)});
  }
  document.list(std::move(sources));
}

/// Instead of the page of all cases.
Document generalisation(const Validation& validation) {
  const std::string& what = validation.left_out_by;
  Document document;
  document.title(fmt::format("Generalisation: each {} left out of the fits", what));
  document.say(
      {"Written by ", code("accosim validate --markdown --leave-out " + what),
       fmt::format(R"(. The mean absolute error of a {}'s cases with all constants fitted to everything, and with
them fitted to everything else; and the share of these cases that their 80 % interval then holds.)",
                   what)});
  if (what == name_of(LeaveOut::kGeneration))
    document.say({R"(Kernels of a generation are priced by the fits of the next one (of the newest, by those of the one
before), as they are for a GPU that is described by )",
                  code("inherits"), " with another ", code("architecture"), ". All else stays."});
  else
    document.say(
        {fmt::format(R"(A kind of links that nothing else measured then has what all boards or all fabrics share,
and kernels those pooled from all other fits: where the two figures are far apart, the constants are one {}'s, and another
of its kind may be off by as much.)",
                     what)});
  document.table(left_out_table(validation));
  return document;
}

}  // namespace

Document validation_reading(const Validation& validation) {
  Document document;
  add_scores(document, validation);
  for (const ValidationGroup& group : validation.groups) {
    Document::Table parts = score_table("by device, by source");
    add_parts(parts, "on ", worst_first(group.devices));
    add_parts(parts, "of ", worst_first(group.sources));
    if (!parts.rows.empty()) document.heading(group.name + ", worst first");
    document.table(std::move(parts));
  }
  add_medians(document, validation);
  add_ratios(document, validation);
  add_few_cases(document, validation);
  add_runs(document, validation.runs, false);
  document.table(left_out_table(validation));
  for (const std::string& line : validation.broken) document.say({Value("bound broken: ", Style::kBad), line});
  return document;
}

Document validation_page(const Validation& validation) {
  if (!validation.left_out.empty()) return generalisation(validation);
  Document document;
  document.title("Predictions against published measurements");
  document.say({"Written by ", code("accosim validate --markdown"),
                R"(; a test holds the file to what the program writes.
Errors are predicted over measured, less one: above 0 is predicted too slow (too large). Rates are compared as the time of
a step. A dash: the figure needs a constant that only its own source gives, such as what PyTorch's allocator takes. Trust:
A exact and fully configured, B approximate or under-specified, as the collectors judged.)"});
  add_scores(document, validation);
  add_intervals(document, validation);
  add_medians(document, validation);
  add_ratios(document, validation);
  for (const ValidationGroup& group : validation.groups) add_group(document, validation, group);
  add_runs(document, validation.runs, true);
  add_reasons(document, validation);
  add_sources(document, validation);
  return document;
}

}  // namespace accosim
