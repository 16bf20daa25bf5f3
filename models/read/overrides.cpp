// Follows the pointer one key at a time, so that an error can name the first key that leads nowhere and its neighbours.
#include "models/read/overrides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "models/base/nearest.hpp"
#include "models/base/text.hpp"
#include "models/read/other_words.hpp"

namespace accosim {

void give_origin(JsonValue& value, const JsonOrigin& origin) {
  value.origin = origin;
  for (JsonValue& element : value.elements) give_origin(element, origin);
  for (JsonMember& member : value.members) {
    member.origin = origin;
    give_origin(member.value, origin);
  }
}

namespace {

/// JSON when it is, else text. What begins like an object or a list was meant to be one.
std::optional<JsonValue> value_of(const std::string& text, Diagnostics& diagnostics) {
  JsonDocument document = parse_json(text, "--set");
  if (document.errors.empty()) return std::move(document.root);
  const std::size_t first = text.find_first_not_of(" \t");
  if (first != std::string::npos && (text[first] == '{' || text[first] == '[')) {
    for (std::string& error : document.errors) diagnostics.errors.push_back(std::move(error));
    return std::nullopt;
  }
  return json_text(text, {});
}

/// What was cited for the value that `keys` lead to is not true of another one.
void drop_citations_of(JsonValue& tree, const std::vector<std::string>& keys) {
  JsonValue* at = &tree;
  for (std::size_t i = 0; i < keys.size() && at != nullptr && keys[i] != "sources"; ++i) {
    std::string rest;
    for (std::size_t j = i; j < keys.size(); ++j) rest += pointer_part(keys[j]);
    drop_citations(*at, rest);
    at = const_cast<JsonValue*>(child_of(*at, keys[i]));
  }
}

/// Those behind an element that is taken out of a list move up, and so does what is cited for them.
void move_citations_behind(JsonValue& tree, const std::vector<std::string>& keys) {
  const auto removed = static_cast<std::size_t>(std::stoul(keys.back()));
  JsonValue* at = &tree;
  for (std::size_t i = 0; i + 1 < keys.size() && at != nullptr && keys[i] != "sources"; ++i) {
    std::string list;
    for (std::size_t j = i; j + 1 < keys.size(); ++j) list += pointer_part(keys[j]);
    if (auto* const sources = const_cast<JsonValue*>(at->find("sources")))
      for (JsonMember& member : sources->members) {
        if (member.key.rfind(list + "/", 0) != 0) continue;
        const std::size_t begin = list.size() + 1, end = std::min(member.key.find('/', begin), member.key.size());
        const std::string index = member.key.substr(begin, end - begin);
        if (index.empty() || index.size() > 9 || index.find_first_not_of("0123456789") != std::string::npos) continue;
        if (const std::size_t place = std::stoul(index); place > removed)
          member.key.replace(begin, end - begin, std::to_string(place - 1));
      }
    at = const_cast<JsonValue*>(child_of(*at, keys[i]));
  }
}

/// The pointers that one with "*" stands for, each for an element of a list; the pointer itself where it has none.
std::vector<std::string> expanded(const JsonValue& tree, const std::vector<std::string>& keys, const JsonOrigin& origin,
                                  Diagnostics& diagnostics) {
  std::vector<std::string> pointers{""};
  for (const std::string& key : keys) {
    std::vector<std::string> longer;
    for (const std::string& pointer : pointers) {
      const JsonValue* const at = key == "*" ? at_pointer(tree, pointer) : nullptr;
      if (key != "*") {
        longer.push_back(pointer + pointer_part(key));
      } else if (at == nullptr || at->kind != JsonKind::kArray || at->elements.empty()) {
        diagnostics.add(origin, pointer + "/*",
                        "stands for every element of a list, and there is none; check the pointer");
        return {};
      } else {
        for (std::size_t i = 0; i < at->elements.size(); ++i) longer.push_back(pointer + pointer_part(i));
      }
    }
    pointers = std::move(longer);
  }
  return pointers;
}

/// Adds the pointers of the tree whose last key is `name`: what a name alone may have meant.
void add_places_of(const JsonValue& tree, const std::string& name, const std::string& pointer,
                   std::vector<std::string>& places) {
  for (const JsonMember& member : tree.members) {
    const std::string at = pointer + pointer_part(member.key);
    if (member.key == name && member.value.kind != JsonKind::kArray) places.push_back(at);
    add_places_of(member.value, name, at, places);
  }
}

/// What to write for `name=value`, which is no pointer.
std::string in_place_of(const JsonValue& tree, const std::string& name, const std::string& value) {
  const auto word = training_words().find(name);
  if (word != training_words().end()) return word->second;
  std::vector<std::string> places;
  add_places_of(tree, name, "", places);
  if (places.size() == 1) return fmt::format("write --set {}{}", printable(places.front()), printable(value));
  return "write --set /json/pointer=value, such as /training/micro_batch_size=8";
}

/// Objects that a file may leave out, and whose keys may be set all the same.
constexpr std::string_view kOptional[] = {"/training/parallel"};

bool is_optional(const std::string& pointer) {
  return std::find(std::begin(kOptional), std::end(kOptional), pointer) != std::end(kOptional);
}

/// Of two keys that say the same one way or the other, one is written: setting it takes the other away.
constexpr std::string_view kBatch[] = {"/training/gradient_accumulation_steps", "/training/global_batch_size"};

void take_other_away(JsonValue& tree, const std::string& pointer) {
  if (std::find(std::begin(kBatch), std::end(kBatch), pointer) == std::end(kBatch)) return;
  if (auto* const training = const_cast<JsonValue*>(tree.find("training")))
    for (const std::string_view other : kBatch)
      if (other != pointer) training->erase(std::string(other.substr(other.rfind('/') + 1)));
}

}  // namespace

void apply_set(JsonValue& tree, const std::string& set, Diagnostics& diagnostics) {
  const JsonOrigin origin = origin_named("--set");
  const std::size_t equals = set.find('=');
  const std::string pointer = set.substr(0, equals);
  const std::optional<std::vector<std::string>> keys = pointer_keys(pointer);
  if (equals == std::string::npos || !keys || keys->empty()) {
    const std::string name = pointer.substr(pointer.rfind('/') + 1);
    const std::string value = equals == std::string::npos ? "=VALUE" : set.substr(equals);
    diagnostics.add(origin, "", in_quotes(set) + " is no setting; " + in_place_of(tree, name, value));
    return;
  }
  std::optional<JsonValue> value = value_of(set.substr(equals + 1), diagnostics);
  if (!value) return;
  give_origin(*value, origin);
  std::vector<std::string> places = expanded(tree, *keys, origin, diagnostics);
  if (value->kind == JsonKind::kNull && places.size() > 1) {  // from those that have it
    const auto lacks = [&](const std::string& each) { return at_pointer(tree, each) == nullptr; };
    if (!std::ranges::all_of(places, lacks)) std::erase_if(places, lacks);
  }
  // From the last on, as what is taken out of a list moves those behind it.
  if (value->kind == JsonKind::kNull) std::ranges::reverse(places);
  for (const std::string& each : places) set_at(tree, each, *value, origin, diagnostics);
}

void set_at(JsonValue& tree, const std::string& pointer, JsonValue value, const JsonOrigin& origin,
            Diagnostics& diagnostics) {
  const std::optional<std::vector<std::string>> keys = pointer_keys(pointer);
  if (!keys || keys->empty()) {
    diagnostics.add(origin, "", in_quotes(pointer) + " is no pointer; write one such as /training/micro_batch_size");
    return;
  }
  if (keys->back() == "inherits") {
    diagnostics.add(origin, pointer,
                    "what the device inherits has been filled in by now; set the device itself, "
                    "such as /cluster/nodes/0/device={\"inherits\": \"A100-SXM4-80GB\"}");
    return;
  }
  if (value.kind != JsonKind::kNull) take_other_away(tree, pointer);
  JsonValue* at = &tree;
  std::string walked;
  for (std::size_t i = 0; i < keys->size(); ++i) {
    const std::string& key = (*keys)[i];
    walked += pointer_part(key);
    const bool last = i + 1 == keys->size();
    auto* child = const_cast<JsonValue*>(child_of(*at, key));
    if (child != nullptr && !last) {
      at = child;
    } else if (child != nullptr && value.kind == JsonKind::kNull && at->kind == JsonKind::kObject) {
      drop_citations_of(tree, *keys);
      at->erase(key);
      return;
    } else if (child != nullptr && value.kind == JsonKind::kNull && at->kind == JsonKind::kArray) {
      drop_citations_of(tree, *keys);
      at->elements.erase(at->elements.begin() + (child - at->elements.data()));
      move_citations_behind(tree, *keys);
      return;
    } else if (child != nullptr) {
      *child = std::move(value);
      drop_citations_of(tree, *keys);
      return;
    } else if (at->kind == JsonKind::kArray) {
      diagnostics.add(origin, walked,
                      at->elements.empty()
                          ? "there is nothing in the list"
                          : fmt::format("no such element; write an index from 0 to {}", at->elements.size() - 1));
      return;
    } else if (at->kind != JsonKind::kObject) {
      const bool failed_file = at->kind == JsonKind::kText && !diagnostics.errors.empty();  // which has been said
      if (!failed_file)
        diagnostics.add(origin, walked,
                        fmt::format("what is before it is {} and has no keys; check the pointer", noun_of(at->kind)));
      return;
    } else if (last && value.kind == JsonKind::kNull) {
      diagnostics.add(origin, walked, "is not there, so that null has nothing to take away" + hint(key, keys_of(*at)));
      return;
    } else if (last) {
      at->set(key, std::move(value));
      return;
    } else if (is_optional(walked) && value.kind != JsonKind::kNull) {
      at = &at->set(key, json_object(origin));
    } else {
      diagnostics.add(origin, walked, "no such key" + hint(key, keys_of(*at)));
      return;
    }
  }
}

}  // namespace accosim
