// Schedules side by side; see console.hpp. Columns are in the order of the questions: how long, how much faster, at
// what rate, where the time goes, does it fit. A column about which no schedule has anything to say is left out.
#include "reports/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>

#include "models/spec/schedule_traits.hpp"
#include "reports/console_rows.hpp"
#include "reports/fair_text.hpp"
#include "reports/human.hpp"
#include "reports/unsteady.hpp"

namespace accosim {
namespace {

std::string factor_or_dash(const std::optional<double>& value) { return value ? human_factor(*value) : "-"; }

/// Gibibytes without the unit.
std::string gib(Bytes bytes) { return fmt::format("{:.1f}", bytes.value / (1024.0 * 1024 * 1024)); }

Cell published_time(const RunResult& r) {
  if (!r.published_time) return Cell{"-"};
  return Cell{fmt::format("{} ({})", human_clock(*r.published_time), human_error(*r.time_error()))};
}

Cell published_speedup(const RunResult& r) {
  if (!r.published_speedup) return Cell{"-"};
  if (!r.speedup) return Cell{human_factor(*r.published_speedup)};
  return Cell{fmt::format("{} ({})", human_factor(*r.published_speedup), human_error(*r.speedup_error()))};
}

Cell speedup_to_loss(const RunResult& r) {
  if (!r.to_loss) return Cell{"-"};
  if (!r.to_loss->reached) return Cell{"< " + human_factor(r.to_loss->speedup)};
  return Cell{fmt::format("{} ({} - {})", human_factor(r.to_loss->speedup), human_factor(r.to_loss->speedup_low),
                          human_factor(r.to_loss->speedup_high))};
}

std::vector<Column> comparison_columns(const Scenario& scenario, const std::vector<RunResult>& results) {
  std::vector<Column> columns;
  const auto add = [&](const char* head, const char* sub_head, const std::function<Cell(const RunResult&)>& cell) {
    Column column{head, sub_head, {}, columns.empty()};
    for (const RunResult& result : results) column.cells.push_back(cell(result));
    columns.push_back(column);
  };
  const auto any = [&](auto member) {
    return std::any_of(results.begin(), results.end(), [&](const RunResult& r) { return (r.*member).has_value(); });
  };
  add("schedule", "", [&](const RunResult& r) {
    return Cell{r.label, r.label == scenario.baseline ? Style::kDim : Style::kPlain};
  });
  add("update", "", [](const RunResult& r) { return Cell{human_time(r.update_time)}; });
  add("all tokens", "h:mm:ss", [](const RunResult& r) { return Cell{human_clock(r.total_time)}; });
  const bool another =
      std::any_of(results.begin(), results.end(), [](const RunResult& r) { return r.published_of_another_run; });
  const char* const ours = another ? "of another run" : "(our error)";
  if (any(&RunResult::published_time)) add("published", ours, published_time);
  if (any(&RunResult::speedup)) {
    add("speedup", "per token", [](const RunResult& r) {
      return Cell{factor_or_dash(r.speedup), r.speedup.value_or(0) > 1.005 ? Style::kGood : Style::kPlain};
    });
  }
  if (any(&RunResult::published_speedup)) add("published", ours, published_speedup);
  if (any(&RunResult::speedup_same_batch)) {
    add("speedup", "same batch", [](const RunResult& r) { return Cell{factor_or_dash(r.speedup_same_batch)}; });
  }
  if (any(&RunResult::to_loss)) {
    add("samples", "to loss", [](const RunResult& r) {
      if (!r.to_loss) return Cell{"-"};
      return Cell{(r.to_loss->reached ? "" : "> ") + human_factor(r.to_loss->samples)};
    });
    add("speedup", "to loss", speedup_to_loss);
  }
  add("batch", "grown", [](const RunResult& r) { return Cell{human_factor(r.batch_inflation)}; });
  add("tokens", "per s", [](const RunResult& r) { return Cell{human_count(r.tokens_per_second)}; });
  add("per s", "and GPU", [](const RunResult& r) { return Cell{human_count(r.tokens_per_second_per_gpu)}; });
  add("MFU", "", [](const RunResult& r) { return Cell{human_percent(r.mfu)}; });
  add("GPU", "idle", [](const RunResult& r) { return Cell{human_percent(r.gpu_idle_fraction)}; });
  add("exposed", "comm.", [](const RunResult& r) { return Cell{human_time(r.exposed_communication)}; });
  add("memory", "GiB of", [](const RunResult& r) {
    const std::string figures = gib(r.memory_resident) + " / " + gib(r.memory_capacity);
    return Cell{figures + verdict_mark(r.fit.verdict), style_of(r.fit.verdict)};
  });
  return columns;
}

bool ranks_differ(const RunResult& result) {
  return std::any_of(result.ranks.begin(), result.ranks.end(), [&](const RankResult& rank) {
    const double first = result.ranks.front().micro_batches_per_round;
    return std::abs(rank.micro_batches_per_round - first) > 1e-9 * std::max(1.0, std::abs(first));
  });
}

/// One table for each schedule whose ranks do different amounts of work.
void write_device_classes(std::ostream& out, const Scenario& scenario, const std::vector<RunResult>& results,
                          const ConsoleOptions& options) {
  for (const RunResult& result : results) {
    if (!ranks_differ(result)) continue;
    const auto rows = merge_ranks(scenario, result, result.ranks.size(),
                                  [](const RankRow& a, const RankRow& b) { return a.device == b.device; });
    Column counts{"ranks", "", {}, true}, devices{"device", "", {}, true};
    for (const RankRow& row : rows) {
      counts.cells.push_back(Cell{human_count(row.ranks)});
      devices.cells.push_back(Cell{row.device});
    }
    std::vector<Column> columns{counts, devices};
    add_rank_columns(columns, rows);
    out << '\n';
    const auto spec = std::find_if(scenario.schedules.begin(), scenario.schedules.end(),
                                   [&](const ScheduleSpec& each) { return each.label == result.label; });
    const bool by_itself = spec != scenario.schedules.end() && accumulates_while_waiting(*spec);
    write_wrapped(out, "",
                  result.label + (by_itself ? ": each rank accumulates as many micro-batches as its speed allows"
                                            : ": each node group does the micro-batches that it is given"),
                  options.width);
    out << '\n';
    write_table(out, columns, options);
  }
}

bool identical_ranks(const Cluster& cluster) {
  const NodeGroup& first = cluster.nodes.front();
  return std::all_of(cluster.nodes.begin(), cluster.nodes.end(), [&](const NodeGroup& group) {
    return group.micro_batch_size == first.micro_batch_size && group.accumulation_steps == first.accumulation_steps &&
           group.precision == first.precision && group.attention == first.attention &&
           std::all_of(group.devices.begin(), group.devices.end(),
                       [&](const Device& device) { return device == first.devices.front(); });
  });
}

/// What is true of every schedule is said once; the rest under each one's label.
void write_all_warnings(std::ostream& out, const std::vector<RunResult>& results, const ConsoleOptions& options) {
  const auto has = [](const RunResult& result, const Warning& warning) {
    return std::find(result.warnings.begin(), result.warnings.end(), warning) != result.warnings.end();
  };
  std::vector<Warning> shared;
  if (results.size() > 1) {
    std::copy_if(results[0].warnings.begin(), results[0].warnings.end(), std::back_inserter(shared),
                 [&](const Warning& warning) {
                   return std::all_of(results.begin(), results.end(),
                                      [&](const RunResult& result) { return has(result, warning); });
                 });
  }
  const auto write = [&](const std::string& heading, const std::vector<Warning>& warnings) {
    if (warnings.empty()) return;
    out << '\n' << styled(cut_to_width(heading, options.width), Style::kBold, options.color) << '\n';
    write_warnings(out, warnings, "  ", options);
  };
  write("all schedules", shared);
  for (const RunResult& result : results) {
    std::vector<Warning> own;
    std::copy_if(result.warnings.begin(), result.warnings.end(), std::back_inserter(own), [&](const Warning& warning) {
      return std::find(shared.begin(), shared.end(), warning) == shared.end();
    });
    write(result.label, own);
  }
}

/// "1.5 for ACCO and 2 for DPU", of the schedules that were played; the tightest first.
std::string laws_of(const std::vector<RunResult>& results) {
  std::set<std::pair<double, std::string>> laws;
  for (const RunResult& result : results) {
    const ScheduleTraits& traits = traits_of(result.schedule);
    if (traits.most_same_batch > 0) laws.emplace(traits.most_same_batch, traits.title);
  }
  std::vector<std::string> texts;
  for (const auto& [most, title] : laws) texts.push_back(fmt::format("{:g} for {}", most, title));
  return in_words(texts);
}

/// A dash in "same batch" is no figure that was forgotten.
void write_missing(std::ostream& out, const Scenario& scenario, const std::vector<RunResult>& results,
                   const ConsoleOptions& options) {
  std::vector<std::string> labels;
  for (const RunResult& result : results)
    if (result.speedup && !result.speedup_same_batch) labels.push_back(result.label);
  if (labels.empty()) return;
  out << '\n';
  write_wrapped(out, "",
                fmt::format("\"{}\" cannot be played at the batch of {}: it does at least one micro-batch a GPU, and "
                            "may accumulate more by itself. So there is no speedup at the same batch.",
                            scenario.baseline, in_words(labels)),
                options.width);
}

/// Says what the speedups mean, where a reader could take one for the other.
void write_closing(std::ostream& out, const Scenario& scenario, const std::vector<RunResult>& results,
                   const ConsoleOptions& options) {
  const auto has = [&](auto test) { return std::any_of(results.begin(), results.end(), test); };
  if (!has([](const RunResult& r) { return r.speedup && r.speedup_same_batch && r.batch_inflation > 1.0005; })) return;
  const auto baseline = std::find_if(scenario.schedules.begin(), scenario.schedules.end(),
                                     [&](const ScheduleSpec& spec) { return spec.label == scenario.baseline; });
  std::string text = fmt::format(
      "Speedup per token compares the time for the same tokens with \"{}\". Where the batch has grown, part of it "
      "comes from the larger batch alone, for which the model may need more tokens; \"same batch\" is the speedup over "
      "the baseline played with as many samples per update, so the larger batch brings nothing to it.",
      scenario.baseline);
  const std::string laws = laws_of(results);
  const bool serial = baseline != scenario.schedules.end() && is_serial_sharded(*baseline);
  if (serial && !laws.empty() && !scenario.cluster.nodes.empty() && identical_ranks(scenario.cluster))
    text += fmt::format(" With identical ranks and serial ZeRO-1 as the baseline that can never exceed {}.", laws);
  out << '\n';
  write_wrapped(out, "", text, options.width);
}

}  // namespace

void write_comparison(std::ostream& out, const Scenario& scenario, const std::vector<RunResult>& results,
                      ConsoleOptions options, const FairComparison& fair) {
  write_scenario_header(out, scenario, options);
  out << '\n';
  write_table(out, comparison_columns(scenario, results), options);
  write_unsteady(out, results, options);
  write_device_classes(out, scenario, results, options);
  for (const RunResult& result : results)
    if (result.fit.verdict != FitVerdict::kFits) write_memory_by_kind(out, result, options);
  write_fair_comparison(out, fair, scenario.baseline, options);
  write_all_warnings(out, results, options);
  write_missing(out, scenario, results, options);
  write_closing(out, scenario, results, options);
}

}  // namespace accosim
