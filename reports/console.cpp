// See console.hpp. Columns are in the order of the questions: how long, how much faster, where the time goes, does it
// fit. A column about which no schedule has anything to say is left out.
#include "reports/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "reports/human.hpp"

namespace accosim {
namespace {

/// "A100-SXM4-80GB", with what sets it apart from a device of the same name.
std::string device_name(const Device& device) {
  return device.slowdown == 1 ? device.name : fmt::format("{} ({:.3g} times slower)", device.name, device.slowdown);
}

/// The device of a rank as the scenario describes it; the result's own name where the scenario has no such rank.
std::string device_name(const Scenario& scenario, const std::vector<Place>& places, const RankResult& rank) {
  if (rank.rank < 0 || static_cast<std::size_t>(rank.rank) >= places.size()) return rank.device;
  const Place& place = places[static_cast<std::size_t>(rank.rank)];
  const NodeGroup& group = scenario.cluster.nodes.at(static_cast<std::size_t>(place.group));
  return device_name(group.devices.at(static_cast<std::size_t>(place.gpu)));
}

/// "2 nodes x 4 A100-SXM4-80GB"; a node of several kinds as "1 node x (3 A100-SXM4-80GB + 1 V100-SXM2-32GB)".
std::string describe(const NodeGroup& group) {
  std::vector<std::pair<std::string, int>> kinds;
  for (const Device& device : group.devices) {
    const std::string name = device_name(device);
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.first == name; });
    if (same == kinds.end()) {
      kinds.emplace_back(name, 1);
    } else {
      ++same->second;
    }
  }
  std::string gpus;
  for (const auto& [name, count] : kinds) gpus += fmt::format("{}{} {}", gpus.empty() ? "" : " + ", count, name);
  if (kinds.size() > 1) gpus = "(" + gpus + ")";
  return fmt::format("{} node{} x {}", group.count, group.count == 1 ? "" : "s", gpus);
}

double gpu_count(const Cluster& cluster) {
  double gpus = 0;
  for (const NodeGroup& group : cluster.nodes) gpus += static_cast<double>(group.count) * group.gpus;
  return gpus;
}

/// Samples per update that the scenario asks for.
double asked_samples(const Scenario& scenario) {
  double samples = 0;
  for (const NodeGroup& group : scenario.cluster.nodes) {
    samples += static_cast<double>(group.count) * group.gpus * group.micro_batch_size;
  }
  return samples * scenario.training.gradient_accumulation_steps;
}

void write_header(std::ostream& out, const Scenario& scenario, const ConsoleOptions& options) {
  const Training& training = scenario.training;
  std::string nodes;
  for (const NodeGroup& group : scenario.cluster.nodes) nodes += (nodes.empty() ? "" : " + ") + describe(group);
  const double samples = asked_samples(scenario);
  const auto line = [&](const char* name, const std::string& text) {
    write_wrapped(out, fmt::format("{:<11}", name), text, options.width);
  };
  if (!scenario.name.empty()) line("scenario", scenario.name);
  line("model",
       fmt::format("{}, {} parameters, {}", scenario.model.name,
                   human_count(static_cast<double>(parameter_count(scenario.model))), name_of(training.precision)));
  line("cluster", fmt::format("{}: {} GPU{}, {}", scenario.cluster.name, human_count(gpu_count(scenario.cluster)),
                              gpu_count(scenario.cluster) == 1 ? "" : "s", nodes));
  line("update",
       fmt::format("{} tokens asked for: {} samples of {} tokens, {} micro-batch{} a GPU",
                   human_count(samples * training.sequence_length), human_count(samples), training.sequence_length,
                   training.gradient_accumulation_steps, training.gradient_accumulation_steps == 1 ? "" : "es"));
  line("training", human_count(training.train_tokens) + " tokens");
  if (!scenario.baseline.empty()) line("baseline", scenario.baseline);
}

std::string factor_or_dash(const std::optional<double>& value) { return value ? human_factor(*value) : "-"; }

