#include "reports/explain/explain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>

#include "models/spec/parallel_words.hpp"
#include "reports/human.hpp"
#include "reports/repeats.hpp"

namespace accosim {
namespace {

std::string share_of(Seconds part, Seconds whole) { return whole.value > 0 ? human_percent(part / whole) : "-"; }

/// Of what is too small to show, or what rounding leaves.
bool negligible(Seconds part, Seconds whole) { return std::fabs(part.value) <= 5e-4 * std::fabs(whole.value); }

std::string causes_in_words(const Explanation& explanation) {
  const CriticalPath& path = explanation.path;
  const int updates = explanation.updates_per_mark;
  std::string text =
      fmt::format("Of {} per {} of {}:", human_time(path.update_time),
                  updates > 1 ? fmt::format("{} updates", updates) : std::string("update"), explanation.label);
  Seconds rest = path.update_time;
  const char* separator = " ";
  constexpr double kSmall = 0.01;
  const auto small = std::ranges::find_if(path.causes, [&](const auto& cause) {
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
  return text + ".";
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
Table stages_table(const PipelineTime& pipeline, Seconds update) {
  struct Row {
    std::vector<std::string> figures;
    std::vector<int> stages{};
    int ranks = 0;
  };
  std::vector<Row> rows;
  for (const StageTime& stage : pipeline.stages) {
    const std::vector<std::string> figures{human_time(stage.computing), human_time(stage.bubble),
                                           share_of(stage.bubble, update)};
    auto row = std::ranges::find_if(rows, [&](const Row& other) { return other.figures == figures; });
    if (row == rows.end()) row = rows.insert(row, Row{figures});
    row->stages.push_back(stage.stage);
    row->ranks += stage.ranks;
  }
  Table table({left("stage"), right("GPUs"), right("forward and", "backward"), right("bubble"), right("share")});
  for (const auto& [figures, stages, ranks] : rows)
    table.add({stage_numbers(stages), human_count(ranks), figures[0], figures[1], figures[2]});
  return table;
}

void add_dimensions(Document& document, const SplitCosts& costs) {
  if (costs.dimensions.empty()) return;
  Table table(
      {left("along"), right("GPUs", "of a group"), right("under way"), right("hidden"), right("bare"), right("share")});
  for (const DimensionTime& each : costs.dimensions)
    table.add({each.name, human_count(each.ranks), human_time(each.takes), human_time(each.hidden()),
               human_time(each.bare), share_of(each.bare, costs.update_time)});
  document.say(
      {"Communication along each dimension in an update, mean of the GPUs. Bare: the GPU computes nothing meanwhile; "
       "of collectives within layers (tensor), what their passes take longer for them, and so part of forward and "
       "backward. Where two go on at once both count."});
  document.table(std::move(table));
}

/// What splitting a model costs an update.
void add_split_costs(Document& document, const SplitCosts& costs) {
  if (costs.pipeline) document.go_on({bubble_in_words(*costs.pipeline, costs.update_time)});
  document.go_on({tail_in_words(costs)});
  if (costs.pipeline) document.table(stages_table(*costs.pipeline, costs.update_time));
  add_dimensions(document, costs);
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

/// "each 2 ranks on", or "back" where that is nearer.
std::string further_on(const Explanation& explanation, int ranks) {
  const int back = explanation.ranks - ranks;
  return fmt::format("each {} ranks {}", std::min(ranks, back), ranks <= back ? "on" : "back");
}

/// The path's steps in their order. Those of a stretch that repeats stand once, indented, with their times added up.
Table path_table(const Explanation& explanation) {
  const std::vector<PathStep>& steps = explanation.path.steps;
  if (steps.empty()) return {};
  const int first = steps.front().rank;
  const bool one_rank = std::ranges::all_of(steps, [&](const PathStep& step) { return step.rank == first; });
  Table table({left("critical path", one_rank ? fmt::format("of rank {}", first) : ""), right("rank"), right("from"),
               right("takes"), right("share")});
  if (one_rank) table.heads.erase(table.heads.begin() + 1);
  const auto add = [&](const std::string& what, const std::string& rank, const std::string& from, Seconds takes) {
    table.add({what, rank, from, human_time(takes), share_of(takes, explanation.path.update_time)});
    if (one_rank) table.rows.back().erase(table.rows.back().begin() + 1);
  };
  const auto duration_of = [&](std::size_t begin, std::size_t end, std::size_t stride) {
    Seconds sum;
    for (std::size_t i = begin; i < end; i += stride) sum += steps[i].duration;
    return sum;
  };
  constexpr std::size_t kMost = 60;
  const std::vector<Repeats> stretches = stretches_of(explanation);
  const std::size_t shown = stretches.size() <= kMost ? stretches.size() : kMost - 1;
  Seconds at;
  for (std::size_t s = 0; s < shown; ++s) {
    const auto [begin, length, times] = stretches[s];
    const Seconds whole = duration_of(begin, stretches[s].end(), 1);
    const int on = times > 1 ? ranks_on(explanation, begin, begin + length) : 0;
    const bool several = length > 1 || on != 0;
    if (several)
      add(fmt::format("{} times {}{}:", times, length > 1 ? fmt::format("these {}", length) : "this",
                      on == 0 ? "" : ", " + further_on(explanation, on)),
          "", human_time(at), whole);
    for (std::size_t i = begin; i < begin + length; ++i) {
      const std::int64_t count = several ? steps[i].count : steps[i].count * static_cast<std::int64_t>(times);
      add((several ? "  " : "") + (count > 1 ? fmt::format("{} x {}", count, steps[i].name) : steps[i].name),
          std::to_string(steps[i].rank), several ? "" : human_time(at), duration_of(i, stretches[s].end(), length));
    }
    at += whole;
  }
  if (shown < stretches.size()) {
    const std::size_t begin = stretches[shown].begin;
    add(fmt::format("{} more steps", steps.size() - begin), "", human_time(at), duration_of(begin, steps.size(), 1));
  }
  return table;
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

Table rows_of(const OperatorTable& table) {
  const OperatorSum sum = sum_of(table);
  const auto share = [&](Seconds time) { return share_of(time, table.micro_batch); };
  Table rows({left("operator"), right("times"), right("all of", "them"), right("share"), right("bound", "by"),
              right("forward", "of one"), right("backward", "of one"), right("work", "of one"),
              right("moved", "by one")});
  const std::string* layer = nullptr;
  for (const OperatorRow& row : table.rows) {
    if (layer == nullptr || *layer != row.layer) rows.add({row.layer}, Style::kBold);
    layer = &row.layer;
    rows.add({"  " + row.name, fmt::format("{}", row.count), human_time(time_of(row)), share(time_of(row)), row.bound,
              human_time(row.forward), human_time(row.backward), human_flops(row.flops), human_bytes(row.bytes)});
  }
  if (table.waits > Seconds{0})
    rows.add({"collectives within layers", "", human_time(table.waits), share(table.waits)});
  rows.add(
      {"all", "", human_time(sum.time), share(sum.time), "", "", "", human_flops(sum.flops), human_bytes(sum.bytes)},
      Style::kBold);
  return rows;
}

/// `of` names the schedules, where there are several: " of ddp and zero1".
void add_operators(Document& document, const OperatorTable& table, const std::string& of) {
  document.say({fmt::format("One micro-batch on {}{}{} takes {}, forward and backward:",
                            table.stages.empty() ? "" : stages_in_words(table.stages) + " of ", table.device, of,
                            human_time(table.micro_batch))});
  document.table(rows_of(table));
  const Seconds rest = table.micro_batch - sum_of(table).time;
  if (negligible(rest, table.micro_batch)) return;
  document.go_on({rest.value > 0 ? fmt::format("The other {} ({}) no operator explains: the GPU waits for the host to "
                                               "launch kernels, or is set to be slower than its profile.",
                                               human_time(rest), share_of(rest, table.micro_batch))
                                 : fmt::format("The operators add up to {} more than the micro-batch takes.",
                                               human_time(Seconds{-rest.value}))});
}

/// Tables that several schedules share stand once.
void add_all_operators(Document& document, const std::vector<Explanation>& explanations) {
  std::vector<std::pair<const OperatorTable*, std::vector<std::string>>> tables;
  for (const Explanation& explanation : explanations)
    for (const OperatorTable& table : explanation.operators) {
      auto same = std::ranges::find_if(tables, [&](const auto& known) { return *known.first == table; });
      if (same == tables.end()) same = tables.insert(same, {&table, {}});
      if (same->second.empty() || same->second.back() != explanation.label) same->second.push_back(explanation.label);
    }
  for (const auto& [table, labels] : tables)
    add_operators(document, *table, explanations.size() > 1 ? " of " + in_words(labels) : "");
}

/// That computation and communication on one GPU slow each other, and by how much.
void add_interference(Document& document, const Explanation& explanation) {
  if (!explanation.without_interference) return;
  const Seconds update = explanation.path.update_time, costs = update - *explanation.without_interference;
  document.go_on(
      {negligible(costs, update)
           ? std::string("Interference costs this update nothing: where computation and communication on a GPU slow "
                         "each other, the update does not wait for it.")
           : fmt::format(
                 "Interference costs {} ({}): as many samples would take {} if computation and communication on "
                 "a GPU did not slow each other.",
                 human_time(costs), share_of(costs, update), human_time(*explanation.without_interference))});
}

/// All but the operators.
void add_one(Document& document, const Explanation& explanation) {
  document.say({causes_in_words(explanation)});
  add_interference(document, explanation);
  if (explanation.drawn_mean)
    document.go_on({"Micro-batches are drawn: this is one update of many, whose mean is ",
                    duration(*explanation.drawn_mean), "."});
  for (const PauseCost& pause : explanation.pauses)
    document.go_on({fmt::format("The pause \"{}\" comes on top: {} each {} updates, so {} an update.", pause.name,
                                human_time(pause.time), human_count(pause.every_updates),
                                human_time(1 / pause.every_updates * pause.time))});
  for (const std::string& note : explanation.notes) document.go_on({note, "."});
  if (explanation.split) add_split_costs(document, *explanation.split);
  document.table(path_table(explanation));
  add_collectives(document, explanation.collectives);
}

JsonValue named_times(const std::vector<std::pair<std::string, Seconds>>& times) {
  return mapped<JsonValue>(times, [](const auto& each) {
    return json_object({{"name", each.first}, {"s", each.second.value}});
  });
}

JsonValue pipeline_json(const PipelineTime& pipeline) {
  JsonValue stages = mapped<JsonValue>(pipeline.stages, [](const StageTime& stage) {
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
  JsonValue dimensions = mapped<JsonValue>(costs.dimensions, [](const DimensionTime& each) {
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

Document explanations_document(const std::vector<Explanation>& explanations) {
  Document document;
  for (const Explanation& explanation : explanations) add_one(document, explanation);
  add_all_operators(document, explanations);
  return document;
}

JsonValue explanations_json(const std::vector<Explanation>& explanations) {
  JsonValue schedules = mapped<JsonValue>(explanations, [](const Explanation& each) {
    JsonValue path = mapped<JsonValue>(each.path.steps, [](const PathStep& step) {
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
  const JsonValue schedules = mapped<JsonValue>(results, [](const CollectivesByMessage& result) {
    JsonValue rows = mapped<JsonValue>(result.rows, [](const ByMessage& row) {
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
