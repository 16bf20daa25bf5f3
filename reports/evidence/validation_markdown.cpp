// The validation report as the committed page.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <ostream>
#include <string_view>
#include <utility>

#include "models/base/text.hpp"
#include "reports/evidence/validation_report.hpp"
#include "reports/human.hpp"
#include "sim/evidence/ratios.hpp"
#include "sim/evidence/validate.hpp"

namespace accosim {
namespace {

std::string percent(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }
std::string signed_percent(double fraction) { return fmt::format("{:+.1f} %", 100 * fraction); }

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

std::string score_cells(const ValidationScore& score) {
  if (score.cases == 0) return fmt::format("0 | | | | | | | {} | {}", score.left_out, score.not_expressible);
  return fmt::format("{} | {} | {} | {} | {} | {} | {} | {} | {}", score.cases,
                     score.mean_without ? percent(*score.mean_without) : "-", percent(score.mean),
                     signed_percent(score.bias), signed_percent(score.worst), percent(score.within_20),
                     percent(score.interval.inside), score.left_out, score.not_expressible);
}

void write_score_heading(std::ostream& out, const std::string& what) {
  out << "\n| " << what
      << " | cases | mean abs. error, source left out | fitted | bias | worst | within 20 % | in the 80 % interval | "
         "left out | not expressible |\n"
      << "|---|---|---|---|---|---|---|---|---|---|\n";
}

/// Of every group that is scored, with each source left out and with everything fitted.
void write_intervals(std::ostream& out, const Validation& validation) {
  out << R"(
## How good the intervals are

Of each case's 80 % interval: the share of measurements inside, which should be 80 %; the median of its upper end over
its lower one; and the mean log score, less being better: wide intervals pay for their width, narrow ones for what
they miss (the negative log density of log(measured / predicted) under the interval's log-normal, in nats; Gneiting and
Raftery 2007, JASA 102).

| group | inside, source left out | width | log score | inside, fitted | width | log score |
|---|---|---|---|---|---|---|
)";
  const auto cells = [](const IntervalScore& score) {
    return fmt::format("{} | {:.2f}x | {:+.2f}", percent(score.inside), score.width, score.log_score);
  };
  for (const ValidationGroup& group : validation.groups) {
    if (group.score.cases == 0) continue;
    out << fmt::format("| {} | {} | {} |\n", in_markdown(group.name),
                       group.score.interval_without ? cells(*group.score.interval_without) : "- | - | -",
                       cells(group.score.interval));
  }
}

/// Each source counts once, however many sizes it measured.
void write_medians(std::ostream& out, const Validation& validation) {
  out << "\n## The median source\n\n"
         "The middle one of the sources' mean absolute errors, in which each counts once, however many cases it "
         "has.\n\n"
         "| group | sources | source left out | fitted |\n"
         "|---|---|---|---|\n";
  for (const ValidationGroup& group : validation.groups) {
    if (group.sources.size() < 2 || group.score.cases == 0) continue;
    const std::optional<double> without = group.median_of_sources_without();
    out << fmt::format("| {} | {} | {} | {} |\n", in_markdown(group.name), group.sources.size(),
                       without ? percent(*without) : "-", percent(group.median_of_sources()));
  }
}

/// Which of two steps is the faster, and by how much.
void write_ratios(std::ostream& out, const Validation& validation) {
  const std::vector<RatioPart> parts = ratio_parts(validation.ratios);
  if (parts.empty()) return;
  out << R"(
## Ratios of two steps

Every two steps of one source that differ in one setting, on one kind of GPU and of network: how far off the predicted
ratio of their times is, and how often its 80 % interval holds. Each source is left out of all fits, and of the fit of
the spread, which is made to the pairs on the same GPUs alone. Sources weigh the same, whether they have one pair or
fifty. `compare` has this interval of its speedups: inside it two schedules cannot be told apart.

| setting | pairs | sources | mean abs. error of the ratio | in the 80 % interval | width | log score |
|---|---|---|---|---|---|---|
)";
  for (const RatioPart& part : parts)
    out << fmt::format("| {} | {} | {} | {} | {} | {:.2f}x | {:+.2f} |\n", in_markdown(part.name), part.pairs,
                       part.publishers, percent(part.mean), percent(part.interval.inside), part.interval.width,
                       part.interval.log_score);
}

void write_parts(std::ostream& out, const std::string& what, const std::vector<ValidationPart>& parts) {
  if (parts.empty()) return;
  write_score_heading(out, what);
  for (const ValidationPart& part : parts)
    if (part.score.cases + part.score.left_out > 0)
      out << "| " << in_markdown(part.name) << " | " << score_cells(part.score) << " |\n";
}

