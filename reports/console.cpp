// Schedules side by side; see console.hpp. Columns are in the order of the questions: how long, how much faster, at
// what cost, how near to what was published, at what rate, where the time goes, does it fit. A column about which no
// schedule has anything to say is left out, and none for want of room: write_table() goes on in further blocks.
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
#include "reports/answer.hpp"
#include "reports/column_format.hpp"
#include "reports/console_rows.hpp"
#include "reports/fair_text.hpp"
#include "reports/human.hpp"
#include "reports/unsteady.hpp"

namespace accosim {
namespace {

std::string factor_or_dash(const std::optional<double>& value) { return value ? human_factor(*value) : "-"; }

/// Gibibytes without the unit.
std::string gib(Bytes bytes) { return fmt::format("{:.1f}", bytes.value / (1024.0 * 1024 * 1024)); }

Cell published_time(const RunResult& r, const ClockFormat& clock) {
  if (!r.published_time) return Cell{"-"};
  return Cell{fmt::format("{} ({})", clock.text_of(*r.published_time), human_error(*r.time_error()))};
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

/// The warnings say so of most of what the interval rests on.
bool extrapolates(const RunResult& result) {
  return std::any_of(result.warnings.begin(), result.warnings.end(), [](const Warning& warning) {
    return warning.code == "extrapolated" || warning.code == "inherited_constants";
  });
}

/// Columns of the comparison, a figure of each result.
class Columns {
 public:
  Columns(const Scenario& scenario, const std::vector<RunResult>& results) : scenario_(scenario), results_(results) {}

  std::vector<Column> all() && {
    add("schedule", "", [&](const RunResult& r) {
      return Cell{r.label, r.label == scenario_.baseline ? Style::kDim : Style::kPlain};
    });
    add_times();
    add_speedups();
    add_costs();
    add_published();
    add_rates();
    add("memory", "GiB of", [](const RunResult& r) {
      const std::string figures = gib(r.memory_resident) + " / " + gib(r.memory_capacity);
      return Cell{figures + verdict_mark(r.fit.verdict), style_of(r.fit.verdict)};
    });
    return std::move(columns_);
  }

 private:
  void add(const std::string& head, const std::string& sub_head, const std::function<Cell(const RunResult&)>& cell) {
    Column column{head, sub_head, {}, columns_.empty()};
    for (const RunResult& result : results_) column.cells.push_back(cell(result));
    columns_.push_back(std::move(column));
  }

  bool any(auto member) const {
    return std::any_of(results_.begin(), results_.end(), [&](const RunResult& r) { return (r.*member).has_value(); });
  }

  template <typename Figure>
  std::vector<Figure> figures(Figure RunResult::*member) const {
    std::vector<Figure> all;
    for (const RunResult& result : results_) all.push_back(result.*member);
    return all;
  }

  void add_times() {
    const UnitFormat update = time_format(figures(&RunResult::update_time));
    add("update", update.name, [&](const RunResult& r) { return Cell{update.text_of(r.update_time.value)}; });
    const bool interval = std::any_of(results_.begin(), results_.end(),
                                      [](const RunResult& r) { return r.update_time_high > Seconds{0}; });
    if (interval)
      add("80 %", "interval", [&](const RunResult& r) {
        return Cell{fmt::format("{}{} - {}", extrapolates(r) ? "~" : "", update.text_of(r.update_time_low.value),
                                update.text_of(r.update_time_high.value)),
                    extrapolates(r) ? Style::kDim : Style::kPlain};
      });
    const ClockFormat clock = clock_format(figures(&RunResult::total_time));
    add("all tokens", clock.name, [&](const RunResult& r) { return Cell{clock.text_of(r.total_time)}; });
  }

  void add_speedups() {
    if (any(&RunResult::speedup)) {
      add("speedup", "per token", [](const RunResult& r) {
        return Cell{factor_or_dash(r.speedup), r.speedup.value_or(0) > 1.005 ? Style::kGood : Style::kPlain};
      });
    }
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
  }

  void add_costs() {
    add("GPU-", "hours", [](const RunResult& r) { return Cell{human_count(r.gpu_hours)}; });
    if (any(&RunResult::cost))
      add("cost", "", [](const RunResult& r) { return Cell{r.cost ? human_count(*r.cost) : "-"}; });
  }

  void add_published() {
    const bool another =
        std::any_of(results_.begin(), results_.end(), [](const RunResult& r) { return r.published_of_another_run; });
    const char* const ours = another ? "of another run" : "(our error)";
    if (any(&RunResult::published_time)) {
      std::vector<Seconds> times;
      for (const RunResult& result : results_)
        if (result.published_time) times.push_back(*result.published_time);
      const ClockFormat clock = clock_format(times);
      add("published " + clock.name, ours, [&](const RunResult& r) { return published_time(r, clock); });
    }
    if (any(&RunResult::published_speedup)) add("published", ours, published_speedup);
  }

  void add_rates() {
    add("tokens", "per s", [](const RunResult& r) { return Cell{human_count(r.tokens_per_second)}; });
    add("per s", "and GPU", [](const RunResult& r) { return Cell{human_count(r.tokens_per_second_per_gpu)}; });
    const UnitFormat flops = flops_format(figures(&RunResult::model_flops_per_gpu));
    add(flops.name, "a GPU", [&](const RunResult& r) { return Cell{flops.text_of(r.model_flops_per_gpu.value)}; });
    add("MFU", "", [](const RunResult& r) { return Cell{human_percent(r.mfu)}; });
    add("GPU", "idle", [](const RunResult& r) { return Cell{human_percent(r.gpu_idle_fraction)}; });
    const UnitFormat exposed = time_format(figures(&RunResult::exposed_communication));
    add("exposed", "comm. " + exposed.name,
        [&](const RunResult& r) { return Cell{exposed.text_of(r.exposed_communication.value)}; });
  }

  const Scenario& scenario_;
  const std::vector<RunResult>& results_;
  std::vector<Column> columns_;
};

bool ranks_differ(const RunResult& result) {
  return std::any_of(result.ranks.begin(), result.ranks.end(), [&](const RankResult& alike) {
    const double first = result.ranks.front().micro_batches_per_round;
    return std::abs(alike.micro_batches_per_round - first) > 1e-9 * std::max(1.0, std::abs(first));
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

/// What the mark of an interval means.
void write_extrapolation(std::ostream& out, const std::vector<RunResult>& results, const ConsoleOptions& options) {
  if (!std::any_of(results.begin(), results.end(), extrapolates)) return;
  write_wrapped(out, "~ ",
                "extrapolated: much of the time is of kernels that were measured on no such part, or in no such size; "
                "the warnings say which. The interval may be too narrow.",
                options.width);
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
  write_headline(out, scenario, results, options);
  write_scenario_header(out, scenario, options);
  out << '\n';
  write_table(out, Columns(scenario, results).all(), options);
  write_extrapolation(out, results, options);
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
