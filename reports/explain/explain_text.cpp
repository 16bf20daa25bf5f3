#include "reports/explain/explain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>

#include "models/base/json_list.hpp"
#include "models/spec/parallel_words.hpp"
#include "models/spec/schedule_traits.hpp"
#include "reports/human.hpp"
#include "reports/repeats.hpp"

namespace accosim {
namespace {

std::string share_of(Seconds part, Seconds whole) { return whole.value > 0 ? human_percent(part / whole) : "-"; }

/// Of what is too small to show, or what rounding leaves.
bool negligible(Seconds part, Seconds whole) { return std::fabs(part.value) <= 5e-4 * std::fabs(whole.value); }

void write_causes(std::ostream& out, const Explanation& explanation, const ConsoleOptions& options) {
  const CriticalPath& path = explanation.path;
  const int updates = explanation.updates_per_mark;
  std::string text =
      fmt::format("Of {} per {} of {}:", human_time(path.update_time),
                  updates > 1 ? fmt::format("{} updates", updates) : std::string("update"), explanation.label);
  Seconds rest = path.update_time;
  const char* separator = " ";
  constexpr double kSmall = 0.01;
  const auto small = std::find_if(path.causes.begin(), path.causes.end(), [&](const auto& cause) {
    return cause.second < kSmall * path.update_time;  // and so are those behind it
  });
  const auto shown = path.causes.end() - small > 1 ? small : path.causes.end();
  const auto add = [&](const std::string& cause, Seconds time) {
    text += fmt::format("{}{} ({}) {}", separator, human_time(time), share_of(time, path.update_time), cause);
    separator = "; ";
    rest -= time;
  };
  std::for_each(path.causes.begin(), shown, [&](const auto& cause) { add(cause.first, cause.second); });
  if (shown != path.causes.end())
    add(fmt::format("{} others, each below 1 %", path.causes.end() - shown),
        std::accumulate(shown, path.causes.end(), Seconds{0},
                        [](Seconds sum, const auto& cause) { return sum + cause.second; }));
  if (!negligible(rest, path.update_time)) {
    text +=
        fmt::format("{}{} ({}) on no op of the path", separator, human_time(rest), share_of(rest, path.update_time));
  }
  write_sentence(out, options, text + ".");
}

std::string bubble_in_words(const PipelineTime& pipeline, Seconds update) {
  const Parallel& parallel = pipeline.parallel;
  const double each = pipeline.micro_batches / pipeline.flights;
  std::string text = fmt::format(
      "The pipeline's bubble takes {} ({}): in the mean a stage has so long nothing to compute between the first "
      "forward and the last backward pass of {} micro-batches",
      human_time(pipeline.bubble), share_of(pipeline.bubble, update), human_count(each));
  if (pipeline.flights > 1) text += fmt::format(", {} times an update", pipeline.flights);
  const int behind = parallel.pipeline - 1;
  const std::string form = parallel.chunks > 1
                               ? fmt::format("(p - 1)/(v m) = {}/{}", behind, human_count(parallel.chunks * each))
                               : fmt::format("(p - 1)/m = {}/{}", behind, human_count(each));
  return text +
         fmt::format(". Equal stages whose messages take no time would have {} of what they compute, which is {}.",
                     form, human_time(pipeline.closed_form));
}

std::string tail_in_words(const SplitCosts& costs) {
  std::string text = fmt::format("The tail takes {} ({}), between the last backward pass and the next forward pass",
                                 human_time(costs.tail), share_of(costs.tail, costs.update_time));
  const char* separator = ": ";
  for (const auto& [name, time] : costs.tail_parts) {
    text += fmt::format("{}{} {}", separator, human_time(time), name);
    separator = "; ";
  }
  return text + ".";
}

/// Stages that are shown alike stand in one row.
struct StageRow {
  std::vector<int> stages;
  int ranks = 0;
  std::string computing, bubble, share;
};

std::vector<StageRow> rows_of(const PipelineTime& pipeline, Seconds update) {
  std::vector<StageRow> rows;
  for (const StageTime& stage : pipeline.stages) {
    const StageRow row{{stage.stage},
                       stage.ranks,
                       human_time(stage.computing),
                       human_time(stage.bubble),
                       share_of(stage.bubble, update)};
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const StageRow& other) {
      return other.computing == row.computing && other.bubble == row.bubble && other.share == row.share;
    });
    if (same == rows.end()) {
      rows.push_back(row);
      continue;
    }
    same->stages.push_back(stage.stage);
    same->ranks += stage.ranks;
  }
  return rows;
}