/// One row a case; `notes` are the numbers of texts below the table.
void write_cases(std::ostream& out, const Validation& validation, const std::string& group) {
  std::vector<std::string> notes;
  const auto note = [&](const std::string& text) {
    const auto known = std::find(notes.begin(), notes.end(), text);
    const auto at = known - notes.begin();
    if (known == notes.end()) notes.push_back(text);
    return fmt::format("{}", at + 1);
  };
  out << "\n| case | configuration | trust | measured | predicted | error, source left out | fitted | 80 % interval | "
         "inferred | why |\n"
      << "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const ValidationRow& row : validation.rows) {
    if (row.group != group || !row.expressed()) continue;
    std::string inferred;
    for (const std::string& text : row.inferred) inferred += (inferred.empty() ? "" : ", ") + note(text);
    const std::string why = row.left_out.empty() ? row.explanation : "not scored: " + row.left_out;
    out << fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} to {}{} | {} | {} |\n", in_markdown(row.id),
                       in_markdown(row.configuration), row.trust, value_text(row, row.measured),
                       value_text(row, row.with.value), row.without ? signed_percent(row.error_without()) : "-",
                       signed_percent(row.error()), value_text(row, row.with.low), value_text(row, row.with.high),
                       row.with.holds(row.measured) ? "" : " (missed)", inferred, in_markdown(why));
  }
  if (!notes.empty()) out << "\nInferred:\n\n";
  for (std::size_t i = 0; i < notes.size(); ++i) out << i + 1 << ". " << in_markdown(notes[i]) << '\n';
}

/// Beside another program's figures, which say nothing of what is true.
void write_simulated(std::ostream& out, const Validation& validation, const std::string& group) {
  out << "\nWhat other programs printed, not what anybody measured: compared, never scored, and in no fit.\n\n";
  for (const PublishedSource& source : validation.sources)
    if (!source.simulated.empty()) out << fmt::format("- {}: {}\n", in_code(source.key), in_markdown(source.simulated));
  double mean = 0, bias = 0;
  int rows = 0;
  for (const ValidationRow& row : validation.rows) {
    if (row.group != group || !row.expressed()) continue;
    mean += std::abs(row.error()), bias += row.error();
    ++rows;
  }
  if (rows > 0)
    out << fmt::format("\n{} compared: we are off from them by {} in the mean, with a bias of {}.\n", rows,
                       percent(mean / rows), signed_percent(bias / rows));
  out << "\n| case | configuration | theirs | ours | difference |\n|---|---|---|---|---|\n";
  for (const ValidationRow& row : validation.rows)
    if (row.group == group && row.expressed())
      out << fmt::format("| {} | {} | {} | {} | {} |\n", in_markdown(row.id), in_markdown(row.configuration),
                         value_text(row, row.measured), value_text(row, row.with.value), signed_percent(row.error()));
}

/// Those that surely fit are not worth a row.
void write_runs(std::ostream& out, const std::vector<RunFit>& runs) {
  if (runs.empty()) return;
  out << "\n## Does it fit?\n\n"
      << runs_in_words(runs) << R"(
Tight: the 80 % interval of what is resident holds the capacity. Each run that is said not to fit is a mistake of ours.

| run | configuration | resident | 80 % interval | of | verdict | probability | why |
|---|---|---|---|---|---|---|---|
)";
  for (const RunFit& run : runs) {
    if (run.fit.verdict == FitVerdict::kFits) continue;
    out << fmt::format("| {} | {} | {} | {} to {} | {} | {} | {} | {} |\n", in_markdown(run.id),
                       in_markdown(run.configuration), human_memory(run.resident),
                       human_memory(Bytes{run.interval.low}), human_memory(Bytes{run.interval.high}),
                       human_memory(run.capacity), run.wrong() ? "does not fit" : "tight",
                       in_percent(run.fit.probability), run.wrong() ? in_markdown(run.explanation) : "");
  }
}

