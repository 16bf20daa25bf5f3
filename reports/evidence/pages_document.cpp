// The pages of `validate` beside that of all cases: verdicts on memory, what NCCL chooses, and the rows of the ACCO
// paper.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/quantity.hpp"
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

Values verdict_cells(const VerdictRow& row) {
  Values cells = memory_cells(row.of.what, row.kind);
  append(cells, {row.ways.largest_micro_batch > 0 ? count(row.ways.largest_micro_batch) : "-",
                 row.of.published.empty() ? ""
                 : row.reserved           ? human_memory(*row.reserved) + " reserved"
                                          : "it ran"});
  return cells;
}

Values way_cells(const WayToFit& way, const std::string& before) {
  return {before + way.change,
          memory(way.memory),
          memory(way.saves),
          factor(way.time_ratio),
          in_words(way.fit.verdict),
          probability(way.fit.probability),
          code(options_of(way.set).substr(1))};
}

void add_ways(Document& document, const VerdictRow& row) {
  if (row.kind.fit.verdict == FitVerdict::kFits) return;
  document.heading(row.of.what);
  const std::string& schedule = row.of.schedule;
  if (row.of.published.empty())
    document.say({code(fmt::format("accosim run {}{} --schedule {}", row.of.scenario, options_of(row.of.settings),
                                   schedule.find(' ') == std::string::npos ? schedule : "'" + schedule + "'"))});
  else
    document.say({"Published as ", code(row.of.published), "."});
  Document::Table table{{"what is changed", "then", "saves", "time", "verdict", "probability", "the same as"}};
  for (const WayToFit& way : row.ways.alone) table.add(way_cells(way, ""));
  if (table.rows.empty()) return document.say({"Nothing that was tried saves memory."});
  for (const WayToFit& way : row.ways.together) table.add(way_cells(way, "one after the other: "));
  document.table(std::move(table));
}

// Choices of NCCL: one table a collective and GPU, a row a size.

std::string in_words(const std::optional<NcclWay>& way) {
  return way ? fmt::format("{} {}", name_of(way->algorithm), name_of(way->protocol)) : "-";
}

void add_series(Document& document, const ChoiceSeries& series) {
  document.heading(fmt::format("{} on {} {}", name_of(series.kind), series.ranks, series.device));
  document.say({"Measured with NCCL " + to_text(series.measured_with) + "."});
  Document::Table table{{"size"}};
  for (const NcclRelease& release : shown_releases()) table.heads.push_back("NCCL " + to_text(release));
  append(table.heads, {"measured", "slope", "predicted"});
  const ChoiceRow* before = nullptr;
  for (const ChoiceRow& row : series.rows) {
    Values cells{to_text(row.bytes)};
    for (std::size_t i = 0; i < row.ways.size(); ++i)
      cells.emplace_back(in_words(row.ways[i]),
                         before != nullptr && before->ways[i] != row.ways[i] ? Style::kBold : Style::kPlain);
    append(cells, {duration(row.measured), decimal(row.slope), duration(row.predicted)});
    table.add(std::move(cells));
    before = &row;
  }
  document.table(std::move(table));
}

// Rows of the paper: one table a row, so that what a mechanism adds stands beside what was published.

double speedup(const RowTimes& times) { return times.baseline / times.acco; }

RowTimes published_of(const PaperRow& row) { return {*row.published_baseline.time, *row.published_acco.time}; }

/// Errors of the baseline's time, of acco's and of the speedup.
std::array<double, 3> errors_of(const PaperRow& row) {
  const RowTimes published = published_of(row);
  return {row.all.baseline / published.baseline - 1, row.all.acco / published.acco - 1,
          speedup(row.all) / speedup(published) - 1};
}

Values time_cells(const std::string& what, const RowTimes& times) {
  return {what, clock(times.baseline), clock(times.acco), factor(speedup(times))};
}

/// What the mechanism adds to a time: the time with it, less the time without.
Value added(Seconds with, Seconds without, bool is_its) {
  return relative_error(is_its ? std::optional(with / without - 1) : std::nullopt);
}

/// "4:12:00 / 0:31:00, 8.13x" in each cell.
void add_open_questions(Document& document, const PaperRow& row) {
  document.say({fmt::format(
      "What the paper leaves open: sequences padded to the longest of a micro-batch, lognormal with a coefficient of "
      "variation of {:g} and cut at the sequence length, and an evaluation by rank 0 alone each time 500 gradients "
      "have been counted. Time of {} gradients by {} / by acco, and the speedup:",
      kLengthsCv, kGradientsCounted, row.baseline)});
  Document::Table table{{"mean length"}};
  for (const int sequences : kEvaluated) table.heads.push_back(fmt::format("{} sequences evaluated", sequences));
  for (std::size_t i = 0; i < kMeanLengths.size(); ++i) {
    Values cells{fmt::format("{:g} tokens", kMeanLengths[i])};
    for (const RowTimes& at : row.open[i])
      cells.push_back(
          fmt::format("{} / {}, {}", human_clock(at.baseline), human_clock(at.acco), human_factor(speedup(at))));
    table.add(std::move(cells));
  }
  document.table(std::move(table));
}