void write_stages(std::ostream& out, const std::vector<StageRow>& rows, const ConsoleOptions& options) {
  Table table({left("stage"), right("GPUs"), right("forward and", "backward"), right("bubble"), right("share")});
  for (const StageRow& row : rows)
    table.add(Style::kPlain, {stage_numbers(row.stages), human_count(row.ranks), row.computing, row.bubble, row.share});
  write_table_below(out, "", table.columns(), options);
}

void write_dimensions(std::ostream& out, const SplitCosts& costs, const ConsoleOptions& options) {
  if (costs.dimensions.empty()) return;
  Table table(
      {left("along"), right("GPUs", "of a group"), right("under way"), right("hidden"), right("bare"), right("share")});
  for (const DimensionTime& each : costs.dimensions)
    table.add(Style::kPlain, {each.name, human_count(each.ranks), human_time(each.takes), human_time(each.hidden()),
                              human_time(each.bare), share_of(each.bare, costs.update_time)});
  write_table_below(out,
                    "Communication along each dimension in an update, mean of the GPUs. Bare: the GPU computes nothing "
                    "meanwhile; of collectives within layers (tensor), what their passes take longer for them, and so "
                    "part of forward and backward. Where two go on at once both count.",
                    table.columns(), options);
}

/// What splitting a model costs an update.
void write_split_costs(std::ostream& out, const SplitCosts& costs, const ConsoleOptions& options) {
  if (costs.pipeline) write_sentence(out, options, bubble_in_words(*costs.pipeline, costs.update_time));
  write_sentence(out, options, tail_in_words(costs));
  if (costs.pipeline) write_stages(out, rows_of(*costs.pipeline, costs.update_time), options);
  write_dimensions(out, costs, options);
}

/// By how many ranks the path has gone on: from the last of them to the first where it goes round a pipeline.
int ranks_on(const Explanation& explanation, std::size_t from, std::size_t to) {
  const std::vector<PathStep>& steps = explanation.path.steps;
  const int ranks = std::max(1, explanation.ranks), on = steps[to].rank - steps[from].rank;
  return ((on % ranks) + ranks) % ranks;
}

/// What comes again, each time as many ranks further on.
std::vector<Repeats> stretches_of(const Explanation& explanation) {
  const std::vector<PathStep>& steps = explanation.path.steps;
  std::vector<Repeats> stretches;
  for (std::size_t at = 0; at < steps.size(); at = stretches.back().end())
    stretches.push_back(repeats_at(at, steps.size(), [&](std::size_t step, std::size_t length) {
      const PathStep &now = steps[step], &before = steps[step - length];
      return now.name == before.name && now.count == before.count &&
             ranks_on(explanation, step - length, step) == ranks_on(explanation, at, at + length);
    }));
  return stretches;
}

/// Rows of the path. Those of a stretch that repeats stand once, indented, with their times added up.
class PathRows {
 public:
  explicit PathRows(const Explanation& explanation) : explanation_(explanation), path_(explanation.path) {}

