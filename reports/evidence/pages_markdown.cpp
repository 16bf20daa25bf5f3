// The pages of `validate` beside that of all cases: verdicts on memory, what NCCL chooses, and the rows of the ACCO
// paper.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "models/base/quantity.hpp"
#include "models/base/text.hpp"
#include "reports/evidence/validation_report.hpp"
#include "reports/human.hpp"

namespace accosim {
namespace {

// Verdicts on memory: one table of all, then for each that does not surely fit what would help.

std::string in_words(FitVerdict verdict) {
  return verdict == FitVerdict::kDoesNotFit ? "does not fit" : name_of(verdict);
}

std::string options_of(const std::vector<std::string>& settings) {
  std::string text;
  for (const std::string& setting : settings) text += fmt::format(" --set '{}'", setting);
  return text;
}

std::string gib(double bytes) { return fmt::format("{:.1f}", bytes / 0x1p30); }

void write_verdict(std::ostream& out, const VerdictRow& row) {
  const Interval interval = resident_interval(row.kind.parts);
  out << fmt::format("| {} | {} | {} to {} | {} | {} | {} | {} | {} |\n", in_markdown(row.of.what),
                     gib(row.kind.parts.total().value), gib(interval.low), gib(interval.high),
                     gib(row.kind.capacity.value), in_words(row.kind.fit.verdict), in_percent(row.kind.fit.probability),
                     row.ways.largest_micro_batch > 0 ? std::to_string(row.ways.largest_micro_batch) : "-",
                     row.of.published.empty() ? ""
                     : row.reserved           ? gib(row.reserved->value) + " reserved"
                                              : "it ran");
}

void write_way(std::ostream& out, const WayToFit& way, const char* before) {
  out << fmt::format("| {}{} | {} | {} | {:.2f} x | {} | {} | {} |\n", before, in_markdown(way.change),
                     gib(way.memory.value), gib(way.saves.value), way.time_ratio, in_words(way.fit.verdict),
                     in_percent(way.fit.probability), in_code(options_of(way.set).substr(1)));
}

void write_ways(std::ostream& out, const VerdictRow& row) {
  if (row.kind.fit.verdict == FitVerdict::kFits) return;
  out << "\n## " << in_markdown(row.of.what) << "\n\n";
  if (row.of.published.empty())
    out << in_code(fmt::format(
               "accosim run {}{} --schedule {}", row.of.scenario, options_of(row.of.settings),
               row.of.schedule.find(' ') == std::string::npos ? row.of.schedule : "'" + row.of.schedule + "'"))
        << '\n';
  else
    out << "Published as " << in_code(row.of.published) << ".\n";
  if (row.ways.alone.empty()) {
    out << "\nNothing that was tried saves memory.\n";
    return;
  }
  out << "\n| what is changed | GiB then | GiB less | time | verdict | probability | the same as |\n"
         "|---|---|---|---|---|---|---|\n";
  for (const WayToFit& way : row.ways.alone) write_way(out, way, "");
  for (const WayToFit& way : row.ways.together) write_way(out, way, "one after the other: ");
}

// Choices of NCCL: one table a collective and GPU, a row a size.

std::string in_words(const std::optional<NcclWay>& way) {
  return way ? fmt::format("{} {}", name_of(way->algorithm), name_of(way->protocol)) : "-";
}

/// Bold where the release chooses otherwise than for the size before.
std::string cell_of(const ChoiceSeries& series, std::size_t row, std::size_t release) {
  const std::optional<NcclWay>& way = series.rows[row].ways[release];
  const bool changes = row > 0 && series.rows[row - 1].ways[release] != way;
  return changes ? "**" + in_words(way) + "**" : in_words(way);
}

void write_series(std::ostream& out, const ChoiceSeries& series) {
  out << fmt::format("\n## {} on {} {}\n\nMeasured with NCCL {}.\n\n| size |", name_of(series.kind), series.ranks,
                     in_markdown(series.device), to_text(series.measured_with));
  for (const NcclRelease& release : shown_releases()) out << fmt::format(" NCCL {} |", to_text(release));
  out << " measured | slope | predicted |\n|---|";
  for (std::size_t i = 0; i < shown_releases().size(); ++i) out << "---|";
  out << "---|---|---|\n";
  for (std::size_t i = 0; i < series.rows.size(); ++i) {
    const ChoiceRow& row = series.rows[i];
    out << fmt::format("| {} |", to_text(row.bytes));
    for (std::size_t release = 0; release < row.ways.size(); ++release)
      out << fmt::format(" {} |", cell_of(series, i, release));
    out << fmt::format(" {} | {} | {} |\n", human_time(row.measured),
                       row.slope ? fmt::format("{:.2f}", *row.slope) : "-", human_time(row.predicted));
  }
}

// Rows of the paper: one table a row, so that what a mechanism adds stands beside what was published.

double speedup(const RowTimes& times) { return times.baseline / times.acco; }

RowTimes published_of(const PaperRow& row) { return {*row.published_baseline.time, *row.published_acco.time}; }

void write_times(std::ostream& out, const std::string& what, const RowTimes& times) {
  out << fmt::format("| {} | {} | {} | {:.2f}x |\n", what, human_clock(times.baseline), human_clock(times.acco),
                     speedup(times));
}

/// What the mechanism adds to a time: the time with it, less the time without.
std::string added(Seconds with, Seconds without, bool is_its) { return is_its ? human_error(with / without - 1) : "-"; }

std::string code(const std::vector<std::string>& settings) {
  std::string text;
  for (const std::string& setting : settings) text += (text.empty() ? "`--set " : " --set ") + setting;
  return text + "`";
}

/// "4:12:00 / 0:31:00 = 8.13x" in each cell.
void write_open_questions(std::ostream& out, const PaperRow& row) {
  const OpenQuestions& open = *row.open;
  out << fmt::format(
      "\nWhat the paper leaves open: sequences padded to the longest of a micro-batch, lognormal with a coefficient of "
      "variation of {:g} and cut at the sequence length, and an evaluation by rank 0 alone each time 500 gradients "
      "have been counted. Time of {} gradients by {} / by acco, and the speedup:\n\n| mean length |",
      kLengthsCv, kGradientsCounted, in_markdown(row.baseline));
  for (const int sequences : kEvaluated) out << fmt::format(" {} sequences evaluated |", sequences);
  out << "\n|---|";
  for (std::size_t i = 0; i < kEvaluated.size(); ++i) out << "---|";
  out << '\n';
  for (std::size_t i = 0; i < kMeanLengths.size(); ++i) {
    out << fmt::format("| {:g} tokens |", kMeanLengths[i]);
    for (const RowTimes& at : open.at[i])
      out << fmt::format(" {} / {}, {:.2f}x |", human_clock(at.baseline), human_clock(at.acco), speedup(at));
    out << '\n';
  }
}

void write_row(std::ostream& out, const PaperRow& row) {
  const RowTimes published = published_of(row);
  out << "\n## " << in_markdown(row.name) << "\n\n| | " << in_markdown(row.baseline)
      << " | acco | speedup |\n|---|---|---|---|\n";
  write_times(out, "published", published);
  write_times(out, "predicted", row.all);
  out << fmt::format("| error | {} | {} | {} |\n", human_error(row.all.baseline / published.baseline - 1),
                     human_error(row.all.acco / published.acco - 1),
                     human_error(speedup(row.all) / speedup(published) - 1));
  out << "\n| mechanism | adds to the baseline | adds to acco | speedup without it | left out by "
         "|\n|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < row.without.size(); ++i) {
    const Mechanism& mechanism = mechanisms()[i];
    const RowTimes& without = row.without[i];
    out << fmt::format("| {} | {} | {} | {:.2f}x | {} |\n", mechanism.name,
                       added(row.all.baseline, without.baseline, mechanism.of_baseline),
                       added(row.all.acco, without.acco, mechanism.of_acco), speedup(without), code(row.settings[i]));
  }
  const char* const hidden = row.exposed > Seconds{0} ? "which is not all hidden" : "all of it hidden";
  out << fmt::format(
      "\nThe all-reduces of the counts of micro-batches take {} of acco's communication in an update of {}, {} behind "
      "computation ({} exposed).\n",
      human_time(row.counts), human_time(row.update), hidden, human_time(row.exposed));
  if (row.open) write_open_questions(out, row);
}

}  // namespace

