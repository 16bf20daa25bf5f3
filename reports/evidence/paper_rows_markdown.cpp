// One table a row, so that what a mechanism adds stands beside what was published.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "models/base/text.hpp"
#include "reports/evidence/validation_report.hpp"
#include "reports/human.hpp"

namespace accosim {
namespace {

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
