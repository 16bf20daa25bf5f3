// Everything about one schedule, and about the program's own work; see console.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "reports/console.hpp"
#include "reports/console_rows.hpp"
#include "reports/human.hpp"
#include "reports/metric_text.hpp"
#include "reports/unsteady.hpp"
#include "sim/what_if/warnings.hpp"

namespace accosim {
namespace {

std::string verdict_of(const Fit& fit) {
  const bool fits = fit.verdict == FitVerdict::kFits;
  return fmt::format("of that GPU: it {} (probability{} {})",
                     fits                                ? "fits"
                     : fit.verdict == FitVerdict::kTight ? "is tight"
                                                         : "does NOT fit",
                     fits ? "" : " to fit", in_percent(fit.probability));
}

std::string steady_in_words(const SteadyState& steady) {
  if (steady.repeats_after > 0)
    return fmt::format("updates repeat after {}; {} played", human_count(steady.repeats_after),
                       human_count(steady.played));
  return fmt::format("updates never repeat: the mean of the last {} of {}, whose halves differ by {}",
                     human_count(steady.averaged), human_count(steady.played),
                     difference_in_words(steady.halves_differ));
}

/// What the table says, but where that depends on the run.
std::string meaning_of(const Metric& metric, const Scenario& scenario, const RunResult& result) {
  const std::string_view key = metric.key;
  const auto error = [&](double ours) {
    return "our error " + human_error(ours) +
           (result.published_of_another_run ? ", of another run than the published one" : "");
  };
  if (key == "total_time_s") return "for all " + human_count(scenario.training.train_tokens) + " tokens";
  if (key == "published_speedup" && result.speedup) return error(*result.speedup_error());
  if (key == "published_time_s") return error(*result.time_error());
  if (key == "micro_batches_per_update" && model_ranks_of(scenario.training.parallel) > 1)
    return "all replicas of the model";
  if (key == "memory_capacity_bytes") return verdict_of(result.fit);
  return metric.run.says;
}

Document::Figures figures_of(const Scenario& scenario, const RunResult& result) {
  Document::Figures figures;
  const auto line = [&](const char* name, const std::string& value, const std::string& meaning) {
    figures.rows.push_back({name, value, meaning});
  };
  const bool padded = result.tokens_padded_per_second > 1.0005 * result.tokens_per_second;
  for (const Metric* const metric : metrics_by(&Metric::run)) {
    const std::string_view key = metric->key;
    const std::optional<double> value = metric->figure.of(result);
    if (!value || (key == "tokens_padded_per_s" && !padded)) continue;
    line(metric->run.name, key == "cost" ? human_money(*value, result.currency) : in_words(metric->format, *value),
         meaning_of(*metric, scenario, result));
    if (key == "update_time_s" && result.steady.played > 0) line("steady state", "", steady_in_words(result.steady));
    if (*metric->run_interval == '\0') continue;
    const Interval interval = metric->interval.of(result).value_or(Interval{});
    if (interval.high > 0)
      line("80 % interval", "",
           human_range(in_words(metric->format, interval.low), in_words(metric->format, interval.high)) + ", from " +
               metric->run_interval);
  }
  return figures;
}

void add_memory_parts(Document& document, const RunResult& result) {
  if (result.memory_parts.parts.empty()) return;
  Table table({left("memory"), right("size"), right("share"), left("in a step")});
  const Bytes total = result.memory_resident;
  for (const MemoryPart& part : result.memory_parts.parts) {
    const bool tensors = part.use != MemoryUse::kAllocatorSlack && part.use != MemoryUse::kReserved;
    table.add({name_of(part.use), human_memory(part.bytes), total > Bytes{0} ? human_percent(part.bytes / total) : "-",
               !tensors       ? "-"
               : part.lasting ? "lasts"
                              : "comes and goes"});
  }
  document.table(std::move(table));
  add_memory_by_kind(document, result);
}

void add_ranks(Document& document, const Scenario& scenario, const RunResult& result) {
  if (result.ranks.empty()) return;
  // Neighbours only, so that a row is a range of ranks; idle time equal as far as it is shown.
  std::vector<RankRow> rows = merge_ranks(scenario, result, 1, [](const RankRow& a, const RankRow& b) {
    return a.device == b.device && a.least == b.least && a.most == b.most &&
           mean_of(a.per_round, a.ranks) == mean_of(b.per_round, b.ranks) &&
           mean_of(a.per_update, a.ranks) == mean_of(b.per_update, b.ranks) &&
           human_percent(a.idle / a.ranks) == human_percent(b.idle / b.ranks);
  });
  constexpr std::size_t kMost = 64;
  const std::size_t more = rows.size() - std::min(rows.size(), kMost);
  rows.resize(rows.size() - more);
  const auto name = [](const RankRow& row) {
    return row.first == row.last ? fmt::format("{}", row.first) : fmt::format("{}-{}", row.first, row.last);
  };
  document.table(rank_table("rank", rows, name));
  if (more > 0) document.line(fmt::format("... and {} more rows; --json --all-ranks has them all", more));
}

}  // namespace

Document run_document(const Scenario& scenario, const RunResult& result, const Standing& standing) {
  Document document = beginning_of(scenario, {{result}, standing});
  add_fact(document, "schedule", result.label);
  document.add(figures_of(scenario, result));
  add_unsteady(document, {result});
  add_memory_parts(document, result);
  add_ranks(document, scenario, result);
  add_warnings(document, result.warnings, "", Above::kEmptyLine);
  return document;
}

void write_stages(std::ostream& out, const StagesUsed& used, const ConsoleOptions& options) {
  if (used.stages.empty()) return;
  std::vector<StageUse> rows = used.stages;
  rows.push_back(used.outside);
  rows.back().name = "all else";
  StageUse all;
  for (const StageUse& row : rows) {
    all.seconds += row.seconds;
    all.peak_kib += row.peak_kib;
  }
  all.name = "together";
  rows.push_back(all);
  Table table({left("stage"), right("times"), right("time"), right("share"), right("memory", "more")});
  for (const StageUse& row : rows)
    table.add({row.name, row.times > 0 ? human_count(static_cast<double>(row.times)) : "-",
               human_time(Seconds{row.seconds}), human_percent(all.seconds > 0 ? row.seconds / all.seconds : 0),
               human_bytes(Bytes{1024.0 * static_cast<double>(row.peak_kib)})});
  Document document;
  document.table(std::move(table));
  std::string counts;
  for (const auto& [what, count] : used.tallies)
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", human_count(static_cast<double>(count)), what);
  if (!counts.empty()) document.go_on({counts});
  out << '\n';
  print_terminal(out, document, options);
}

}  // namespace accosim