/// Gibibytes without the unit.
std::string gib(Bytes bytes) { return fmt::format("{:.1f}", bytes.value / (1024.0 * 1024 * 1024)); }

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
  add("tokens", "per s", [](const RunResult& r) { return Cell{human_count(r.tokens_per_second)}; });
  add("per s", "and GPU", [](const RunResult& r) { return Cell{human_count(r.tokens_per_second_per_gpu)}; });
  if (any(&RunResult::speedup)) {
    add("speedup", "per token", [](const RunResult& r) {
      return Cell{factor_or_dash(r.speedup), r.speedup.value_or(0) > 1.005 ? Style::kGood : Style::kPlain};
    });
  }
  if (any(&RunResult::published_speedup)) {
    add("published", "(our error)", [](const RunResult& r) {
      if (!r.published_speedup) return Cell{"-"};
      if (!r.speedup) return Cell{human_factor(*r.published_speedup)};
      return Cell{fmt::format("{} ({})", human_factor(*r.published_speedup),
                              human_error(*r.speedup / *r.published_speedup - 1))};
    });
  }
  if (any(&RunResult::speedup_same_batch)) {
    add("speedup", "same batch", [](const RunResult& r) { return Cell{factor_or_dash(r.speedup_same_batch)}; });
  }
  add("batch", "grown", [](const RunResult& r) { return Cell{human_factor(r.batch_inflation)}; });
  add("MFU", "", [](const RunResult& r) { return Cell{human_percent(r.mfu)}; });
  add("GPU", "idle", [](const RunResult& r) { return Cell{human_percent(r.gpu_idle_fraction)}; });
  add("exposed", "comm.", [](const RunResult& r) { return Cell{human_time(r.exposed_communication)}; });
  add("memory", "GiB of", [](const RunResult& r) {
    const std::string figures = gib(r.memory_resident) + " / " + gib(r.memory_capacity);
    return r.fits ? Cell{figures} : Cell{figures + " OOM", Style::kBad};
  });
  return columns;
}

void write_warnings(std::ostream& out, const std::vector<Warning>& warnings, const std::string& indent,
                    const ConsoleOptions& options) {
  for (const Warning& warning : warnings) {
    write_wrapped(out, indent + "! ", fmt::format("{} [{}]", warning.message, warning.code), options.width);
    if (!warning.advice.empty()) write_wrapped(out, indent + "  -> ", warning.advice, options.width);
  }
}

/// Ranks that one row stands for.
struct RankRow {
  std::string device;
  int ranks = 0;
  int first = 0, last = 0;
  double per_round = 0, per_update = 0, idle = 0;  // sums over the ranks
  int least = 0, most = 0;
};

/// Merges each rank into the first row (of the last `reach`) that `same` says it belongs to.
std::vector<RankRow> merge_ranks(const Scenario& scenario, const RunResult& result, std::size_t reach,
                                 const std::function<bool(const RankRow&, const RankRow&)>& same) {
  const std::vector<Place> places = places_of(scenario.cluster);
  std::vector<RankRow> rows;
  for (const RankResult& rank : result.ranks) {
    const RankRow one{device_name(scenario, places, rank),
                      1,
                      rank.rank,
                      rank.rank,
                      rank.micro_batches_per_round,
                      rank.micro_batches_per_update,
                      rank.idle_fraction,
                      rank.micro_batches_per_round_min,
                      rank.micro_batches_per_round_max};
    const std::size_t from = rows.size() > reach ? rows.size() - reach : 0;
    const auto row = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(from), rows.end(),
                                  [&](const RankRow& other) { return same(other, one); });
    if (row == rows.end()) {
      rows.push_back(one);
      continue;
    }
    ++row->ranks;
    row->last = rank.rank;
    row->per_round += one.per_round;
    row->per_update += one.per_update;
    row->idle += one.idle;
    row->least = std::min(row->least, one.least);
    row->most = std::max(row->most, one.most);
  }
  return rows;
}

/// A mean that shows as a whole number when it is one.
std::string mean_of(double sum, int count) {
  const std::string text = fmt::format("{:.2f}", sum / count);
  return text.size() > 3 && text.substr(text.size() - 3) == ".00" ? text.substr(0, text.size() - 3) : text;
}

void add_rank_columns(std::vector<Column>& columns, const std::vector<RankRow>& rows) {
  const auto add = [&](const char* head, const char* sub_head, const std::function<std::string(const RankRow&)>& text) {
    Column column{head, sub_head, {}, false};
    for (const RankRow& row : rows) column.cells.push_back(Cell{text(row)});
    columns.push_back(column);
  };
  add("micro-batches", "per round", [](const RankRow& row) {
    const std::string mean = mean_of(row.per_round, row.ranks);
    return row.least == row.most ? mean : fmt::format("{} ({} to {})", mean, row.least, row.most);
  });
  add("per", "update", [](const RankRow& row) { return mean_of(row.per_update, row.ranks); });
  add("GPU", "idle", [](const RankRow& row) { return human_percent(row.idle / row.ranks); });
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
    write_wrapped(out, "", result.label + ": each rank accumulates as many micro-batches as its speed allows",
                  options.width);
    out << '\n';
    write_table(out, columns, options);
  }
}

