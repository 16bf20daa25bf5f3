#include "models/recorded/recorded_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

/// Out of the whole tree: nothing is predicted by them.
void drop_words(JsonValue& value) {
  for (const char* const key : {"schema", "description", "source", "sources"}) {
    if (value.kind == JsonKind::kObject) value.erase(key);
  }
  for (JsonMember& member : value.members) drop_words(member.value);
  for (JsonValue& element : value.elements) drop_words(element);
}

const std::string* text_at(const JsonValue& object, std::string_view key) {
  const JsonValue* const found = object.find(key);
  return found != nullptr && found->kind == JsonKind::kText ? &found->text : nullptr;
}

bool holds_values(const JsonValue& value) { return !value.elements.empty() || !value.members.empty(); }

/// A list of scalars (lengths, shares) is one value.
bool is_list_of_parts(const JsonValue& value) {
  return value.kind == JsonKind::kArray && std::ranges::any_of(value.elements, holds_values);
}

/// Another model or device: that its parts differ too is no news.
bool is_another(const std::string& pointer, const JsonValue& a, const JsonValue& b) {
  const std::string key = pointer.substr(pointer.rfind('/') + 1);
  if (key != "model" && key != "device") return false;
  const std::string *const one = text_at(a, "name"), *const other = text_at(b, "name");
  return one != nullptr && other != nullptr && *one != *other;
}

class Comparison {
 public:
  std::vector<SettingDifference> differ;

  void compare(const std::string& pointer, const JsonValue* a, const JsonValue* b) {
    if (a == nullptr || b == nullptr) return add(pointer, a, b);
    if (a->kind == JsonKind::kObject && b->kind == JsonKind::kObject && !is_another(pointer, *a, *b))
      return compare_members(pointer, *a, *b);
    if (is_list_of_parts(*a) && is_list_of_parts(*b)) return compare_elements(pointer, *a, *b);
    if (dump_json(*a) != dump_json(*b)) add(pointer, a, b);
  }

 private:
  void add(const std::string& pointer, const JsonValue* a, const JsonValue* b) {
    const auto value = [](const JsonValue* one) {
      return one == nullptr ? std::nullopt : std::optional<JsonValue>(*one);
    };
    differ.push_back({pointer, {value(a), value(b)}});
  }

  void compare_members(const std::string& pointer, const JsonValue& a, const JsonValue& b) {
    for (const JsonMember& member : a.members)
      compare(pointer + pointer_part(member.key), &member.value, b.find(member.key));
    for (const JsonMember& member : b.members)
      if (a.find(member.key) == nullptr) add(pointer + pointer_part(member.key), nullptr, &member.value);
  }

  /// By their labels where all have one, else by their places.
  void compare_elements(const std::string& pointer, const JsonValue& a, const JsonValue& b) {
    const auto has_label = [](const JsonValue& element) { return text_at(element, "label") != nullptr; };
    const bool labelled = std::ranges::all_of(a.elements, has_label) && std::ranges::all_of(b.elements, has_label);
    std::vector<bool> met(b.elements.size(), false);
    for (std::size_t i = 0; i < a.elements.size(); ++i) {
      std::size_t k = i;
      if (labelled)
        for (k = 0; k < b.elements.size(); ++k)
          if (!met[k] && *text_at(b.elements[k], "label") == *text_at(a.elements[i], "label")) break;
      const bool both = k < b.elements.size();
      if (both) met[k] = true;
      compare(pointer + pointer_part(i), &a.elements[i], both ? &b.elements[k] : nullptr);
    }
    for (std::size_t k = 0; k < b.elements.size(); ++k)
      if (!met[k]) add(pointer + pointer_part(k), nullptr, &b.elements[k]);
  }
};

}  // namespace

JsonValue recorded_settings(const std::string& resolved) {
  JsonValue settings = parse_json(resolved, "resolved", kMaxMeasuredValues).root;
  settings.erase("origins");
  settings.erase("published");
  drop_words(settings);
  return settings;
}

RecordedSettings read_recorded_settings(const JsonDocument& document) {
  const JsonValue& root = document.root;
  const auto text = [&](const char* key) {
    const std::string* const found = text_at(root, key);
    return found == nullptr ? std::string() : *found;
  };
  RecordedSettings settings{text("version"), text("network"), text("scenario"), {}, std::nullopt};
  if (const JsonValue* const sets = root.find("sets"); sets != nullptr)
    for (const JsonValue& set : sets->elements) settings.sets.push_back(set.text);
  const JsonValue* const recorded = root.find("settings");
  if (recorded == nullptr) return settings;
  if (recorded->kind != JsonKind::kObject)
    throw ScenarioError({fmt::format("{} /settings: is {}; write the document anew", text_of(recorded->origin),
                                     noun_of(recorded->kind))});
  settings.scenario_with_defaults = *recorded;
  return settings;
}

SettingDifferences differing_settings(const RecordedSettings& a, const RecordedSettings& b) {
  Comparison comparison;
  const auto named = [&](const char* name, const JsonValue& one, const JsonValue& other) {
    comparison.compare(name, &one, &other);
  };
  named("version", a.version, b.version);
  named("network", a.network, b.network);
  const bool whole = a.scenario_with_defaults && b.scenario_with_defaults;
  if (whole) {
    comparison.compare("", &*a.scenario_with_defaults, &*b.scenario_with_defaults);
  } else {
    named("scenario", a.scenario, b.scenario);
    named("sets", a.sets, b.sets);
  }
  return {whole, std::move(comparison.differ)};
}

}  // namespace accosim