  void add(const Repeats& stretch) {
    const int on = stretch.times > 1 ? ranks_on(explanation_, stretch.begin, stretch.begin + stretch.length) : 0;
    const bool several = stretch.length > 1 || on != 0;
    if (several)
      add_row(fmt::format("{} times {}{}:", stretch.times,
                          stretch.length > 1 ? fmt::format("these {}", stretch.length) : "this",
                          on == 0 ? "" : ", " + further_on(on)),
              "", human_time(at_), duration_of(stretch.begin, stretch.end(), 1));
    for (std::size_t i = stretch.begin; i < stretch.begin + stretch.length; ++i) {
      const PathStep& step = path_.steps[i];
      const std::int64_t count = several ? step.count : step.count * static_cast<std::int64_t>(stretch.times);
      add_row((several ? "  " : "") + (count > 1 ? fmt::format("{} x {}", count, step.name) : step.name),
              fmt::format("{}", step.rank), several ? "" : human_time(at_),
              duration_of(i, stretch.end(), stretch.length));
    }
    at_ += duration_of(stretch.begin, stretch.end(), 1);
  }

  void add_rest(std::size_t begin) {
    add_row(fmt::format("{} more steps", path_.steps.size() - begin), "", human_time(at_),
            duration_of(begin, path_.steps.size(), 1));
  }

  void write(std::ostream& out, const ConsoleOptions& options) {
    const int first = path_.steps.front().rank;
    const bool one_rank =
        std::all_of(path_.steps.begin(), path_.steps.end(), [&](const PathStep& step) { return step.rank == first; });
    std::vector<Column> columns = rows_.columns();
    if (one_rank) {
      columns[0].sub_head = fmt::format("of rank {}", first);
      columns.erase(columns.begin() + 1);
    }
    write_table_below(out, "", columns, options);
  }

 private:
  std::string further_on(int ranks) const {
    const int back = explanation_.ranks - ranks;
    return fmt::format("each {} ranks {}", std::min(ranks, back), ranks <= back ? "on" : "back");
  }

  Seconds duration_of(std::size_t begin, std::size_t end, std::size_t stride) const {
    Seconds sum;
    for (std::size_t i = begin; i < end; i += stride) sum += path_.steps[i].duration;
    return sum;
  }

  void add_row(const std::string& what, const std::string& rank, const std::string& from, Seconds takes) {
    rows_.add(Style::kPlain, {what, rank, from, human_time(takes), share_of(takes, path_.update_time)});
  }

  const Explanation& explanation_;
  const CriticalPath& path_;
  Seconds at_;
  Table rows_{{left("critical path"), right("rank"), right("from"), right("takes"), right("share")}};
};

void write_path(std::ostream& out, const Explanation& explanation, const ConsoleOptions& options) {
  if (explanation.path.steps.empty()) return;
  constexpr std::size_t kMost = 60;
  const std::vector<Repeats> stretches = stretches_of(explanation);
  const std::size_t shown = stretches.size() <= kMost ? stretches.size() : kMost - 1;
  PathRows rows(explanation);
  for (std::size_t i = 0; i < shown; ++i) rows.add(stretches[i]);
  if (shown < stretches.size()) rows.add_rest(stretches[shown].begin);
  rows.write(out, options);
}

Seconds time_of(const OperatorRow& row) { return static_cast<double>(row.count) * (row.forward + row.backward); }

struct OperatorSum {
  Seconds time;
  Flops flops;
  Bytes bytes;
};

OperatorSum sum_of(const OperatorTable& table) {
  OperatorSum sum{table.waits, {}, {}};
  for (const OperatorRow& row : table.rows) {
    sum.time += time_of(row);
    sum.flops += static_cast<double>(row.count) * row.flops;
    sum.bytes += static_cast<double>(row.count) * row.bytes;
  }
  return sum;
}

std::vector<Column> operator_columns(const OperatorTable& table) {
  const OperatorSum sum = sum_of(table);
  const auto share = [&](Seconds time) { return share_of(time, table.micro_batch); };
  Table rows({left("operator"), right("times"), right("all of", "them"), right("share"), right("bound", "by"),
              right("forward", "of one"), right("backward", "of one"), right("work", "of one"),
              right("moved", "by one")});
  const std::string* layer = nullptr;
  for (const OperatorRow& row : table.rows) {
    if (layer == nullptr || *layer != row.layer) rows.add({{row.layer, Style::kBold}});
    layer = &row.layer;
    rows.add(Style::kPlain,
             {"  " + row.name, fmt::format("{}", row.count), human_time(time_of(row)), share(time_of(row)), row.bound,
              human_time(row.forward), human_time(row.backward), human_flops(row.flops), human_bytes(row.bytes)});
  }
  if (table.waits > Seconds{0})
    rows.add(Style::kPlain, {"collectives within layers", "", human_time(table.waits), share(table.waits)});
  rows.add(Style::kBold, {"all", "", human_time(sum.time), share(sum.time), "", "", "", human_flops(sum.flops),
                          human_bytes(sum.bytes)});
  return rows.columns();
}