bool identical_ranks(const Cluster& cluster) {
  const NodeGroup& first = cluster.nodes.front();
  return std::all_of(cluster.nodes.begin(), cluster.nodes.end(), [&](const NodeGroup& group) {
    return group.micro_batch_size == first.micro_batch_size && group.precision == first.precision &&
           group.attention == first.attention &&
           std::all_of(group.devices.begin(), group.devices.end(),
                       [&](const Device& device) { return device_name(device) == device_name(first.devices.front()); });
  });
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
  const bool serial_zero1 =
      baseline != scenario.schedules.end() && baseline->name == "zero1" && baseline->overlap == Overlap::kNone;
  const bool acco = has([](const RunResult& r) { return r.schedule == "acco"; });
  const bool dpu = has([](const RunResult& r) { return r.schedule == "dpu"; });
  if (serial_zero1 && (acco || dpu) && !scenario.cluster.nodes.empty() && identical_ranks(scenario.cluster)) {
    text += fmt::format(" With identical ranks and serial ZeRO-1 as the baseline that can never exceed {}.",
                        acco && dpu ? "1.5 for ACCO and 2 for DPU"
                        : acco      ? "1.5 for ACCO"
                                    : "2 for DPU");
  }
  out << '\n';
  write_wrapped(out, "", text, options.width);
}

}  // namespace

void write_comparison(std::ostream& out, const Scenario& scenario, const std::vector<RunResult>& results,
                      ConsoleOptions options) {
  write_header(out, scenario, options);
  out << '\n';
  write_table(out, comparison_columns(scenario, results), options);
  write_device_classes(out, scenario, results, options);
  for (const RunResult& result : results) {
    if (result.warnings.empty()) continue;
    out << '\n' << styled(cut_to_width(result.label, options.width), Style::kBold, options.color) << '\n';
    write_warnings(out, result.warnings, "  ", options);
  }
  write_closing(out, scenario, results, options);
}

void write_run(std::ostream& out, const Scenario& scenario, const RunResult& result, ConsoleOptions options) {
  write_header(out, scenario, options);
  write_wrapped(out, fmt::format("{:<11}", "schedule"), result.label, options.width);
  out << '\n';
  const auto metric = [&](const char* name, const std::string& value, const std::string& meaning) {
    write_wrapped(out, fmt::format("{:<29} {:>11}  ", name, value), meaning, options.width);
  };
  metric("update time", human_time(result.update_time), "from one optimizer update to the next, steady state");
  metric("total time", human_clock(result.total_time),
         "for all " + human_count(scenario.training.train_tokens) + " tokens");
  metric("tokens per second", human_count(result.tokens_per_second), "of all GPUs together");
  metric("tokens per second and GPU", human_count(result.tokens_per_second_per_gpu), "their mean");
  if (result.speedup) {
    metric("speedup per token", human_factor(*result.speedup), "time per token of the baseline over this one's");
  }
  if (result.speedup_same_batch) {
    metric("speedup at the same batch", human_factor(*result.speedup_same_batch),
           "over the baseline played with as many samples per update");
  }
  if (result.published_speedup) {
    metric("published speedup", human_factor(*result.published_speedup),
           result.speedup ? "our error " + human_error(*result.speedup / *result.published_speedup - 1)
                          : "as the scenario states it");
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
  metric("memory resident", human_memory(result.memory_resident), "really needed, on the rank with least room");
  metric("memory capacity", human_memory(result.memory_capacity),
         result.fits ? "of that GPU: it fits" : "of that GPU: it does NOT fit");

  if (!result.memory_parts.parts.empty()) {
    Column names{"memory", "", {}, true}, sizes{"size", "", {}, false}, shares{"share", "", {}, false};
    for (const auto& [name, bytes] : result.memory_parts.parts) {
      names.cells.push_back(Cell{name});
      sizes.cells.push_back(Cell{human_memory(bytes)});
      const double total = result.memory_resident.value;
      shares.cells.push_back(Cell{total > 0 ? human_percent(bytes.value / total) : "-"});
    }
    out << '\n';
    write_table(out, {names, sizes, shares}, options);
  }
  if (!result.ranks.empty()) {
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
    if (rows.size() > kMost) out << fmt::format("... and {} more rows; --json has them all\n", rows.size() - kMost);
  }
  if (!result.warnings.empty()) {
    out << '\n';
    write_warnings(out, result.warnings, "", options);
  }
}

}  // namespace accosim