void write_memory_verdicts(std::ostream& out, const std::vector<VerdictRow>& rows) {
  out << R"(# Verdicts on memory near the capacity

Written by `accosim validate --memory-verdicts`. GiB resident at the peak of a step with their 80 % interval, on the
rank that is least likely to fit. It is tight where the interval holds the capacity, and does not fit where all of it is
above; the probability is that of what is resident being at most the capacity. The largest micro-batch is that which fits
with nothing else changed. The last column says of published runs that they ran, so that they fitted.

| run | GiB | 80 % interval | of | verdict | probability | largest micro-batch | in truth |
|---|---|---|---|---|---|---|---|
)";
  for (const VerdictRow& row : rows) write_verdict(out, row);
  out << "\nBelow, what would help, each way tried on the same scenario: the GiB that it leaves and saves, and the "
         "time a sample as a\nmultiple of that before (the schedule's closed form, without interference).\n";
  for (const VerdictRow& row : rows) write_ways(out, row);
}

void write_nccl_choices(std::ostream& out, const std::vector<ChoiceSeries>& series) {
  out << "# Which way NCCL chooses inside a node, by size\n\nWritten by `accosim validate --nccl-choices`. NCCL's own "
         "constants choose; nothing of a choice is fitted. A choice that changes from\nthe size before is in bold. "
         "Slope: "
         "of the measured curve from the size before, log over log: near 0 a launch decides, near 1 the bytes. A "
         "dash:\n"
         "the release does not know the GPU.\n";
  for (const ChoiceSeries& each : series) write_series(out, each);
}

void write_paper_rows(std::ostream& out, const std::vector<PaperRow>& rows) {
  out << R"(# The rows of the ACCO paper, mechanism by mechanism

Written by `accosim validate --paper-rows`. Times are of whole runs, for all the tokens that the paper names; what is
published is Table 3 of arXiv 2406.02613. Nothing is fitted to these rows, and what the released code cannot tell (the
baseline's revision, the lengths of the sequences, the evaluation during the runs) is named in each scenario's description,
and for the fine-tuning rows tried over ranges.

Below each row every mechanism of the released code is left out in turn, by the settings beside it: `accosim compare ROW`
with them gives the same times. A dash: it is not that schedule's, or leaving it out would make another run of it (the
baseline without autocast would compute in fp32). Without autocast GPT-Neo's own code computes the scores of attention in
fp32, which can cost more than the casts that are spared.
)";
  double ratios = 0, times = 0;
  for (const PaperRow& row : rows) {
    const RowTimes published = published_of(row);
    ratios += std::abs(speedup(row.all) / speedup(published) - 1);
    times += std::abs(row.all.baseline / published.baseline - 1) + std::abs(row.all.acco / published.acco - 1);
  }
  const double n = std::max(1.0, static_cast<double>(rows.size()));
  out << fmt::format("\nMean error of the speedups {:.1f} %, of the times {:.1f} %.\n", 100 * ratios / n,
                     100 * times / (2 * n));
  for (const PaperRow& row : rows) write_row(out, row);
}

}  // namespace accosim
