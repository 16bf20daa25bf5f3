// What `explain` says, as JSON.
#include <ostream>

#include "models/base/json_list.hpp"
#include "reports/explain/explain_text.hpp"

namespace accosim {
namespace {

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