/// `of` names the schedules, where there are several: " of ddp and zero1".
void write_operators(std::ostream& out, const OperatorTable& table, const std::string& of,
                     const ConsoleOptions& options) {
  write_table_below(out,
                    fmt::format("One micro-batch on {}{}{} takes {}, forward and backward:",
                                table.stages.empty() ? "" : stages_in_words(table.stages) + " of ", table.device, of,
                                human_time(table.micro_batch)),
                    operator_columns(table), options);
  const Seconds rest = table.micro_batch - sum_of(table).time;
  if (negligible(rest, table.micro_batch)) return;
  write_sentence(out, options,
                 rest.value > 0 ? fmt::format("The other {} ({}) no operator explains: the GPU waits for the host to "
                                              "launch kernels, or is set to be slower than its profile.",
                                              human_time(rest), share_of(rest, table.micro_batch))
                                : fmt::format("The operators add up to {} more than the micro-batch takes.",
                                              human_time(Seconds{-rest.value})));
}

/// Tables that several schedules share stand once.
void write_all_operators(std::ostream& out, const std::vector<Explanation>& explanations,
                         const ConsoleOptions& options) {
  std::vector<std::pair<const OperatorTable*, std::vector<std::string>>> tables;
  for (const Explanation& explanation : explanations)
    for (const OperatorTable& table : explanation.operators) {
      auto same = std::find_if(tables.begin(), tables.end(), [&](const auto& known) { return *known.first == table; });
      if (same == tables.end()) same = tables.insert(same, {&table, {}});
      if (same->second.empty() || same->second.back() != explanation.label) same->second.push_back(explanation.label);
    }
  for (const auto& [table, labels] : tables)
    write_operators(out, *table, explanations.size() > 1 ? " of " + in_words(labels) : "", options);
}

/// That computation and communication on one GPU slow each other, and by how much.
void write_interference(std::ostream& out, const Explanation& explanation, const ConsoleOptions& options) {
  if (!explanation.without_interference) return;
  const Seconds update = explanation.path.update_time, costs = update - *explanation.without_interference;
  write_sentence(
      out, options,
      negligible(costs, update)
          ? std::string("Interference costs this update nothing: where computation and communication on a GPU slow "
                        "each other, the update does not wait for it.")
          : fmt::format("Interference costs {} ({}): as many samples would take {} if computation and communication on "
                        "a GPU did not slow each other.",
                        human_time(costs), share_of(costs, update), human_time(*explanation.without_interference)));
}

/// All but the operators.
void write_one(std::ostream& out, const Explanation& explanation, const ConsoleOptions& options) {
  write_causes(out, explanation, options);
  write_interference(out, explanation, options);
  if (explanation.drawn_mean)
    write_sentence(out, options, "Micro-batches are drawn: this is one update of many, whose mean is {}.",
                   human_time(*explanation.drawn_mean));
  for (const PauseCost& pause : explanation.pauses)
    write_sentence(out, options, "The pause \"{}\" comes on top: {} each {} updates, so {} an update.", pause.name,
                   human_time(pause.time), human_count(pause.every_updates),
                   human_time(1 / pause.every_updates * pause.time));
  for (const std::string& note : explanation.notes) write_sentence(out, options, note + ".");
  if (explanation.split) write_split_costs(out, *explanation.split, options);
  write_path(out, explanation, options);
  write_collectives(out, explanation.collectives, options);
}

