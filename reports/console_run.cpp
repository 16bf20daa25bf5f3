// Everything about one schedule, and about the program's own work; see console.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

#include "models/spec/parallel.hpp"
#include "models/spec/scenario.hpp"
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

void write_metrics(std::ostream& out, const Scenario& scenario, const RunResult& result,
                   const ConsoleOptions& options) {
  const auto line = [&](const char* name, const std::string& value, const std::string& meaning) {
    constexpr int kLeast = 64;  // a meaning beside its figure needs some 20 columns
    if (options.width >= kLeast) {
      write_wrapped(out, fmt::format("{:<29} {:>11}  ", name, value), meaning, options.width);
      return;
    }
    write_sentence(out, options, value.empty() ? name : fmt::format("{}: {}", name, value));
    write_wrapped(out, "    ", meaning, options.width);
  };
  const bool padded = result.tokens_padded_per_second > 1.0005 * result.tokens_per_second;
  for (const Metric* const metric : metrics_by(&Metric::run)) {
    const std::string_view key = metric->key;
    const std::optional<double> value = metric->figure.of(result);
    if (!value || (key == "tokens_padded_per_s" && !padded)) continue;
    line(metric->run.name, in_words(metric->format, *value), meaning_of(*metric, scenario, result));
    if (key == "update_time_s" && result.steady.played > 0) line("steady state", "", steady_in_words(result.steady));
    if (*metric->run_interval == '\0') continue;
    const Interval interval = metric->interval.of(result).value_or(Interval{});
    if (interval.high > 0)
      line("80 % interval", "",
           human_range(in_words(metric->format, interval.low), in_words(metric->format, interval.high)) + ", from " +
               metric->run_interval);
  }
}

void write_memory_parts(std::ostream& out, const RunResult& result, const ConsoleOptions& options) {
  if (result.memory_parts.parts.empty()) return;
  Table table({left("memory"), right("size"), right("share"), left("in a step")});
  const Bytes total = result.memory_resident;
  for (const MemoryPart& part : result.memory_parts.parts) {
    const bool tensors = part.use != MemoryUse::kAllocatorSlack && part.use != MemoryUse::kReserved;
    table.add(Style::kPlain,
              {name_of(part.use), human_memory(part.bytes), total > Bytes{0} ? human_percent(part.bytes / total) : "-",
               !tensors       ? "-"
               : part.lasting ? "lasts"
                              : "comes and goes"});
  }
  write_table_below(out, "", table.columns(), options);
  write_memory_by_kind(out, result, options);
}

void write_ranks(std::ostream& out, const Scenario& scenario, const RunResult& result, const ConsoleOptions& options) {
  if (result.ranks.empty()) return;
  // Neighbours only, so that a row is a range of ranks; idle time equal as far as it is shown.
  const auto rows = merge_ranks(scenario, result, 1, [](const RankRow& a, const RankRow& b) {
    return a.device == b.device && a.least == b.least && a.most == b.most &&
           mean_of(a.per_round, a.ranks) == mean_of(b.per_round, b.ranks) &&
           mean_of(a.per_update, a.ranks) == mean_of(b.per_update, b.ranks) &&
           human_percent(a.idle / a.ranks) == human_percent(b.idle / b.ranks);
  });
  constexpr std::size_t kMost = 64;
  const std::vector<RankRow> shown(rows.begin(),
                                   rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), kMost)));
  const auto name = [](const RankRow& row) {
    return row.first == row.last ? fmt::format("{}", row.first) : fmt::format("{}-{}", row.first, row.last);
  };
  write_table_below(out, "", rank_columns("rank", shown, name), options);
  if (rows.size() > kMost)
    out << fmt::format("... and {} more rows; --json --all-ranks has them all\n", rows.size() - kMost);
}

}  // namespace

void write_run(std::ostream& out, const Scenario& scenario, const RunResult& result, const Standing& standing,
               ConsoleOptions options) {
  write_headline(out, scenario, {result}, standing, options);
  write_scenario_header(out, scenario, options);
  write_wrapped(out, fmt::format("{:<11}", "schedule"), result.label, options.width);
  out << '\n';
  write_metrics(out, scenario, result, options);
  write_unsteady(out, {result}, options);
  write_memory_parts(out, result, options);
  write_ranks(out, scenario, result, options);
  if (!result.warnings.empty()) {
    out << '\n';
    write_warnings(out, result.warnings, "", options);
  }
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
    table.add(Style::kPlain,
              {row.name, row.times > 0 ? human_count(static_cast<double>(row.times)) : "-",
               human_time(Seconds{row.seconds}), human_percent(all.seconds > 0 ? row.seconds / all.seconds : 0),
               human_bytes(Bytes{1024.0 * static_cast<double>(row.peak_kib)})});
  write_table_below(out, "", table.columns(), options);
  std::string counts;
  for (const auto& [what, count] : used.tallies)
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", human_count(static_cast<double>(count)), what);
  if (!counts.empty()) write_sentence(out, options, counts);
}

}  // namespace accosim