void add_row(Document& document, const PaperRow& row) {
  document.heading(row.name);
  Document::Table times{{"", row.baseline, "ACCO", "speedup"}};
  times.add(time_cells("published", published_of(row)));
  times.add(time_cells("predicted", row.all));
  const auto [of_baseline, of_acco, of_speedup] = errors_of(row);
  times.add({"error", relative_error(of_baseline), relative_error(of_acco), relative_error(of_speedup)});
  document.table(std::move(times));
  Document::Table table{{"mechanism", "adds to the baseline", "adds to acco", "speedup without it", "left out by"}};
  for (std::size_t i = 0; i < row.without.size(); ++i) {
    const Mechanism& mechanism = mechanisms()[i];
    const RowTimes& without = row.without[i];
    table.add({mechanism.name, added(row.all.baseline, without.baseline, mechanism.of_baseline),
               added(row.all.acco, without.acco, mechanism.of_acco), factor(speedup(without)),
               code(fmt::format("--set {}", fmt::join(row.settings[i], " --set ")))});
  }
  document.table(std::move(table));
  document.say({"The all-reduces of the counts of micro-batches take ", duration(row.counts),
                " of acco's communication in an update of ", duration(row.update), ", ",
                row.exposed > Seconds{0} ? "which is not all hidden" : "all of it hidden", " behind computation (",
                duration(row.exposed), " exposed)."});
  if (!row.open.empty()) add_open_questions(document, row);
}

}  // namespace

Values memory_cells(const std::string& name, const KindMemory& kind) {
  const Interval interval = resident_interval(kind.parts);
  return {name,
          memory(kind.parts.total()),
          human_range(human_memory(Bytes{interval.low}), human_memory(Bytes{interval.high})),
          memory(kind.capacity),
          in_words(kind.fit.verdict),
          probability(kind.fit.probability)};
}

Document memory_verdicts_page(const std::vector<VerdictRow>& rows) {
  Document document;
  document.title("Verdicts on memory near the capacity");
  document.say(
      {"Written by ", code("accosim validate --memory-verdicts"), R"(. What is resident at the peak of a step with
its 80 % interval, on the rank that is least likely to fit. It is tight where the interval holds the capacity, and does
not fit where all of it is above; the probability is that of what is resident being at most the capacity. The largest
micro-batch is that which fits with nothing else changed. The last column says of published runs that they ran, so that
they fitted.)"});
  Document::Table table{
      {"run", "resident", "80 % interval", "of", "verdict", "probability", "largest micro-batch", "in truth"}};
  for (const VerdictRow& row : rows) table.add(verdict_cells(row));
  document.table(std::move(table));
  document.say(
      {"Below, what would help, each way tried on the same scenario: the memory that it leaves and saves, and the "
       "time a sample as a multiple of that before (the schedule's closed form, without interference)."});
  for (const VerdictRow& row : rows) add_ways(document, row);
  return document;
}

Document nccl_choices_page(const std::vector<ChoiceSeries>& series) {
  Document document;
  document.title("Which way NCCL chooses inside a node, by size");
  document.say({"Written by ", code("accosim validate --nccl-choices"), R"(. NCCL's own constants choose; nothing of a
choice is fitted. A choice that changes from the size before is in bold. Slope: of the measured curve from the size
before, log over log: near 0 a launch decides, near 1 the bytes. A dash: the release does not know the GPU.)"});
  for (const ChoiceSeries& each : series) add_series(document, each);
  return document;
}

Document paper_rows_page(const std::vector<PaperRow>& rows) {
  Document document;
  document.title("The rows of the ACCO paper, mechanism by mechanism");
  document.say({"Written by ", code("accosim validate --paper-rows"), R"(. Times are of whole runs, for all the tokens
that the paper names; what is published is Table 3 of arXiv 2406.02613. Nothing is fitted to these rows, and what the
released code cannot tell (the baseline's revision, the lengths of the sequences, the evaluation during the runs) is named
in each scenario's description, and for the fine-tuning rows tried over ranges.)"});
  document.say({"Below each row every mechanism of the released code is left out in turn, by the settings beside it: ",
                code("accosim compare ROW"), R"( with them gives the same times. A dash: it is not that schedule's, or
leaving it out would make another run of it (the baseline without autocast would compute in fp32). Without autocast
GPT-Neo's own code computes the scores of attention in fp32, which can cost more than the casts that are spared.)"});
  double ratios = 0, times = 0;
  for (const PaperRow& row : rows) {
    const auto [of_baseline, of_acco, of_speedup] = errors_of(row);
    ratios += std::abs(of_speedup);
    times += std::abs(of_baseline) + std::abs(of_acco);
  }
  const double n = std::max(1.0, static_cast<double>(rows.size()));
  document.say({"Mean error of the speedups ", percent(ratios / n), ", of the times ", percent(times / (2 * n)), "."});
  for (const PaperRow& row : rows) add_row(document, row);
  return document;
}

}  // namespace accosim
