#include "reports/evidence/live_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "models/fit/fit_kernels.hpp"

namespace accosim {
namespace {

std::string name_of(const LiveCell& cell) {
  std::string name = fmt::format("{} ranks, {}", cell.ranks, cell.algorithm);
  if (cell.real) name += ", real";
  if (cell.jitter > 0) name += fmt::format(", jitter {:g}", cell.jitter);
  if (cell.lengths) name += ", lengths";
  if (cell.slow > 1) name += fmt::format(", one {}x slower", cell.slow);
  return name;
}

/// Of the rows that count: all, then by what the cells have in common.
std::vector<std::pair<std::string, FitErrors>> scores_of(const std::vector<LiveRow>& rows) {
  using LogRatios = std::vector<double>;
  LogRatios all, real, slow, jitter, lengths, low, high;
  std::map<std::string, LogRatios> by_algorithm;
  std::map<int, LogRatios> by_ranks;
  LogRatios bound;  // accumulating schedules whose communication is longer than the computation of a round
  for (const LiveRow& row : rows) {
    if (!row.counts) continue;
    const double ratio = std::log(row.predicted / row.measured);
    if (row.measured_p90 > Seconds{0}) {
      (row.cell.lengths ? lengths : jitter).push_back(ratio);
      low.push_back(std::log(row.predicted_p10 / row.measured_p10));
      high.push_back(std::log(row.predicted_p90 / row.measured_p90));
      continue;
    }
    if (row.cell.real) {
      real.push_back(ratio);
      continue;
    }
    all.push_back(ratio);
    by_algorithm[row.cell.algorithm].push_back(ratio);
    by_ranks[row.cell.ranks].push_back(ratio);
    if (row.cell.slow > 1) slow.push_back(ratio);
    if (traits_of(row.cell.algorithm).rounds > 1 &&
        row.predicted_micro_batches > 1.01 * row.cell.micro_batches * row.cell.ranks)
      bound.push_back(ratio);
  }
  std::vector<std::pair<std::string, FitErrors>> scores;
  const auto add = [&](const std::string& what, const LogRatios& ratios) {
    scores.emplace_back(what, errors_of(ratios));
  };
  add("set computation, all", all);
  for (const auto& [ranks, ratios] : by_ranks) add(fmt::format("{} ranks", ranks), ratios);
  for (const auto& [algorithm, ratios] : by_algorithm) add(algorithm, ratios);
  add("one slow rank", slow);
  add("acco, communication-bound", bound);
  if (!real.empty()) add("real computation", real);
  if (!jitter.empty()) add("jitter, median update", jitter);
  if (!lengths.empty()) add("unequal lengths, median update", lengths);
  if (!low.empty()) {
    add("of both: 10 % of the updates", low);
    add("of both: 90 % of the updates", high);
  }
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
  for (const auto& [name, score] : scores_of(quiet)) check.worst_mean = std::max(check.worst_mean, score.mean_absolute);
  return check;
}

Document live_reading(const LiveResult& result) {
  Document document;
  document.title("Predictions against runs of the real step");
  document.say(
      {"Written by ", code("accosim validate --live --markdown"), ": ", code("accocal"), R"( measured its parts,
the samples were fitted, then every run below was predicted, really made and compared. Samples and runs are different
processes. A measured update is the mean without the longest and the shortest tenth. A run is rejected, listed and made
again when its ranks waited more than 2 % of the time for a processor, or when right before or after it a micro-batch took
5 % longer or shorter than when the machine was measured; the third try counts, whatever it was. Where computation
decides, a round of DPU, WP and ACCO says little of communication: look at the lowest ratios.)"});
  document.say(
      {fmt::format("{} ({} cores), {}, {}. Computation of a set duration: {:.0f} parameters, 4 micro-batches an "
                   "update and rank. Real: the GPT of ",
                   result.cpu, result.cores, result.network, result.date, result.parameters),
       code("accocal train"),
       ", 2, 6 and 12 micro-batches. Ratio: computation of a batch over its communication alone."});
  Document::Table scores{{"", "runs", "mean error", "bias", "worst"}};
  for (const auto& [what, score] : scores_of(result.rows))
    scores.add({what, count(score.samples), percent(score.mean_absolute), relative_error(score.bias),
                relative_error(score.worst)});
  Document::Table runs{
      {"run", "ratio", "measured update", "predicted", "error", "micro-batches measured", "predicted", ""}};
  Document::List disturbed;
  int rejected = 0, third = 0;
  for (const LiveRow& row : result.rows) {
    const bool quiet = row.disturbed.empty();
    if (!row.counts) ++rejected;
    if (row.counts && !quiet) ++third;
    runs.add({name_of(row.cell), decimal(row.cell.ratio), duration(row.measured), duration(row.predicted),
              relative_error(row.error()), decimal(row.micro_batches), decimal(row.predicted_micro_batches),
              quiet        ? ""
              : row.counts ? "disturbed"
                           : "rejected"},
             row.counts ? Style::kPlain : Style::kDim);
    if (!quiet)
      disturbed.items.push_back(
          {"", {row.counts ? "third try, counted: " : "rejected: ", name_of(row.cell) + ": " + row.disturbed}});
  }
  document.say({fmt::format("{} runs made, {} rejected, {} of those that count disturbed. Commit {}.",
                            result.rows.size(), rejected, third, result.commit)});
  document.table(std::move(scores));
  document.table(std::move(runs));
  document.list(std::move(disturbed));
  for (const std::string& each : result.notes) document.say({each});
  return document;
}

Document run_reading(const MeasuredRun& run, const RunResult& predicted, const std::vector<TimelinePart>& parts) {
  const auto error = [](double ratio) {
    return relative_error(std::isfinite(ratio) ? std::optional(ratio - 1) : std::nullopt);
  };
  Document::Table table{{"", "measured", "predicted", "error", "times measured", "times predicted"}};
  const Seconds update = update_time(run);
  const double samples = micro_batches_per_update(run);
  table.add({fmt::format("{}, {} ranks: update", run.algorithm, run.ranks), duration(update),
             duration(predicted.update_time), error(predicted.update_time / update), "", ""});
  table.add({"micro-batches of an update", decimal(samples), decimal(predicted.micro_batches_per_update),
             error(predicted.micro_batches_per_update / samples), "", ""});
  for (const TimelinePart& part : parts) {
    const bool measured = part.measured_count > 0, expected = part.predicted_count > 0;
    table.add({part.name, measured ? duration(part.measured) : "-", expected ? duration(part.predicted) : "-",
               error(measured && expected ? part.predicted / part.measured : std::nan("")), count(part.measured_count),
               count(part.predicted_count)});
  }
  Document document;
  document.table(std::move(table));
  document.say(
      {"A part's time is the mean of its occurrences on all ranks in the first steady updates (three, or "
       "--trace-updates), waiting for others included; the two lines on top are of all steady updates."});
  return document;
}

}  // namespace accosim
