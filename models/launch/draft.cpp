#include "models/launch/draft.hpp"

#include <fmt/format.h>

#include "models/base/text.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {

Draft::Draft(std::string source)
    : source_(std::move(source)), file_(std::make_shared<const std::string>(printable(source_, 300))) {
  const JsonOrigin file{file_};
  JsonValue schedule = json_object(file), schedules;
  schedule.set("name", json_text("", file));
  schedules.kind = JsonKind::kArray;
  schedules.origin = file;
  schedules.elements.push_back(std::move(schedule));
  result_.scenario = origins_ = json_object(file);
  result_.scenario.set("schema", json_text("accosim.scenario/1", file));
  for (const char* const part : {"name", "model", "cluster", "training"}) result_.scenario.set(part, json_object(file));
  result_.scenario.set("schedules", std::move(schedules));
}

std::string Draft::shown(const TextPlace& place) const {
  const std::string& file = place.file == nullptr ? source_ : *place.file;
  return place.line > 0 ? fmt::format("{}:{}", file, place.line) : file;
}

void Draft::set(const std::string& pointer, JsonValue value, const TextPlace& place) {
  const JsonOrigin origin{place.file == nullptr ? file_ : place.file, place.line, place.line > 0 ? 1 : 0};
  value.origin = origin;
  for (JsonValue& element : value.elements) element.origin = origin;
  put(pointer, std::move(value), place.line > 0 || place.file != nullptr ? shown(place) : source_ + ", by default");
}

void Draft::put(const std::string& pointer, JsonValue value, const std::string& origin) {
  const std::vector<std::string> keys = pointer_keys(pointer).value();
  JsonValue* place = &result_.scenario;
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
    if (place->kind == JsonKind::kArray) {
      place = &place->elements.at(static_cast<std::size_t>(*whole_number(keys[i])));
      continue;
    }
    JsonValue* const next = place->find(keys[i]);
    place = next != nullptr ? next : &place->set(keys[i], json_object(JsonOrigin{file_}));
  }
  place->set(keys.back(), std::move(value));
  origins_.set(pointer, json_text(origin, JsonOrigin{file_}));
}

void Draft::taken(const TextPlace& place, const std::string& what) {
  result_.taken.push_back(fmt::format("{}: {}", shown(place), printable(what, 200)));
}
void Draft::without_effect(const TextPlace& place, const std::string& what) {
  result_.without_effect.push_back(fmt::format("{}: {}", shown(place), printable(what, 200)));
}
void Draft::not_modelled(const TextPlace& place, const std::string& what) {
  result_.not_modelled.push_back(fmt::format("{}: {}", shown(place), printable(what, 400)));
}
void Draft::not_known(const TextPlace& place, const std::string& what) {
  result_.not_known.push_back(fmt::format("{}: {}", shown(place), printable(what, 200)));
}
void Draft::passed_over(const std::string& note) { result_.not_modelled.push_back(printable(note, 600)); }
void Draft::refuse(const TextPlace& place, const std::string& what) {
  errors_.push_back(fmt::format("{}: {}", shown(place), printable(what, 600)));
}

ImportedLaunch Draft::finish() && {
  if (!errors_.empty()) throw ScenarioError(errors_);
  result_.scenario.set("origins", std::move(origins_));
  return std::move(result_);
}

}  // namespace accosim
