#include "reports/evidence/live_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <string>

#include "models/base/text.hpp"
#include "models/spec/schedule_traits.hpp"
#include "reports/table.hpp"

namespace accosim {
namespace {

struct Score {
  int runs = 0;
  double mean = 0, bias = 0, worst = 0;

  void add(double error) {
    ++runs;
    mean += std::abs(error);
    bias += error;
    if (std::abs(error) > std::abs(worst)) worst = error;
  }
  Score over() const {
    Score score = *this;
    if (runs > 0) score.mean /= runs, score.bias /= runs;
    return score;
  }
};

std::string percent(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }
std::string signed_percent(double fraction) { return fmt::format("{:+.1f} %", 100 * fraction); }
std::string milliseconds(Seconds time) { return fmt::format("{:.2f} ms", 1e3 * time.value); }

std::string name_of(const LiveCell& cell) {
  std::string name = fmt::format("{} ranks, {}", cell.ranks, cell.algorithm);
  if (cell.real) name += ", real";
  if (cell.jitter > 0) name += fmt::format(", jitter {:g}", cell.jitter);
  if (cell.lengths) name += ", lengths";
  if (cell.slow > 1) name += fmt::format(", one {}x slower", cell.slow);
  return name;
}

std::string ratio_of(const LiveCell& cell) { return fmt::format("{:.2f}", cell.ratio); }

/// Of the rows that count: all, then by what the cells have in common.
std::vector<std::pair<std::string, Score>> scores_of(const std::vector<LiveRow>& rows) {
  Score all, real, slow, jitter, lengths, low, high;
  std::map<std::string, Score> by_algorithm;
  std::map<int, Score> by_ranks;
  Score bound;  // accumulating schedules whose communication is longer than the computation of a round
  for (const LiveRow& row : rows) {
    if (!row.counts) continue;
    const double error = row.error();
    if (row.measured_p90 > Seconds{0}) {
      (row.cell.lengths ? lengths : jitter).add(error);
      low.add(row.predicted_p10 / row.measured_p10 - 1);
      high.add(row.predicted_p90 / row.measured_p90 - 1);
      continue;
    }
    if (row.cell.real) {
      real.add(error);
      continue;
    }
    all.add(error);
    by_algorithm[row.cell.algorithm].add(error);
    by_ranks[row.cell.ranks].add(error);
    if (row.cell.slow > 1) slow.add(error);
    if (traits_of(row.cell.algorithm).rounds > 1 &&
        row.predicted_micro_batches > 1.01 * row.cell.micro_batches * row.cell.ranks)
      bound.add(error);
  }
  std::vector<std::pair<std::string, Score>> scores = {{"set computation, all", all}};
  for (const auto& [ranks, score] : by_ranks) scores.emplace_back(fmt::format("{} ranks", ranks), score);
  for (const auto& [algorithm, score] : by_algorithm) scores.emplace_back(algorithm, score);
  scores.emplace_back("one slow rank", slow);
  scores.emplace_back("acco, communication-bound", bound);
  if (real.runs > 0) scores.emplace_back("real computation", real);
  if (jitter.runs > 0) scores.emplace_back("jitter, median update", jitter);
  if (lengths.runs > 0) scores.emplace_back("unequal lengths, median update", lengths);
  if (low.runs > 0) {
    scores.emplace_back("of both: 10 % of the updates", low);
    scores.emplace_back("of both: 90 % of the updates", high);
  }
  for (auto& each : scores) each.second = each.second.over();
  return scores;
}

}  // namespace

LiveCheck live_check(const LiveResult& result) {
  LiveCheck check;
  std::vector<LiveRow> quiet;
  for (const LiveRow& row : result.rows) {
    if (!row.counts) continue;
    if (row.disturbed.empty())
      quiet.push_back(row);
    else
      ++check.disturbed;
  }
  check.judged = static_cast<int>(quiet.size());
  for (const auto& [name, score] : scores_of(quiet)) check.worst_mean = std::max(check.worst_mean, score.mean);
  return check;
}

void write_live(std::ostream& out, const LiveResult& result, const ConsoleOptions& options) {
  Table runs({left("run"), right("comp./", "comm."), right("update", "measured"), right("update", "predicted"),
              right("error"), right("micro-b.", "measured"), right("micro-b.", "predicted"), left("")});
  for (const LiveRow& row : result.rows)
    runs.add(row.counts ? Style::kPlain : Style::kDim,
             {name_of(row.cell), ratio_of(row.cell), milliseconds(row.measured), milliseconds(row.predicted),
              signed_percent(row.error()), fmt::format("{:.1f}", row.micro_batches),
              fmt::format("{:.1f}", row.predicted_micro_batches),
              row.disturbed.empty() ? ""
              : row.counts          ? "disturbed"
                                    : "rejected"});
  write_table(out, runs.columns(), options);
  Table scores({left(""), right("runs"), right("mean", "|error|"), right("bias"), right("worst")});
  for (const auto& [what, score] : scores_of(result.rows))
    scores.add(Style::kPlain, {what, fmt::format("{}", score.runs), percent(score.mean), signed_percent(score.bias),
                               signed_percent(score.worst)});
  write_table_below(out, "", scores.columns(), options);
  for (const LiveRow& row : result.rows)
    if (!row.disturbed.empty())
      out << fmt::format("\n{}: {}: {}", row.counts ? "disturbed, third try, counted" : "rejected", name_of(row.cell),
                         row.disturbed);
  for (const std::string& each : result.notes) out << '\n' << each;
  out << '\n';
}

void write_run_comparison(std::ostream& out, const MeasuredRun& run, const LivePrediction& predicted,
                          const std::vector<TimelinePart>& parts, const ConsoleOptions& options) {
  Table table({left(""), right("measured"), right("predicted"), right("error"), right("times", "measured"),
               right("times", "predicted")});
  const auto add = [&](const std::string& name, const std::string& m, const std::string& p, double ratio,
                       const std::string& times, const std::string& expected_times) {
    table.add(Style::kPlain,
              {name, m, p, std::isfinite(ratio) ? signed_percent(ratio - 1) : "-", times, expected_times});
  };
  const Seconds update = update_time(run);
  const double samples = micro_batches_per_update(run);
  add(fmt::format("{}, {} ranks: update", run.algorithm, run.ranks), milliseconds(update),
      milliseconds(predicted.update_time), predicted.update_time / update, "", "");
  add("micro-batches of an update", fmt::format("{:.2f}", samples), fmt::format("{:.2f}", predicted.micro_batches),
      predicted.micro_batches / samples, "", "");
  for (const TimelinePart& part : parts) {
    const bool both = part.measured_count > 0 && part.predicted_count > 0;
    add(part.name, part.measured_count > 0 ? milliseconds(part.measured) : "-",
        part.predicted_count > 0 ? milliseconds(part.predicted) : "-",
        both ? part.predicted / part.measured : std::nan(""), fmt::format("{}", part.measured_count),
        fmt::format("{}", part.predicted_count));
  }
  write_table(out, table.columns(), options);
  out << "\nA part's time is the mean of its occurrences on all ranks in the first steady updates (three, or "
         "--trace-updates),"
         "\nwaiting for others included; the two lines on top are of all steady updates.\n";
}

void write_live_markdown(std::ostream& out, const LiveResult& result) {
  out << R"(# Predictions against runs of the real step

Written by `accosim validate --live --markdown`: `accocal` measured its parts, the samples were fitted, then
every run below was predicted, really made and compared. Samples and runs are different processes. A measured
update is the mean without the longest and the shortest tenth. A run is rejected, listed and made again when
its ranks waited more than 2 % of the time for a processor, or when right before or after it a micro-batch
took 5 % longer or shorter than when the machine was measured; the third try counts, whatever it was. Where
computation decides, a round of DPU, WP and ACCO says little of communication: look at the lowest ratios.

)"
      << fmt::format(
             "{} ({} cores), {}, {}. Computation of a set duration: {:.0f} parameters, 4 micro-batches an\n"
             "update and rank. Real: the GPT of `accocal train`, 2, 6 and 12 micro-batches. Ratio: computation of a\n"
             "batch over its communication alone.\n\n",
             in_markdown(result.cpu), result.cores, in_markdown(result.network), result.date, result.parameters);
  int rejected = 0, third = 0;
  for (const LiveRow& row : result.rows) rejected += row.counts ? 0 : 1, third += row.counts && !row.disturbed.empty();
  out << fmt::format("{} runs made, {} rejected, {} of those that count disturbed. Commit {}.\n\n", result.rows.size(),
                     rejected, third, in_markdown(result.commit));
  out << "| | runs | mean abs. error | bias | worst |\n|---|---|---|---|---|\n";
  for (const auto& [what, score] : scores_of(result.rows))
    out << fmt::format("| {} | {} | {} | {} | {} |\n", what, score.runs, percent(score.mean),
                       signed_percent(score.bias), signed_percent(score.worst));
  out << "\n| run | ratio | measured update | predicted | error | micro-batches an update, measured | predicted | |\n"
         "|---|---|---|---|---|---|---|---|\n";
  for (const LiveRow& row : result.rows)
    out << fmt::format(
        "| {} | {} | {} | {} | {} | {:.1f} | {:.1f} | {} |\n", name_of(row.cell), ratio_of(row.cell),
        milliseconds(row.measured), milliseconds(row.predicted), signed_percent(row.error()), row.micro_batches,
        row.predicted_micro_batches,
        row.disturbed.empty() ? "" : (row.counts ? "third try, counted: " : "rejected: ") + in_markdown(row.disturbed));
  for (const std::string& each : result.notes) out << "\n" << in_markdown(each) << "\n";
}

}  // namespace accosim
