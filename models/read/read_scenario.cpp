#include "models/read/read_scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "models/base/nearest.hpp"
#include "models/read/check_schedules.hpp"
#include "models/read/hf_config.hpp"
#include "models/read/parts.hpp"
#include "models/read/read_cluster.hpp"
#include "models/read/read_parallel.hpp"
#include "models/read/read_schedule.hpp"
#include "models/read/read_training.hpp"
#include "models/read/read_unsteady.hpp"

namespace accosim {
namespace {

constexpr int kMostSchedules = 1000;

std::vector<ScheduleSpec> read_schedules(ObjectReader& top, const Training& training,
                                         const std::optional<Cluster>& cluster) {
  std::vector<ScheduleSpec> specs;
  Diagnostics& diagnostics = top.diagnostics();
  JsonValue* list = top.find("schedules");
  const std::string form = fmt::format(R"(write at least one: [{{"name": "{}"}}, {{"name": "{}"}}])",
                                       plain_schedule().name, plain_sharded_schedule().name);
  if (list == nullptr || list->kind != JsonKind::kArray || list->elements.empty()) {
    const char* what = list == nullptr ? "missing; " : list->kind == JsonKind::kArray ? "is empty; " : "is no list; ";
    top.fail("schedules", what + form);
    return specs;
  }
  if (list->elements.size() > kMostSchedules) {
    top.fail("schedules", fmt::format("lists {}; write at most {}", list->elements.size(), kMostSchedules));
    return specs;
  }
  for (std::size_t i = 0; i < list->elements.size(); ++i) {
    JsonValue& value = list->elements[i];
    const std::string pointer = top.pointer("schedules") + pointer_part(i);
    if (value.kind == JsonKind::kText) {
      diagnostics.add(value.origin, pointer, fmt::format("is a text; write {{\"name\": {}}}", in_quotes(value.text)));
      specs.emplace_back();
      continue;
    }
    ScheduleSpec spec = read_schedule(value, pointer, training, cluster, diagnostics);
    for (const ScheduleSpec& other : specs) {
      if (spec.label.empty() || other.label != spec.label) continue;
      const JsonValue* label = value.find("label");
      const bool own = label != nullptr && text_of(label->origin) != "default";
      diagnostics.add(
          own ? label->origin : value.origin, pointer + "/label",
          fmt::format("{} is the label of two schedules; give this one a \"label\" of its own", in_quotes(spec.label)));
      break;
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

/// By label 7.79, a speedup, or {"speedup": 7.79, "time": "29 min"}.
std::map<std::string, PublishedRun> read_published(ObjectReader& top, const std::vector<std::string>& labels) {
  constexpr Range kSpeedups{0, 1e6, true};
  std::map<std::string, PublishedRun> published;
  read_part(top, "published", [&](ObjectReader& reader) {
    for (const std::string& label : labels) {
      const JsonValue* const of = reader.find(label);
      if (of == nullptr) continue;
      PublishedRun& run = published[label];
      if (of->kind == JsonKind::kText) {
        reader.fail(label, "is neither a speedup nor an object; write {\"time\": \"3 h 46 min\"}");
        continue;
      }
      if (of->kind != JsonKind::kObject) {
        run.speedup = reader.number(label, kSpeedups);
        continue;
      }
      read_part(reader, label, [&](ObjectReader& own) {
        if (own.has("speedup")) run.speedup = own.number("speedup", kSpeedups);
        if (own.has("time")) run.time = own.seconds("time");
        if (run.time && !(*run.time > Seconds{0}) && own.good("time"))
          own.fail("time", "is not above 0; write what was published");
        if (!own.has("speedup") && !own.has("time"))
          reader.fail(label, "says nothing; write a \"speedup\", a \"time\" or both");
      });
    }
  });
  return published;
}

/// What schedules are read on; what is wrong is absent.
struct Ground {
  std::optional<Model> model;
  Training training;
  std::optional<Cluster> cluster;
};

Ground read_parts(ObjectReader& top) {
  Diagnostics& diagnostics = top.diagnostics();
  Ground ground;
  if (JsonValue* value = top.find("model")) {
    if (value->kind != JsonKind::kText) ground.model = read_model(*value, "/model", diagnostics);
  } else {
    top.fail("model", "missing; write the path of a Hugging Face config.json");
  }
  if (JsonValue* value = top.find("training")) {
    ground.training = read_training(*value, "/training", ground.model, diagnostics);
  } else {
    top.fail("training", "missing; write an object with sequence_length, micro_batch_size and train_tokens");
  }
  if (JsonValue* value = top.find("cluster")) {
    ground.cluster = read_cluster(*value, "/cluster", ground.training, diagnostics);
  } else {
    top.fail("cluster", "missing; write the path of a cluster file");
  }
  if (!ground.cluster) return ground;
  // After an error no schedule shall be looked at on a grid that there is not.
  if (!check_parallel(ground.training, ground.model, *ground.cluster, top)) {
    ground.training.parallel = {};
    return ground;
  }
  share_global_batch(ground.training, *ground.cluster, top);
  if (!check_pipeline_steps(ground.training, *ground.cluster, top)) ground.training.parallel = {};
  return ground;
}

/// What the schedules cannot do there.
void check_on(const Ground& ground, const std::vector<ScheduleSpec>& schedules, ObjectReader& top) {
  check_equal_steps(schedules, ground.cluster, ground.training, top);
  check_own_inner_updates(schedules, ground.cluster, ground.model, top);
  if (ground.model) check_collectives(schedules, ground.cluster, ground.training, *ground.model, top);
  check_drawn(schedules, ground.cluster, ground.training, top);
  if (!ground.cluster) return;
  check_replicas(schedules, ground.training, *ground.cluster, top);
  check_division(schedules, ground.training, *ground.cluster, top);
}

void check_unsteady_on(const Ground& ground, ObjectReader& top) {
  if (ground.model && ground.cluster)
    check_unsteady(ground.training, *ground.model, static_cast<int>(places_of(*ground.cluster).size()), top);
}

void take_parts(Ground ground, Scenario& scenario) {
  scenario.training = std::move(ground.training);
  if (ground.model) scenario.model = std::move(*ground.model);
  if (ground.cluster) scenario.cluster = std::move(*ground.cluster);
}

}  // namespace

Scenario read_scenario(JsonValue& tree, const std::string& path, Diagnostics& diagnostics) {
  Scenario scenario;
  ObjectReader top(tree, "", diagnostics);
  top.schema("accosim.scenario/1");
  if (!top.has("schema")) top.fail("schema", "missing; write \"schema\": \"accosim.scenario/1\"");
  std::string stem = printable(std::filesystem::path(path).stem().string(), 100);
  scenario.name = top.text("name", stem.empty() ? "scenario" : stem);
  if (top.has("description")) scenario.description = top.text("description", {}, 8000);
  if (top.has("source")) top.text("source", {}, 2000);

  Ground ground = read_parts(top);
  scenario.schedules = read_schedules(top, ground.training, ground.cluster);

  std::vector<std::string> labels;
  for (const ScheduleSpec& spec : scenario.schedules) {
    const bool known = std::ranges::find(labels, spec.label) != labels.end();
    if (!spec.label.empty() && !known) labels.push_back(spec.label);
  }
  scenario.published = read_published(top, labels);
  if (!labels.empty()) {
    scenario.baseline = top.text("baseline", labels.front());
    if (top.good("baseline") && std::ranges::find(labels, scenario.baseline) == labels.end()) {
      const bool is_one = find_schedule(scenario.baseline) != nullptr;
      top.fail("baseline",
               fmt::format("{} is the label of no schedule{}{}", in_quotes(scenario.baseline),
                           hint(scenario.baseline, labels),
                           is_one ? "; or add {\"name\": " + in_quotes(scenario.baseline) + "} to \"schedules\"" : ""));
    }
  }
  top.find("baseline");
  check_on(ground, scenario.schedules, top);
  check_unsteady_on(ground, top);
  top.finish();
  take_parts(std::move(ground), scenario);
  return scenario;
}

Scenario read_ground(JsonValue& tree, Diagnostics& diagnostics) {
  ObjectReader top(tree, "", diagnostics);
  Ground ground = read_parts(top);
  check_unsteady_on(ground, top);
  Scenario scenario;
  take_parts(std::move(ground), scenario);
  return scenario;
}

Scenario read_alone(const Scenario& on, JsonValue& tree, Diagnostics& diagnostics) {
  const Ground ground{on.model, on.training, on.cluster};
  ObjectReader top(tree, "", diagnostics);
  Scenario alone = on;
  alone.schedules = read_schedules(top, ground.training, ground.cluster);
  alone.baseline = alone.schedules.front().label;
  check_on(ground, alone.schedules, top);
  return alone;
}

JsonValue own_schedule(const ScheduleTraits& traits) {
  JsonValue schedule = json_object({{"name", traits.name}});
  if (traits.usual_overlap != Overlap::kNone) schedule.set("overlap", name_of(Overlap::kNone));
  if (traits.takes("count_micro_batches")) schedule.set("count_micro_batches", true);
  return schedule;
}

}  // namespace accosim
