// Everything about one schedule; see console.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <string>

#include "reports/console.hpp"
#include "reports/console_rows.hpp"
#include "reports/human.hpp"
#include "reports/unsteady.hpp"

namespace accosim {
namespace {

std::string verdict_of(const Fit& fit) {
  const std::string chance = in_percent(fit.probability);
  switch (fit.verdict) {
    case FitVerdict::kFits: return fmt::format("of that GPU: it fits (probability {})", chance);
    case FitVerdict::kTight: return fmt::format("of that GPU: it is tight (probability to fit {})", chance);
    case FitVerdict::kDoesNotFit: return fmt::format("of that GPU: it does NOT fit (probability to fit {})", chance);
  }
  return "";
}

std::string steady_in_words(const SteadyState& steady) {
  if (steady.repeats_after > 0)
    return fmt::format("updates repeat after {}; {} played", human_count(steady.repeats_after),
                       human_count(steady.played));
  return fmt::format("updates never repeat: the mean of the last {} of {}, whose halves differ by {:.2g} %",
                     human_count(steady.averaged), human_count(steady.played), 100 * std::abs(steady.halves_differ));
}

void write_metrics(std::ostream& out, const Scenario& scenario, const RunResult& result,
                   const ConsoleOptions& options) {
  const auto metric = [&](const char* name, const std::string& value, const std::string& meaning) {
    constexpr int kLeast = 64;  // a meaning beside its figure needs some 20 columns
    if (options.width >= kLeast) {
      write_wrapped(out, fmt::format("{:<29} {:>11}  ", name, value), meaning, options.width);
      return;
    }
    write_wrapped(out, "", value.empty() ? name : fmt::format("{}: {}", name, value), options.width);
    write_wrapped(out, "    ", meaning, options.width);
  };
  metric("update time", human_time(result.update_time), "from one optimizer update to the next, steady state");
  if (result.steady.played > 0) metric("steady state", "", steady_in_words(result.steady));
  if (result.update_time_high > Seconds{0}) {
    metric("80 % interval", "",
           human_time(result.update_time_low) + " to " + human_time(result.update_time_high) +
               ", from the residuals of the prices' fits");
  }
  metric("total time", human_clock(result.total_time),
         "for all " + human_count(scenario.training.train_tokens) + " tokens");
  metric("tokens per second", human_count(result.tokens_per_second), "of all GPUs together");
  if (result.tokens_padded_per_second > 1.0005 * result.tokens_per_second)
    metric("with their padding", human_count(result.tokens_padded_per_second), "tokens per second that are computed");
  metric("TFLOP/s a GPU", fmt::format("{:.4g}", result.model_flops_per_gpu.value / 1e12), "model FLOPs, their mean");
  metric("GPU-hours", human_count(result.gpu_hours), "of all GPUs, for all tokens");
  if (result.cost) metric("cost", human_count(*result.cost), "the same at the cluster's price_per_gpu_hour");
  metric("tokens per second and GPU", human_count(result.tokens_per_second_per_gpu), "their mean");
  if (result.speedup) {
    metric("speedup per token", human_factor(*result.speedup), "time per token of the baseline over this one's");
  }
  if (result.speedup_same_batch) {
    metric("speedup at the same batch", human_factor(*result.speedup_same_batch),
           "over the baseline played with as many samples per update");
  }
  const std::string another = result.published_of_another_run ? ", of another run than the published one" : "";
  if (result.published_speedup) {
    metric(
        "published speedup", human_factor(*result.published_speedup),
        result.speedup ? "our error " + human_error(*result.speedup_error()) + another : "as the scenario states it");
  }
  if (result.published_time) {
    metric("published time", human_clock(*result.published_time),
           "our error " + human_error(*result.time_error()) + another);
  }
  metric("batch growth", human_factor(result.batch_inflation), "samples per update over those asked for");
  metric("samples per update", human_count(result.samples_per_update), "sequences between two updates, all ranks");
  metric("micro-batches per update", human_count(result.micro_batches_per_update), "all ranks");
  metric("MFU", human_percent(result.mfu), "model FLOPs over the peak of all GPUs");
  metric("HFU", human_percent(result.hfu), "the same with recomputed activations counted");
  metric("GPU idle", human_percent(result.gpu_idle_fraction), "time in which a GPU computes nothing");
  metric("exposed communication", human_time(result.exposed_communication),
         "per update: the GPU waits while its rank communicates");
  metric("sent per rank and update", human_bytes(result.bytes_sent_per_rank_per_update), "over all links");
  metric("memory by formula", human_memory(result.memory_formula), "model states only, as papers compare them");
  metric("memory resident", human_memory(result.memory_resident),
         "really needed, on the rank that is least likely to fit");
  metric("80 % interval", "",
         human_memory(result.memory_resident_low) + " to " + human_memory(result.memory_resident_high) +
             ", from the errors of published runs");
  metric("memory capacity", human_memory(result.memory_capacity), verdict_of(result.fit));
}

void write_memory_parts(std::ostream& out, const RunResult& result, const ConsoleOptions& options) {
  if (result.memory_parts.parts.empty()) return;
  Column names{"memory", "", {}, true}, sizes{"size", "", {}, false}, shares{"share", "", {}, false},
      lasts{"in a step", "", {}, true};
  for (const MemoryPart& part : result.memory_parts.parts) {
    names.cells.push_back(Cell{name_of(part.use)});
    sizes.cells.push_back(Cell{human_memory(part.bytes)});
    const double total = result.memory_resident.value;
    shares.cells.push_back(Cell{total > 0 ? human_percent(part.bytes.value / total) : "-"});
    const bool tensors = part.use != MemoryUse::kAllocatorSlack && part.use != MemoryUse::kReserved;
    lasts.cells.push_back(Cell{!tensors ? "-" : part.lasting ? "lasts" : "comes and goes"});
  }
  out << '\n';
  write_table(out, {names, sizes, shares, lasts}, options);
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
  Column ranks{"rank", "", {}, true}, devices{"device", "", {}, true};
  for (const RankRow& row : shown) {
    ranks.cells.push_back(
        Cell{row.first == row.last ? fmt::format("{}", row.first) : fmt::format("{}-{}", row.first, row.last)});
    devices.cells.push_back(Cell{row.device});
  }
  std::vector<Column> columns{ranks, devices};
  add_rank_columns(columns, shown);
  out << '\n';
  write_table(out, columns, options);
  if (rows.size() > kMost)
    out << fmt::format("... and {} more rows; --json --all-ranks has them all\n", rows.size() - kMost);
}

}  // namespace

void write_run(std::ostream& out, const Scenario& scenario, const RunResult& result, ConsoleOptions options) {
  write_headline(out, scenario, {result}, options);
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

}  // namespace accosim