void write_reasons(std::ostream& out, const Validation& validation) {
  std::map<std::string, std::vector<const ValidationRow*>> left_out, not_expressible;
  for (const ValidationRow& row : validation.rows) {
    if (!row.expressed())
      not_expressible[row.not_expressible].push_back(&row);
    else if (!row.scored() && row.group != kSimulatorGroup)
      left_out[row.left_out].push_back(&row);
  }
  out << "\n## Left out of the scores, by rule\n";
  if (!left_out.empty()) out << "\n| rule | cases | their mean abs. error | bias |\n|---|---|---|---|\n";
  for (const auto& [reason, rows] : left_out) {
    double mean = 0, bias = 0;
    for (const ValidationRow* row : rows) mean += std::abs(row->error()), bias += row->error();
    const double n = static_cast<double>(rows.size());
    out << fmt::format("| {} | {} | {} | {} |\n", in_markdown(reason), rows.size(), percent(mean / n),
                       signed_percent(bias / n));
  }
  out << "\n## Not yet expressible\n";
  for (const auto& [reason, rows] : not_expressible) {
    out << fmt::format("\n**{}** ({} {}):\n\n", in_markdown(reason), rows.size(), rows.size() == 1 ? "case" : "cases");
    std::vector<std::pair<std::string, int>> series;  // rows of tables, a line a series
    for (const ValidationRow* row : rows) {
      if (row->series.empty()) {
        out << fmt::format("- {}: {}; {}\n", in_markdown(row->id), in_markdown(row->configuration),
                           in_markdown(row->published));
        continue;
      }
      const std::string name = row->source + ": " + row->series;
      if (series.empty() || series.back().first != name) series.emplace_back(name, 0);
      ++series.back().second;
    }
    for (const auto& [name, count] : series) out << fmt::format("- {}: {} rows\n", in_markdown(name), count);
  }
}

/// Instead of the page of all cases.
void write_generalisation(std::ostream& out, const Validation& validation) {
  const std::string& what = validation.left_out_by;
  out << fmt::format("# Generalisation: each {} left out of the fits\n\n", what);
  out << fmt::format(
      "Written by `accosim validate --markdown --leave-out {}`. The mean absolute error of a {}'s cases with "
      "all constants\nfitted to everything, and with them fitted to everything else; and the share of "
      "these cases that their 80 % interval then holds.\n",
      what, what);
  if (what == name_of(LeaveOut::kGeneration))
    out << "Kernels of a generation are priced by the fits of the next one (of the newest, by those of the one "
           "before), "
           "as they are\nfor a GPU that is described by `inherits` with another `architecture`. All else stays.\n";
  else
    out << fmt::format(
        "A kind of links that nothing else measured then has\nwhat all boards or all fabrics share, "
        "and kernels those pooled from all other fits:\nwhere "
        "the two figures are far apart, the constants are one {}'s, and another of its kind may be off by as much.\n",
        what);
  const auto row = [&](const LeftOutRow& each) {
    out << fmt::format("| {} | {} | {} | {:.1f} % | {:.1f} % | {:.0f} % |\n", in_markdown(each.left_out),
                       in_markdown(each.group), each.cases, 100 * each.mean_with, 100 * each.mean_without,
                       100 * each.held_without);
  };
  const auto heading = [&] {
    out << fmt::format(
        "\n| {} | group | cases | with it | without it | in 80 % interval |\n|---|---|---|---|---|---|\n", what);
  };
  heading();
  for (const LeftOutRow& each : left_out_totals(validation)) row(each);
  heading();
  for (const LeftOutRow& each : validation.left_out) row(each);
}

}  // namespace

void write_validation_markdown(std::ostream& out, const Validation& validation) {
  if (!validation.left_out.empty()) return write_generalisation(out, validation);
  out << R"(# Predictions against published measurements

Written by `accosim validate --markdown`; a test holds the file to what the program writes. Errors are
predicted over measured, less one: above 0 is predicted too slow (too large). Rates are compared as the time of
a step. The first error is the one that a case of your own may have: each source is predicted with constants fitted
to all other sources. `fitted` beside it is by the shipped constants, which saw it; so are the columns after it.
A dash: the figure needs a constant that only its own source gives, such as what PyTorch's allocator takes.
Trust: A exact and fully configured, B approximate or under-specified, as the collectors judged.
)";
  write_score_heading(out, "group");
  for (const ValidationGroup& group : validation.groups)
    if (group.name != kSimulatorGroup)
      out << "| " << in_markdown(group.name) << " | " << score_cells(group.score) << " |\n";
  write_intervals(out, validation);
  write_medians(out, validation);
  write_ratios(out, validation);
  for (const ValidationGroup& group : validation.groups) {
    out << "\n## " << static_cast<char>(std::toupper(group.name[0])) << in_markdown(group.name.substr(1)) << '\n';
    if (group.name == kSimulatorGroup) {
      write_simulated(out, validation, group.name);
      continue;
    }
    write_parts(out, "device", group.devices);
    write_parts(out, "source", group.sources);
    if (group.series.empty())
      write_cases(out, validation, group.name);
    else
      write_parts(out, "series", group.series);
  }
  write_runs(out, validation.runs);
  write_reasons(out, validation);
  out << "\n## Sources\n\n";
  for (const PublishedSource& source : validation.sources) {
    out << fmt::format("- {}: {}, {}", in_code(source.key), in_markdown(source.title), in_link(source.url));
    if (!source.commit.empty()) out << ", commit " << in_markdown(source.commit);
    if (!source.licence.empty()) out << ", " << in_markdown(source.licence);
    out << '\n';
  }
}

}  // namespace accosim