JsonValue named_times(const std::vector<std::pair<std::string, Seconds>>& times) {
  return json_list(times, [](const auto& each) {
    return json_object({{"name", each.first}, {"s", each.second.value}});
  });
}

JsonValue pipeline_json(const PipelineTime& pipeline) {
  JsonValue stages = json_list(pipeline.stages, [](const StageTime& stage) {
    return json_object({{"stage", stage.stage},
                        {"ranks", stage.ranks},
                        {"computing_s", stage.computing.value},
                        {"bubble_s", stage.bubble.value}});
  });
  return json_object({{"schedule", name_of(pipeline.parallel.schedule)},
                      {"stages", pipeline.parallel.pipeline},
                      {"chunks", pipeline.parallel.chunks},
                      {"flights", pipeline.flights},
                      {"micro_batches", pipeline.micro_batches},
                      {"computing_s", pipeline.computing.value},
                      {"bubble_s", pipeline.bubble.value},
                      {"closed_form_share", closed_share(pipeline)},
                      {"closed_form_s", pipeline.closed_form.value},
                      {"by_stage", std::move(stages)}});
}

JsonValue split_json(const SplitCosts& costs) {
  JsonValue dimensions = json_list(costs.dimensions, [](const DimensionTime& each) {
    return json_object({{"along", each.name},
                        {"ranks", each.ranks},
                        {"takes_s", each.takes.value},
                        {"hidden_s", each.hidden().value},
                        {"bare_s", each.bare.value}});
  });
  return json_object({{"update_time_s", costs.update_time.value},
                      {"pipeline", costs.pipeline ? pipeline_json(*costs.pipeline) : JsonValue()},
                      {"tail_s", costs.tail.value},
                      {"tail", named_times(costs.tail_parts)},
                      {"dimensions", std::move(dimensions)}});
}

}  // namespace

void write_explanations(std::ostream& out, const std::vector<Explanation>& explanations,
                        const ConsoleOptions& options) {
  for (const Explanation& explanation : explanations) {
    if (&explanation != &explanations.front()) out << '\n';
    write_one(out, explanation, options);
  }
  write_all_operators(out, explanations, options);
}

JsonValue explanations_json(const std::vector<Explanation>& explanations) {
  JsonValue schedules = json_list(explanations, [](const Explanation& each) {
    JsonValue path = json_list(each.path.steps, [](const PathStep& step) {
      return json_object({{"name", step.name},
                          {"rank", step.rank},
                          {"count", static_cast<double>(step.count)},
                          {"s", step.duration.value}});
    });
    const std::optional<Seconds>& alone = each.without_interference;
    return json_object({{"label", each.label},
                        {"updates", each.updates_per_mark},
                        {"update_time_s", each.path.update_time.value},
                        {"without_interference_s", alone ? JsonValue(alone->value) : JsonValue()},
                        {"causes", named_times(each.path.causes)},
                        {"split", each.split ? split_json(*each.split) : JsonValue()},
                        {"path", std::move(path)}});
  });
  return json_object({{"schema", "accosim.explanation/1"}, {"schedules", std::move(schedules)}});
}

void write_by_message_json(std::ostream& out, const std::vector<CollectivesByMessage>& results) {
  const JsonValue schedules = json_list(results, [](const CollectivesByMessage& result) {
    JsonValue rows = json_list(result.rows, [](const ByMessage& row) {
      return json_object({{"collective", row.collective},
                          {"bytes", row.bytes.value},
                          {"ranks", row.ranks},
                          {"nodes", row.nodes},
                          {"algorithm", row.algorithm},
                          {"protocol", row.protocol},
                          {"channels", row.channels},
                          {"messages", row.messages},
                          {"closed_form_s", row.closed_form.value},
                          {"every_message_s", row.played.value},
                          {"closed_form_error", row.deviation()}});
    });
    return json_object({{"label", result.label}, {"collectives", std::move(rows)}, {"not_played", result.without}});
  });
  out << dump_json(json_object({{"schema", "accosim.messages/1"}, {"schedules", schedules}}), 2) << '\n';
}

}  // namespace accosim
